"""How good a selection is, and how sure: evaluation, comparison of methods, stability and p-values."""
