"""What is known about the samples: labels, targets, pairs and probabilities, checked once and
sliceable by rows.
"""
