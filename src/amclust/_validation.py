"""Checks of tables that say which column or row is wrong, and what would be right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from amclust import _native
from amclust._categories import Categories, MixedTable
from amclust._columns import as_table, find_columns, is_date, is_frame, learn_table, read_table
from amclust._frames import as_plain, holds_numbers, is_numeric
from amclust._geometry import Geometry
from amclust._kinds import plain
from amclust._metrics import find_metric, name_metric
from amclust._rows import Rows, Weights, empty_rows
from amclust._threads import n_threads
from amclust._warnings import EmptyRowsWarning, warn
from amclust._winsorising import MAX_VALUE

# Less is lost in float32.
MIN_RANGE = 1e-18
# An initial memory farther than this (in standard deviations) would never come back.
MAX_DISTANCE = 1e9


def validate_rows(
    estimator: Any,
    X: Any,
    *,
    reset: bool = False,
    trains: bool = False,
    categories: Categories | None = None,
) -> Any:
    """Return rows as a C-contiguous or CSR matrix of floats, NaN where a value is missing.

    Where columns are categories it is a `MixedTable`. `reset`: the estimator is about to be fitted
    to them and keeps their number of columns and names; otherwise they must be those that it was
    fitted to. Of rows without any value it warns, unless it `trains` on them: what this means there
    its fit tells. `categories` are what the columns are; None: X tells, or the fit.
    """
    if not reset:
        check_is_fitted(estimator)
    X = _validated(estimator, plain(X), reset=reset, categories=categories)
    if not reset and not trains:
        threads = n_threads(getattr(estimator, "n_jobs", None))
        tell_empty_rows(len(empty_rows(X, threads)), X.shape[0])
    return X


def _validated(estimator: Any, X: Any, *, reset: bool, categories: Categories | None) -> Any:
    given = getattr(estimator, "categorical_features", None)
    layout = categories if reset else categories_of_network(estimator)
    columns: list[int] | NDArray[np.int64] = []
    if layout is not None:
        columns = layout.categorical
    elif reset:
        check_frame(X)
        if not (given is None or (isinstance(given, str) and not is_frame(X))):
            X = as_table(X)
        columns = find_columns(X, given)
    if len(columns):
        return _mixed_table(estimator, X, layout, columns, reset=reset)
    check_numeric_columns(X, hint=given is None)
    X = as_plain(X)
    if isinstance(X, np.ma.MaskedArray):
        floats = np.result_type(X.dtype, np.float32)
        X = np.where(np.ma.getmaskarray(X), np.nan, X.data).astype(floats)
    try:
        return validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
        )
    except ValueError as error:
        check_cells(X, error)
        raise


def categories_of_network(estimator: Any) -> Categories | None:
    """Return what the columns are that an estimator was fitted to; None: all are numbers."""
    network = getattr(estimator, "network_", None)
    return None if network is None else network.geometry.categories


def _mixed_table(
    estimator: Any,
    X: Any,
    layout: Categories | None,
    columns: Sequence[int] | NDArray[np.int64],
    *,
    reset: bool,
) -> MixedTable:
    """Return a table with categories; None as `layout`: X tells their levels."""
    check_frame(X)
    X = as_table(X)
    owner = type(estimator).__name__
    if X.shape[0] == 0 or X.shape[1] == 0:
        msg = f"X must have at least one row and one column, got an array of shape {X.shape}."
        raise ValueError(msg)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    check_numeric_columns(X, categorical=columns)
    if layout is not None:
        return read_table(X, layout)
    table = learn_table(X, list(columns))
    check_metric_of_categories(estimator.metric, table.categories, owner)
    return table


def check_metric_of_categories(metric: Any, categories: Categories, owner: str = "ClAM") -> None:
    """Refuse metrics that have no place for categories."""
    if not find_metric(metric).scales:
        msg = (
            f"metric={name_metric(metric)} of {owner} takes numbers only, but these columns are "
            f"categories: {categories.told()}. Use metric='euclidean', or leave these columns out; "
            "where they are numbers after all, set categorical_features=None."
        )
        raise ValueError(msg)


def check_cells(X: Any, error: ValueError) -> None:
    """Name the first cell that is no number, where that was the error of a conversion."""
    if sparse.issparse(X):
        return
    try:
        cells = np.asarray(X, dtype=object)
    except ValueError:  # rows of several lengths
        return
    if cells.ndim != 2:
        return
    for (row, column), cell in np.ndenumerate(cells):
        if not _is_number(cell):
            msg = (
                f"could not convert {cell!r}, in row {row}, column {column} of X, to a number. "
                "Convert it, or make it NaN where it is missing."
            )
            raise ValueError(msg) from error


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    except TypeError:  # scikit-learn says of these what all estimators say
        return True
    return True


def tell_empty_rows(n_empty: int, n_rows: int, *, trained: bool = False) -> None:
    """Warn of rows without any value; `trained`: they were given to be trained on."""
    if n_empty:
        warn(empty_rows_message(n_empty, n_rows, trained=trained), EmptyRowsWarning)


def empty_rows_message(n_empty: int, n_rows: int, *, trained: bool = False) -> str:
    """Return what is told of rows without any value."""
    one = n_empty == 1
    answer = f"{'it gets' if one else 'they get'} the answer for an unknown row."
    if trained:
        answer = f"{'it does' if one else 'they do'} not count in training; in answers, {answer}"
    return (
        f"{n_empty:,} of {n_rows:,} rows {'has' if one else 'have'} no value at all (all NaN): "
        f"{answer}"
    )


def check_some_observed(
    n_empty: int, n_rows: int, n_counted: int, sample_weight: Any = None
) -> None:
    """Refuse rows to train on that have no value, or none in those that count."""
    if n_empty and n_empty == n_rows:
        msg = (
            "No row of X has an observed value (all NaN). At least one needs one, to have anything "
            "to learn from."
        )
        raise ValueError(msg)
    if n_empty and not n_counted and sample_weight is not None:
        msg = "sample_weight must be positive for at least one row that has a value."
        raise ValueError(msg)


def check_sample_weight(sample_weight: Any, X: Any) -> Weights | None:
    """Return the weights of validated rows; None where all count the same."""
    if sample_weight is None:
        return None
    weights: Weights = _check_sample_weight(
        plain(sample_weight), X, dtype=np.float32, ensure_non_negative=True
    )
    return weights


def check_frame(X: Any) -> None:
    """Refuse what is no table yet, and columns that have one name."""
    if getattr(getattr(X, "dtype", None), "kind", "f") in "mM":
        msg = f"X must contain numbers, got dates or times ({X.dtype}). Convert them first."
        raise ValueError(msg)
    if type(X).__name__ == "LazyFrame":
        msg = "X is a LazyFrame, which has no rows yet: pass X.collect()."
        raise ValueError(msg)
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    twice = sorted(repr(name) for name, n in Counter(X.columns).items() if n > 1)
    if twice:
        msg = f"Column names must differ; more than once: {', '.join(twice)}. Rename these columns."
        raise ValueError(msg)


def check_numeric_columns(
    X: Any, *, categorical: Sequence[int] | NDArray[np.int64] = (), hint: bool = False
) -> None:
    """Refuse a data frame with columns that are neither numbers nor categories, and list them.

    `hint`: categories were not asked for, and might be.
    """
    check_frame(X)
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    places = {int(column) for column in categorical}
    bad = [
        (f"{name!r} ({dtype})", dtype)
        for at, (name, dtype) in enumerate(zip(X.columns, list(X.dtypes), strict=True))
        if at not in places
        and not is_numeric(dtype)
        and not (hasattr(X, "isetitem") and holds_numbers(X.iloc[:, at]))
    ]
    if not bad:
        return
    told, dates = ", ".join(name for name, _ in bad), any(is_date(dtype) for _, dtype in bad)
    advice = "Drop these columns, "
    if dates:
        advice += (
            "or make numbers of dates (days since the first, say) or categories (the year, the "
            "month or the weekday as text), "
        )
    elif hint:
        advice += "take text as categories (categorical_features='from_dtype'), "
    else:
        advice += "name categories in categorical_features, "
    msg = (
        f"All columns must be numbers; not so: {told}. "
        f"{advice}or convert columns of numbers with astype(float)."
    )
    raise ValueError(msg)


def name_column(index: int, feature_names: Sequence[str] | None) -> str:
    """Name a column by its header where there is one."""
    if feature_names is None:
        return f"column {index}"
    return f"column {feature_names[index]!r}"


def check_rows(
    rows: Rows, metric: Any, feature_names: Sequence[str] | None, threads: int
) -> _native.Statistics:
    """Refuse rows that no network takes; return the statistics of all of them."""
    stats = rows.statistics(None, None, threads)
    if find_metric(metric).whitens:
        check_dense(rows)
    check_statistics(stats, feature_names, metric)
    return stats


def check_dense(rows: Rows) -> None:
    """Refuse rows that cannot be whitened: sparse ones."""
    if rows.is_sparse:
        msg = "metric='mahalanobis' needs a dense X, got a sparse matrix."
        raise ValueError(msg)


def check_statistics(
    stats: _native.Statistics, feature_names: Sequence[str] | None, metric: Any
) -> None:
    """Refuse infinities, huge values and zero rows (cosine)."""
    if stats.infinite_row >= 0:
        where = name_column(stats.infinite_column, feature_names)
        msg = (
            f"Input X contains infinity in row {stats.infinite_row}, {where}. "
            "Values must be finite, or NaN where missing."
        )
        raise ValueError(msg)
    extreme = np.maximum(np.abs(stats.min), np.abs(stats.max))
    extreme[~np.isfinite(extreme)] = 0.0  # columns without an observed value
    if extreme.max(initial=0.0) > MAX_VALUE:
        worst = int(extreme.argmax())
        msg = (
            f"Values must be at most {MAX_VALUE:g} in size, got {extreme[worst]:g} in "
            f"{name_column(worst, feature_names)}. Rescale this column."
        )
        raise ValueError(msg)
    if find_metric(metric).spherical and stats.zero_row >= 0:
        msg = (
            f"Row {stats.zero_row} of X is zero (or shorter than 1e-18) and has no direction: "
            f"metric={name_metric(metric)} needs rows with at least one value that is not 0. Drop "
            "such rows or use metric='euclidean'."
        )
        raise ValueError(msg)


def check_columns(
    stats: _native.Statistics, feature_names: Sequence[str] | None, metric: Any
) -> None:
    """Refuse rows to train on whose columns do not vary enough, or have no value at all."""
    if not find_metric(metric).spherical:
        widest = (stats.max - stats.min).max(initial=0.0)
        if 0 < widest < MIN_RANGE:
            msg = (
                f"No column of X varies by more than {widest:g}, which is too little for float32: "
                f"at least one must vary by {MIN_RANGE:g} or more. Rescale X."
            )
            raise ValueError(msg)
    empty = np.flatnonzero(stats.weight <= 0)
    if len(empty):
        names = ", ".join(name_column(int(j), feature_names) for j in empty[:10])
        more = f" and {len(empty) - 10} more" if len(empty) > 10 else ""
        msg = f"No observed value in {names}{more} (all NaN). Drop such columns before fitting."
        raise ValueError(msg)


class DistinctRowsError(ValueError):
    """Fewer distinct rows than clusters."""

    def __init__(self, n_clusters: int, distinct: int, n_rows: int, advice: str = "") -> None:
        self.n_clusters, self.distinct, self.n_rows = n_clusters, distinct, n_rows
        self.advice = advice
        msg = (
            f"n_clusters={n_clusters} must be at most the number of distinct rows of X, which is "
            f"{distinct} (n_samples={n_rows}). {advice}"
        )
        super().__init__(msg.strip())

    def __reduce__(self) -> tuple[type[DistinctRowsError], tuple[int, int, int, str]]:
        # Processes send errors to each other.
        return type(self), (self.n_clusters, self.distinct, self.n_rows, self.advice)


def check_distinct(distinct: int, n_clusters: int, n_rows: int, advice: str = "") -> None:
    """Refuse fewer distinct rows than clusters; the advice says which rows count as one."""
    if distinct < n_clusters:
        raise DistinctRowsError(n_clusters, distinct, n_rows, advice if distinct < n_rows else "")


def as_numbers(name: str, values: Any) -> np.ndarray:
    """Return a parameter as an array of floats."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{name} must contain numbers only: {error}."
        raise ValueError(msg) from error


def check_weights(weights: Any, n_clusters: int) -> np.ndarray:
    """Return log-weights of the memories from k positive numbers."""
    values = as_numbers("weights", weights)
    if values.shape != (n_clusters,):
        msg = (
            f"weights must be None, 'learn' or {n_clusters} positive numbers (one per cluster), "
            f"got an array of shape {values.shape}."
        )
        raise ValueError(msg)
    if not (np.isfinite(values).all() and (values > 0).all()):
        bad = values[~(np.isfinite(values) & (values > 0))][0]
        msg = f"weights must be positive and finite, got {bad}."
        raise ValueError(msg)
    return np.log(values).astype(np.float32)


def check_feature_weights(
    given: Any, n_features: int, feature_names: Sequence[str] | None, metric: Any
) -> NDArray[np.float64] | None:
    """Return what squared differences in columns are multiplied with; None: all count the same."""
    if given is None:
        return None
    if find_metric(metric).whitens:
        msg = (
            f"feature_weights cannot be used with metric={name_metric(metric)}: whitening undoes "
            "any scale of the columns. Use metric='euclidean', or leave columns out."
        )
        raise ValueError(msg)
    if isinstance(given, Mapping):
        values = np.ones(n_features)
        known = {} if feature_names is None else {name: j for j, name in enumerate(feature_names)}
        for name, weight in given.items():
            if name not in known:
                some = ", ".join(repr(one) for one in list(known)[:10])
                what = (
                    f"X has {some}{', ...' if len(known) > 10 else ''}"
                    if known
                    else ("the columns of X have no names: give an array")
                )
                msg = f"feature_weights names a column {name!r} that is not there; {what}."
                raise ValueError(msg)
            values[known[name]] = as_numbers(f"feature_weights[{name!r}]", weight)
    else:
        values = as_numbers("feature_weights", given).astype(np.float64)
        if values.shape != (n_features,):
            msg = (
                f"feature_weights must be None, a mapping by column name or {n_features} numbers "
                f"(one for each column of X), got an array of shape {values.shape}."
            )
            raise ValueError(msg)
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        column = name_column(int(bad[0]), feature_names)
        msg = (
            f"feature_weights must be finite numbers of at least 0, got {values[bad[0]]} for "
            f"{column}."
        )
        raise ValueError(msg)
    if not values.any():
        msg = "feature_weights must have at least one positive weight, got only zeros."
        raise ValueError(msg)
    return values


def check_init(init: Any, n_clusters: int, geometry: Geometry) -> NDArray[np.float32]:
    """Return given initial memories in core units."""
    values = as_numbers("init", init.toarray() if sparse.issparse(init) else init)
    expected = (n_clusters, geometry.n_features)
    if values.shape != expected:
        msg = f"init must have shape (n_clusters, n_features) = {expected}, got {values.shape}."
        raise ValueError(msg)
    if not np.isfinite(values).all():
        msg = "init must be finite, got an array with NaN or infinity."
        raise ValueError(msg)
    if np.abs(values).max() > MAX_VALUE:
        msg = f"init must be at most {MAX_VALUE:g} in size, got {np.abs(values).max():g}."
        raise ValueError(msg)
    memories = geometry.to_core(values)
    if geometry.spherical:  # only their directions count, also where scales are measured
        lengths = np.linalg.norm(memories, axis=1, keepdims=True)
        memories /= np.where(lengths > 0, lengths, 1.0)
    if np.abs(memories).max() > MAX_DISTANCE:
        msg = (
            f"init must be near the data: a memory lies {np.abs(memories).max():g} times their "
            "root mean square deviation away."
        )
        raise ValueError(msg)
    return memories


def check_epochs(record_epochs: Any, max_epochs: int) -> list[int]:
    """Return the epochs to record, ascending and each once."""
    values: Any = [] if record_epochs is None else np.asarray(record_epochs).tolist()
    whole = isinstance(values, list) and all(type(epoch) is int for epoch in values)
    if not whole or not all(0 <= epoch <= max_epochs for epoch in values):
        msg = (
            f"record_epochs must be None or whole numbers from 0 to max_epochs={max_epochs}, got "
            f"{record_epochs!r}."
        )
        raise ValueError(msg)
    return sorted(set(values))
