"""Tables as Excel workbooks, row by row in constant memory."""

from __future__ import annotations

import datetime
import math
import re
import shutil
import tempfile
from typing import Any, BinaryIO

import pyarrow as pa

from amclust.cli.tables._errors import TableError, shortened
from amclust.cli.tables._extras import require

_ROWS, _COLUMNS, _CHARACTERS = 1_048_576, 16_384, 32_767
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
# Excel's numbers are floats.
_LARGEST_INTEGER = 2**53


class ExcelSink:
    """Write tables to the only sheet of a workbook."""

    def __init__(self, file: BinaryIO) -> None:
        require("openpyxl")
        import openpyxl

        self._file = file
        self._book = openpyxl.Workbook(write_only=True)
        self._sheet = self._book.create_sheet("table")
        self._rows = 0

    def write(self, table: pa.Table) -> None:
        """Append rows, the first time under a header."""
        if table.num_columns > _COLUMNS:
            msg = f"Excel holds {_COLUMNS:,} columns, the table has {table.num_columns:,}"
            raise TableError(msg)
        if self._rows == 0:
            self._append(table.column_names)
        if self._rows + table.num_rows > _ROWS:
            msg = f"Excel holds {_ROWS:,} rows with the header, the table has more; write Parquet"
            raise TableError(msg)
        columns = [column.to_pylist() for column in table.columns]
        for row in zip(*columns, strict=True):
            self._append(row)

    def _append(self, row: Any) -> None:
        self._sheet.append([self._cell(value) for value in row])
        self._rows += 1

    def finish(self) -> None:
        """Write the workbook."""
        # A zip archive that fails to be written complains once more when it is collected.
        with tempfile.TemporaryFile() as file:
            self._book.save(file)
            file.seek(0)
            shutil.copyfileobj(file, self._file)

    def abandon(self) -> None:
        """Close the rows written so far, which lie in a temporary file."""
        self._sheet.close()
        self._sheet._writer.cleanup()

    def _cell(self, value: Any) -> Any:
        if isinstance(value, float):
            return value if math.isfinite(value) else (None if math.isnan(value) else str(value))
        if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
            value = str(value)
        elif isinstance(value, datetime.datetime | datetime.time) and value.tzinfo is not None:
            value = value.isoformat()
        elif value is None or isinstance(value, int | datetime.date | datetime.time):
            return value
        return self._text(str(value))

    def _text(self, value: str) -> Any:
        from openpyxl.cell import WriteOnlyCell

        if _FORBIDDEN.search(value) or len(value) > _CHARACTERS:
            msg = f"Excel cannot hold the cell {shortened(value)}; write CSV or Parquet"
            raise TableError(msg)
        cell = WriteOnlyCell(self._sheet, value)
        # Text such as "=1+1" stays text.
        cell.data_type = "s"
        return cell
