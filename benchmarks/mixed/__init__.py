"""Comparison of selections on tables with categories; see README.md."""
