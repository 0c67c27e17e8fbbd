"""The scikit-learn estimators, `rank` and its result, and `LabeledOnly`: thin wrappers around
scores and searches.
"""
