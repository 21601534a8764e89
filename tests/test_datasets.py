import bz2
import csv
import dataclasses
import gzip
import hashlib
import io
import json
import logging
import os
import re
import struct
import sys
import urllib.error
import urllib.response
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pooch
import pytest
import requests
import scipy.io
import sklearn.datasets._openml
from numpy.testing import assert_array_equal

from amclust.datasets import DATASETS, NAMES, _load, get_data_home, load_dataset
from amclust.datasets._checks import check_values, class_profile, hash_points
from amclust.datasets._table import images_table, make_table, parse_idx, read_csv

# Two classes of unequal size; every number is exact in text and in float32.
POINTS = np.array([[1.0, 0.5], [2.0, 0.25], [3.0, 8.0], [4.0, -2.0], [5.0, 0.0]])
LABELS = ["1", "1", "2", "1", "2"]

# The paper's table of data sets, and its two large ones.
PUBLISHED = {
    "zoo": ("Zoo", 101, 16, 7),
    "yale": ("Yale", 165, 1024, 15),
    "gcm": ("GCM", 190, 16063, 14),
    "ecoli": ("Ecoli", 336, 7, 8),
    "movement_libras": ("MovLib", 360, 90, 15),
    "mice_protein": ("MicePE", 1080, 77, 8),
    "usps_test": ("USPS", 2007, 256, 10),
    "ctg": ("CTG", 2126, 21, 10),
    "segment": ("Segment", 2310, 19, 7),
    "fashion_mnist": ("FMNIST", 60000, 784, 10),
    "cifar10_features": ("CIFAR-10", 50000, 1920, 10),
    "japanese_vowels": ("JV", 1000000, 14, 9),
}


@pytest.fixture(autouse=True)
def no_other_folders(monkeypatch, tmp_path):
    """Keep the data and the cache of this machine out of the tests."""
    monkeypatch.delenv("AMCLUST_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    monkeypatch.setattr(_load, "DEBIAN_FASHION_MNIST", tmp_path / "debian")


@pytest.fixture
def small(monkeypatch):
    """Pretend that the sets were published with the shape of POINTS."""

    def shrink(name, checksum=None, **changes):
        source = DATASETS[name].source
        if source:
            narrow = {"n_features": 2} if hasattr(source, "n_features") else {}
            files = dict.fromkeys(source.files, checksum)
            source = dataclasses.replace(source, files=files, **narrow)
        shape = {"n_samples": 5, "n_features": 2, "n_classes": 2}
        unknown = {"source": source, "sha256": None, "class_profile": (), "feature_names": ()}
        info = dataclasses.replace(DATASETS[name], **{**shape, **unknown, **changes})
        monkeypatch.setattr(_load, "DATASETS", MappingProxyType({**DATASETS, name: info}))
        return info

    return shrink


class Web:
    """What the network has, by address; `refusals` of the next requests fail."""

    def __init__(self):
        self.files, self.requests, self.refusals = {}, [], 0

    def answer(self, address):
        self.requests.append(address)
        found = [content for part, content in self.files.items() if part in address]
        if self.refusals:
            self.refusals -= 1
            return 503, b""
        return (200, found[0]) if found else (404, b"")

    def get(self, address, **_):
        """Stand for `requests.get`, with which pooch downloads."""
        response = requests.Response()
        response.url, (response.status_code, content) = address, self.answer(address)
        response.raw = io.BytesIO(content)
        return response

    def urlopen(self, request, **_):
        """Stand for `urllib.request.urlopen`, with which scikit-learn downloads."""
        status, content = self.answer(request.full_url)
        if status != 200:
            raise urllib.error.HTTPError(request.full_url, status, "none", {}, io.BytesIO())
        return urllib.response.addinfourl(io.BytesIO(content), {}, request.full_url)


@pytest.fixture
def web(monkeypatch):
    """Keep every request on this machine."""
    web = Web()
    monkeypatch.setattr(requests, "get", web.get)
    monkeypatch.setattr(sklearn.datasets._openml, "urlopen", web.urlopen)
    for module in (pooch.core, sklearn.datasets._openml):
        monkeypatch.setattr(module, "time", SimpleNamespace(sleep=lambda seconds: None))
    return web


@pytest.fixture
def zoo(small, web):
    """A small Zoo that can be downloaded."""
    web.files = ORIGINALS["zoo"]
    return small("zoo")


def load(name, **options):
    return load_dataset(name, n_retries=1, **options)


def write_table(folder, name="zoo", points=POINTS, labels=LABELS):
    folder.mkdir(exist_ok=True)
    write_csv(folder / f"{name}.csv.gz", points, labels)
    return folder


def write_csv(path, points, labels, names=("f0", "f1")):
    text = io.StringIO()
    rows = zip(points.tolist(), labels, strict=True)
    csv.writer(text).writerows([[*names, "label"], *([*point, label] for point, label in rows)])
    write_text(path, text.getvalue())


def write_text(path, text):
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def text_rows(separator, first=(), points=POINTS, labels=LABELS):
    rows = zip(points.tolist(), labels, strict=True)
    lines = (separator.join([*first, *map(str, row), label]) for row, label in rows)
    return "\n".join(lines).encode() + b"\n\n"


def idx(values):
    values = np.asarray(values, dtype=np.uint8)
    header = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    return gzip.compress(header + values.tobytes(), mtime=0)


def matlab(**variables):
    file = io.BytesIO()
    scipy.io.savemat(file, variables)
    return file.getvalue()


def openml(name, rows, columns, target="class", ignored=(), md5=None):
    """Give openml.org's answers for one ARFF file."""
    kinds = {target: "{1,2}", **dict.fromkeys(ignored, "{a,b}")}
    header = "".join(f"@ATTRIBUTE {one} {kinds.get(one, 'REAL')}\n" for one in columns)
    arff = f"@RELATION x\n{header}@DATA\n{rows}".encode()
    features = [
        {
            "index": str(position),
            "name": one,
            "data_type": "nominal" if one in kinds else "numeric",
            "is_target": str(one == target).lower(),
            "is_ignore": str(one in ignored).lower(),
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for position, one in enumerate(columns)
    ]
    description = {
        "id": "7",
        "name": name,
        "version": "1",
        "description": "",
        "status": "active",
        "format": "ARFF",
        "file_id": "70",
        "url": "https://www.openml.org/data/v1/download/70/x.arff",
        "md5_checksum": md5 or hashlib.md5(arff).hexdigest(),
    }
    qualities = [{"name": "NumberOfInstances", "value": str(len(POINTS))}]
    answers = {
        f"/data/list/data_name/{name.lower()}/": {"data": {"dataset": [{"did": 7}]}},
        "/data/features/7": {"data_features": {"feature": features}},
        "/data/qualities/7": {"data_qualities": {"quality": qualities}},
        "/json/data/7": {"data_set_description": description},
    }
    files = {part: json.dumps(answer).encode() for part, answer in answers.items()}
    return {**files, "/data/v1/download/70": arff}


def test_the_published_shapes_are_known():
    assert list(PUBLISHED) == list(NAMES)
    for name, published in PUBLISHED.items():
        info = DATASETS[name]
        assert (info.title, info.n_samples, info.n_features, info.n_classes) == published
    assert set(DATASETS) - set(NAMES) == {"usps_train", "nci9"}


@pytest.mark.parametrize("info", DATASETS.values(), ids=DATASETS)
def test_what_is_known_of_a_set_agrees(info):
    assert len(info.feature_names) in (0, info.n_features)
    if info.class_profile:
        sizes = [size for size, _ in info.class_profile]
        assert (sum(sizes), len(sizes)) == (info.n_samples, info.n_classes)
    assert info.sha256 is None or re.fullmatch("[0-9a-f]{64}", info.sha256)
    for checksum in filter(None, info.source.files.values() if info.source else ()):
        assert re.fullmatch("sha256:[0-9a-f]{64}|md5:[0-9a-f]{32}", checksum)
    assert info.title in info.describe()
    assert info.note in info.describe()


# --- a folder of files ---------------------------------------------------------------------------


def test_a_set_is_read_from_a_folder(small, tmp_path):
    small("ecoli")
    folder = write_table(tmp_path / "data", "ecoli", labels=["cp", "cp", "im", "cp", "im"])
    bunch = load("ecoli", data_dir=folder)
    assert_array_equal(bunch.data, POINTS)
    assert bunch.data.dtype == np.float64
    assert_array_equal(bunch.target, [0, 0, 1, 0, 1])
    assert_array_equal(bunch.target_names, ["cp", "im"])
    assert bunch.feature_names == ["f0", "f1"]
    assert bunch.n_clusters == 2
    assert bunch.source == str(folder / "ecoli.csv.gz")
    assert bunch.DESCR.startswith("Ecoli: 5 points, 2 features, 2 classes.")
    X, y = load("ecoli", data_dir=str(folder), return_X_y=True)
    assert_array_equal(X, POINTS)
    assert_array_equal(y, bunch.target)


def test_a_set_may_be_a_frame(small, tmp_path):
    pd = pytest.importorskip("pandas")
    small("zoo", feature_names=("hair", "legs"))
    folder = write_table(tmp_path / "data")
    assert load("zoo", data_dir=folder).frame is None
    bunch = load("zoo", data_dir=folder, as_frame=True)
    codes = [0, 0, 1, 0, 1]
    points = pd.DataFrame(POINTS, columns=["hair", "legs"])
    pd.testing.assert_frame_equal(bunch.data, points)
    pd.testing.assert_series_equal(bunch.target, pd.Series(codes, name="target", dtype=np.intp))
    pd.testing.assert_frame_equal(bunch.frame, points.assign(target=np.array(codes, np.intp)))
    X, y = load("zoo", data_dir=folder, as_frame=True, return_X_y=True)
    pd.testing.assert_frame_equal(X, bunch.data)
    pd.testing.assert_series_equal(y, bunch.target)


@pytest.mark.parametrize(
    ("package", "message", "needed", "otherwise"),
    [
        ("pandas", r"as_frame=True needs pandas: .*amclust\[table\]", {"as_frame": True}, {}),
        ("pooch", r"pooch: pip install 'amclust\[data\]'", {}, {"data_dir": "data"}),
    ],
)
def test_a_package_is_needed_where_it_is_used(
    zoo, web, tmp_path, monkeypatch, package, message, needed, otherwise
):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ImportError, match=message):
        load("zoo", **needed)
    assert web.requests == []
    write_table(tmp_path / "data")
    assert_array_equal(load("zoo", **otherwise).data, POINTS)


def test_a_plain_file_will_do(small, tmp_path):
    small("zoo")
    folder = write_table(tmp_path / "data")
    packed, plain = folder / "zoo.csv.gz", folder / "zoo.csv"
    plain.write_bytes(gzip.decompress(packed.read_bytes()).replace(b"0.5", b"0.75"))
    assert load("zoo", data_dir=folder).source == str(packed)
    packed.unlink()
    bunch = load("zoo", data_dir=folder)
    assert bunch.source == str(plain)
    assert bunch.data[0].tolist() == [1.0, 0.75]


def test_published_names_stand_for_numbered_features(small, tmp_path):
    small("zoo", feature_names=("hair", "legs"))
    folder = write_table(tmp_path / "data")
    assert load("zoo", data_dir=folder).feature_names == ["hair", "legs"]
    write_csv(folder / "zoo.csv.gz", POINTS, LABELS, ["a", "b"])
    assert load("zoo", data_dir=folder).feature_names == ["a", "b"]


def test_the_given_folder_comes_before_the_environment(small, tmp_path, monkeypatch):
    small("zoo")
    write_table(tmp_path / "given")
    write_table(tmp_path / "environment", points=POINTS + 1)
    monkeypatch.setenv("AMCLUST_DATA", str(tmp_path / "environment"))
    assert_array_equal(load("zoo").data, POINTS + 1)
    assert_array_equal(load("zoo", data_dir=tmp_path / "given").data, POINTS)


@pytest.mark.parametrize(
    "text",
    [
        "\ufefff0,f1,label\n1,2,a\n3,4,b\n",
        "f0, f1, label\n1, 2, a\n3, 4,b \n",
        "\n\nf0,f1,label\n\n1,2,a\n  \n3,4,b\n\n",
        "f0,f1,label\r\n1,2,a\r\n\r\n3,4,b\r\n",
    ],
    ids=["byte order mark", "blanks", "blank lines", "Windows"],
)
def test_a_table_need_not_be_tidy(tmp_path, text):
    write_text(tmp_path / "packed.csv.gz", text)
    (tmp_path / "plain.csv").write_bytes(text.encode())
    for name in ("packed.csv.gz", "plain.csv"):
        table = read_csv(tmp_path / name)
        assert_array_equal(table.data, [[1, 2], [3, 4]])
        assert table.feature_names == ["f0", "f1"]
        assert table.target_names.tolist() == ["a", "b"]


def test_features_of_images_are_read_in_float32(small, tmp_path):
    small("cifar10_features")
    folder = write_table(tmp_path / "data", "cifar10_features")
    data = load("cifar10_features", data_dir=folder).data
    assert data.dtype == np.float32
    assert_array_equal(data, POINTS)


IMAGES = np.arange(20).reshape(5, 2, 2) + 235


def write_images(folder):
    folder.mkdir()
    (folder / "train-images-idx3-ubyte.gz").write_bytes(idx(IMAGES))
    (folder / "train-labels-idx1-ubyte.gz").write_bytes(idx([3, 3, 9, 3, 9]))
    return folder


def test_fashion_mnist_is_read_from_its_own_files(small, tmp_path):
    small("fashion_mnist", n_features=4)
    folder = write_images(tmp_path / "data")
    bunch = load("fashion_mnist", data_dir=folder)
    assert bunch.data.dtype == np.float32
    assert_array_equal(bunch.data, IMAGES.reshape(5, 4))
    assert_array_equal(bunch.target_names[bunch.target], ["3", "3", "9", "3", "9"])
    packed = folder / "train-labels-idx1-ubyte.gz"
    packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    assert_array_equal(load("fashion_mnist", data_dir=folder).target, bunch.target)


def test_fashion_mnist_may_be_that_of_debian(small, tmp_path):
    small("fashion_mnist", n_features=4)
    debian = write_images(tmp_path / "debian")
    (tmp_path / "other").mkdir()
    assert load("fashion_mnist").source.startswith(str(debian))
    assert load("fashion_mnist", data_dir=tmp_path / "other").source.startswith(str(debian))


def test_one_of_two_files_is_not_enough(small, tmp_path, monkeypatch):
    small("fashion_mnist", n_features=4)
    write_images(tmp_path / "debian")
    folder = write_images(tmp_path / "data")
    (folder / "train-labels-idx1-ubyte.gz").unlink()
    message = "data has train-images-idx3-ubyte.gz but not train-labels-idx1-ubyte.gz"
    with pytest.raises(FileNotFoundError, match=message):
        load("fashion_mnist", data_dir=folder)
    monkeypatch.setenv("AMCLUST_DATA", str(folder))
    with pytest.raises(FileNotFoundError, match=message):
        load("fashion_mnist")


def test_the_wrong_one_of_two_files_is_named(small, tmp_path):
    small("fashion_mnist", n_features=4)
    labels = write_images(tmp_path / "data") / "train-labels-idx1-ubyte.gz"
    labels.write_bytes(labels.read_bytes()[:-9])
    with pytest.raises(ValueError, match="damaged") as caught:
        load("fashion_mnist", data_dir=tmp_path / "data")
    assert f"{labels} is damaged or not the set 'fashion_mnist': {labels.name}: " in str(
        caught.value
    )
    labels.write_bytes(idx([3, 9]))
    with pytest.raises(ValueError, match="images.*ubyte.gz and .*labels.*ubyte.gz is damaged.* 2 "):
        load("fashion_mnist", data_dir=tmp_path / "data")


def test_a_number_written_is_read_as_the_same(tmp_path):
    points = np.random.default_rng(0).normal(size=(10_000, 3)) * 10.0 ** np.arange(-20, 40, 20)
    labels, names = ['a,"b"', "#c d"] * 5_000, ["x,y", 'z"', "f2"]
    write_csv(tmp_path / "one.csv.gz", points, labels, names)
    found = read_csv(tmp_path / "one.csv.gz")
    assert_array_equal(found.data, points)
    assert_array_equal(found.target_names[found.target], labels)
    assert found.feature_names == names


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_samples": 6}, "5 rows, 2 features, 2 classes, but Zoo has 6 rows, 2 features, 2"),
        ({"n_features": 3}, "but Zoo has 5 rows, 3 features, 2 classes"),
        ({"n_classes": 3}, "but Zoo has 5 rows, 2 features, 3 classes"),
    ],
)
def test_another_shape_than_the_published_is_refused(small, tmp_path, changes, message):
    small("zoo", **changes)
    with pytest.raises(ValueError, match=message) as caught:
        load("zoo", data_dir=write_table(tmp_path / "data"))
    assert str(tmp_path / "data" / "zoo.csv.gz") in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty, not the names"),
        ("\n \n", "it is empty, not the names"),
        ("f0,f1,label\n", "no points, only a header"),
        ("f0;f1;label\n1;2;a\n", "its first line is 'f0;f1;label', not .* with commas"),
        ("f0, f0,label\n1,2,a\n", "the header, has the name 'f0' 2 times"),
        ("f0,f1,label\n1,2,a\n\n1,x,b\n", "feature 'f1' is 'x' in line 4, not a number"),
        ("f0,f1,label\n1,,a\n1,2,b\n", "feature 'f1' is '' in line 2, not a number"),
        ("f0,f1,label\n1,2,a\n1,b\n", "line 3 has 2 values, the header 3"),
        ("f0,label\n1,2,a\n", "line 2 has 3 values, the header 2"),
        ("f0,f1,label\n1,2,a\n1,2,a\n1,nan,a\n1,2,b\n\n1,2,b\n", "feature 'f1' is nan in row 2"),
    ],
)
def test_a_bad_table_is_named(small, tmp_path, text, message):
    small("zoo")
    write_text(tmp_path / "zoo.csv.gz", text)
    with pytest.raises(
        ValueError, match=f"zoo.csv.gz is damaged or not the set 'zoo': .*{message}"
    ):
        load("zoo", data_dir=tmp_path)


@pytest.mark.parametrize("keep", [0, 5, 40, -4])
def test_a_file_cut_short_is_named(small, tmp_path, keep):
    small("zoo")
    path = write_table(tmp_path / "data") / "zoo.csv.gz"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match="zoo.csv.gz is damaged"):
        load("zoo", data_dir=tmp_path / "data")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x00\x08\x03\x00",
        b"\x00\x00\x0d\x01\x00\x00\x00\x01\x05",
        b"\x00\x00\x08\x01\x00\x00\x00\x02\x05",
    ],
    ids=["empty", "header", "floats", "values"],
)
def test_a_bad_idx_file_is_refused(content):
    with pytest.raises(ValueError, match="idx file of bytes|header says 2 values, there are 1"):
        parse_idx(content)


@pytest.mark.parametrize(
    ("images", "classes", "message"),
    [
        ((0, 2, 2), (0,), "no points"),
        ((5, 2, 2), (4,), r"4 labels for points of the shape \(5, 4\)"),
        ((5, 4), (5,), "three axes and classes one, these 2 and 1"),
        ((5, 2, 2), (), "three axes and classes one, these 3 and 0"),
    ],
)
def test_images_and_classes_must_fit(images, classes, message):
    with pytest.raises(ValueError, match=message):
        images_table(np.zeros(images, np.uint8), np.zeros(classes, np.uint8))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"name": "iris"},
            "'name' parameter of load_dataset .*'yale', 'zoo'. Got 'iris' instead.$",
        ),
        ({"name": "Zoo"}, "one of 'cifar10_features', 'ctg', .* Did you mean 'zoo'?"),
        ({"name": "MicePE"}, "Did you mean 'mice_protein'?"),
        ({"name": 3}, "'name' parameter"),
        ({"data_dir": 3}, "'data_dir' parameter"),
        ({"download": "no"}, "'download' parameter"),
        ({"as_frame": "yes"}, "'as_frame' parameter"),
        ({"n_retries": 0}, "'n_retries' parameter"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        load_dataset(**{"name": "zoo", "download": False, **options})


@pytest.mark.parametrize("by", ["data_dir", "AMCLUST_DATA"])
def test_a_data_folder_must_be_there(zoo, web, tmp_path, monkeypatch, by):
    nowhere = tmp_path / "nowhere"
    monkeypatch.setenv("AMCLUST_DATA", str(nowhere if by == "AMCLUST_DATA" else tmp_path))
    with pytest.raises(FileNotFoundError, match=f"{by} must be a folder, .*nowhere"):
        load("zoo", data_dir=nowhere if by == "data_dir" else None)
    assert web.requests == []


def test_what_is_not_at_hand_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="zoo.csv.gz in .*home.amclust.*data_dir"):
        load("zoo", download=False)
    with pytest.raises(FileNotFoundError, match="DenseNet-201.*cifar10_features.csv.gz"):
        load("cifar10_features", data_dir=tmp_path)


# --- the network ---------------------------------------------------------------------------------

CTG = "AC,NSP,FM,CLASS\n1.0004,3,.5,1\n2,3,0.2496,1\n3,3,8,2.0\n4,3,-2,1\n5,3,0,2\n"
SVM = bz2.compress(b"1 1:1 2:.5\n1 1:2 2:.25\n2 1:3 2:8\n1 1:4 2:-2\n2 1:5\n")
ARFF = "1,.5,1\n2,.25,1\n3,8,2\n4,-2,1\n5,0,2\n"
ORIGINALS = {
    "ctg": {"/static/public/193/data.csv": CTG.encode()},
    "usps_test": {"/usps.t.bz2": SVM},
    "mice_protein": openml(
        "miceprotein",
        "1,.5,a,1\n2,.25,a,1\n3,8,b,2\n4,-2,a,1\n5,?,b,2\n",
        ["DYRK1A_N", "ITSN1_N", "Genotype", "class"],
        ignored=["Genotype"],
    ),
    "zoo": {"/archive.ics.uci.edu/ml/": text_rows(",", ["aardvark"])},
    "ecoli": {"/ecoli.data": text_rows("   ", ["AAT_ECOLI"])},
    "movement_libras": {"/libras/movement_libras.data": text_rows(",")},
    "segment": {"/statlog/segment/segment.dat": text_rows(" ")},
    "yale": {"/Yale.mat": matlab(X=POINTS, Y=np.array([LABELS], dtype=int).T)},
    "nci9": {"/nci9.mat": matlab(X=POINTS, Y=np.array([LABELS], dtype=np.uint8).T)},
    "gcm": openml("GCM", ARFF, ["AB000468_at", "gene-2", "class"]),
    "japanese_vowels": openml(
        "BNG(JapaneseVowels)",
        "1,1,.5\n1,2,.25\n2,3,8\n1,4,-2\n2,5,0\n",
        ["speaker", "utterance", "coefficient1"],
        target="speaker",
    ),
}
FEATURES = {
    "ctg": ["AC", "FM"],
    "mice_protein": ["DYRK1A_N", "ITSN1_N"],
    "gcm": ["AB000468_at", "gene-2"],
    "japanese_vowels": ["utterance", "coefficient1"],
}


@pytest.mark.parametrize("name", ORIGINALS)
def test_an_original_is_downloaded_once(name, small, web):
    """CTG to three decimals, by one of its two targets; a missing protein as zero."""
    info = small(name)
    web.files = ORIGINALS[name]
    bunch = load(name)
    assert_array_equal(bunch.data, POINTS)
    first = 0 if name == "usps_test" else 1  # its digits begin at zero, where LIBSVM has one
    expected = [str(int(label) - 1 + first) for label in LABELS]
    assert_array_equal(bunch.target_names[bunch.target], expected)
    assert bunch.feature_names == FEATURES.get(name, ["f0", "f1"])
    assert bunch.source == info.source.address
    web.files, web.requests = {}, []
    again = load(name, download=False)
    assert not web.requests
    assert_array_equal(again.data, bunch.data)
    assert_array_equal(again.target, bunch.target)
    assert again.feature_names == bunch.feature_names
    (path,) = (get_data_home() / name).iterdir()
    assert again.source == str(path)
    if path.suffix != ".npz":  # of openml.org only what scikit-learn read is kept
        assert [path.read_bytes()] == list(ORIGINALS[name].values())


def test_fashion_mnist_is_downloaded_once(small, web):
    small("fashion_mnist", n_features=4)
    images = np.arange(20).reshape(5, 2, 2)
    web.files = {"train-images": idx(images), "train-labels": idx([0, 0, 9, 0, 9])}
    bunch = load("fashion_mnist")
    assert_array_equal(bunch.data, images.reshape(5, 4))
    assert len(web.requests) == 2
    again = load("fashion_mnist")
    assert len(web.requests) == 2
    assert_array_equal(again.data, bunch.data)
    assert_array_equal(again.target_names[again.target], bunch.target_names[bunch.target])


def cached_files():
    return sorted(path.name for path in get_data_home().glob("*/*"))


def known(small, name="zoo", algorithm="sha256"):
    """Give a small set whose original has a known checksum."""
    (content,) = ORIGINALS[name].values()
    return small(name, f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}")


def cut(path):
    path.write_bytes(path.read_bytes()[:-9])


def change(path):
    path.write_bytes(path.read_bytes().replace(b"0.25", b"0.75"))


@pytest.mark.parametrize("damage", [cut, change])
@pytest.mark.parametrize("by", ["checksum", "content"])
def test_a_damaged_cache_is_noticed_and_renewed(small, web, damage, by, recwarn):
    known(small) if by == "checksum" else small("zoo", **KNOWN)
    web.files = ORIGINALS["zoo"]
    load("zoo")
    damage(get_data_home() / "zoo" / "zoo.data")
    message = "zoo.data is damaged or not the set 'zoo': "
    with pytest.raises(ValueError, match=f"{message}.*; remove it or .* download=True"):
        load("zoo", download=False)
    assert_array_equal(load("zoo").data, POINTS)
    # pooch renews a file of another checksum; what only its content betrays is worth a warning.
    if by == "content":
        warning = recwarn.pop(RuntimeWarning)
        assert re.search(f"{message}.*; downloading it again", str(warning.message))
        assert warning.filename == __file__
    assert len(recwarn) == 0
    assert len(web.requests) == 2
    assert_array_equal(load("zoo", download=False).data, POINTS)


def test_a_cached_set_of_another_shape_is_renewed(small, web):
    """As after a new version of amclust that knows the set better."""
    small("zoo", n_classes=1)
    web.files = {"/zoo.data": text_rows(",", ["aardvark"]).replace(b"2\n", b"1\n")}
    load("zoo")
    small("zoo")
    web.files = ORIGINALS["zoo"]
    with pytest.warns(RuntimeWarning, match="5 rows, 2 features, 1 classes.*downloading it again"):
        assert_array_equal(load("zoo").target, [0, 0, 1, 0, 1])


@pytest.mark.parametrize("name", ["zoo", "gcm"])
def test_a_passing_failure_is_tried_again(small, web, name, recwarn):
    small(name)
    web.files, web.refusals = ORIGINALS[name], 1
    assert_array_equal(load(name).data, POINTS)
    web.refusals = 2
    with pytest.raises(OSError, match="cannot download https://.*503"):
        load(name, data_home=get_data_home() / "other")
    assert list((get_data_home() / "other").glob("*/*")) == []


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("zoo", "https://archive.*zoo.data"),
        ("gcm", "https://www.openml.org: GCM"),
        ("fashion_mnist", "https?://.*train-labels-idx1-ubyte.gz"),
    ],
)
def test_what_the_server_does_not_have_is_named(small, web, tmp_path, name, missing, recwarn):
    info = small(name, n_features=4)
    web.files = {"train-images": idx(IMAGES)}
    with pytest.raises(OSError, match=f"(?s)cannot download .*{missing}") as caught:
        load(name, data_dir=tmp_path, data_home=tmp_path / "cache")
    assert "404" in str(caught.value)
    looked = f"in {tmp_path}, .*{tmp_path / 'cache'}"
    advice = "name the folder that has it with data_dir or AMCLUST_DATA$"
    assert re.search(rf"\. {info.title} is not at hand \(.*{looked}\): {advice}", str(caught.value))


@pytest.mark.parametrize("data_home", ["file", "file/cache", "taken"])
def test_a_cache_that_cannot_be_written_is_named(zoo, web, tmp_path, data_home):
    (tmp_path / "taken").mkdir()
    for path in (tmp_path / "file", tmp_path / "taken" / "zoo"):
        path.touch()
    folder = tmp_path / data_home / "zoo"
    message = f"data_home must be a folder that can be written to, '{folder}' cannot: "
    with pytest.raises(OSError, match=message):
        load("zoo", data_home=tmp_path / data_home)
    assert web.requests == []


def test_a_download_is_quiet_unless_pooch_is_asked(small, web, caplog, tmp_path):
    small("zoo")
    web.files, web.refusals = ORIGINALS["zoo"], 1
    logger = pooch.get_logger()
    logger.addHandler(caplog.handler)
    try:
        load("zoo")
        assert not caplog.records
        logger.setLevel("INFO")
        load("zoo", data_home=tmp_path / "other")
        assert "Downloading file" in caplog.text
    finally:
        logger.setLevel(logging.NOTSET)
        logger.removeHandler(caplog.handler)


@pytest.mark.parametrize("error", [KeyboardInterrupt, requests.exceptions.ChunkedEncodingError])
def test_a_download_that_stops_leaves_nothing(zoo, web, monkeypatch, error):

    def stopped(response, chunk_size):
        yield response.raw.read()[:9]
        raise error

    expected = (OSError, "cannot download") if issubclass(error, OSError) else (error, "^$")
    with monkeypatch.context() as patch:
        patch.setattr(requests.Response, "iter_content", stopped)
        with pytest.raises(expected[0], match=expected[1]):
            load("zoo")
    assert cached_files() == []
    assert_array_equal(load("zoo").data, POINTS)


@pytest.mark.parametrize(
    ("name", "part", "content", "reason"),
    [
        ("zoo", "zoo.data", b"<html>Moved</html>", ""),
        ("zoo", "zoo.data", b"", "it is empty"),
        ("zoo", "zoo.data", b"\n \n", "it is empty"),
        ("zoo", "zoo.data", b"\xff\xfe", ""),
        ("zoo", "zoo.data", b"hare,1,2,1\nfox,3,2\n", "its rows have from 3 to 4 values"),
        ("ctg", "data.csv", b"<html>Moved</html>", "it has no column"),
        ("ctg", "data.csv", b"", "it has no column"),
        ("ctg", "data.csv", CTG[:-5].encode(), ""),
        ("yale", "Yale.mat", b"<html>Moved</html>" * 20, ""),
        ("yale", "Yale.mat", b"", "it is not a MATLAB file"),
        ("yale", "Yale.mat", matlab(Z=POINTS), "it is not a MATLAB file"),
        (
            "yale",
            "Yale.mat",
            matlab(X=POINTS[:-1], Y=np.array([LABELS], dtype=int).T),
            "it has 5 labels",
        ),
        ("usps_test", "usps.t.bz2", SVM[:-1] + b"x", ".*MD5 hash"),
        ("gcm", "openml.org", b"{}", "openml.org describes it without"),
        ("fashion_mnist", "ubyte.gz", b"<html>Moved</html>", "train-images-idx3-ubyte.gz: "),
        ("fashion_mnist", "ubyte.gz", idx(np.zeros((5, 2)))[:-9], "train-images-idx3-ubyte.gz: "),
        ("fashion_mnist", "ubyte.gz", idx(IMAGES), "images have three axes"),
        ("fashion_mnist", "labels", idx([0, 0, 9, 0, 9])[:-9], "train-labels-idx1-ubyte.gz: "),
    ],
)
def test_something_else_in_the_place_of_an_original_is_refused(
    small, web, name, part, content, reason
):
    info = known(small, name, "md5") if name == "usps_test" else small(name)
    web.files = {part: content, "train-images": idx(IMAGES)}
    message = f"(?s)is damaged or not the set '{name}': {reason}"
    with pytest.raises(ValueError, match=message) as caught:
        load(name)
    assert str(caught.value).startswith(info.source.address)
    assert cached_files() == []


def test_the_md5_of_openml_is_compared(small, web):
    small("gcm")
    web.files = openml("GCM", ARFF, ["a", "b", "class"], md5="0" * 32)
    with (
        pytest.warns(RuntimeWarning, match="redownloading"),
        pytest.raises(ValueError, match="GCM, version 1 is damaged.*md5 checksum"),
    ):
        load("gcm")
    assert cached_files() == []


# --- is it the published set? --------------------------------------------------------------------

TABLE = make_table(POINTS, LABELS)
KNOWN = {"sha256": hash_points(POINTS), "class_profile": tuple(class_profile(TABLE))}


def test_the_order_of_rows_and_the_names_of_classes_do_not_matter(small):
    info = small("zoo", **KNOWN)
    order = [4, 2, 0, 3, 1]
    names = np.array(["mammal", "bird"])[TABLE.target]
    check_values(info, make_table(POINTS[order], names[order]))


def test_zero_has_no_sign():
    assert hash_points(POINTS) == hash_points(np.where(POINTS == 0, -0.0, POINTS))


@pytest.mark.parametrize(
    ("points", "labels", "message"),
    [
        (POINTS, ["1", "1", "2", "2", "2"], "mean values of its classes"),
        (POINTS, ["1", "2", "2", "2", "2"], r"\[4, 1\] rows, but those of Zoo have \[3, 2\]"),
        (POINTS, ["1", "2", "2", "1", "1"], "mean values of its classes"),
        (POINTS * [1, 1.01], LABELS, "mean values of its classes"),
        (POINTS + np.array([1e-5, -1e-5]), LABELS, "SHA-256 of its points"),
        (POINTS[:, ::-1], LABELS, "SHA-256 of its points"),
    ],
)
def test_other_values_are_refused(small, web, tmp_path, points, labels, message):
    small("zoo", **KNOWN)
    web.files = {"zoo.data": text_rows(",", ["name"], points, labels)}
    with pytest.raises(ValueError, match=f"zoo.data is damaged.*{message}"):
        load("zoo")
    # Only in a download: a file may be somebody's own preparation.
    folder = write_table(tmp_path / "data", points=points, labels=labels)
    warning = f"zoo.csv.gz: not the published data, used as it is: .*{message}"
    with pytest.warns(UserWarning, match=warning) as caught:
        bunch = load("zoo", data_dir=folder)
    assert_array_equal(bunch.data, points)
    assert caught[0].filename == __file__


def test_rounding_is_forgiven_where_sources_differ_in_digits(small):
    info = small("mice_protein", class_profile=KNOWN["class_profile"])
    check_values(info, make_table(POINTS + 1e-6, LABELS))
    with pytest.raises(ValueError, match="mean values"):
        check_values(info, make_table(POINTS + 1e-2, LABELS))


FOLDER = Path(os.environ.get("AMCLUST_DATA") or "../shared/data")


@pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the folder of the paper's sets")
@pytest.mark.parametrize(
    "name", [name for name in DATASETS if (FOLDER / f"{name}.csv.gz").is_file()]
)
def test_the_copies_at_hand_are_the_published_sets(name):
    bunch = load(name, data_dir=FOLDER, download=False)
    check_values(DATASETS[name], make_table(bunch.data, bunch.target))
