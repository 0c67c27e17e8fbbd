"""What became of the papers' claims: for the terminal, as Markdown, as a page. All read `Reproduction.facts`."""

from graphsieve.papers.output.html_page import as_page
from graphsieve.papers.output.markdown import as_markdown
from graphsieve.papers.output.plain_text import as_text

__all__ = ["as_markdown", "as_page", "as_text"]
