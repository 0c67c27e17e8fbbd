"""From facts (plain dicts) to a self-contained page."""

from graphsieve.report.page import page, write_page

__all__ = ["page", "write_page"]
