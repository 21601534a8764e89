"""load_dataset: a folder of files first, then the cache, then where it was published."""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
import warnings
from collections.abc import Iterator
from numbers import Integral
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch
from sklearn.utils._param_validation import Interval, InvalidParameterError, validate_params

from amclust.datasets._checks import check_shape, check_values
from amclust.datasets._registry import DATASETS, DatasetInfo
from amclust.datasets._table import DAMAGE, Table, read_csv, read_images

# Where Debian's package dataset-fashion-mnist puts its files.
DEBIAN_FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")


def get_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that downloaded sets are kept in.

    The folder need not exist; `load_dataset` makes it with the first download, with a folder of
    original files per set. It may be deleted at any time.

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
        "name": [str],
        "data_dir": [str, os.PathLike, None],
        "data_home": [str, os.PathLike, None],
        "download": ["boolean"],
        "return_X_y": ["boolean"],
        "as_frame": ["boolean"],
        "n_retries": [Interval(Integral, 1, None, closed="left")],
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
    as_frame: bool = False,
    n_retries: int = 3,
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
        Folder of files ``<name>.csv.gz`` or ``<name>.csv``: a header, one row per point, the
        class in the last column, UTF-8. Fashion-MNIST has the two idx files of its publisher,
        also without ``.gz``. By default the folder that the environment variable
        ``AMCLUST_DATA`` names, if it is set; for Fashion-MNIST then that of Debian's package
        dataset-fashion-mnist.

    data_home : str or path-like, default=None
        Folder of the cache, see `get_data_home`. A download needs one that can be written to.

    download : bool, default=True
        Whether to download a set that is neither in the data folder nor in the cache. Downloads
        and the cache need pooch, which the extra ``amclust[data]`` brings.

    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    as_frame : bool, default=False
        Whether points and classes are a pandas DataFrame and Series. Needs pandas, which the
        extra ``amclust[table]`` brings.

    n_retries : int, default=3
        How often a download is tried again if it fails.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : ndarray or DataFrame of shape (n_samples, n_features)
            The points, in float64; those of Fashion-MNIST and CIFAR-10 in float32.
        target : ndarray or Series of shape (n_samples,)
            Classes as codes 0, 1, ... into `target_names`. For scoring a clustering only.
        frame : DataFrame of shape (n_samples, n_features + 1) or None
            The points and, in a last column ``target``, their classes, if `as_frame`.
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

    (data, target) : tuple of ndarray, or of DataFrame and Series
        If `return_X_y`.

    See Also
    --------
    get_data_home : The folder of the cache.

    Notes
    -----
    However a set is had, its rows, features and classes must be as many as were published. For
    the sets that amclust was tested on, its content is compared too: the sizes and the mean
    values of the classes and, where every source has the same digits, the SHA-256 of the points,
    which depends neither on the order of the rows nor on the file format. A download that differs
    is refused (ValueError); a file of a data folder that differs is loaded with a UserWarning,
    since it may be a preparation of your own. For GCM, CIFAR-10 and Japanese Vowels there is no
    content to compare with.

    The cache holds the original files. Their bytes must have the published checksum where one is
    known: SHA-256 for Zoo and Fashion-MNIST, MD5 for USPS and, as they are downloaded, the sets
    of openml.org. A file that no longer has it, or whose content is damaged, is downloaded again.

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
    info = _find_info(name)
    pandas = _import_pandas() if as_frame else None
    folders = _data_folders(info, data_dir)
    cache = get_data_home(data_home)
    table, source = _from_folders(info, folders) or _from_original(
        info, folders, cache, download=download, n_retries=n_retries
    )
    feature_names = _feature_names(info, table)
    data: Any = table.data
    target: Any = table.target
    frame = None
    if pandas:
        data = pandas.DataFrame(data, columns=feature_names, copy=False)
        target = pandas.Series(target, name="target", copy=False)
        frame = pandas.concat([data, target], axis=1)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=feature_names,
        target_names=table.target_names,
        n_clusters=info.n_classes,
        source=source,
        DESCR=info.describe(),
    )


def _find_info(name: str) -> DatasetInfo:
    if name in DATASETS:
        return DATASETS[name]
    # The paper's tables say MicePE and FMNIST.
    known = {info.title.lower(): info.name for info in DATASETS.values()}
    known.update({known_name: known_name for known_name in DATASETS})
    close = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f" Did you mean {known[close[0]]!r}?" if close else ""
    msg = (
        "The 'name' parameter of load_dataset must be one of "
        f"{', '.join(map(repr, sorted(DATASETS)))}. Got {name!r} instead.{hint}"
    )
    raise InvalidParameterError(msg)


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        msg = "as_frame=True needs pandas: pip install 'amclust[table]', or leave it False"
        raise ImportError(msg) from error
    return pandas


def _feature_names(info: DatasetInfo, table: Table) -> list[str]:
    numbered = table.feature_names == [f"f{column}" for column in range(info.n_features)]
    return list(info.feature_names) if numbered and info.feature_names else table.feature_names


def _data_folders(info: DatasetInfo, data_dir: str | os.PathLike[str] | None) -> list[Path]:
    by = "AMCLUST_DATA" if data_dir is None else "data_dir"
    given = os.environ.get("AMCLUST_DATA") or None if data_dir is None else data_dir
    folders = [] if given is None else [Path(given).expanduser()]
    for folder in folders:
        if not folder.is_dir():
            msg = f"{by} must be a folder, {str(given)!r} is none"
            raise FileNotFoundError(msg)
        found = _find_files(info, folder)
        missing = [name for name, path in found.items() if path is None]
        if 0 < len(missing) < len(found):
            names = " and ".join(path.name for path in found.values() if path)
            msg = f"{folder} has {names} but not {' and '.join(missing)}: {info.title} needs both"
            raise FileNotFoundError(msg)
    return [*folders, DEBIAN_FASHION_MNIST] if info.is_idx else folders


def _find_files(info: DatasetInfo, folder: Path) -> dict[str, Path | None]:
    """Return each file of a set in a folder, packed or plain, or None where it is missing."""
    found = {}
    for name in info.files:
        candidates = (folder / name, folder / name.removesuffix(".gz"))
        found[name] = next((path for path in candidates if path.is_file()), None)
    return found


def _from_folders(info: DatasetInfo, folders: list[Path]) -> tuple[Table, str] | None:
    for folder in folders:
        paths = [path for path in _find_files(info, folder).values() if path]
        if len(paths) < len(info.files):
            continue
        where = " and ".join(map(str, paths))
        with _blaming(info, where):
            table = read_images(*paths) if info.is_idx else read_csv(paths[0], info.dtype)
            check_shape(info, table)
        try:
            check_values(info, table)
        except ValueError as error:
            _warn(f"{where}: not the published data, used as it is: {error}", UserWarning)
        return table, str(paths[0])
    return None


def _from_original(
    info: DatasetInfo, folders: list[Path], cache: Path, *, download: bool, n_retries: int
) -> tuple[Table, str]:
    source, folder = info.source, cache / info.name
    paths = source.paths(folder) if source else []
    is_cached = bool(paths) and all(path.is_file() for path in paths)
    looked = ", ".join(map(str, (*folders, cache)))
    missing = f"{info.title} is not at hand ({' and '.join(info.files)} in {looked})"
    way = "name the folder that has it with data_dir or AMCLUST_DATA"
    if source is None:
        msg = f"{missing}: {info.note} Then {way}"
        raise FileNotFoundError(msg)
    if not is_cached and not download:
        msg = f"{missing}: {way}, or let it be downloaded"
        raise FileNotFoundError(msg)

    where = " and ".join(map(str, paths)) if is_cached else source.address
    try:
        with _blaming(info, where):
            source.fetch(folder, download=download, n_retries=n_retries)
            table = source.read(*paths)
            check_shape(info, table)
            check_values(info, table)
    except ImportError as error:
        msg = f"{missing}: {way}; {error}"
        raise ImportError(msg) from error
    except OSError as error:
        _check_writable(folder)
        msg = f"cannot download {source.address}: {error}. {missing}: {way}"
        raise OSError(msg) from error
    except ValueError as error:
        if not download:
            msg = (
                f"{str(error).rstrip('.')}; remove it or let it be downloaded again, download=True"
            )
            raise ValueError(msg) from error
        for path in paths:
            path.unlink(missing_ok=True)
        if not is_cached:
            raise
        _warn(f"{error}; downloading it again", RuntimeWarning)
        return _from_original(info, folders, cache, download=True, n_retries=n_retries)
    return table, str(paths[0]) if is_cached else source.address


def _check_writable(folder: Path) -> None:
    """Raise if a folder of the cache can hold no files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        msg = f"data_home must be a folder that can be written to, {str(folder)!r} cannot: {error}"
        raise OSError(msg) from error


@contextlib.contextmanager
def _blaming(info: DatasetInfo, where: str) -> Iterator[None]:
    """Make a ValueError that says where of all that can be wrong with a set."""
    try:
        yield
    except DAMAGE as error:
        msg = f"{where} is damaged or not the set {info.name!r}: {error}"
        raise ValueError(msg) from error


def _warn(message: str, category: type[Warning]) -> None:
    # Past `_from_...`, `load_dataset` and scikit-learn's check of its parameters, to the caller.
    warnings.warn(message, category, stacklevel=5)
