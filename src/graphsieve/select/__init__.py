"""The scikit-learn estimators, `rank` and its result, and `LabeledOnly`: thin shells around
scores and searches.
"""
