"""A model on disk: the same after loading, refused when damaged, harmless when hostile."""

import copy
import dataclasses
import functools
import hashlib
import io
import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import amclust
from amclust import ClAM, ClAMSearch
from amclust._parameters import PARAMETERS
from amclust.io.container import FileFormatError, Kind, read, write
from amclust.io.model import load_model, save_model

# These models stop early on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# One for each format, never changed: labels of every tenth row are in `extra`.
OLD_FILES = Path(__file__).parent / "model_files"

X = load_iris().data
INCOMPLETE = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
INCOMPLETE[np.isnan(INCOMPLETE).all(axis=1)] = X[np.isnan(INCOMPLETE).all(axis=1)]


def quick(n_clusters=3, **parameters):
    defaults = {"n_init": 2, "max_epochs": 8, "random_state": 0, "n_jobs": 1}
    return ClAM(n_clusters, **(defaults | parameters))


def named(rows):
    import pandas as pd

    return pd.DataFrame(rows, columns=["größe", "b", 'c=😀 "x"', ""])


MODELS = {
    "plain": lambda: quick().fit(X),
    "float32": lambda: quick(scale=None).fit(X.astype(np.float32)),
    "cosine": lambda: quick(metric="cosine", mask_value="max").fit(X),
    "mahalanobis": lambda: quick(metric="mahalanobis").fit(X),
    "mahalanobis, missing values": lambda: quick(metric="mahalanobis").fit(INCOMPLETE),
    "mahalanobis float32": lambda: quick(metric="mahalanobis").fit(X.astype(np.float32)),
    "robust": lambda: quick(scale="robust", weights="learn", objective="silhouette").fit(X),
    "completion": lambda: quick(objective="completion", mask_value=0.5).fit(INCOMPLETE),
    "reconstruction": lambda: quick(objective="reconstruction", beta=2.5).fit(X),
    "one cluster": lambda: quick(1).fit(X),
    "missing values": lambda: quick().fit(INCOMPLETE),
    "missing values, factors": lambda: quick().fit(np.tile(INCOMPLETE[:60], 26)),
    "sparse": lambda: quick().fit(sparse.csr_array(X)),
    "named": lambda: quick().fit(named(X)),
    "auto": lambda: quick("auto").fit(X[::5]),
    "range": lambda: quick(range(2, 4)).fit(X[::2]),
    "list": lambda: quick([2, 3]).fit(X[::2]),
    "arrays": lambda: quick(init=X[[0, 60, 120]], weights=np.array([1.0, 2, 3])).fit(X),
    "lists": lambda: quick(init=X[[0, 60, 120]].tolist(), weights=(1, 2, 3)).fit(X),
    "scalars of numpy": lambda: quick(
        np.int64(3), beta=np.float32(0.3), early_stopping=np.bool_(False)
    ).fit(X),
    "recorded": lambda: quick(record_epochs=[0, 2, 5]).fit(X),
    "recorded float32": lambda: quick(record_epochs=range(3)).fit(X.astype(np.float32)),
    "partial_fit": lambda: quick().partial_fit(X[:80]).partial_fit(X[80:]),
    "search": lambda: (
        ClAMSearch(3, budget=60, n_init=2, max_epochs=10, random_state=0).fit(X).best_estimator_
    ),
}
QUESTIONS = ("predict", "transform", "predict_proba", "energy", "entropy", "recall", "complete")


@functools.cache
def fitted(name):
    return MODELS[name]()


def reloaded(model, folder):
    model.save(folder / "model.amc")
    return amclust.load(folder / "model.amc")


def rows_for(model):
    rows = np.tile(INCOMPLETE[:40], model.n_features_in_ // 4)
    rows = rows.astype(model.network_.geometry.dtype)
    return named(rows) if hasattr(model, "feature_names_in_") else rows


def learned(model):
    return {key: vars(model)[key] for key in sorted(set(vars(model)) - set(PARAMETERS))}


def assert_same(a, b):
    """Same attributes, of the same types, to the bit."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
    elif isinstance(a, tuple | list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    elif dataclasses.is_dataclass(a):
        names = [field.name for field in dataclasses.fields(a)]  # not what the core made of them
        assert_same([getattr(a, name) for name in names], [getattr(b, name) for name in names])
    else:
        assert a == b or (a != a and b != b)


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_is_the_same_to_the_bit(tmp_path, name):
    model = fitted(name)
    loaded = reloaded(model, tmp_path)
    assert type(loaded) is ClAM
    assert_same(learned(model), learned(loaded))
    for parameter, value in model.get_params().items():
        np.testing.assert_array_equal(getattr(loaded, parameter), value, err_msg=parameter)
    assert isinstance(loaded.n_clusters, type(model.n_clusters) | int)
    rows = rows_for(model)
    for question in QUESTIONS:
        there, here = getattr(model, question)(rows), getattr(loaded, question)(rows)
        np.testing.assert_array_equal(np.asarray(there), np.asarray(here), err_msg=question)


@pytest.mark.parametrize(
    "name",
    [
        *("plain", "float32", "cosine", "mahalanobis", "robust", "completion", "named", "auto"),
        *("missing values", "mahalanobis, missing values"),
    ],
)
def test_learning_goes_on_as_if_it_had_never_been_saved(tmp_path, name):
    model = copy.deepcopy(fitted(name))
    loaded = reloaded(model, tmp_path)
    chunk = rows_for(model)
    model.partial_fit(chunk)
    loaded.partial_fit(chunk)
    assert not np.array_equal(model.network_.memories, fitted(name).network_.memories)
    assert_same(learned(model), learned(loaded))


def test_generators_and_devices_are_handled(tmp_path):
    class Device:  # like torch.device
        def __str__(self):
            return "cpu"

    model = quick(random_state=np.random.RandomState(0), max_epochs=2).fit(X)
    model.set_params(device=Device(), n_clusters=(3, 4))
    loaded = reloaded(model, tmp_path)
    assert loaded.random_state is None
    assert loaded.device == "cpu"
    assert loaded.n_clusters == [3, 4]


@pytest.mark.parametrize(
    "name", ["plain", "mahalanobis", "named", "missing values", "missing values, factors"]
)
def test_every_field_has_its_place(tmp_path, name):
    model = fitted(name)
    model.save(tmp_path / "model.amc")
    header, arrays, _ = opened((tmp_path / "model.amc").read_bytes())

    def check(place, value, values):
        for field in dataclasses.fields(value):
            part = getattr(value, field.name)
            if dataclasses.is_dataclass(part):
                check(f"{place}.{field.name}", part, values[field.name])
            elif field.name != "energy_function":  # named by the metric
                assert (field.name in values) != (f"{place}.{field.name}" in arrays)

    check("network", model.network_, header["network"])
    check("optimizer", model.optimizer_state_, header["optimizer"])


def test_extra_and_header_come_back(tmp_path):
    extra = {"columns": {"use": ["a", "ü"]}, "n": [1, 2.5, None, True]}
    save_model(fitted("plain"), tmp_path / "model.amc", extra=extra)
    found = load_model(tmp_path / "model.amc")
    assert found.extra == extra
    assert found.header["versions"]["amclust"] == amclust.__version__
    assert found.header["parameters"]["n_init"] == 2


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model = fitted("named")
    for name in ("a", "b"):
        model.save(tmp_path / name)
    amclust.load(tmp_path / "a").save(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()


def test_the_file_is_safetensors_with_a_header_of_json(tmp_path):
    model = fitted("plain")
    model.save(tmp_path / "model.amc")
    arrays = safetensors.numpy.load_file(tmp_path / "model.amc")
    np.testing.assert_array_equal(arrays["network.memories"], model.network_.memories)
    with safetensors.safe_open(tmp_path / "model.amc", "np") as file:
        (header,) = file.metadata().values()
    assert json.loads(header)["network"]["beta"] == model.network_.beta


def test_arrays_of_any_layout_come_back(tmp_path):
    kind = Kind("model", "a file", "")
    grid = np.arange(24.0).reshape(4, 6)
    arrays = {
        "columns first": np.asfortranarray(grid),
        "strided": grid[::2, ::-3],
        "turned": grid.T,
        "big-endian": grid.astype(">f8"),
        "empty": np.zeros((0, 3), np.int8),
        "one number": np.array(2.5, np.float16),
        "bool": grid > 3,
        "table": np.array([(1, 0.5), (2, 3.5)], [("a", np.int64), ("b", np.float32)])[::-1],
        "empty table": np.zeros(0, [("a", np.int64), ("b", np.bool_)]),
    }
    write(tmp_path / "a", kind, {"number": float("nan")}, arrays)
    header, found = read(tmp_path / "a", kind, "a")
    assert np.isnan(header["number"])
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype.newbyteorder("="), name
        np.testing.assert_array_equal(found[name], array, err_msg=name)
        assert found[name].flags.writeable


@pytest.mark.parametrize("array", [np.array(["a"]), np.zeros(2, complex), np.array([{}])])
def test_arrays_that_are_no_numbers_are_not_written(tmp_path, array):
    with pytest.raises(ValueError, match="bad has the type .*numbers"):
        write(tmp_path / "a", Kind("model", "a file", ""), {}, {"bad": array})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", [(b'":{"', b'": {"'), (b"0000", b"1000")])
def test_a_file_that_could_not_be_read_is_not_written(tmp_path, monkeypatch, change):
    save = safetensors.numpy.save
    monkeypatch.setattr(safetensors.numpy, "save", lambda *args: save(*args).replace(*change, 1))
    with pytest.raises(RuntimeError, match=f"safetensors {safetensors.__version__} .*nothing was"):
        fitted("plain").save(tmp_path / "model.amc")
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_could_not_be_loaded_again_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        ClAM().save(tmp_path / "model.amc")
    model = copy.deepcopy(fitted("plain"))
    with pytest.raises(ValueError, match="could not be loaded again.*n_init"):
        model.set_params(n_init=0).save(tmp_path / "model.amc")
    model.set_params(n_init=2).network_.memories[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"network\.memories is not finite"):
        model.save(tmp_path / "model.amc")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", sorted(OLD_FILES.glob("*.amc")), ids=lambda path: path.stem)
def test_files_of_old_versions_are_read(path):
    found = load_model(path)
    rows = named(X)[::10]
    np.testing.assert_array_equal(found.model.predict(rows), found.extra["labels"])
    assert found.model.network_.geometry.scaling == found.model.scale
    found.model.partial_fit(rows)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "mahalanobis"])
def test_the_scaling_of_the_fit_comes_back(metric, tmp_path):
    model = quick(metric=metric, scale="robust").fit(X).set_params(scale=None)
    loaded = reloaded(model, tmp_path)
    expected = "robust" if metric == "euclidean" else None
    assert model.network_.geometry.scaling == loaded.network_.geometry.scaling == expected


def test_an_existing_file_is_replaced_only_when_that_is_meant(tmp_path):
    path = tmp_path / "model.amc"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        save_model(fitted("plain"), path, overwrite=False)
    assert path.read_text() == "mine"
    save_model(fitted("plain"), path)
    amclust.load(path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.amc"]


# --- damaged and hostile ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.amc"
    fitted("named").save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch") / "model.amc"


def refused(path, content, match="damaged|not a model file"):
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=match) as caught:
        load_model(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


@settings(max_examples=300, deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_any_flipped_bit_is_noticed(content, scratch, place, bit):
    changed = bytearray(content)
    changed[int(place * len(content))] ^= 1 << bit
    refused(scratch, bytes(changed))


@settings(max_examples=100, deadline=None)
@given(place=st.floats(0, 1, exclude_max=True))
def test_any_cut_is_noticed(content, scratch, place):
    refused(scratch, content[: int(place * len(content))])


@pytest.mark.parametrize("more", [b"\0", b"x" * 64, b"PK\x05\x06"])
def test_anything_appended_is_noticed(content, scratch, more):
    refused(scratch, content + more, "damaged")


def archive(save, *content):
    file = io.BytesIO()
    save(file, *content)
    return file.getvalue()


@pytest.mark.parametrize(
    "other",
    [
        *(
            b"",
            b"a,b\n1,2\n",
            b"PK\x03\x04",
            b"\x93NUMPY\x01\x00",
            np.random.default_rng(0).bytes(500),
        ),
        archive(np.savez, np.arange(3)),
        safetensors.numpy.save({"network.memories": np.zeros((3, 4), np.float32)}),
    ],
)
def test_other_files_are_no_models(scratch, other):
    refused(scratch, other, "not a model file")


def test_a_checkpoint_is_no_model(tmp_path):
    search = ClAMSearch(2, budget=60, n_init=2, max_epochs=10, checkpoint=tmp_path / "search.amc")
    search.fit(X)
    message = "not a model file of amclust: it is the file of a search"
    with pytest.raises(FileFormatError, match=message):
        amclust.load(tmp_path / "search.amc")


def test_a_missing_file_and_a_folder_are_errors_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        amclust.load(tmp_path / "none.amc")
    with pytest.raises(OSError, match="irectory|denied"):
        amclust.load(tmp_path)


@pytest.mark.parametrize("length", [0, 100, 300])
def test_an_empty_terabyte_is_not_read(content, scratch, length):
    with open(scratch, "wb") as file:
        file.write(length.to_bytes(8, "little") + content[8:200] if length else content)
        file.truncate(2**40)
    try:
        with pytest.raises(FileFormatError, match="damaged"):
            load_model(scratch)
    finally:
        scratch.unlink()


def opened(content):
    """Return the header of a file, its arrays, and the header of safetensors with the data."""
    end = 8 + int.from_bytes(content[:8], "little")
    outer = json.loads(content[8:end])
    arrays = safetensors.numpy.load(content)
    return json.loads(outer["__metadata__"]["amclust"]), arrays, (outer, content[end:])


def sealed(content):
    mark = b'{"__metadata__":{"amclust":"{\\"sha256\\": \\"'
    assert content[8:].startswith(mark)
    start, end = 8 + len(mark), 72 + len(mark)
    blank = content[:start] + b"0" * 64 + content[end:]
    return content[:start] + hashlib.sha256(blank).hexdigest().encode() + content[end:]


def rebuilt(content, change=None, arrays=None):
    """Return a model file with a valid checksum whose header or arrays were changed."""
    header, found, _ = opened(content)
    found |= arrays or {}
    if change is not None:
        change(header)
    kept = {name: array for name, array in found.items() if array is not None}
    return sealed(safetensors.numpy.save(kept, {"amclust": json.dumps(header)}))


def crafted(content, change=None, text=None):
    """The same for the header of safetensors, which it would not write itself."""
    outer, data = opened(content)[2]
    if change is not None:
        change(outer)
    text = text or json.dumps(outer, separators=(",", ":")).encode()
    return sealed(len(text).to_bytes(8, "little") + text + data)


def test_a_rebuilt_file_loads(content, scratch):
    """The hostile files below differ from a good one in what they say they do."""
    for made in (rebuilt(content), crafted(content)):
        scratch.write_bytes(made)
        load_model(scratch)


@pytest.mark.parametrize(
    ("change", "arrays", "reason"),
    [
        ({"format_version": 3}, {}, "format 3"),
        ({"parameters": {"dream": 1}}, {}, "dream"),
        ({}, {"parameter.dream": np.zeros(3)}, "dream"),
    ],
)
def test_what_is_newer_is_named(content, scratch, change, arrays, reason):
    def newer(header):
        header.update(change, versions={"amclust": "9.1"})

    message = refused(scratch, rebuilt(content, newer, arrays), r"newer amclust \(9\.1\)")
    assert reason in message
    assert "pip install --upgrade amclust" in message


@pytest.mark.parametrize(
    "change",
    [
        *({"shape": shape} for shape in (12, [10**9, 10**3], [3, 10**12], [-3, -4], [2**70])),
        {"shape": [2**32, 2**32, 0]},
        {"shape": [10**12, 0], "data_offsets": [0, 0]},
        *({"dtype": dtype} for dtype in ("V0", "O", "I32")),
        {"dtype": "C64", "shape": [3, 2]},
        *({"dtype": dtype, "shape": [6, 4]} for dtype in ("BF16", "F16")),
        *({"data_offsets": [0, end]} for end in (48, 10**13, 2**70)),
        *({"data_offsets": place} for place in ([-48, 0], [48, 0], [], "no")),
    ],
)
def test_hostile_tensors_are_refused(content, scratch, change):
    changed = crafted(content, lambda outer: outer["network.memories"].update(change))
    refused(scratch, changed, "damaged")


@pytest.mark.parametrize(
    "arrays",
    [
        *({"network.memories": np.zeros(shape, np.float32)} for shape in ((3, 5), (4, 3))),
        {"network.memories": np.zeros((3, 4), np.float64)},
        {"network.memories": np.full((3, 4), np.nan, np.float32)},
        {"optimizer.moments": np.zeros((2, 3), np.float32)},
        {"network.geometry.fill": None},
        *({"labels_": np.full(150, label, np.int32)} for label in (7, -1)),
        {"runs_": np.zeros(2)},
        *({"runs_.seed": seeds} for seeds in (None, np.zeros(2))),
        *({"runs_.seed": np.zeros(shape, np.int64)} for shape in (3, (2, 1))),
        {"runs_.chosen": np.zeros(2, bool)},
        *({name: np.zeros(3)} for name in ("predict", "__class__", "../evil")),
        {"network.geometry.whitening.mean": np.zeros(4)},
        {"network.geometry.offset": np.zeros(5)},
        *({"network.assembly": np.array(to, np.int32)} for to in ([0, 2, 2], [-1, 0, 1])),
    ],
)
def test_hostile_arrays_are_refused(content, scratch, arrays):
    refused(scratch, rebuilt(content, arrays=arrays), "damaged")


def at(index, value):
    def change(array):
        array.flat[index] = value

    return change


@pytest.mark.parametrize(
    ("model", "name", "change", "reason"),
    [
        ("plain", "network.geometry.scale", at(1, 0), "scale is 0 in column 1"),
        ("plain", "network.geometry.scale", lambda array: array.fill(0), "scale is 0 in all"),
        *(
            ("plain", f"network.{name}", at(0, value), f"{name.rpartition('.')[2]} must be finite")
            for name, value in [
                ("geometry.scale", -1.0),
                ("geometry.offset", 1.797e308),
                ("log_weights", 1e30),
            ]
        ),
        *(("plain", "network.memories", at(0, v), r"memories \(the square") for v in (3e38, 1e19)),
        ("plain", "network.geometry.scale", at(0, np.inf), "scale is not finite"),
        ("plain", "network.geometry.scale", at(0, 1e-38), None),
        ("float32", "network.geometry.offset", at(0, 1e39), "offset must be finite"),
        ("plain", "optimizer.moments", at(-1, -1.0), r"optimizer.moments \(the second\)"),
        ("mahalanobis", "network.geometry.whitening.forward", at(0, 1e9), "not the inverse"),
        ("mahalanobis", "network.geometry.whitening.backward", at(0, 1e300), "whitening.backward"),
        ("missing values", "network.geometry.completion.spread", at(0, 1e300), "spread"),
        ("missing values", "network.geometry.completion.means", at(0, 1e300), "means must be"),
        ("missing values", "network.geometry.completion.parts", at(0, 0.9), "parts do not sum"),
        ("missing values", "network.geometry.low", at(0, -np.inf), "low is not finite"),
    ],
)
def test_impossible_numbers_are_refused_by_name(tmp_path, model, name, change, reason):
    fitted(model).save(tmp_path / "model.amc")
    content = (tmp_path / "model.amc").read_bytes()
    array = opened(content)[1][name].copy()
    change(array)
    changed = rebuilt(content, arrays={name: array})
    if reason is None:  # odd, but possible: a column that hardly counts
        (tmp_path / "model.amc").write_bytes(changed)
        assert np.isfinite(amclust.load(tmp_path / "model.amc").energy(X)).all()
    else:
        refused(tmp_path / "model.amc", changed, reason)


@pytest.mark.parametrize("beta", [1e308, 1e38, 1e-300, -1.0, 0.0])
def test_impossible_temperatures_are_refused_by_name(content, scratch, beta):
    refused(scratch, rebuilt(content, setter("network", beta=beta)), "beta must be")


@pytest.mark.parametrize(
    ("name", "value"), [("mean_square", -1.0), ("total_square", 1e308), ("mean_square", np.inf)]
)
def test_impossible_scatters_are_refused_by_name(content, scratch, name, value):
    changed = rebuilt(content, setter("optimizer", **{name: value}))
    refused(scratch, changed, f"optimizer.{name} must be finite")


def test_extreme_parameters_leave_models_that_load(tmp_path):
    for extreme in ({"beta": 1e30}, {"beta": 1e-30}, {"mask_value": 1e25}):
        model = reloaded(quick(**extreme).fit(X), tmp_path)
        assert np.isfinite(model.energy(X)).all()
    weighted = reloaded(quick(weights=[1e-300, 1, 1e300]).fit(X), tmp_path)
    assert np.isfinite(weighted.predict_proba(X)).all()
    reloaded(quick(feature_weights=[0, 1, 2, 0]).fit(X), tmp_path)


COMPLETION = "network.geometry.completion."


@pytest.fixture(scope="module", params=["missing values", "missing values, factors"])
def completes(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.amc"
    fitted(request.param).save(path)
    return path.read_bytes()


def changed_in(content, name, change):
    array = np.array(opened(content)[1][COMPLETION + name])
    found = change(array)
    return rebuilt(content, arrays={COMPLETION + name: array if found is None else found})


def at_first(value):
    def change(array):
        array.flat[0] = value
        return array

    return change


def turned(precisions):
    precisions[-1] *= -1


def negative_inside(precisions):
    precisions[0, 1, 1] = -precisions[0, 1, 1]


@pytest.mark.parametrize(
    "name",
    [
        *("mean", "spread", "known", "parts", "means", "mixture", "n_covariances"),
        *("precisions", "loadings", "noise"),
    ],
)
@pytest.mark.parametrize(
    "change",
    [
        lambda array: array[:-1],
        lambda array: np.concatenate([array, array[-1:]]),
        lambda array: array[None],
        lambda array: array.ravel()[:0],
        lambda array: array.astype(np.float32),
    ],
    ids=["shorter", "longer", "deeper", "empty", "another type"],
)
def test_completions_of_other_shapes_are_refused(completes, scratch, name, change):
    array = opened(completes)[1][COMPLETION + name]
    if change(array).shape == array.shape and change(array).dtype == array.dtype:
        pytest.skip("there is none of it")
    refused(scratch, changed_in(completes, name, change), "damaged")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *(("spread", at_first(value)) for value in (-1.0, 0.0, np.nan, np.inf)),
        *((name, at_first(np.nan)) for name in ("mean", "known", "parts", "means")),
        *((name, at_first(np.inf)) for name in ("known", "means")),
        ("known", at_first(-1.0)),
        ("parts", at_first(-0.5)),
        ("parts", lambda array: 0 * array),
        ("mixture", lambda array: array[::-1].copy()),
        *(("mixture", at_first(value)) for value in (-1, 1, 2**31 - 1)),
        *(("n_covariances", at_first(value)) for value in (-1, 2, 2**31 - 1)),
    ],
)
def test_completions_that_make_no_sense_are_refused(completes, scratch, name, change):
    refused(scratch, changed_in(completes, name, change), "damaged")


@pytest.mark.parametrize(
    ("model", "name", "change"),
    [
        *(("missing values", "precisions", at_first(value)) for value in (np.nan, np.inf, 0.0)),
        ("missing values", "precisions", turned),
        ("missing values", "precisions", negative_inside),
        ("missing values", "precisions", lambda array: 0 * array),
        *(
            ("missing values, factors", name, at_first(value))
            for name, value in [
                *(("noise", value) for value in (-1.0, 0.0, np.nan)),
                *(("loadings", value) for value in (np.nan, np.inf)),
            ]
        ),
    ],
)
def test_covariances_that_are_none_are_refused(tmp_path, model, name, change):
    fitted(model).save(tmp_path / "model.amc")
    changed = changed_in((tmp_path / "model.amc").read_bytes(), name, change)
    refused(tmp_path / "model.amc", changed, "damaged")


@pytest.mark.parametrize("name", ["low", "high"])
@pytest.mark.parametrize("change", [at_first(np.nan), lambda array: array[:-1], None])
def test_ranges_that_are_none_are_refused(completes, scratch, name, change):
    name = f"network.geometry.{name}"
    array = None if change is None else change(opened(completes)[1][name].copy())
    refused(scratch, rebuilt(completes, arrays={name: array}), "damaged")


def test_empty_ranges_are_refused(completes, scratch):
    high = opened(completes)[1]["network.geometry.high"]
    refused(scratch, rebuilt(completes, arrays={"network.geometry.low": high + 1}), "damaged")


@pytest.mark.parametrize("caution", [0.0, -1.0, float("nan"), float("inf"), "1", None])
def test_a_caution_that_is_none_is_refused(completes, scratch, caution):
    change = setter("network.geometry.completion", caution=caution)
    refused(scratch, rebuilt(completes, change), "damaged")


def test_a_completion_that_is_left_out_is_refused(completes, scratch):
    for name in opened(completes)[1]:
        if name.startswith(COMPLETION):
            refused(scratch, rebuilt(completes, arrays={name: None}), "damaged")
    refused(scratch, rebuilt(completes, setter("network.geometry", completion=None)), "damaged")


def setter(part, **values):
    def change(header):
        for name in part.split("."):
            header = header[name]
        header.update(values)

    return change


@pytest.mark.parametrize(
    "change",
    [
        *(setter("network", beta=beta) for beta in ("nan", float("nan"), [])),
        setter("network", n_steps=10**18),
        *(setter("network", step_size=size) for size in (2, 2.0)),
        setter("network", fills_from_mask="no"),
        setter("network.geometry", dtype="object"),
        *(setter("network.geometry", metric=metric) for metric in ("mahalanobis", "chessboard")),
        setter("network.geometry", length=-1.0),
        *(setter("network.geometry", scaling=scaling) for scaling in ("other", ["robust"])),
        *(setter("network.geometry", feature_names=f) for f in (["a"], [1, 2, 3, 4], "abcd")),
        *(setter("optimizer", steps=steps) for steps in (-1, 2**63)),
        setter("optimizer", seed=-1),
        setter("optimizer", objective=3),
        setter("parameters", n_steps=10**9),
        *(setter("parameters", init=init) for init in ({"array": True}, {"list": 3})),
        *(setter("parameters", n_clusters=k) for k in ({"range": [0, 1]}, {"import": "os"})),
        setter("parameters", metric={}),
        lambda header: header.update(format_version="1"),
        *(lambda header, n=name: header.update({n: []}) for name in ("versions", "extra", "loss")),
        *(lambda header, n=name: header.pop(n) for name in ("parameters", "network", "optimizer")),
        *(lambda header, n=name: header.pop(n) for name in ("kind", "tables")),
        lambda header: header["network"].pop("geometry"),
        *(setter("tables", runs_=fields) for fields in ([], ["seed", "seed"])),
        setter("tables", labels_=["a"]),
    ],
)
def test_hostile_headers_are_refused(content, scratch, change):
    refused(scratch, rebuilt(content, change), "damaged")


@pytest.mark.parametrize(
    "rest", ["[" * 100_000, "1" * 5000, "", "null", "{}}", '{"a": 1, "a": 2}}']
)
@pytest.mark.parametrize("whose", ["ours", "of safetensors"])
def test_headers_that_are_no_dictionary_are_refused(content, scratch, rest, whose):
    outer, _ = opened(content)[2]
    if whose == "ours":
        outer["__metadata__"]["amclust"] = json.dumps({"sha256": "0" * 64})[:-1] + f', "a": {rest}'
    text = json.dumps(outer, separators=(",", ":"))
    if whose == "of safetensors":
        text = f'{text[:-1]},"a":{rest}'
    refused(scratch, crafted(content, text=text.encode()), "damaged")


@pytest.mark.parametrize("rest", [b"\xff", b"", b'"}}'])
def test_headers_that_end_early_are_refused(content, scratch, rest):
    beginning = b'{"__metadata__":{"amclust":"{\\"sha256\\": \\"' + b"0" * 64
    refused(scratch, crafted(content, text=beginning + rest), "damaged")


def test_long_headers_are_neither_written_nor_read(content, scratch, tmp_path, monkeypatch):
    monkeypatch.setattr("amclust.io.container.MAX_HEADER", 500)
    with pytest.raises(ValueError, match="at most 500"):
        fitted("named").save(tmp_path / "model.amc")
    monkeypatch.setattr(json, "loads", None)
    refused(scratch, content, "more than 500")
    refused(scratch, (2**63).to_bytes(8, "little") + content[8:], "more than 500")


def test_arrays_that_overlap_are_refused(content, scratch):
    """Many names for the same bytes: each would be read on its own."""
    one, other = "network.geometry.fill", "network.geometry.scale"
    changed = crafted(content, lambda outer: outer[one].update(outer[other]))
    refused(scratch, changed, "damaged")


def test_a_name_that_appears_twice_is_refused(content, scratch):
    entry = json.dumps(opened(content)[2][0]["labels_"])
    text = json.dumps(opened(content)[2][0], separators=(",", ":"))[:-1] + f',"labels_":{entry}}}'
    refused(scratch, crafted(content, text=text.encode()), "a name appears twice")
