"""Tables as people have them: read strictly and alike from any format, written whole or not at all."""

from graphsieve.table.files.knowledge import read_pairs_file, read_probabilities_file, row_ids
from graphsieve.table.files.reading import FORMATS, read_table
from graphsieve.table.files.table_file import TableFile, without_columns, without_missing
from graphsieve.table.files.writing import check_writable_format, csv_text, output_columns, write_table

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
