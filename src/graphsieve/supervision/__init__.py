"""Supervision of the samples by labels, targets, pairs and probabilities, checked once and
sliceable by rows.
"""
