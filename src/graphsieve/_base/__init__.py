"""Foundations of all other packages: errors, parameter checks, progress, threads, atomic file
writing and randomness.
"""
