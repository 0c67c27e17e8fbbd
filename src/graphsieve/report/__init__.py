"""Pages, notebook fragments, terminal text and plots, made from facts (plain dicts)."""
