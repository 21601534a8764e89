"""Tables in parts that workers of Dask read and write: Parquet, and CSV in blocks of bytes."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
from dask.delayed import Delayed

from amclust.cli.tables.cells import to_categories
from amclust.cli.tables.columns import Columns
from amclust.cli.tables.dialect import Dialect, check_names, find_dialect, find_encoding
from amclust.cli.tables.errors import TableError, TableOptionError, listed, no_rows
from amclust.cli.tables.matrix import Choice, choose_by_first
from amclust.cli.tables.schema import Schema, Table
from amclust.cli.tables.sources import ReadOptions, damage_named, format_of_name, name_of
from amclust.cli.tables.writing import TableWriter

if TYPE_CHECKING:
    import pandas as pd

    from amclust.dask._engine import Engine

_READ = "clam-read"  # what its tasks are called
_BLOCK = "64 MiB"  # of a text file
_HEAD_BYTES = 1 << 20
_HEAD_ROWS = 16_384  # the types of columns are told by these
_PARQUET = (".parquet", ".parq", ".pq")
_MULTIBYTE = ("utf-16", "utf-32")  # cannot be cut at the ends of lines


def open_parts(table: str, options: ReadOptions, engine: Engine) -> Parts:
    """Find the files of a table: a path or a URL that fsspec knows, with ``*``, or a folder."""
    from fsspec.core import get_fs_token_paths

    fs, _, paths = get_fs_token_paths(table)
    is_folder = len(paths) == 1 and fs.isdir(paths[0])
    if not paths or not (is_folder or fs.exists(paths[0])):
        msg = f"no file matches {table!r}" if "*" in table else f"there is no file {table!r}"
        raise FileNotFoundError(msg)
    format_ = options.format or ("parquet" if is_folder else format_of_name(paths[0])[0])
    if format_ not in ("csv", "tsv", "parquet"):
        msg = f"{table!r}: with --dask tables are Parquet, CSV or TSV; say --format if it is one"
        raise TableOptionError(msg, file=table)
    if format_ == "parquet":
        for option in ("delimiter", "encoding"):
            if getattr(options, option) is not None:
                msg = f"--{option} {getattr(options, option)}: {table!r} is Parquet, which has none"
                raise TableOptionError(msg, file=table)
        if is_folder and not any(fs.glob(f"{paths[0]}/**/*{end}") for end in _PARQUET):
            msg = f"the folder {table!r} has no Parquet files; name others as '{table}/*.csv'"
            raise TableError(msg, file=table)
        return ParquetParts(table, engine)
    return TextParts(f"{table.rstrip('/')}/*" if is_folder else table, format_, options, engine)


class Parts:
    """A table in parts, none of which is read before it is needed."""

    def __init__(self, source: str, names: list[str], engine: Engine) -> None:
        self.source, self.names, self._engine = source, names, engine
        self._times_read = 0
        check_names(names, name_of(source))

    def tables(self, columns: Sequence[str] | None = None) -> list[Delayed]:
        """Return the parts, of some columns or all: tables or data frames, not read yet."""
        raise NotImplementedError

    def place(self, number: int) -> str:
        """Return how messages call a part."""
        return f"part {number} of {name_of(self.source)}"

    def first(self) -> Table:
        """Return the first rows."""
        for at, table in enumerate(self.tables()):
            (found,) = self._engine.run([self._task(at, head, table, self.place(at))], "reading")
            if len(found):
                return Table.of(found)
        raise no_rows(name_of(self.source))

    def distinct(self, names: list[str]) -> Iterator[Table]:
        """Yield the different cells of some columns, part by part, with null below fewer."""
        tasks = [
            self._task(at, distinct_cells, table, names, self.place(at))
            for at, table in enumerate(self.tables(names))
        ]
        yield from self._engine.run(tasks, "categories")

    def choose(self, choice: Choice) -> Columns:
        """Choose the columns to cluster; the first rows tell what they hold."""
        return choose_by_first(self.first(), self.distinct, choice)

    def matrices(self, columns: Columns) -> list[Delayed]:
        """Return data frames of the numbers in each part, not read yet."""
        parts = enumerate(self.tables(self.needed(columns)))
        return [self._task(at, matrix_of, part, columns, self.place(at)) for at, part in parts]

    def needed(self, columns: Columns) -> list[str]:
        """Return which columns have to be read, in the order of the table."""
        columns.check_names(self.names)
        return [name for name in self.names if name in {*columns.names, columns.id}]

    def _task(self, at: int, function: Any, *given: Any) -> Delayed:
        self._times_read += 1  # no two tasks have the same key
        return self._engine.task(_READ, f"{at}-{self._times_read}", function, *given)


class ParquetParts(Parts):
    """Parquet files, or a folder of them; large ones are several parts."""

    def __init__(self, source: str, engine: Engine) -> None:
        import dask.dataframe as dd

        try:
            self._frame = dd.read_parquet(source, index=False, dtype_backend="pyarrow")
            names = [str(name) for name in self._frame.columns]
        except Exception as error:  # anything, as at other damaged bytes
            reason = str(error).rpartition("Original Message: ")[2]
            msg = f"{name_of(source)} is not Parquet, or it is damaged or cut short: {reason}"
            raise TableError(msg, file=source) from error
        super().__init__(source, names, engine)

    def tables(self, columns: Sequence[str] | None = None) -> list[Delayed]:
        """Return the parts, of some columns or all."""
        frame = self._frame if columns is None else self._frame[list(columns)]
        return list(frame.to_delayed())


@dataclass(frozen=True)
class TextFormat:
    """How all files of a text table are written."""

    dialect: Dialect
    encoding: str
    header: bool | None


class TextParts(Parts):
    """CSV or TSV files, alike in how they are written; large ones are cut at the ends of lines."""

    def __init__(self, source: str, format_: str, options: ReadOptions, engine: Engine) -> None:
        from dask.bytes import read_bytes

        gzipped = format_of_name(source)[1]
        how: dict[str, Any] = {"compression": "infer", "blocksize": None if gzipped else _BLOCK}
        with damage_named(name_of(source), format_.upper()):
            sample, files, paths = read_bytes(
                source, delimiter=b"\n", sample=_HEAD_BYTES, include_path=True, **how
            )
        complete = len(sample) < _HEAD_BYTES
        encoding = find_encoding(sample, options.encoding, name_of(source), complete=complete)
        if encoding.startswith(_MULTIBYTE):
            msg = f"{name_of(source)} is {encoding}, which is not read in parts; write it as UTF-8"
            raise TableError(msg, file=source)
        dialect = find_dialect(
            sample.decode(encoding, "replace"),
            name_of(source),
            delimiter=options.delimiter,
            prefer="\t" if format_ == "tsv" else None,
            header=options.header,
            complete=complete,
        )
        if dialect.trailing:
            msg = f"{name_of(source)}: rows end in a delimiter, which is not read with --dask"
            raise TableError(msg, file=source)
        self._format = TextFormat(dialect, encoding, options.header)
        self._blocks = [
            (block, path, not at)
            for path, blocks in zip(paths, files, strict=True)
            for at, block in enumerate(blocks)
        ]
        super().__init__(source, dialect.names, engine)

    def place(self, number: int) -> str:
        """Return how messages call a part."""
        return f"part {number} of {name_of(self.source)} ({self._blocks[number][1]})"

    def tables(self, columns: Sequence[str] | None = None) -> list[Delayed]:
        """Return the parts, of some columns or all."""
        wanted = self.names if columns is None else list(columns)
        return [
            self._task(at, parse_text, block, self._format, wanted, begins, self.place(at))
            for at, (block, _, begins) in enumerate(self._blocks)
        ]


# --- in a worker ----------------------------------------------------------------------------------


@contextlib.contextmanager
def placed(place: str) -> Iterator[None]:
    """Begin messages with the part; errors of columns cannot be sent as they are."""
    try:
        yield
    except (ValueError, pa.ArrowException) as error:
        msg = f"{place}: {error}"
        raise TableError(msg) from None


def parse_text(
    block: bytes, written: TextFormat, columns: list[str], begins: bool, place: str
) -> Table:
    """Return the rows in some bytes of a text file, every cell as it stands."""
    dialect = written.dialect
    schema = Schema(frozenset(columns), dialect.delimiter)
    with placed(place):
        if written.encoding not in ("utf-8", "utf-8-sig"):
            block = block.decode(written.encoding).encode()
        if begins:
            block = block[_header_bytes(block, written) :]
        if not block.strip():
            return Table(pa.table({name: pa.array([], pa.string()) for name in columns}), schema)
        arrow = pa.csv.read_csv(
            pa.BufferReader(block),
            pa.csv.ReadOptions(column_names=dialect.names, use_threads=False),
            pa.csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=b'"' in block),
            pa.csv.ConvertOptions(
                column_types=dict.fromkeys(dialect.names, pa.string()),
                strings_can_be_null=False,
                include_columns=columns,
            ),
        )
    return Table(arrow, schema)


def _header_bytes(block: bytes, written: TextFormat) -> int:
    """Return the length of the header of a file; refuse one unlike that of the first."""
    if not block.strip():
        return 0
    mark = len(b"\xef\xbb\xbf") if block.startswith(b"\xef\xbb\xbf") else 0
    head = block[mark : mark + _HEAD_BYTES]
    text = head.decode("utf-8", "ignore")
    expected = written.dialect
    found = find_dialect(
        text,
        "the file",
        delimiter=expected.delimiter,
        prefer=None,
        header=written.header,
        complete=len(head) < _HEAD_BYTES,
    )
    if found.names != expected.names:
        msg = f"its columns are {listed(found.names)}, not {listed(expected.names)}"
        raise TableError(msg)
    return mark + len(text[: found.header_characters].encode())


def head(part: Table | pd.DataFrame, place: str) -> Table:
    """Return the first rows of a part."""
    with placed(place):
        return Table.of(part).slice(0, _HEAD_ROWS)


def distinct_cells(part: Table | pd.DataFrame, names: list[str], place: str) -> Table:
    """Return the categories that occur in each column of a part."""
    with placed(place):
        table = Table.of(part)
        found = [to_categories(name, table[name]).unique().drop_null() for name in names]
    longest = max(map(len, found), default=0)
    padded = [
        pa.chunked_array([cells, pa.nulls(longest - len(cells), cells.type)]) for cells in found
    ]
    return Table(pa.table(padded, names=names))


def matrix_of(part: Table | pd.DataFrame, columns: Columns, place: str) -> pd.DataFrame:
    """Return the numbers of a part."""
    with placed(place):
        table = Table.of(part)
        columns.ids(table)
        values = columns.matrix(table)
    return columns.frame(values)


# --- writing --------------------------------------------------------------------------------------


def part_name(number: int) -> str:
    """Return the name of a file in a folder of parts: their order is that of the rows."""
    return f"part-{number:06}.parquet"


def write_part(table: Table, folder: str, number: int) -> None:
    """Write a part of a table into a folder; run twice, it does the same twice."""
    from fsspec.core import url_to_fs

    fs, path = url_to_fs(folder)
    target = f"{path.rstrip('/')}/{part_name(number)}"
    with contextlib.ExitStack() as stack:
        local = target
        if not is_local(fs):
            local = os.path.join(
                stack.enter_context(tempfile.TemporaryDirectory()), part_name(number)
            )
        with TableWriter(local, overwrite=True) as writer:
            writer.write(table)
        if local != target:
            fs.put_file(local, target)


def is_local(fs: Any) -> bool:
    """Whether a file system is that of this machine."""
    return "file" in ([fs.protocol] if isinstance(fs.protocol, str) else fs.protocol)


class PartsFolder:
    """A folder of Parquet files that appears whole or not at all: a context manager.

    Workers write into `hidden`, a folder beside it that takes its place at the end. (In an object
    store, where folders cannot be renamed, its files are moved one by one.)
    """

    def __init__(self, target: str, *, overwrite: bool) -> None:
        from fsspec.core import url_to_fs

        self._shown, self._overwrite = target, overwrite
        self._fs, path = url_to_fs(target.rstrip("/"))
        self._path = os.path.realpath(path) if is_local(self._fs) else path
        above, _, name = self._path.rpartition("/")
        self._part = f"{above}/.{name[:40]}.{secrets.token_hex(4)}.part"
        self.hidden: str = (
            self._part if is_local(self._fs) else self._fs.unstrip_protocol(self._part)
        )
        self._check()

    def _check(self) -> None:
        """Refuse what cannot be written, or must not be replaced."""
        fs, shown = self._fs, self._shown
        above = self._path.rpartition("/")[0] or "/"
        if is_local(fs):
            if not os.path.isdir(above):
                msg = f"{shown}: there is no folder {above}"
                raise FileNotFoundError(msg)
            if not os.access(above, os.W_OK):
                msg = f"{shown}: the folder {above} cannot be written to"
                raise PermissionError(msg)
        if not fs.exists(self._path):
            return
        inside = [os.path.basename(p) for p in fs.ls(self._path, detail=False)]
        if not fs.isdir(self._path):
            msg = f"{shown}: it is a file; with --dask, name a folder"
            raise NotADirectoryError(msg)
        if inside and not self._overwrite:
            msg = f"{shown}: the folder is not empty; add --force to replace it"
            raise FileExistsError(msg)
        foreign = [name for name in inside if not name.endswith(".parquet")]
        if foreign:
            found = listed(foreign)
            msg = f"{shown}: the folder holds more than Parquet files ({found}), name another"
            raise FileExistsError(msg)

    def holds(self, path: str) -> bool:
        """Whether a file lies in the folder that would be replaced."""
        return is_local(self._fs) and os.path.realpath(path).startswith(f"{self._path}/")

    def __enter__(self) -> PartsFolder:
        self._fs.makedirs(self._part)
        return self

    def check_written(self, numbers: Sequence[int]) -> None:
        """Refuse a folder in which files of the workers are not to be seen."""
        self._fs.invalidate_cache()
        seen = {os.path.basename(path) for path in self._fs.ls(self._part, detail=False)}
        lost = [number for number in numbers if part_name(number) not in seen]
        if lost:
            msg = (
                f"{self._shown}: {len(lost):,} of {len(numbers):,} files that workers wrote are "
                "not to be seen here; name a folder that all machines share, or a URL"
            )
            raise FileNotFoundError(msg)

    def __exit__(self, kind: Any, *_: object) -> None:
        try:
            if kind is None:
                self._appear()
        finally:
            self._remove(self._part)

    def _appear(self) -> None:
        fs = self._fs
        if not is_local(fs):
            if fs.exists(self._path):
                fs.rm(self._path, recursive=True)
            fs.mv(self._part, self._path, recursive=True)
            return
        old = f"{self._part}.old"
        if os.path.isdir(self._path):
            os.rename(self._path, old)
        try:
            os.rename(self._part, self._path)
        except BaseException:
            if os.path.isdir(old):
                os.rename(old, self._path)
            raise
        self._remove(old)

    def _remove(self, folder: str) -> None:
        """Remove a folder, into which a worker that ends may still write."""
        for _ in range(20):
            with contextlib.suppress(OSError):
                if not self._fs.exists(folder):
                    return
                if is_local(self._fs):
                    shutil.rmtree(folder)
                else:
                    self._fs.rm(folder, recursive=True)
                return
            time.sleep(0.1)
