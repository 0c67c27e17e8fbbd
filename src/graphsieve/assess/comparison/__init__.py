"""Comparison of several methods: the agreement of their rankings, and the value of their first
columns to a learner.
"""
