"""From the columns of a user's table to numbers beside categories, and back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from amclust._categories import MAX_LEVELS, MISSING, Categories, Level, Levels, MixedTable
from amclust._frames import as_plain, fill_column, is_category
from amclust._warnings import UnseenLevelsWarning, warn

FROM_DTYPE = "from_dtype"
# A category of more levels than this that has one for about every row names the rows.
MIN_IDENTIFIER_LEVELS, IDENTIFIER_SHARE = 10, 0.9
# Levels that a warning lists of a column.
TOLD_LEVELS = 5


class Encoded(NamedTuple):
    """A column by its levels."""

    codes: NDArray[np.integer[Any]]  # places among the levels; -1: missing
    levels: list[Level]  # those that the column has, in their order


# --- which columns are categories -----------------------------------------------------------------


def is_frame(X: Any) -> bool:
    """Whether a table is a frame of pandas or polars."""
    return hasattr(X, "isetitem") or (hasattr(X, "get_column") and hasattr(X, "columns"))


def is_date(dtype: Any) -> bool:
    """Whether a column of this type holds dates or times."""
    kind = getattr(dtype, "kind", None)
    return kind in ("m", "M") or str(dtype).startswith(("Date", "Time", "Duration", "date", "time"))


def _series(X: Any, column: int) -> Any:
    """Return a column of a frame."""
    return X.iloc[:, column] if hasattr(X, "isetitem") else X.get_column(X.columns[column])


def object_kind(series: Any) -> str:
    """Return what a column of Python objects of pandas holds, as pandas names it."""
    from pandas.api.types import infer_dtype

    return str(infer_dtype(series, skipna=True))


def _is_categorical(series: Any) -> bool:
    """Whether a column of a frame is a category by its type."""
    dtype = series.dtype
    if hasattr(dtype, "is_numeric"):  # polars
        return str(dtype).startswith(("Categorical", "Enum", "Boolean", "String", "Utf8"))
    if is_category(dtype):
        return True
    if hasattr(dtype, "fill_value"):  # columns of pandas that are sparse are numbers
        return False
    if getattr(dtype, "kind", None) == "b" or getattr(dtype, "type", None) is str:
        return True
    return getattr(dtype, "kind", None) == "O" and object_kind(series) in (
        "string",
        "boolean",
        "empty",
    )


def find_columns(X: Any, given: Any) -> list[int]:
    """Return which columns of a table are categories, by the parameter of an estimator."""
    if given is None:
        return []
    if isinstance(given, str):
        if given != FROM_DTYPE:
            msg = (
                "categorical_features must be 'from_dtype', None, or a list of names, indices or "
                f"truth values, got {given!r}."
            )
            raise ValueError(msg)
        if not is_frame(X):
            return []
        return [at for at in range(X.shape[1]) if _is_categorical(_series(X, at))]
    wanted = _wanted(given)
    if not len(wanted):
        return []
    n_columns = int(X.shape[1])
    if wanted.dtype == bool:
        if wanted.shape != (n_columns,):
            msg = (
                f"categorical_features as truth values must be {n_columns} of them, one for each "
                f"column of X, got {len(wanted)}."
            )
            raise ValueError(msg)
        return [int(at) for at in np.flatnonzero(wanted)]
    if wanted.dtype.kind in "iu":
        outside = wanted[(wanted < -n_columns) | (wanted >= n_columns)]
        if len(outside):
            msg = (
                f"categorical_features names column {outside[0]}, but X has {n_columns} columns: "
                f"0 to {n_columns - 1}."
            )
            raise ValueError(msg)
        return sorted({int(at) % n_columns for at in wanted})
    if not is_frame(X):
        msg = (
            f"categorical_features names columns ({wanted[0]!r}), but the columns of X have no "
            "names. Use indices or a list of truth values."
        )
        raise ValueError(msg)
    names = [str(name) for name in X.columns]
    for name in wanted:
        if name not in names:
            some = ", ".join(repr(one) for one in names[:10])
            msg = (
                f"categorical_features names a column {name!r} that is not there; X has {some}"
                f"{', ...' if len(names) > 10 else ''}."
            )
            raise ValueError(msg)
    return sorted({names.index(name) for name in wanted})


def _wanted(given: Any) -> NDArray[Any]:
    """Return categories as they are named, all of one kind."""
    no_list = isinstance(given, Mapping | AbstractSet | Iterator)
    if no_list or not isinstance(given, Iterable):
        msg = (
            "categorical_features must be 'from_dtype', None, or a list of names, indices or truth "
            f"values, got {given!r}."
        )
        raise ValueError(msg)
    values = list(given)
    kinds = {
        "truth values": (bool, np.bool_),
        "indices": (int, np.integer),
        "names": (str,),
    }
    for types in kinds.values():
        if all(isinstance(value, types) for value in values):
            return np.array(values, dtype=object if str in types else None)
    msg = f"categorical_features must be all names, all indices or all truth values, got {values}."
    raise ValueError(msg)


# --- levels ---------------------------------------------------------------------------------------


def as_level(value: Any) -> Level:
    """Return a value as a level: whole numbers as int, what is no number by its text."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        whole = float(value)
        return int(whole) if whole.is_integer() else whole
    return str(value)


def as_levels(values: Any, dtype: Any) -> list[Level]:
    """Return values of a type as levels: of fewer bits than 64, floats as they are written.

    So 0.1 is the same level in a column of float32.
    """
    narrow = _narrow(dtype)
    if narrow is None:
        return [as_level(value) for value in values]
    return [as_level(float(str(narrow(value)))) for value in values]


def _narrow(dtype: Any) -> Any:
    """Return the scalar of NumPy for a type of floats of fewer bits than 64; None: it is none."""
    name = str(dtype).lower()
    if name.startswith(("float32", "float[")):
        return np.float32
    return np.float16 if name.startswith(("float16", "halffloat[")) else None


def is_missing(value: Any) -> bool:
    """Whether an object stands for a value that is not there."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _rank(level: Level) -> tuple[int, Any]:
    """Return by what levels are ordered: truth values, numbers, texts."""
    return (2, level) if isinstance(level, str) else (0 if isinstance(level, bool) else 1, level)


def encode(column: Any) -> Encoded:
    """Return a column by the levels that it has: a series of pandas or polars, or an array."""
    if isinstance(column, np.ndarray):
        return _encode_array(column)
    if hasattr(column.dtype, "is_numeric"):
        return _encode_polars(column)
    if is_category(column.dtype):
        known = column.cat.categories
        levels = as_levels(known, known.dtype)
        return _in_order(column.cat.codes.to_numpy(), levels, keeps=True)
    codes, values = column.factorize()
    return _in_order(codes, as_levels(values, column.dtype))


def _encode_polars(series: Any) -> Encoded:
    ordered = str(series.dtype).startswith("Enum")
    if str(series.dtype).startswith(("Enum", "Categorical")):
        known = list(series.dtype.categories) if ordered else None
        series = series.cast(str)
        values = series.drop_nulls().unique().to_list()
        values = values if known is None else [value for value in known if value in set(values)]
    else:
        values = series.drop_nulls().unique(maintain_order=True).to_list()
        values = [value for value in values if not is_missing(value)]
    if not values:
        return Encoded(np.full(len(series), -1), [])
    codes = series.replace_strict(values, list(range(len(values))), default=-1)
    return _in_order(codes.fill_null(-1).to_numpy(), as_levels(values, series.dtype), keeps=ordered)


def _encode_array(column: NDArray[Any]) -> Encoded:
    if column.dtype.kind in "biufU":
        seen = ~np.isnan(column) if column.dtype.kind == "f" else np.ones(len(column), bool)
        values, places = np.unique(column[seen], return_inverse=True)
        codes = np.full(len(column), -1)
        codes[seen] = places
        return _in_order(codes, as_levels(values, column.dtype))
    numbers: dict[Any, int] = {}
    codes = np.array(
        [
            -1 if is_missing(value) else numbers.setdefault(as_level(value), len(numbers))
            for value in column
        ],
        dtype=np.int64,
    )
    return _in_order(codes, list(numbers))


def _in_order(codes: NDArray[Any], levels: list[Level], *, keeps: bool = False) -> Encoded:
    """Return codes of levels in their order (as they come, if that is kept), without unused ones.

    Levels that are the same are one.
    """
    if not levels:
        return Encoded(codes, [])
    used = np.bincount(codes[codes >= 0], minlength=len(levels)) > 0
    known = dict.fromkeys(level for level, there in zip(levels, used, strict=True) if there)
    order = in_order(known, list(known) if keeps else None)
    places = {level: at for at, level in enumerate(order)}
    table = np.array([places.get(level, -1) for level in levels] + [-1])
    return Encoded(table[codes], list(order))


def in_order(levels: Iterable[Level], order: Iterable[Level] | None) -> Levels:
    """Return levels as some order has them; None: truth values, numbers and texts, sorted."""
    if order is None:
        return tuple(sorted(levels, key=_rank))
    known = set(levels)
    return tuple(level for level in dict.fromkeys(order) if level in known)


# --- tables ---------------------------------------------------------------------------------------


def learn_table(X: Any, columns: list[int]) -> MixedTable:
    """Return a table whose columns are numbers but for some, and what levels these have."""
    names = frame_names(X)
    encoded = {column: encode(_column(X, column)) for column in columns}
    levels: list[Levels | None] = [None] * X.shape[1]
    for column, found in encoded.items():
        name = told_column(column, names)
        check_kinds(_column(X, column), found.levels, name)
        check_levels(found.levels, int(np.count_nonzero(found.codes >= 0)), name)
        levels[column] = tuple(found.levels)
    categories = Categories(tuple(levels), names)
    codes = [found.codes for found in encoded.values()]
    return MixedTable(_numbers(X, categories), _as_bytes(codes), categories)


def read_table(X: Any, categories: Categories) -> MixedTable:
    """Return a table by the levels of a fit; of others it warns, they count as missing."""
    table, unseen = recognise(X, categories)
    if unseen is not None:
        warn(unseen, UnseenLevelsWarning)
    return table


def recognise(X: Any, categories: Categories) -> tuple[MixedTable, str | None]:
    """Return a table by the levels of a fit, and what is told of others, which are missing."""
    parts, unseen = [], []
    for column in categories.categorical:
        levels = categories.levels[column]
        assert levels is not None
        series = _column(X, int(column))
        found = encode(series)
        held = getattr(getattr(series.dtype, "categories", None), "dtype", series.dtype)
        if _narrow(held) is not None:  # as the column would hold them
            levels = tuple(
                as_levels([level], held)[0] if type(level) is float else level for level in levels
            )
        known = {level: at for at, level in enumerate(levels)}
        places = np.array([known.get(level, -1) for level in found.levels] + [-1])
        parts.append(places[found.codes])
        others = [level for level in found.levels if level not in known]
        if others:
            more = f" and {len(others) - TOLD_LEVELS:,} more"
            told = ", ".join(repr(level) for level in others[:TOLD_LEVELS])
            told += more if len(others) > TOLD_LEVELS else ""
            unseen.append(f"{told} in column {categories.name(int(column))!r}")
    message = f"Levels that were not seen in fit count as missing: {'; '.join(unseen)}."
    table = MixedTable(_numbers(X, categories), _as_bytes(parts), categories)
    return table, message if unseen else None


def as_table(X: Any) -> Any:
    """Return a table whose columns may differ in their types: a frame, or an array."""
    if is_frame(X):
        return X
    if sparse.issparse(X):
        msg = (
            "categorical_features needs a dense X, got a sparse matrix. Use X.toarray(), or set "
            "categorical_features=None."
        )
        raise ValueError(msg)
    if isinstance(X, np.ma.MaskedArray):
        kind = np.result_type(X.dtype, np.float32) if X.dtype.kind in "biuf" else object
        return np.where(np.ma.getmaskarray(X), np.nan, X.data.astype(kind)).astype(kind)
    X = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
    X = np.asarray(X)
    if X.ndim != 2:
        msg = f"Expected 2D array, got an array of shape {X.shape} instead."
        raise ValueError(msg)
    return X


def frame_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a frame, where they are strings."""
    if not is_frame(X) or not all(isinstance(name, str) for name in X.columns):
        return None
    return tuple(X.columns)


def _column(X: Any, column: int) -> Any:
    return X[:, column] if isinstance(X, np.ndarray) else _series(X, column)


def _as_bytes(codes: list[NDArray[Any]]) -> NDArray[np.uint8]:
    """Return the codes of levels row by row."""
    table = np.empty((len(codes[0]), len(codes)), np.uint8)
    for at, one in enumerate(codes):
        table[:, at] = np.where(one < 0, MISSING, one)
    return table


def _numbers(X: Any, categories: Categories) -> NDArray[Any]:
    """Return the columns that are numbers, as a matrix of floats."""
    columns = [int(column) for column in categories.numbers]
    if isinstance(X, np.ndarray):
        if not columns:
            kind = X.dtype if X.dtype == np.float32 else np.float64
            return np.empty((len(X), 0), kind)
        part = X[:, columns]
        if part.dtype.kind not in "biuf":
            part = np.stack([_as_floats(X[:, column], column) for column in columns], axis=1)
    elif not columns:
        return np.empty((X.shape[0], 0), np.float64)
    elif hasattr(X, "isetitem"):
        part = as_plain(X.iloc[:, columns])
    else:
        part = X.select([X.columns[column] for column in columns])
    found: NDArray[Any] = check_array(
        part,
        dtype=[np.float64, np.float32],
        order="C",
        ensure_all_finite=False,
        ensure_min_samples=0,
    )
    return found


def _as_floats(values: NDArray[Any], column: int) -> NDArray[np.float64]:
    """Return objects as numbers; NaN for those that are missing."""
    found = np.empty(len(values))
    row = 0
    try:
        for row, value in enumerate(values):
            found[row] = np.nan if is_missing(value) else float(value)
    except (TypeError, ValueError):
        msg = (
            f"Column {column} must contain numbers, got {values[row]!r} in row {row}. Name the "
            "column in categorical_features if it is a category."
        )
        raise ValueError(msg) from None
    return found


def told_column(column: int, names: tuple[str, ...] | None) -> str:
    """Return how messages name a column."""
    return f"column {column}" if names is None else f"column {names[column]!r}"


def check_kinds(column: Any, levels: Iterable[Level], name: str) -> None:
    """Refuse a column of truth values and numbers: True and 1 would be one level."""
    found: Iterable[Any] = levels
    if str(column.dtype) == "object" and not all(isinstance(level, str) for level in levels):
        found = column  # as levels they may be one already
    if mixes_kinds(found):
        msg = (
            f"{name[0].upper()}{name[1:]} has truth values and numbers, of which True and 1, False "
            "and 0 would be the same level. Make all of them numbers, or texts."
        )
        raise ValueError(msg)


def mixes_kinds(values: Iterable[Any]) -> bool:
    """Whether there are truth values and numbers among some values."""
    types = {type(value) for value in values if not is_missing(value)}
    truths = {one for one in types if issubclass(one, bool | np.bool_)}
    numbers = {one for one in types if issubclass(one, int | float | np.integer | np.floating)}
    return bool(truths and numbers - truths)


def check_levels(levels: Collection[Level], n_seen: int, name: str) -> None:
    """Refuse a category that is none, by its levels and how many rows have one."""
    n_levels = len(levels)
    infinite = [level for level in levels if isinstance(level, float) and np.isinf(level)]
    if infinite:
        msg = (
            f"{name[0].upper()}{name[1:]} has the level {infinite[0]}: a level must be finite. "
            "Make such values missing, or texts."
        )
        raise ValueError(msg)
    if not n_levels:
        msg = f"No observed value in {name} (all missing). Drop such columns before fitting."
        raise ValueError(msg)
    names_rows = n_levels > MIN_IDENTIFIER_LEVELS and n_levels >= IDENTIFIER_SHARE * n_seen
    if n_levels > MAX_LEVELS or names_rows:
        msg = (
            f"{name[0].upper()}{name[1:]} has {n_levels:,} levels in {n_seen:,} rows, which looks "
            f"like an identifier: a category needs levels that rows share, at most {MAX_LEVELS}. "
            "Drop this column, make fewer levels of it, or if it holds numbers leave it out of "
            "categorical_features."
        )
        raise ValueError(msg)


# --- and back -------------------------------------------------------------------------------------


class Told(NamedTuple):
    """Completed rows by the columns of their user."""

    values: list[NDArray[Any]]  # of each column: numbers, or places of levels
    deviations: NDArray[np.float64]  # 0 where nothing was missing


def tell(completed: NDArray[Any], std: NDArray[Any] | None, table: MixedTable) -> Told:
    """Return completed features of rows by column: of a category its likeliest level.

    The deviation of a level is that of its indicator, by how likely it is.
    """
    categories, missing = table.categories, dict(missing_cells(table))
    values: list[NDArray[Any]] = []
    deviations = np.zeros((len(completed), categories.n_columns))
    for column, levels in enumerate(categories.levels):
        block = categories.block(column)
        if levels is None:
            values.append(completed[:, block.start])
            if std is not None:
                deviations[:, column] = std[:, block.start]
            continue
        shares = np.maximum(completed[:, block].astype(np.float64), 0.0)
        places = shares.argmax(axis=1)
        total = shares.sum(axis=1)
        likely = shares[np.arange(len(shares)), places] / np.where(total > 0, total, 1.0)
        likely = np.where(total > 0, likely, 1.0 / len(levels))
        values.append(places)
        if column in missing:
            gone = missing[column]
            deviations[gone, column] = np.sqrt(likely * (1.0 - likely))[gone]
    return Told(values, deviations)


def fill_table(X: Any, told: Told, table: MixedTable) -> Any:
    """Return a copy of a frame or an array with its missing values filled, in the types it has."""
    cells = [(column, gone & _missing(X, column)) for column, gone in missing_cells(table)]
    cells = [(column, gone) for column, gone in cells if gone.any()]
    levels = table.categories.levels
    if isinstance(X, np.ndarray):
        return _fill_array(X, told, levels, cells)
    pandas, filled = hasattr(X, "isetitem"), {}
    for column, gone in cells:
        series, values, known = _series(X, column), told.values[column], levels[column]
        if known is None:
            filled[column] = fill_column(series, values, gone)
        elif pandas:
            filled[column] = _fill_pandas(series, known, values, gone)
        else:
            filled[column] = _fill_polars(series, known, values, gone)
    if not pandas:
        return X.with_columns(list(filled.values()))
    frame = X.copy()
    for column, made in filled.items():
        series = _series(X, column)
        if series.dtype == np.dtype(object):  # pandas would take it for text
            made = type(series)(made, index=X.index, dtype=object)
        frame.isetitem(column, made)
    return frame


def missing_cells(table: MixedTable) -> list[tuple[int, NDArray[np.bool_]]]:
    """Return the columns that lack values, and where they do."""
    layout = table.categories
    numbers = {int(j): np.isnan(table.numbers[:, at]) for at, j in enumerate(layout.numbers)}
    levels = {int(j): table.codes[:, at] == MISSING for at, j in enumerate(layout.categorical)}
    return sorted((column, gone) for column, gone in (numbers | levels).items() if gone.any())


def _missing(X: Any, column: int) -> NDArray[np.bool_]:
    """Return where a column has no value; a level that was not seen in fit is one."""
    if not isinstance(X, np.ndarray):
        series = _series(X, column)
        gone = series.isna() if hasattr(series, "isna") else series.is_null() | _is_nan(series)
        return np.asarray(gone.to_numpy(), dtype=bool)
    return np.array([is_missing(value) for value in X[:, column]], dtype=bool)


def _is_nan(series: Any) -> Any:
    """Return where a column of polars is NaN."""
    return series.is_nan() if series.dtype.is_float() else series.is_null()


def _fill_array(
    X: NDArray[Any],
    told: Told,
    levels: tuple[Levels | None, ...],
    cells: list[tuple[int, NDArray[np.bool_]]],
) -> NDArray[Any]:
    filled = X.copy()
    for column, gone in cells:
        values, known = told.values[column][gone], levels[column]
        filled[gone, column] = values if known is None else _values_of(known)[values]
    return filled


def _values_of(levels: Levels) -> NDArray[Any]:
    values = np.empty(len(levels), dtype=object)
    values[:] = levels
    return values


def _fill_pandas(
    series: Any, levels: Levels, places: NDArray[np.intp], gone: NDArray[np.bool_]
) -> Any:
    values, filled = _values_of(levels), series.array.copy()
    if is_category(series.dtype):
        # As the column has them: a level may be the text of something else.
        given = series.cat.categories
        own = dict(zip(as_levels(given, given.dtype), given, strict=True))
        values[:] = [own.get(level, level) for level in levels]
        needed = [values[place] for place in np.unique(places[gone])]
        new = [value for value in needed if value not in own.values()]
        filled = filled.add_categories(new) if new else filled
    elif getattr(series.dtype, "kind", None) in ("i", "u", "f"):  # of truth values, 0 and 1
        values[:] = [level if isinstance(level, str) else float(level) for level in levels]
    for place in np.unique(places[gone]):
        filled[gone & (places == place)] = values[place]
    # As a series: of an array of objects a frame would infer another type.
    return type(series)(filled, index=series.index, dtype=filled.dtype)


def _fill_polars(
    series: Any, levels: Levels, places: NDArray[np.intp], gone: NDArray[np.bool_]
) -> Any:
    texts = str(series.dtype).startswith(("Enum", "Categorical"))
    values = [levels[place] for place in places]
    made = type(series)("", [str(value) for value in values] if texts else values)
    return series.zip_with(type(series)("", ~gone), made.cast(series.dtype))


def summary(
    categories: Categories | None,
    centers: NDArray[Any],
    sizes: NDArray[np.int64],
    names: Iterable[Any] | None,
) -> Any:
    """Return a frame of pandas with what clusters are, one row each."""
    try:
        from pandas import DataFrame, RangeIndex
    except ImportError as error:
        msg = (
            "cluster_summary_ is a pandas.DataFrame: pip install 'amclust[table]', or take "
            "cluster_centers_, which has the same as numbers."
        )
        # What the HTML view of a fitted model takes for an attribute that is not there.
        raise AttributeError(msg) from error
    columns: dict[str, Any] = {"size": sizes}

    def put(name: str, values: Any) -> None:
        while name in columns:  # of the user's columns one may be called "size"
            name += "_"
        columns[name] = values

    if categories is None:
        told = [f"x{j}" for j in range(centers.shape[1])] if names is None else names
        for name, values in zip(told, centers.T, strict=True):
            put(str(name), values)
    else:
        for column, levels in enumerate(categories.levels):
            name, shares = categories.name(column), centers[:, categories.block(column)]
            if levels is None:
                put(name, shares[:, 0])
                continue
            modes = shares.argmax(axis=1)
            put(name, _values_of(levels)[modes])
            put(f"{name} share", np.clip(shares[np.arange(len(shares)), modes], 0.0, 1.0))
    return DataFrame(columns, index=RangeIndex(len(sizes), name="cluster"))
