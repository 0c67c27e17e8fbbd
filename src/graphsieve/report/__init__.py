"""From facts (plain dicts) to a page, a notebook fragment, terminal text and plots."""
