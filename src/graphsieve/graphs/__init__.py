"""Graphs over the samples: their construction, and the energies and spreads of features on them."""
