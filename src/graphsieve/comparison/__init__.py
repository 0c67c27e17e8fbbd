"""Several methods side by side: where their rankings agree, and what their first columns are worth to a learner."""

from __future__ import annotations

from graphsieve.comparison.results import Comparison
from graphsieve.comparison.running import compare

__all__ = ["Comparison", "compare"]
