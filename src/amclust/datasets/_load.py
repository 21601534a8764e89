"""load_dataset: a folder of files first, then the cache, then the network."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from amclust._files import atomic_write
from amclust.datasets import _checks
from amclust.datasets._registry import DATASETS, DatasetInfo
from amclust.datasets._sources import Network
from amclust.datasets._table import (
    DAMAGE,
    Table,
    images_table,
    read_csv,
    read_idx,
    write_csv,
    write_idx,
)

# Where Debian's package dataset-fashion-mnist puts its files.
DEBIAN_FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")


def get_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that downloaded sets are kept in.

    The folder need not exist; `load_dataset` makes it with the first download. It may be deleted
    at any time, and its files be used as a data folder elsewhere.

    Parameters
    ----------
    data_home : str or path-like, default=None
        The folder. By default ``amclust`` in scikit-learn's data folder, which is
        ``~/scikit_learn_data`` or what the environment variable ``SCIKIT_LEARN_DATA`` says.

    Returns
    -------
    data_home : Path
        The folder.

    See Also
    --------
    load_dataset : Load one of the sets.

    Examples
    --------
    >>> from amclust.datasets import get_data_home
    >>> get_data_home("~/sets").name
    'sets'
    """
    if data_home is None:
        home = os.environ.get("SCIKIT_LEARN_DATA") or "~/scikit_learn_data"
        data_home = Path(home) / "amclust"
    return Path(data_home).expanduser()


@validate_params(
    {
        "name": [StrOptions(set(DATASETS))],
        "data_dir": [str, os.PathLike, None],
        "data_home": [str, os.PathLike, None],
        "download": ["boolean"],
        "return_X_y": ["boolean"],
        "n_retries": [Interval(Integral, 1, None, closed="left")],
        "delay": [Interval(Real, 0, None, closed="neither")],
    },
    prefer_skip_nested_validation=True,
)
def load_dataset(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    return_X_y: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Load one of the data sets that the ClAM paper clusters, with raw values.

    The files of a data folder come first. Where the set is not among them it is taken from the
    cache, and where it is not there either it is downloaded from where it was published and kept
    in the cache. The paper standardises every feature before clustering; these are the values
    before that.

    Parameters
    ----------
    name : str
        One of `NAMES`, the twelve sets of the paper, or another key of `DATASETS`.

    data_dir : str or path-like, default=None
        Folder of files ``<name>.csv.gz``: a header, one row a point, the class in the last
        column. Fashion-MNIST's are its own, ``train-images-idx3-ubyte.gz`` and
        ``train-labels-idx1-ubyte.gz``. By default the folder that the environment variable
        ``AMCLUST_DATA`` names, if it is set.

    data_home : str or path-like, default=None
        Folder of the cache, see `get_data_home`.

    download : bool, default=True
        Whether to download a set that is neither in the data folder nor in the cache.

    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    n_retries : int, default=3
        How often a download is tried again after a network error.

    delay : float, default=1.0
        Seconds between two tries.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : ndarray of shape (n_samples, n_features)
            The points, in float64; those of Fashion-MNIST and CIFAR-10 in float32.
        target : ndarray of shape (n_samples,)
            Classes as codes 0, 1, ... into `target_names`. For scoring a clustering only.
        feature_names : list of str
            Names of the features, ``f0``, ``f1``, ... where none were published.
        target_names : ndarray of str
            Names of the classes, in the order of text: "10" comes before "2".
        n_clusters : int
            Number of classes, the number of clusters in the paper.
        source : str
            The file or the address that the set was read from.
        DESCR : str
            What the set is and where it comes from.

    (data, target) : tuple of ndarray
        If `return_X_y`.

    Raises
    ------
    FileNotFoundError
        If the set is at hand nowhere and may not or cannot be downloaded.

    ValueError
        If a file is damaged or holds another set.

    OSError
        If a download fails.

    See Also
    --------
    get_data_home : The folder of the cache.

    Notes
    -----
    However a set is had, its rows, features and classes must be as many as were published. What
    is downloaded is checked further. For the sets that amclust was tested on, the sizes and the
    mean values of the classes must be right and, where every source has the same digits, the
    SHA-256 of the points, which depends neither on the order of the rows nor on the file format.
    The files of openml.org and USPS have published MD5s, which must be right too; for GCM and
    Japanese Vowels there is nothing more to go by. The SHA-256 of every file that goes into the
    cache is kept beside it, and a file that no longer has it is downloaded again.

    Examples
    --------
    >>> from amclust.datasets import DATASETS, NAMES
    >>> len(NAMES)
    12
    >>> DATASETS["zoo"].n_samples, DATASETS["zoo"].n_features, DATASETS["zoo"].n_classes
    (101, 16, 7)

    >>> from amclust.datasets import load_dataset
    >>> zoo = load_dataset("zoo")  # doctest: +SKIP
    >>> zoo.data.shape, zoo.n_clusters  # doctest: +SKIP
    ((101, 16), 7)
    """
    info = DATASETS[name]
    table, source = _load(
        info,
        _data_folders(info, data_dir),
        get_data_home(data_home),
        Network(n_retries, delay) if download else None,
    )
    if return_X_y:
        return table.data, table.target
    return Bunch(
        data=table.data,
        target=table.target,
        feature_names=_feature_names(info, table),
        target_names=table.target_names,
        n_clusters=info.n_classes,
        source=source,
        DESCR=info.describe(),
    )


def _feature_names(info: DatasetInfo, table: Table) -> list[str]:
    numbered = table.feature_names == [f"f{column}" for column in range(info.n_features)]
    return list(info.feature_names) if numbered and info.feature_names else table.feature_names


def _data_folders(info: DatasetInfo, data_dir: str | os.PathLike[str] | None) -> list[Path]:
    given = os.environ.get("AMCLUST_DATA") or None if data_dir is None else data_dir
    folders = [] if given is None else [Path(given).expanduser()]
    if data_dir is not None and not folders[0].is_dir():
        msg = f"data_dir must be a folder, {str(data_dir)!r} is none"
        raise FileNotFoundError(msg)
    return [*folders, DEBIAN_FASHION_MNIST] if info.is_idx else folders


def _load(
    info: DatasetInfo, folders: list[Path], cache: Path, network: Network | None
) -> tuple[Table, str]:
    for folder in folders:
        if _is_there(info, folder):
            return _read(info, folder), str(folder / info.files[0])

    if _is_there(info, cache):
        first = str(cache / info.files[0])
        try:
            _compare_hashes(info, cache)
            return _read(info, cache), first
        except ValueError as error:
            if network is None:
                raise
            # Past `load_dataset` and scikit-learn's check of its parameters, to the caller.
            warnings.warn(f"{error}; downloading it again", RuntimeWarning, stacklevel=4)

    original = info.source
    if network is None or original is None:
        raise _not_at_hand(info, folders, cache)
    table = _checked(info, original.address, lambda: original.load(network), values=True)
    cache.mkdir(parents=True, exist_ok=True)
    _write(info, table, cache)
    return table, original.address


def _is_there(info: DatasetInfo, folder: Path) -> bool:
    return all((folder / file).is_file() for file in info.files)


def _not_at_hand(info: DatasetInfo, folders: list[Path], cache: Path) -> FileNotFoundError:
    looked = ", ".join(str(folder) for folder in (*folders, cache))
    if info.source is None:
        way = f"{info.note} Then name the folder with data_dir or AMCLUST_DATA"
    else:
        way = "name the folder that has it with data_dir or AMCLUST_DATA, or let it be downloaded"
    files = " and ".join(info.files)
    return FileNotFoundError(f"{info.title} is not at hand ({files} in {looked}): {way}")


def _read(info: DatasetInfo, folder: Path) -> Table:
    paths = [folder / file for file in info.files]
    if info.is_idx:
        return _checked(info, str(paths[0]), lambda: images_table(*map(read_idx, paths)))
    return _checked(info, str(paths[0]), lambda: read_csv(paths[0], info.dtype))


def _checked(
    info: DatasetInfo, where: str, read: Callable[[], Table], *, values: bool = False
) -> Table:
    """Read a table and check it; whatever is wrong with it is a ValueError that says where."""
    try:
        table = read()
        _checks.check_shape(info, table)
        if values:
            _checks.check_values(info, table)
    except DAMAGE as error:
        msg = f"{where} is damaged or not the set {info.name!r}: {error}"
        raise ValueError(msg) from error
    return table


def _write(info: DatasetInfo, table: Table, cache: Path) -> None:
    if info.is_idx:
        side = round(info.n_features**0.5)
        classes = table.target_names.astype("u1")[table.target]
        write_idx(table.data.astype("u1").reshape(-1, side, side), cache / info.files[0])
        write_idx(classes, cache / info.files[1])
    else:
        write_csv(table, cache / info.files[0])
    for file in info.files:
        with atomic_write(_hash_file(cache / file), overwrite=True) as record:
            record.write(f"{_hash(cache / file)}  {file}\n".encode())


def _compare_hashes(info: DatasetInfo, cache: Path) -> None:
    """Raise if a file of the cache is not what was written."""
    for file in info.files:
        record = _hash_file(cache / file)
        expected = record.read_text(encoding="utf-8").split() if record.is_file() else []
        if expected[:1] != [_hash(cache / file)]:
            msg = f"{cache / file} is damaged: its SHA-256 is not the one in {record.name}"
            raise ValueError(msg)


def _hash_file(path: Path) -> Path:
    """Give the file beside `path` that ``sha256sum --check`` reads."""
    return path.with_name(f"{path.name}.sha256")


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
