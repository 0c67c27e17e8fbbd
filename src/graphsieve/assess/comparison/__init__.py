"""Several methods side by side: where their rankings agree, and what their first columns are
worth to a learner.
"""
