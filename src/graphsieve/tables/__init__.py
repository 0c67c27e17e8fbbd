"""Tables as people have them: read strictly and alike from any format, written whole or not at all."""

from graphsieve.tables.knowledge import read_pairs_file, read_probabilities_file, row_ids
from graphsieve.tables.reading import FORMATS, read_table
from graphsieve.tables.table import TableFile, without_columns, without_missing
from graphsieve.tables.writing import check_writable_format, csv_text, output_columns, write_table

__all__ = [
    "FORMATS",
    "TableFile",
    "check_writable_format",
    "csv_text",
    "output_columns",
    "read_pairs_file",
    "read_probabilities_file",
    "read_table",
    "row_ids",
    "without_columns",
    "without_missing",
    "write_table",
]
