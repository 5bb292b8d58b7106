"""Tables of numbers in files: text with any usual separator, NumPy's ``.npy``, and Parquet."""

from popsnet.base.tables.reading import SUFFIXES, read_table, table_of
from popsnet.base.tables.table import FileTable

__all__ = ["SUFFIXES", "FileTable", "read_table", "table_of"]
