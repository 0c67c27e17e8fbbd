"""What became of the papers' claims: for the terminal, as Markdown, as a page. All read `Reproduction.facts`."""

from graphsieve.report.reproduction.markdown import as_markdown
from graphsieve.report.reproduction.page import as_page
from graphsieve.report.reproduction.terminal import as_text

__all__ = ["as_markdown", "as_page", "as_text"]
