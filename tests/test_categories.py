"""Categories beside numbers, as columns of a table: distances, missing values, answers, files."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM, ClAMSearch, _native, load
from amclust._categories import Categories
from amclust._columns import as_table, learn_table, read_table
from amclust._warnings import UnseenLevelsWarning
from amclust.io.container import FileFormatError

QUICK = {"n_init": 2, "random_state": 0}
LEVELS = {"colour": ["red", "green", "blue"], "size": list("SMLX")}


def table(n=240, k=3, missing=0.0, seed=0):
    """Three clusters that numbers and categories tell apart, in a frame of pandas; and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    frame = pd.DataFrame({"height": 3.0 * y + rng.normal(size=n)})
    for at, (name, levels) in enumerate(LEVELS.items()):
        own = (y + at) % len(levels)
        codes = np.where(rng.random(n) < 0.25, rng.integers(0, len(levels), n), own)
        frame[name] = np.array(levels, dtype=object)[codes]
    frame["weight"] = -2.0 * y + rng.normal(size=n)
    frame["flag"] = pd.array((y == 1) ^ (rng.random(n) < 0.1), dtype="boolean")
    frame["size"] = pd.Categorical(frame["size"], categories=LEVELS["size"], ordered=True)
    for name in frame if missing else ():
        frame.loc[rng.random(n) < missing, name] = np.nan if frame[name].dtype == float else None
    return frame, y


def one_hot(frame):
    """Return a frame with a column a level, all missing where the category is."""
    parts = []
    for name in frame:
        if frame[name].dtype == float:
            parts.append(frame[[name]])
            continue
        block = pd.get_dummies(frame[name].astype(object), prefix=name, prefix_sep="=")
        parts.append(block.astype(float).mask(frame[name].isna()))
    return pd.concat(parts, axis=1)


def fit(frame, k=3, **parameters):
    return ClAM(k, **(QUICK | parameters)).fit(frame)


# --- distances ------------------------------------------------------------------------------------


def test_a_category_is_a_column_a_level_of_one_scale():
    frame, y = table()
    model = fit(frame)
    geometry = model.network_.geometry
    assert geometry.feature_names == tuple(model.network_.geometry.categories.feature_names)
    assert model.cluster_centers_.shape == (3, 2 + 3 + 4 + 2)
    assert model.n_features_in_ == 5
    assert_array_equal(model.feature_names_in_, list(frame))
    assert adjusted_rand_score(y, model.labels_) > 0.8
    dense = one_hot(frame)[list(geometry.feature_names)]
    scaled = (dense.to_numpy() - geometry.offset) * geometry.scale
    core = _native.load_rows(model.network_.read(model.network_._table(frame)), None)
    assert_allclose(core, scaled, atol=1e-5)
    # The network says of indicators what it says of levels.
    plain = model.network_.geometry.from_core(core)
    assert_allclose(plain, dense, atol=1e-5)


@pytest.mark.parametrize("weights", [None, np.random.default_rng(0).integers(0, 4, 240)])
@pytest.mark.parametrize("scale", ["standard", None, "robust"])
def test_columns_of_either_kind_weigh_the_same(scale, weights):
    frame, _ = table()
    # (With objective="auto", memories are refined by likelihood, in units of their own.)
    model = ClAM(3, scale=scale, objective="silhouette", **QUICK)
    network = model.fit(frame, sample_weight=weights).network_
    geometry = network.geometry
    core = _native.load_rows(network.read(network._table(frame)), None).astype(float)
    core = core * geometry.length
    shares = np.ones(len(frame)) if weights is None else weights
    shares = shares / shares.sum()
    # The expected square of the distance of two random rows is twice the variance.
    apart = 2 * shares @ (core - shares @ core) ** 2
    layout = geometry.categories
    by_column = layout.totals(apart)
    wanted = 2.0 if scale is not None else by_column[layout.numbers].mean()
    assert_allclose(by_column[layout.categorical], wanted, rtol=1e-4)
    if scale == "standard":
        assert_allclose(by_column[layout.numbers], 2.0, rtol=1e-4)


@pytest.mark.parametrize("objective", ["silhouette", "completion", "reconstruction"])
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_truth_values_are_what_0_and_1_are(objective, missing):
    frame, _ = table(missing=missing)
    frame = frame[["height", "flag", "weight"]]
    frame = frame[frame.notna().any(axis=1)]
    numbers = frame.astype({"flag": "Float64"}).astype(float)
    as_levels, as_numbers = (fit(one, objective=objective, n_init=1) for one in (frame, numbers))
    assert as_levels.network_.geometry.categories is not None
    assert as_numbers.network_.geometry.categories is None
    # The same units, seeds, temperature and masks; Adam takes other steps of two coordinates.
    assert_allclose(as_levels.beta_, as_numbers.beta_, rtol=0.05 if missing else 1e-6)
    if objective == "completion":
        assert_allclose(as_levels.loss_curve_[0], as_numbers.loss_curve_[0], rtol=1e-5)
    else:
        agreement = adjusted_rand_score(as_levels.labels_, as_numbers.labels_)
        assert agreement > (0.9 if missing else 0.999)


def test_the_order_of_columns_and_levels_does_not_matter():
    frame, _ = table()
    turned = frame[list(frame)[::-1]].copy()
    turned["size"] = turned["size"].cat.reorder_categories(LEVELS["size"][::-1])
    assert adjusted_rand_score(fit(frame).labels_, fit(turned).labels_) > 0.97


def test_a_constant_category_is_harmless():
    frame, _ = table()
    same = frame.assign(always="one")
    assert adjusted_rand_score(fit(frame).labels_, fit(same).labels_) == 1.0


def test_weights_are_those_of_columns():
    frame, _ = table()
    given = {"colour": 4.0, "weight": 0.0}
    geometry = fit(frame, objective="silhouette").network_.geometry
    weighted = fit(frame, objective="silhouette", feature_weights=given).network_.geometry
    layout = geometry.categories
    factor = weighted.column_scale / geometry.column_scale
    for column, wanted in enumerate([1.0, 2.0, 1.0, 0.0, 1.0]):
        assert_allclose(factor[layout.block(column)], wanted, rtol=1e-5)
    assert_array_equal(weighted.ignored, [layout.starts[3]])
    with pytest.raises(ValueError, match="5 numbers"):
        fit(frame, feature_weights=np.ones(11))


def test_many_levels_are_read_by_their_entries():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    codes = 20 * y[:, None] + rng.integers(0, 20, (400, 4))
    frame = pd.DataFrame({f"c{j}": [f"l{code}" for code in codes[:, j]] for j in range(4)})
    frame["x"] = 4.0 * y + rng.normal(size=400)
    model = fit(frame)
    rows = model.network_.read(model.network_._table(frame))
    assert rows.gives_entries
    assert not rows.is_sparse
    assert len(_native.load_entries(rows, None).values) == 400 * 5
    entries = _native.load_entries(rows, None)
    stored = sparse.csr_array((entries.values, entries.columns, entries.starts)).toarray()
    assert_allclose(stored + rows.origin, _native.load_rows(rows, None), atol=1e-4)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert_array_equal(model.predict(frame.iloc[:7]), model.labels_[:7])


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_bits_do_not_depend_on_threads(missing):
    frame, _ = table(missing=missing)
    one, two = (fit(frame, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert_array_equal(one.memories_, two.memories_)
    assert_array_equal(one.labels_, two.labels_)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_clusters": range(2, 5)},
        {"n_memories": "auto"},
        {"size_min": 60},
        {"contamination": 0.1},
        {"backend": "torch"},
        {"backend": "torch", "objective": "completion"},
        {"backend": "torch", "metric": "manhattan"},
    ],
    ids=str,
)
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_whatever_a_fit_can_do_it_does_with_categories(parameters, missing):
    if "backend" in parameters:
        pytest.importorskip("torch")
    frame, y = table(missing=missing)
    model = ClAM(**({"n_clusters": 3} | QUICK | parameters)).fit(frame)
    inside = model.labels_ >= 0
    assert adjusted_rand_score(y[inside], model.labels_[inside]) > 0.3
    assert model.predict_proba(frame).shape == (len(frame), model.n_clusters_)
    for answer in (model.transform, model.energy, model.entropy, model.recall):
        assert np.isfinite(answer(frame)).all()
    assert -1 <= model.score(frame) <= 1
    assert model.network_.geometry.categories.n_columns == 5


def test_torch_hides_categories_as_the_core_does():
    pytest.importorskip("torch")
    frame, _ = table(missing=0.15)
    core, torch = (
        fit(frame, backend=name, objective="completion", n_init=1) for name in ("native", "torch")
    )
    assert_allclose(core.loss_curve_[:3], torch.loss_curve_[:3], rtol=1e-3)


# --- missing values -------------------------------------------------------------------------------


def test_masks_hide_a_category_as_a_whole():
    levels = np.array([0, 3, 0, 5], np.int32)
    missing = np.zeros((500, 10), np.uint8)
    missing[::2, 1:4] = 1
    drawn = _native.draw_masks(0, 0, np.arange(500), 0.5, missing, levels)
    hidden = np.zeros((500, 11), bool)
    hidden[np.arange(500)[:, None], drawn] = True
    hidden = hidden[:, :10]
    starts = [0, 1, 4, 5]
    for start, width in zip(starts, (1, 3, 1, 5), strict=True):
        block = hidden[:, start : start + width]
        assert_array_equal(block.any(axis=1), block.all(axis=1))
    assert not (hidden & missing.astype(bool)).any()
    assert_array_equal(hidden[:, starts].sum(axis=1), 2)


@pytest.mark.parametrize("objective", ["auto", "completion"])
def test_a_level_that_is_not_known_is_missing(objective):
    frame, _ = table(missing=0.1)
    model = fit(frame, objective=objective)
    unknown, missing = frame.copy(), frame.copy()
    unknown.loc[:30, "colour"] = "mauve"
    missing.loc[:30, "colour"] = None
    with pytest.warns(UnseenLevelsWarning, match="'mauve' in column 'colour'") as told:
        assert_array_equal(model.energy(unknown), model.energy(missing))
    assert len(told) == 1
    with pytest.warns(UnseenLevelsWarning):
        completed = model.complete(unknown)
    assert (completed.loc[:30, "colour"] == "mauve").all()  # it is a value
    assert not completed.isna().any(axis=None)


def test_rows_without_any_value_are_told():
    frame, _ = table()
    frame.loc[5] = [np.nan, None, None, np.nan, pd.NA]
    with pytest.warns(UserWarning, match="1 of 240 rows has no value"):
        model = fit(frame)
    with pytest.warns(UserWarning, match="1 of 240 rows has no value"):
        assert_array_equal(model.predict(frame), model.labels_)


def test_completed_levels_are_better_than_the_most_frequent_one():
    whole, _ = table(n=600)
    frame, _ = table(n=600, missing=0.25)
    completed, std = fit(frame).complete(frame, return_std=True)
    assert list(completed.dtypes) == list(frame.dtypes)
    for name in ("colour", "size", "flag"):
        gone = frame[name].isna()
        hits = (completed[name] == whole[name])[gone].mean()
        most = (frame[name].mode()[0] == whole[name])[gone].mean()
        assert hits > most + 0.1
        assert_array_equal(completed[name][~gone], frame[name][~gone])
        # The deviation is that of being right or wrong: sqrt(p (1 - p)), p at least 1 / levels.
        assert (std[name][~gone] == 0).all()
        assert std[name][gone].between(0, 0.5).all()
        wrong = (completed[name] != whole[name])[gone].astype(float)
        assert std[name][gone][wrong == 1].mean() > std[name][gone][wrong == 0].mean()


@pytest.mark.parametrize("fitted_with_gaps", [False, True])
@pytest.mark.parametrize("objective", ["auto", "completion"])
def test_frames_of_polars_are_completed_as_those_of_pandas(fitted_with_gaps, objective):
    frame, _ = table(missing=0.2)
    cells = {
        name: [
            None if gone else value
            for value, gone in zip(frame[name], frame[name].isna(), strict=True)
        ]
        for name in frame
    }
    polars = pl.DataFrame(cells).with_columns(
        pl.col("size").cast(pl.Enum(LEVELS["size"])), pl.col("colour").cast(pl.Categorical)
    )
    rows = frame if fitted_with_gaps else table()[0]
    one = fit(rows, objective=objective)
    completed, told = one.complete(frame), one.complete(polars)
    assert told.schema == polars.schema
    assert told.null_count().sum_horizontal()[0] == 0
    for name in ("colour", "size", "flag"):
        assert told[name].to_list() == completed[name].tolist()
    assert_allclose(told["height"], completed["height"], rtol=1e-6)
    if fitted_with_gaps:
        assert_array_equal(fit(polars, objective=objective).labels_, one.labels_)


# --- kinds of tables ------------------------------------------------------------------------------


def test_arrays_have_categories_by_place():
    frame, _ = table()
    wanted = fit(frame).labels_
    X = frame.to_numpy(dtype=object)
    for given in ([1, 2, 4], [False, True, True, False, True], np.array([1, 2, -1])):
        assert_array_equal(fit(X, categorical_features=given).labels_, wanted)
    with pytest.raises(ValueError, match="could not convert|number"):
        fit(X)
    numbers = X.copy()
    for column in (1, 2, 4):
        numbers[:, column] = pd.factorize(X[:, column], sort=True)[0]
    numbers = numbers.astype(np.float32)
    model = fit(numbers, categorical_features=[1, 2, 4])
    assert model.cluster_centers_.dtype == np.float32
    assert adjusted_rand_score(model.labels_, wanted) > 0.95
    assert not hasattr(model, "feature_names_in_")
    assert model.network_.geometry.feature_names[1] == "x1=0"
    numbers[3, 1] = np.nan
    completed = model.complete(numbers)
    assert completed.dtype == np.float32
    assert completed[3, 1] in (0, 1, 2)
    masked = np.ma.masked_invalid(numbers)
    assert_array_equal(model.complete(masked), completed)
    assert_array_equal(model.predict(masked), model.predict(numbers))


def test_columns_are_named_where_their_types_do_not_tell():
    frame, _ = table()
    numbers = frame.assign(size=frame["size"].cat.codes.astype("int8"))
    assert fit(numbers).network_.geometry.categories.levels[2] is None
    named = fit(numbers, categorical_features=["colour", "size", "flag"])
    assert named.network_.geometry.categories.levels[2] == (0, 1, 2, 3)
    assert adjusted_rand_score(named.labels_, fit(frame).labels_) > 0.97
    plain = numbers[["height", "size", "weight", "flag"]].astype(float)
    none = fit(plain, categorical_features=None)
    assert none.network_.geometry.categories is None


@pytest.mark.parametrize("dtype", ["str", "string", "object", "category"])
def test_text_of_any_type_is_a_category(dtype):
    frame, _ = table(missing=0.1)
    wanted = fit(frame)
    other = fit(frame.astype({"colour": dtype}))
    assert_array_equal(other.labels_, wanted.labels_)
    completed = other.complete(frame.astype({"colour": dtype}))
    assert completed["colour"].dtype == frame.astype({"colour": dtype})["colour"].dtype
    assert completed["colour"].notna().all()


def test_levels_keep_the_order_of_their_type_and_unused_ones_are_none():
    frame, _ = table()
    frame["size"] = frame["size"].cat.set_categories(["none", *LEVELS["size"]])
    layout = fit(frame).network_.geometry.categories
    assert layout.levels[2] == tuple(LEVELS["size"])
    assert layout.levels[1] == ("blue", "green", "red")
    assert layout.levels[4] == (False, True)
    assert layout.levels[0] is None


def test_a_table_of_categories_alone():
    frame, y = table()
    model = fit(frame[["colour", "size", "flag"]], scale=None)
    assert adjusted_rand_score(y, model.labels_) > 0.5
    assert model.cluster_centers_.shape == (3, 9)


def test_intervals_are_levels():
    frame, _ = table()
    frame["group"] = pd.cut(frame["height"], 4)
    frame.loc[:9, "group"] = np.nan
    completed = fit(frame).complete(frame)
    assert completed["group"].dtype == frame["group"].dtype
    assert completed["group"].notna().all()


# --- what clusters are ----------------------------------------------------------------------------


def test_the_summary_has_sizes_means_and_modes():
    frame, _ = table()
    model = fit(frame)
    summary = model.cluster_summary_
    assert list(summary) == [
        *("size", "height", "colour", "colour share", "size_", "size share"),
        *("weight", "flag", "flag share"),
    ]
    assert_array_equal(summary["size"], np.bincount(model.labels_))
    for cluster in range(3):
        own = frame[model.labels_ == cluster]
        assert summary["height"][cluster] == pytest.approx(own["height"].mean(), abs=0.3)
        assert summary["colour"][cluster] == own["colour"].mode()[0]
        share = (own["colour"] == own["colour"].mode()[0]).mean()
        assert summary["colour share"][cluster] == pytest.approx(share, abs=0.1)
    tops = model.top_features(3).names
    assert any("=" in name for names in tops for name in names)
    plain = fit(frame[["height", "weight"]]).cluster_summary_
    assert list(plain) == ["size", "height", "weight"]
    assert fit(frame[["height", "weight"]].to_numpy()).cluster_summary_.columns[1] == "x0"


# --- files, copies, going on ----------------------------------------------------------------------


def test_a_model_with_categories_is_saved_whole(tmp_path):
    frame, _ = table(missing=0.1)
    given = np.array(["colour", "size", "flag"])
    for parameter in ("from_dtype", given, [False, True, True, False, True]):
        model = fit(frame, categorical_features=parameter)
        model.save(tmp_path / "model.amc")
        for other in (load(tmp_path / "model.amc"), pickle.loads(pickle.dumps(model))):
            assert_array_equal(other.predict(frame), model.labels_)
            pd.testing.assert_frame_equal(other.complete(frame), model.complete(frame))
            pd.testing.assert_frame_equal(other.cluster_summary_, model.cluster_summary_)
            assert other.n_features_in_ == 5
            assert list(other.feature_names_in_) == list(frame)
            assert_array_equal(other.categorical_features, parameter)
            other.partial_fit(frame)
            clone(other).fit(frame)


@pytest.mark.parametrize(
    "change",
    [
        lambda layout: layout["levels"].pop(),
        lambda layout: layout["levels"].__setitem__(1, []),
        lambda layout: layout["levels"].__setitem__(1, ["a", "a", "b"]),
        lambda layout: layout["levels"].__setitem__(1, ["a", None, "b"]),
        lambda layout: layout["levels"].__setitem__(1, ["a", [1], "b"]),
        lambda layout: layout["levels"].__setitem__(1, ["a", float("nan"), "b"]),
        lambda layout: layout["levels"].__setitem__(1, "abc"),
        lambda layout: layout.__setitem__("levels", 3),
        lambda layout: layout.__setitem__("levels", [None] * 11),
        lambda layout: layout.__setitem__("names", ["a"]),
        lambda layout: layout.__setitem__("names", [1, 2, 3, 4, 5]),
        lambda layout: layout.pop("names"),
        lambda layout: layout["levels"].append(list(range(300))),
    ],
)
def test_files_with_damaged_categories_are_refused(tmp_path, change):
    from amclust.io.container import read, write
    from amclust.io.model import MODEL

    frame, _ = table()
    path = tmp_path / "model.amc"
    fit(frame).save(path)
    header, arrays = read(path, MODEL, str(path))
    change(header["network"]["geometry"]["categories"])
    kept = {name: header[name] for name in header if name not in ("tables", "versions")}
    write(path, MODEL, kept, arrays)
    with pytest.raises(FileFormatError):
        load(path)


def test_learning_goes_on_with_the_levels_of_the_first_rows():
    frame, y = table(n=400)
    model = ClAM(3, **QUICK)
    for start in range(0, 400, 100):
        model.partial_fit(frame.iloc[start : start + 100])
    assert adjusted_rand_score(y, model.predict(frame)) > 0.8
    other = frame.iloc[:100].assign(colour="mauve")
    with pytest.warns(UnseenLevelsWarning, match="mauve"):
        model.partial_fit(other)
    assert model.network_.geometry.categories.levels[1] == ("blue", "green", "red")


def test_a_search_takes_categories():
    frame, y = table()
    search = ClAMSearch([2, 3], n_init=1, max_epochs=60, budget=120, random_state=0).fit(frame)
    assert adjusted_rand_score(y, search.labels_) > 0.5
    assert search.n_features_in_ == 5
    assert search.complete(table(missing=0.1)[0]).notna().all(axis=None)


# --- what is refused ------------------------------------------------------------------------------


def refuses(*words):
    return pytest.raises((ValueError, TypeError), match="(?s)" + ".*".join(map(re.escape, words)))


def test_what_is_no_category_is_refused_by_name():
    frame, _ = table()
    with refuses("Column 'id' has 240 levels in 240 rows", "identifier", "Drop"):
        fit(frame.assign(id=[f"r{i}" for i in range(240)]))
    many = np.random.default_rng(0).integers(0, 300, 2000).astype(str)
    with refuses("Column 'zip' has", "levels in 2,000 rows", "at most 255"):
        fit(pd.DataFrame({"zip": many, "x": np.arange(2000.0)}))
    with refuses("No observed value in column 'gone'"):
        fit(frame.assign(gone=pd.Series([None] * 240, dtype=object)))
    with refuses("'day' (datetime64", "days since", "month"):
        fit(frame.assign(day=pd.Timestamp("2024-01-01")))
    with refuses("'when' (Date)", "days since"):
        fit(pl.from_pandas(frame).with_columns(when=pl.date(2024, 1, 1)))
    with refuses("infinity", "column 'weight'"):
        fit(frame.assign(weight=np.inf))


def test_categories_that_are_named_wrongly_are_refused():
    frame, _ = table()
    X = frame[["height", "weight"]].to_numpy()
    with refuses("'age'", "not there", "'height'"):
        fit(frame, categorical_features=["age"])
    with refuses("column 7", "5 columns"):
        fit(frame, categorical_features=[7])
    with refuses("5 of them", "got 2"):
        fit(frame, categorical_features=[True, False])
    with refuses("no names"):
        fit(X, categorical_features=["height"])
    with refuses("all names, all indices"):
        fit(frame, categorical_features=["colour", 1])
    with refuses("categorical_features", "'all'"):
        fit(frame, categorical_features="all")
    with refuses("dense"):
        fit(sparse.csr_array(X), categorical_features=[0])
    with refuses("Column 0 must contain numbers", "'a'", "categorical_features"):
        fit(np.array([["a", "b"], ["c", "d"]], dtype=object), categorical_features=[1])
    for metric in ("cosine", "mahalanobis"):
        with refuses(metric, "'colour', 'size', 'flag'", "euclidean"):
            fit(frame, metric=metric)


def test_other_tables_than_that_of_the_fit_are_refused():
    frame, _ = table()
    model = fit(frame)
    with refuses("'height'"):
        model.predict(frame.assign(height="tall"))
    with refuses("feature names"):
        model.predict(frame[list(frame)[::-1]])
    with refuses("feature names"):
        model.predict(frame[["height", "colour"]])
    with refuses("columns"):
        model.network_.labels(frame[["height", "colour"]])
    with refuses("columns of the fit"):
        model.network_.labels(frame[list(frame)[::-1]])
    with refuses("at least one row"):
        model.predict(frame.iloc[:0])


def test_the_layout_of_a_table_knows_its_features():
    frame, _ = table(n=20)
    found = learn_table(frame, [1, 2, 4])
    layout = found.categories
    assert_array_equal(layout.widths, [1, 3, 4, 1, 2])
    assert_array_equal(layout.numbers, [0, 3])
    dense = found.toarray()
    assert dense.shape == found.shape == (20, 11)
    for feature in range(11):
        assert_array_equal(found.column(feature), dense[:, feature])
    some = found[np.array([3, 5])]
    assert_array_equal(some.toarray(), dense[[3, 5]])
    with pytest.raises(ValueError, match="At least one"):
        Categories((None, None))
    with pytest.raises(ValueError, match="different levels"):
        Categories((("a", "a"),))


@pytest.mark.parametrize(
    "cast",
    [
        lambda frame: frame.to_numpy(np.float32),
        lambda frame: frame.astype(np.float32),
        lambda frame: frame.astype("Float32"),
        lambda frame: frame.astype(np.float32).astype({"b": "category"}),
        lambda frame: pl.from_pandas(frame).cast(pl.Float32),
    ],
    ids=["numpy", "pandas", "masked", "categories", "polars"],
)
def test_levels_are_the_same_in_columns_of_fewer_bits(cast):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=90), "b": np.tile([0.1, 1 / 3, 2.0], 30)})
    rows = frame if not isinstance(cast(frame), np.ndarray) else frame.to_numpy()
    model = ClAM(2, categorical_features=[1], **QUICK).fit(rows)
    levels = model.network_.geometry.categories.levels[1]
    assert levels == (0.1, 1 / 3, 2)
    table = read_table(as_table(cast(frame)), model.network_.geometry.categories)
    assert_array_equal(table.codes[:, 0], np.tile([0, 1, 2], 30))
    again = ClAM(2, categorical_features=[1], **QUICK).fit(cast(frame))
    assert again.network_.geometry.categories.levels[1] == (0.1, float(str(np.float32(1 / 3))), 2)


def test_completed_columns_of_fewer_bits_keep_their_categories():
    rng = np.random.default_rng(0)
    b = pd.Series(np.tile([0.1, 0.3], 30).astype(np.float32), dtype="category")
    frame = pd.DataFrame({"x": rng.normal(size=60), "b": b})
    frame.loc[3, "b"] = None
    model = ClAM(2, **QUICK).fit(frame)
    filled = model.complete(frame)
    assert filled["b"].dtype == frame["b"].dtype
    assert filled["b"].notna().all()


def test_infinite_levels_and_truth_values_among_numbers_are_refused_by_name():
    frame, _ = table()
    heights = frame[["height", "weight"]].assign(height=np.tile([1.5, np.inf], 120))
    with refuses("Column 'height' has the level inf", "finite"):
        fit(heights, categorical_features=["height"])
    for values in ([True, 1, 0], [True, 2, "a"], [np.bool_(False), 0.0, None]):
        mixed = pd.Series(values * 80, dtype=object)
        with refuses("Column 'flag' has truth values and numbers"):
            fit(frame[["weight"]].assign(flag=mixed), categorical_features=["flag"])
        with refuses("Column 0 has truth values and numbers"):
            rows = frame.assign(colour=mixed)[["colour", "weight"]].to_numpy(object)
            fit(rows, categorical_features=[0])


@pytest.mark.parametrize(
    "given",
    [[np.int64(1), 2], [np.bool_(False), True, np.bool_(True)], [np.str_("colour"), "size"]],
)
def test_columns_named_by_scalars_of_numpy_are_saved(tmp_path, given):
    frame, _ = table()
    frame = frame[["height", "colour", "size"]]
    fit(frame, categorical_features=given).save(tmp_path / "model.amc")
    assert load(tmp_path / "model.amc").categorical_features == given


def test_columns_named_by_a_set_are_refused():
    frame, _ = table()
    with refuses("categorical_features", "a list of"):
        fit(frame[["height", "colour"]], categorical_features={1})
