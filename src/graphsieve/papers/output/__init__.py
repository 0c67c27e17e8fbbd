"""The verdicts on the papers' claims as terminal text, Markdown or a page, all made from
`Reproduction.facts`.
"""
