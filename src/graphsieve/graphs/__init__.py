"""Graphs over the samples: how they are built, and the energies and spreads that features have
on them.
"""
