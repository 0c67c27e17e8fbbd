"""Input tables: columns, scaling and sums, out-of-core tables, and files."""
