"""How much a selection hangs on the particular samples and labels."""

from __future__ import annotations

from graphsieve.assess.stability.duplicates import Group
from graphsieve.assess.stability.measures import Agreement, agreement, share_interval
from graphsieve.assess.stability.resampling import stability
from graphsieve.assess.stability.results import Stability

__all__ = ["Agreement", "Group", "Stability", "agreement", "share_interval", "stability"]
