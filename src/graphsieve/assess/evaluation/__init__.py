"""Evaluation of selections by learners, over the number of features, with random columns and all
columns as baselines.
"""
