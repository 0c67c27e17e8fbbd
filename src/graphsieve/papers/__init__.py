"""The five papers, run again."""
