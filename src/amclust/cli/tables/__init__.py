"""Tables: from a file to the matrix that ClAM takes, and back."""

from amclust.cli.tables import _extras  # noqa: F401  # First, for its message.
from amclust.cli.tables._column import Column
from amclust.cli.tables._columns import Columns
from amclust.cli.tables._errors import TableError, TableWarning
from amclust.cli.tables._formats import FORMATS, SUFFIXES
from amclust.cli.tables._reading import Chunks, read_chunks, read_table
from amclust.cli.tables._writing import TableWriter, write_table

__all__ = [
    "FORMATS",
    "SUFFIXES",
    "Chunks",
    "Column",
    "Columns",
    "TableError",
    "TableWarning",
    "TableWriter",
    "read_chunks",
    "read_table",
    "write_table",
]
