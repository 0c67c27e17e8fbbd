"""Graphs over the samples, their construction, and the energy and spread of features on them."""
