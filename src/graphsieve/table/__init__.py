"""X in any form: its columns, scaling and sums; stored tables that are read in pieces; files."""
