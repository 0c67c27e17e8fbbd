"""Stability of a selection under resampling of the samples and labels."""
