"""Nearest-neighbour searches: exact, approximate, out-of-core, and along a target."""
