"""Table files: strict, uniform reading of every format, and atomic writing."""

from graphsieve.table.files.column_files import read_costs_file, read_groups_file
from graphsieve.table.files.knowledge import read_pairs_file, read_probabilities_file, row_ids
from graphsieve.table.files.reading import read_table
from graphsieve.table.files.table_file import without_columns, without_missing
from graphsieve.table.files.writing import write_table

__all__ = [
    "read_costs_file",
    "read_groups_file",
    "read_pairs_file",
    "read_probabilities_file",
    "read_table",
    "row_ids",
    "without_columns",
    "without_missing",
    "write_table",
]
