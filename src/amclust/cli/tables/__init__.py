"""Tables: from a file to the matrix that ClAM takes, and back.

A file is found and opened (`sources`), parsed into Arrow (`dialect` and `text`, or
`binary`; `reading` for both) and made a matrix (`matrix`, with `columns` and `cells`). `writing`
goes the other way. `schema` has the types in between, `errors` what may be wrong.
"""

from amclust.cli.tables.errors import TableError, TableWarning, require

for _package in ("pandas", "pyarrow"):  # before all that needs them, for the message
    require(_package)

from amclust.cli.tables.cells import Spelling  # noqa: E402
from amclust.cli.tables.columns import Column, Columns  # noqa: E402
from amclust.cli.tables.matrix import (  # noqa: E402
    Choice,
    Matrix,
    choose_columns,
    read_matrix,
)
from amclust.cli.tables.reading import Chunks, OpenTable, open_table, read_table  # noqa: E402
from amclust.cli.tables.schema import Table  # noqa: E402
from amclust.cli.tables.sources import FORMATS, ReadOptions  # noqa: E402
from amclust.cli.tables.writing import TableWriter, write_table  # noqa: E402

__all__ = [
    "FORMATS",
    "Choice",
    "Chunks",
    "Column",
    "Columns",
    "Matrix",
    "OpenTable",
    "ReadOptions",
    "Spelling",
    "Table",
    "TableError",
    "TableWarning",
    "TableWriter",
    "choose_columns",
    "open_table",
    "read_matrix",
    "read_table",
    "write_table",
]
