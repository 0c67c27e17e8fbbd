"""Comparison of several methods: agreement of their rankings, and performance of learners on their
first columns.
"""
