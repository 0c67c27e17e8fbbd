"""The parts of `make bench`, one file each; `run.py` beside this folder runs them, `page` makes
benchmarks/README.md of them.
"""
