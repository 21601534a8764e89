"""A table in blocks, wherever these lie, as a fit sees it."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from dask.delayed import Delayed
from numpy.typing import NDArray
from scipy import sparse

from amclust import _native
from amclust._categories import Categories, MixedTable
from amclust._metrics import find_metric
from amclust._rows import (
    DrawnRows,
    Indices,
    Part,
    Places,
    TableRows,
    TableSize,
    TableStatistics,
    Weights,
    digest,
    draw_places,
    observed_weights,
)
from amclust._silhouettes import sample_rows
from amclust._validation import check_dense, check_statistics
from amclust._warnings import UnseenLevelsWarning, warn
from amclust.dask._backend import RemoteRows
from amclust.dask._blocks import (
    BlockError,
    Blocks,
    as_rows,
    as_told_rows,
    as_weights,
    is_persisted,
    named,
)
from amclust.dask._engine import Engine, same
from amclust.dask._levels import as_frame

# Of exact sums, for each column.
STATISTICS_BYTES = 128


@dataclass(frozen=True, eq=False)
class Summary:
    """What has been seen of some blocks that follow each other. Sums are exact.

    Attributes
    ----------
    first : int
        The number of the first of them.

    lengths, counted : tuples of int
        How many rows each block has, and how many with a weight above 0.

    n_stored : int
        How many values they have, of CSR those that are stored.

    dtype : str or None
        Type of the values; None: there are no rows.

    names : tuple or None
        Names of the columns; None: blocks are no frames.

    is_sparse : bool
        Whether those that have rows are CSR.

    n_empty : int
        How many rows have no value at all; they do not count.

    unseen : str or None
        What is told of the first block with levels that no fit has seen.

    everything, weighted : _native.PartialStatistics
        Of all rows, and of those that count by their weights; None where all count the same, as
        blocks beside it may not.
    """

    first: int
    lengths: tuple[int, ...]
    counted: tuple[int, ...]
    n_stored: int
    dtype: str | None
    names: tuple[Any, ...] | None
    is_sparse: bool
    n_empty: int
    unseen: str | None
    everything: _native.PartialStatistics
    weighted: _native.PartialStatistics | None

    def __sizeof__(self) -> int:
        # What Dask goes by where it decides which result to move.
        kinds = 1 if self.weighted is None else 2
        return kinds * STATISTICS_BYTES * self.everything.n_features + 64 * len(self.lengths)


def summarise(
    block: Any,
    weights: Any,
    number: int,
    names: tuple[Any, ...] | None,
    metric: Any,
    categories: Categories | None,
) -> Summary:
    """Return what a fit has to know about a block; refuse what no network takes."""
    with named(number):
        matrix, unseen = as_told_rows(block, names, None, categories)
        values, n_empty = observed_weights(matrix, as_weights(weights, matrix.shape[0]))
        table, columns = TableRows(matrix), names and [str(name) for name in names]
        if categories is not None:
            columns = list(categories.feature_names)
        rows = table.read()
        everything = _native.partial_statistics(rows, None, None, 1)
        if find_metric(metric).whitens:
            check_dense(table)
        check_statistics(everything.finish(), columns, metric)
    weighted, n_counted = None, matrix.shape[0]
    if values is not None:
        counted = np.flatnonzero(values)
        n_counted = len(counted)
        weighted = _native.partial_statistics(rows, counted, values[counted], 1)
    return Summary(
        number,
        (matrix.shape[0],),
        (n_counted,),
        n_stored(matrix),
        matrix.dtype.name if matrix.shape[0] else None,
        tuple(block.columns) if hasattr(block, "columns") else None,
        sparse.issparse(matrix) and matrix.shape[0] > 0,
        n_empty,
        None if unseen is None else f"Block {number} of X: {unseen}",
        everything,
        weighted,
    )


def merge(*parts: Summary) -> Summary:
    """Return what has been seen of blocks that follow each other; refuse those that differ."""
    first = parts[0]
    dtype, n_features = first.dtype, first.everything.n_features
    is_sparse = first.is_sparse
    for part in parts[1:]:
        if part.everything.n_features != n_features:
            msg = (
                f"must have {n_features} columns, as those before have, got "
                f"{part.everything.n_features}."
            )
            raise BlockError(part.first, msg)
        if part.names != first.names:
            msg = f"columns must be {first.names}, as those before have, got {part.names}."
            raise BlockError(part.first, msg)
        if None not in (dtype, part.dtype) and part.dtype != dtype:
            msg = f"must be {dtype}, as those before are, got {part.dtype}."
            raise BlockError(part.first, msg)
        if None not in (dtype, part.dtype) and part.is_sparse != is_sparse:
            kinds = ("sparse", "dense") if is_sparse else ("dense", "sparse")
            msg = f"must be {kinds[0]}, as those before are, got a {kinds[1]} one."
            raise BlockError(part.first, msg)
        dtype, is_sparse = dtype or part.dtype, is_sparse or part.is_sparse
    return Summary(
        first.first,
        sum((part.lengths for part in parts), ()),
        sum((part.counted for part in parts), ()),
        sum(part.n_stored for part in parts),
        dtype,
        first.names,
        is_sparse,
        sum(part.n_empty for part in parts),
        next((part.unseen for part in parts if part.unseen is not None), None),
        _added([part.everything for part in parts]),
        _added(_weighted(parts)),
    )


def _weighted(parts: tuple[Summary, ...]) -> list[_native.PartialStatistics]:
    """Return the statistics by weights, if there are any: elsewhere all rows weigh 1."""
    if all(part.weighted is None for part in parts):
        return []
    return [part.everything if part.weighted is None else part.weighted for part in parts]


def _added(parts: list[_native.PartialStatistics]) -> Any:
    if not parts:
        return None
    whole = copy.copy(parts[0])  # results of tasks are not changed
    for part in parts[1:]:
        whole.add(part)
    return whole


def n_stored(matrix: Any) -> int:
    """Return how many values are held of some rows."""
    if isinstance(matrix, MixedTable):
        return len(matrix) * matrix.n_stored
    return int(matrix.nnz if sparse.issparse(matrix) else matrix.size)


def take(
    block: Any,
    weights: Any,
    number: int,
    places: Indices | None,
    categories: Categories | None,
) -> tuple[Any, Weights | None]:
    """Return rows of a block, by their places among those that count, and their weights.

    Places that it does not have are passed over: those were chosen before its rows were counted.
    """
    with named(number):
        matrix = as_rows(block, None, None, categories)
        values, _ = observed_weights(matrix, as_weights(weights, matrix.shape[0]))
    if places is None:
        return matrix, values
    counted = np.arange(matrix.shape[0]) if values is None else np.flatnonzero(values)
    places = counted[places[places < len(counted)]]
    return matrix[places], None if values is None else values[places]


@dataclass(frozen=True, eq=False)
class DaskSource:
    """A table of Dask. A pass tells what all rows have in common, and some of them are drawn.

    Where it is known how long blocks are, the same pass draws: places are chosen as if all rows
    counted, and once more, for a second pass, if some turn out not to.
    """

    blocks: Blocks
    weights: list[Any]  # of each block; None: all rows count the same
    engine: Engine
    metric: Any
    look: Callable[[DaskSource], None] | None = None  # called once it is known what is in the rows
    categories: Categories | None = None  # what the columns are; None: all are numbers
    numbers: Iterator[int] = field(default_factory=itertools.count)  # of drawings

    @cached_property
    def summary(self) -> Summary:
        """What all rows have in common, from one pass over the blocks."""
        return self._summarised(None)[0]

    def _summarised(self, drawn: Delayed | None) -> tuple[Summary, Delayed | None]:
        """Return what all rows have in common, and a task on the same blocks, if it was begun."""
        names = self.blocks.names
        tasks = {
            at: self.engine.task(
                "clam-statistics",
                at,
                summarise,
                block,
                weights,
                at,
                names,
                self.metric,
                self.categories,
            )
            for at, (block, weights) in self._numbered()
        }
        with self._naming(tasks):
            found, drawn = self.engine.merged(
                "clam-statistics", list(tasks.values()), merge, "statistics", drawn
            )
        self.blocks.check_lengths(found.lengths)
        if not sum(found.lengths):
            msg = f"X has no rows in any of its {len(tasks)} blocks."
            raise ValueError(msg)
        vars(self)["summary"] = found  # as the property keeps it: what looks needs it, too
        if self.look is not None:
            self.look(self)
        elif found.unseen is not None:
            warn(found.unseen, UnseenLevelsWarning)
        return found, drawn

    @property
    def expected(self) -> TableSize | None:
        """How much there is of the table if all of its rows count; None: that is not known yet."""
        lengths, is_weighted = self.blocks.lengths, any(one is not None for one in self.weights)
        unsure = lengths is None or is_weighted or self.blocks.is_sparse
        if "summary" in vars(self) or unsure or not sum(lengths or ()):
            return None
        assert lengths is not None
        return TableSize(sum(lengths), float(self.blocks.meta.shape[1]))

    @property
    def n_passes(self) -> int:
        """How often rows will be read for a fit: for what is in them, and to draw some."""
        return 2 if self.expected is None else 1

    @property
    def like_rows(self) -> Any:
        """An array or a frame without rows that has the columns of the blocks."""
        if self.blocks.meta is not None:
            return self.blocks.meta
        names = self.summary.names
        if names is None:
            return np.empty((0, self.n_features))
        return pd.DataFrame(np.empty((0, len(names))), columns=list(names))

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        known = None if "summary" in vars(self) else self.blocks.lengths
        return sum(self.summary.lengths if known is None else known)

    @property
    def n_counted(self) -> int:
        """How many of them have a weight above 0."""
        return sum(self.summary.counted)

    @property
    def n_empty(self) -> int:
        """How many of them have no value at all."""
        return self.summary.n_empty

    @property
    def n_missing(self) -> NDArray[np.int64]:
        """How many values are missing in each column."""
        observed = self.summary.everything.finish().weight
        if self.categories is not None:  # of a level that is missing all features are
            observed = observed[self.categories.starts]
        return (self.n_rows - observed).astype(np.int64)

    @property
    def n_features(self) -> int:
        """How many columns there are."""
        meta, layout = self.blocks.meta, self.categories
        if layout is not None:
            return layout.n_features
        return int(self.summary.everything.n_features if meta is None else meta.shape[1])

    @property
    def size(self) -> TableSize:
        """How much there is of the table."""
        return TableSize(self.n_counted, self.summary.n_stored / self.n_rows)

    def draw(self, choose: Callable[[TableSize], Places]) -> DrawnRows:
        """Bring the rows to the client that are chosen once it is known how much there is."""
        expected, early = self.expected, None
        if expected is not None and self.blocks.lengths is not None:
            places = choose(expected)
            wanted = _together(places, expected)
            table, _ = self._table(wanted, self.blocks.lengths, self.blocks.lengths)
            _, early = self._summarised(table)
        if early is None or expected != self.size:
            places, early = choose(self.size), None
            wanted = _together(places, self.size)
        trained, judged = places
        if wanted is None:
            rows, weights = self._taken(None, early)
            drawn = DrawnRows(rows, self.n_counted, weights)
            counted, _ = drawn.counted
            if judged is not None and counted is not None:
                judged = counted[judged]
            return dataclasses.replace(drawn, trained=counted, judged=judged)
        assert trained is not None
        judged = np.arange(self.n_counted) if judged is None else judged
        rows, weights = self._taken(wanted, early)
        everything = self.summary.everything.finish()
        weighted = self.summary.weighted
        return DrawnRows(
            rows,
            self.n_counted,
            weights,
            np.searchsorted(wanted, trained),
            np.searchsorted(wanted, judged),
            True,
            TableStatistics(everything, everything if weighted is None else weighted.finish()),
        )

    def total(self, part: Part, threads: int) -> Any:
        """Return the sum of what is made of every block of rows."""
        number = next(self.numbers)
        # A task of its own: a network is sent once, and not with every block.
        known = self.engine.task("clam-statistics", f"{number}-part", same, part)
        tasks = {
            at: self.engine.task(
                "clam-statistics",
                f"{number}-{at}",
                apply,
                known,
                block,
                weights,
                at,
                self.categories,
            )
            for at, (block, weights) in self._numbered()
            if self.summary.counted[at]
        }
        name = f"clam-statistics-{number}"
        with self._naming(tasks):
            return self.engine.merged(name, list(tasks.values()), add, "full passes")[0]

    @contextmanager
    def _naming(self, tasks: Mapping[int, Delayed]) -> Iterator[None]:
        """Name the block where its task, by its number, fails for what is not ours to say."""
        try:
            yield
        except BlockError:
            raise
        except Exception as error:
            failed = self._first_failed(tasks)
            if failed is None:
                raise
            msg = f"Block {failed} of X could not be computed: {error!r}"
            raise RuntimeError(msg) from error

    def _first_failed(self, tasks: Mapping[int, Delayed]) -> int | None:
        """Return the number of the first block that cannot be computed; None: not known."""
        for at, task in tasks.items():
            if self.engine.client is not None:
                if task.key in self.engine.failed:
                    return at
                continue
            try:  # a local scheduler does not say which
                self.engine.run([self.blocks.blocks[at]], "blocks")
            except Exception:  # noqa: BLE001 - blocks are the user's
                return at
        return None

    def _numbered(self) -> Iterator[tuple[int, tuple[Delayed, Any]]]:
        return enumerate(zip(self.blocks.blocks, self.weights, strict=True))

    def draw_some(self, choose: Callable[[int], Indices | None]) -> DrawnRows:
        """Bring rows to the client, chosen by how many count; None: all of these."""

        def places(size: TableSize) -> Places:
            chosen = choose(size.n_counted)
            return Places(
                np.arange(size.n_counted) if chosen is None else chosen, np.zeros(0, np.int64)
            )

        return self.draw(places)

    def sample(self, max_rows: int) -> Any:
        """Return rows as an array, or as a frame where columns have names; all, or some of many."""
        rows = self.draw_some(lambda n: draw_places(n, max_rows, 0) if n > max_rows else None).rows
        names = self.blocks.names or self.summary.names
        if isinstance(rows.X, MixedTable):
            return as_frame(rows.X) if names is not None else as_frame(rows.X).to_numpy(object)
        return rows.X if names is None else pd.DataFrame(rows.X, columns=list(names))

    def digests(self) -> dict[str, str]:
        """Return fingerprints of X and of sample_weight, by what is known of all rows."""
        seen = self.summary
        sizes = self.n_rows, self.n_counted, seen.n_stored, seen.dtype
        code = hashlib.sha256(repr(sizes).encode())
        some, _ = self._taken(sample_rows(self.n_counted))
        code.update(digest(some.X).encode())  # the same rows in another order are other rows
        for part in (seen.everything, seen.weighted):
            if part is not None:
                stats = part.finish()
                code.update(stats.mean.tobytes() + stats.variance.tobytes())
        return {"X": code.hexdigest(), "sample_weight": str(seen.weighted is not None)}

    def _taken(
        self, places: Indices | None, table: Delayed | None = None
    ) -> tuple[RemoteRows, Weights | None]:
        """Return rows at some places, and their weights; None: all rows, those of weight 0 too.

        The table of these rows may have been begun.
        """
        tasks: dict[int, Delayed] = {}
        if table is None:
            table, tasks = self._table(places, self.summary.lengths, self.summary.counted)
            # Else workers that train draw all of it once more.
            table = self.engine.held(table)
        with self._naming(tasks):
            rows, found = self.engine.run([table], "drawing rows")[0]
        if found is None and self.summary.weighted is not None:  # others than these do not count
            found = np.ones(rows.shape[0], np.float32)
        return RemoteRows(rows, table), found

    def _table(
        self,
        places: Indices | None,
        lengths: tuple[int, ...],
        counted: tuple[int, ...],
    ) -> tuple[Delayed, dict[int, Delayed]]:
        """Return the task that makes a table of rows and weights, and those it is made of."""
        starts = np.concatenate([[0], np.cumsum(counted)])
        edges = None if places is None else np.searchsorted(places, starts)
        tasks: dict[int, Delayed] = {}
        number = next(self.numbers)
        for at, (block, weights) in self._numbered():
            if not lengths[at]:
                continue
            inside = None
            if places is not None and edges is not None:
                inside = places[edges[at] : edges[at + 1]] - starts[at]
                if not len(inside):
                    continue
            name = f"{number}-{at}"
            tasks[at] = self.engine.task(
                "clam-draw", name, take, block, weights, at, inside, self.categories
            )
        like = np.empty((0, self.n_features))
        table = self.engine.task("clam-draw", f"table-{number}", stack, like, *tasks.values())
        return table, tasks


def _together(places: Places, size: TableSize) -> Indices | None:
    """Return the places of all rows that are looked at, ascending; None: of all rows."""
    trained, judged = places
    if trained is None:
        return None
    judged = np.arange(size.n_counted) if judged is None else judged
    wanted = np.sort(np.concatenate([trained, judged]))
    found: Indices = wanted[np.diff(wanted, prepend=-1) > 0]
    return found


def apply(part: Part, block: Any, weights: Any, number: int, categories: Categories | None) -> Any:
    """Return what is made of the rows of a block that count."""
    with named(number):
        matrix = as_rows(block, None, None, categories)
        values, _ = observed_weights(matrix, as_weights(weights, matrix.shape[0]))
    whole = DrawnRows(TableRows(matrix), matrix.shape[0], values)
    return part(whole.rows, *whole.counted, 1)


def add(*parts: Any) -> Any:
    """Return the sum of results."""
    return sum(parts[1:], parts[0])


def stack(like: Any, *parts: tuple[Any, Weights | None]) -> tuple[Any, Weights | None]:
    """Return rows of several blocks, and their weights, as one table; of none, what is like it.

    Blocks that do not go together are refused where all of them are looked at: here they may be met
    before that.
    """
    matrices = [matrix for matrix, _ in parts]
    if len({matrix.shape[1] for matrix in matrices}) != 1:
        return like, None
    weights = []
    if any(values is not None for _, values in parts):  # where there are none, all rows weigh 1
        weights = [np.ones(m.shape[0], np.float32) if v is None else v for m, v in parts]
    rows: Any
    if isinstance(matrices[0], MixedTable):
        rows = MixedTable(
            np.concatenate([table.numbers for table in matrices]),
            np.concatenate([table.codes for table in matrices]),
            matrices[0].categories,
        )
    elif any(sparse.issparse(matrix) for matrix in matrices):
        rows = sparse.csr_array(sparse.vstack(matrices))
    else:
        rows = np.ascontiguousarray(np.concatenate(matrices))
    return rows, np.concatenate(weights) if weights else None


def tell_unpersisted(X: Any, often: str) -> None:
    """Say how often blocks will be computed that nobody holds."""
    if not is_persisted(X):
        warn(
            f"X is not persisted: its blocks will be computed {often}, and once more for labels. "
            "Where they fit the memory of the workers, pass X.persist().",
        )
