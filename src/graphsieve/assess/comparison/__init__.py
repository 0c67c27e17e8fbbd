"""Several methods side by side: where their rankings agree, and what their first columns are worth to a learner."""

from __future__ import annotations

from graphsieve.assess.comparison.comparing import compare
from graphsieve.assess.comparison.results import Comparison

__all__ = ["Comparison", "compare"]
