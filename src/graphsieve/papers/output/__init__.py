"""What became of the papers' claims: for the terminal, as Markdown, as a page. All read
`Reproduction.facts`.
"""
