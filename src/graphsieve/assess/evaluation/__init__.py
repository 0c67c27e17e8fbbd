"""How good is a selection: curves over the number of features, with random and all columns
beside it.
"""
