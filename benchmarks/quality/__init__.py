"""Quality benchmark: data sets × supervision × methods × numbers of columns × two learners.

It compares the default with the other registered methods and with other libraries.
"""
