"""The parts of `make bench`, one module each.

`run.py` in the parent folder runs them, and `page` renders benchmarks/README.md.
"""
