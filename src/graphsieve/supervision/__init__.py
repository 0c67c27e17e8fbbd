"""Supervision of the samples: labels, targets, pairs and probabilities."""
