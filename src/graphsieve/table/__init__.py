"""X in any form: columns, scaling and sums; stored tables that are read in pieces; files."""
