"""Nearest neighbours: exact, approximate, out of core, and along a target."""
