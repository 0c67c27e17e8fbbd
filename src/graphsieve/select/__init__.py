"""The scikit-learn estimators, `rank` with its result `Ranking`, and `LabeledOnly`.

They are thin wrappers around the scores and searches.
"""
