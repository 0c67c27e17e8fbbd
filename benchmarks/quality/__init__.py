"""What a selection is worth: data sets × what is known × methods × sizes × two learners, ours
beside everyone else's.
"""
