"""Bad rows and weights: the words of the local error, and which block is to blame."""

import re

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from dask_rows import (
    FEW,
    as_array,
    as_blocks,
    as_csr,
    as_frame,
    as_pandas,
    blobs,
    computed,
    local,
    on_dask,
    sparse_rows,
)
from scipy import sparse

LENGTHS = (50, 0, 40, 30)  # of few rows
MANY_LENGTHS = (200, 0, 150, 250)


def bad_table(n, what):
    """Return rows of which one in the last block is bad, and what is said of them."""
    X, row = blobs(n), n - 10
    if what == "infinity":
        X[row, 1] = np.inf
        return X, "Input X contains infinity"
    X[row, 2] = 1e30
    return X, "Values must be at most 1e+19 in size, got 1e+30 in column"


@pytest.mark.parametrize("lengths", [LENGTHS, MANY_LENGTHS])
@pytest.mark.parametrize("what", ["infinity", "huge value"])
@pytest.mark.parametrize("framed", [False, True])
def test_a_bad_row_names_its_block(framed, what, lengths):
    X, said = bad_table(sum(lengths), what)
    table = as_pandas(X) if framed else X
    rows = as_frame(table, lengths) if framed else as_array(X, lengths)
    with pytest.raises(ValueError, match=re.escape(said)) as expected:
        local().fit(table)
    with pytest.raises(ValueError, match="^Block 3 of X: ") as error:
        on_dask().fit(rows)
    words, row = str(error.value).removeprefix("Block 3 of X: "), lengths[-1] - 10
    assert words.replace(f"ow {row}", f"ow {len(X) - 10}") == str(expected.value)


def test_a_row_without_direction_names_its_block():
    X = blobs()
    X[-5] = 0.0
    with pytest.raises(ValueError, match="Block 3 of X: Row 245 of X is zero"):
        on_dask(metric="cosine").fit(as_array(X, MANY_LENGTHS))


@pytest.mark.parametrize("framed", [False, True])
def test_rows_without_any_value_alone(framed):
    X = np.full((sum(LENGTHS), 3), np.nan)
    rows = as_frame(as_pandas(X), LENGTHS) if framed else as_array(X, LENGTHS)
    for model, given in [(local(), X), (on_dask(), rows)]:
        with pytest.raises(ValueError, match="No row of X has an observed value"):
            model.fit(given)


@pytest.mark.parametrize("lengths", [LENGTHS, MANY_LENGTHS])
def test_a_column_without_values_is_named(lengths):
    X = blobs(sum(lengths))
    X[:, 1] = np.nan
    for table, rows in [(X, as_array(X, lengths)), (as_pandas(X), as_frame(X, lengths))]:
        with pytest.raises(ValueError, match="No observed value in column") as expected:
            local().fit(table)
        with pytest.raises(ValueError, match="No observed value in column") as error:
            on_dask().fit(rows)
        assert str(error.value) == str(expected.value)


@pytest.mark.parametrize("n", [FEW, 600])
def test_sparse_blocks_are_refused_as_local_ones_where_dense_ones_are_needed(n):
    X = sparse_rows(n)
    with pytest.raises(ValueError, match="needs a dense X"):
        local(metric="mahalanobis").fit(sparse.csr_array(X))
    with pytest.raises(ValueError, match="needs a dense X"):
        on_dask(metric="mahalanobis").fit(as_csr(X, (n // 2, n // 2)))


# --- blocks that differ ---------------------------------------------------------------------------


def blocks_of(*blocks):
    return [dask.delayed(block) for block in blocks]


def test_blocks_that_differ_are_named():
    X = blobs(60)
    frame = as_pandas(X)
    with pytest.raises(ValueError, match="Block 2 of X: must have 3 columns, .* got 2"):
        on_dask().fit(blocks_of(X, X, X[:, :2]))
    with pytest.raises(ValueError, match="Block 1 of X: must be float64, .* got float32"):
        on_dask().fit(blocks_of(X, np.float32(X)))
    renamed = frame.rename(columns={"column 1": "other"})
    with pytest.raises(ValueError, match=r"Block 1 of X: columns must be .*'other'"):
        on_dask().fit(blocks_of(frame, renamed))
    with pytest.raises(ValueError, match="Block 2 of X: columns must be"):
        on_dask().fit(blocks_of(frame, frame, X))
    rows = dd.from_delayed(blocks_of(frame, renamed), meta=frame[:0], verify_meta=False)
    with pytest.raises(ValueError, match=r"Block 1 of X: .*column 1.*other"):
        on_dask().fit(rows)
    with pytest.raises(ValueError, match="Block 1 of X: must be dense, .* got a sparse"):
        on_dask().fit(blocks_of(X, sparse.csr_array(X)))


@pytest.mark.parametrize("at", [1, 17, 35])
def test_a_block_among_many_is_named(at):
    blocks = [blobs(30)] * 40
    blocks[at] = np.float32(blocks[at])
    with pytest.raises(ValueError, match=f"Block {at} of X: must be float64, .* got float32"):
        on_dask().fit(blocks_of(*blocks))


def test_an_empty_block_may_have_another_type():
    X = blobs(60)
    model = on_dask(max_epochs=200).fit(blocks_of(X[:0].astype(np.float32), X, X[:0].astype(int)))
    assert np.array_equal(model.memories_, local(max_epochs=200).fit(X).memories_)


def test_a_column_of_text_is_named():
    frame = as_pandas(blobs(60))
    texts = frame.assign(name="text")
    with pytest.raises(ValueError, match="All columns must be numbers; not so: 'name'"):
        on_dask(categorical_features=None).fit(dd.from_pandas(texts, npartitions=2))
    with pytest.raises(ValueError, match="Block 1 of X: All columns must be numbers.*'column 1'"):
        on_dask().fit(blocks_of(frame, texts[["column 0", "name"]].assign(**{"column 1": "b"})))
    with pytest.raises(ValueError, match="Block 0 of X: "):
        on_dask().fit(blocks_of(np.array([["a", "b"], ["c", "d"]])))


@pytest.mark.parametrize("fixture", ["client", None])
def test_a_failing_block_is_named(fixture, request):
    if fixture is not None:
        request.getfixturevalue(fixture)

    def fail(block, block_info=None):
        if block_info[0]["chunk-location"][0] == 2:
            msg = "cannot be read"
            raise OSError(msg)
        return block

    rows = as_array(blobs(), MANY_LENGTHS).map_blocks(fail, meta=np.empty((0, 3)))
    with (
        pytest.warns(UserWarning, match="not persisted"),
        pytest.raises(RuntimeError, match="Block 2 of X could not be computed.*cannot be read"),
    ):
        on_dask().fit(rows)


@pytest.mark.parametrize("kind", ["array", "frame", "list"])
def test_a_bad_row_that_is_asked_about_names_its_block(kind):
    X = blobs()
    X[240, 1] = np.inf
    blocks = {"array": as_array, "frame": as_frame, "list": as_blocks}[kind]
    model = on_dask(n_init=1).fit(blocks(blobs(), MANY_LENGTHS))
    with pytest.raises(ValueError, match="Block 2 of X: .* infinity in row 40"):
        computed(model.predict(blocks(X, MANY_LENGTHS)))


def test_blocks_that_are_not_as_long_as_said_are_named():
    X = blobs()
    graph = {("rows", 0, 0): X[:300], ("rows", 1, 0): X[300:500]}
    rows = da.Array(graph, "rows", ((300, 300), (3,)), dtype=X.dtype)
    with pytest.raises(ValueError, match="Block 1 of X: has 200 rows, but X.chunks says 300"):
        on_dask().fit(rows)


def test_errors_of_workers_are_those_of_threads(client):
    X, _ = bad_table(600, "infinity")
    model = on_dask()
    before = dict(vars(model))
    with pytest.raises(ValueError, match="Block 3 of X: Input X contains infinity in row 240"):
        model.fit(as_array(X, MANY_LENGTHS))
    assert vars(model) == before
    with pytest.raises(ValueError, match="n_clusters=700 must be at most the number of"):
        on_dask(700).fit(as_array(blobs(), MANY_LENGTHS))


# --- what is no table -----------------------------------------------------------------------------


def test_what_is_no_table_of_dask_is_refused():
    X = blobs(60)
    with pytest.raises(ValueError, match="two dimensions, got a dask.array of 1"):
        on_dask().fit(da.from_array(X[:, 0], chunks=20))
    with pytest.raises(ValueError, match="two dimensions, got a dask.array of 3"):
        on_dask().fit(da.from_array(X[:, :, None], chunks=20))
    with pytest.raises(TypeError, match="got Series"):
        on_dask().fit(dd.from_pandas(as_pandas(X)["column 0"], npartitions=2))
    with pytest.raises(TypeError, match="got Delayed"):
        on_dask().fit(dask.delayed(X))
    with pytest.raises(TypeError, match="Block 1 of X: must be delayed, as others are, got array"):
        on_dask().fit([dask.delayed(X), X])
    with pytest.raises(ValueError, match="Expected 2D array"):
        on_dask().fit([])
    with pytest.raises(ValueError, match="Block 0 of X: Expected 2D array, got 1D array"):
        on_dask().fit([dask.delayed(X[:, 0])])


def test_tables_without_rows_are_refused():
    X = blobs(60)
    with pytest.raises(ValueError, match="X has no rows in any of its 2 blocks"):
        on_dask().fit(blocks_of(X[:0], X[:0]))
    with pytest.raises(ValueError, match="X has no rows in any of its"):
        on_dask().fit(as_array(X[:0], (0,)))
    with pytest.raises(ValueError, match="n_clusters=4 must be at most the number of distinct"):
        on_dask().fit(as_array(X[:2], (1, 1)))
    with pytest.raises(ValueError, match="minimum of 1 is required|has no columns"):
        on_dask().fit(as_array(X[:, :0], (30, 30), 1))


def test_columns_of_the_same_name_are_refused():
    frame = as_pandas(blobs(60))
    frame.columns = ["a", "b", "a"]
    with pytest.raises(ValueError, match="Column names must differ; more than once: 'a'"):
        on_dask().fit(blocks_of(frame))


# --- weights --------------------------------------------------------------------------------------


def test_weights_that_do_not_suit_are_refused():
    X, ones = blobs(FEW), np.ones(FEW)
    rows, frame = as_array(X, LENGTHS), as_frame(X, LENGTHS)
    with pytest.raises(ValueError, match="one entry for each of 120 rows, got .* shape \\(119,\\)"):
        on_dask().fit(rows, sample_weight=ones[1:])
    with pytest.raises(ValueError, match="one entry for each of 120 rows, got .* shape \\(119,\\)"):
        on_dask().fit(rows, sample_weight=da.from_array(ones[1:], chunks=40))
    with pytest.raises(ValueError, match="must have the blocks of X, 4 of them, got 1"):
        on_dask().fit(frame, sample_weight=da.from_array(ones, chunks=120))
    with pytest.raises(ValueError, match="number of rows in each is not known"):
        on_dask().fit(frame, sample_weight=ones)
    with pytest.raises(ValueError, match="Block [23] of X: sample_weight must have one entry"):
        on_dask().fit(frame, sample_weight=as_blocks(ones, (50, 0, 30, 40)))
    with pytest.raises(ValueError, match="only zeros"):
        on_dask().fit(rows, sample_weight=0 * ones)
    for bad in (-1.0, np.nan, np.inf):
        weights = ones.copy()
        weights[100] = bad
        with pytest.raises(ValueError, match=f"Block 3 of X: sample_weight must be .* got {bad}"):
            on_dask().fit(rows, sample_weight=weights)


def test_weights_of_the_wrong_shape_are_refused():
    X = blobs(FEW)
    with pytest.raises(ValueError, match="sample_weight"):
        on_dask().fit(as_array(X, LENGTHS), sample_weight=np.ones((FEW, 1)))
    with pytest.raises(ValueError, match="sample_weight"):
        on_dask().fit(as_array(X, LENGTHS), sample_weight=da.ones((FEW, 2), chunks=(40, 1)))


def test_a_client_that_is_none_is_refused():
    with pytest.raises(ValueError, match="'client' parameter of OnDask must be"):
        on_dask(client="tcp://127.0.0.1:8786").fit(blobs(60))


def test_unknown_parameters_are_refused():
    with pytest.raises(TypeError, match="n_cluster"):
        on_dask(n_cluster=3)
