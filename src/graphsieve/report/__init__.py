"""From facts (plain dicts) to a self-contained page."""

from graphsieve.report.notebook import fragment
from graphsieve.report.page import page

__all__ = ["fragment", "page"]
