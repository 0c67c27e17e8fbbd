"""The quality of a selection: curves over the number of features, compared with random columns
and all columns.
"""
