"""How much a selection hangs on the particular samples and labels."""

from __future__ import annotations

from graphsieve.resampling.duplicates import Group
from graphsieve.resampling.measures import Agreement, agreement, share_interval
from graphsieve.resampling.results import Stability
from graphsieve.resampling.running import stability

__all__ = ["Agreement", "Group", "Stability", "agreement", "share_interval", "stability"]
