"""From a fitted model and rows to a page on disk: facts and figures into the templates."""

from __future__ import annotations

import datetime
import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from amclust._fitted import fitted_clam
from amclust._version import __version__
from amclust.io.files import atomic_write
from amclust.report import _numbers
from amclust.report._facts import Facts
from amclust.report._figures import figures_of
from amclust.report._subject import Subject

if TYPE_CHECKING:
    from jinja2 import Environment


def write_report(
    model: Any,
    X: Any,
    path: str | os.PathLike[str],
    *,
    ids: Any = None,
    feature_names: Any = None,
    title: str | None = None,
    source: str | None = None,
    random_state: Any = 0,
    overwrite: bool = True,
) -> Path:
    """Write a page about the clusters of a fitted model, with the parameters of `ClAM.report`."""
    model = fitted_clam(model)
    check_packages()
    from plotly.offline import get_plotlyjs

    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    with atomic_write(path, overwrite=overwrite) as file:
        facts = Facts(Subject.of(model, X, ids, seed, feature_names))
        today = datetime.date.today()
        template = _environment().get_template("report.html")
        page = template.stream(
            title=title or (f"Clusters in {source}" if source else "A clustering"),
            source=source,
            facts=facts,
            subject=facts.subject,
            figures=figures_of(facts),
            plotly=get_plotlyjs(),
            version=__version__,
            date=f"{today.day} {today:%B %Y}",
        )
        page.dump(file, encoding="utf-8", errors="replace")
    return Path(path)


def check_packages() -> None:
    """Refuse to report where a package of the page is not installed."""
    for package in ("jinja2", "plotly"):
        if find_spec(package) is None:
            msg = f'a report needs {package}: pip install "amclust[plot]"'
            raise ModuleNotFoundError(msg, name=package)


@cache
def _environment() -> Environment:
    """Return what fills the templates: all that is put into them is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("amclust.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = ("shorten", "name_parts", "grouped", "counted", "share", "number", "fixed", "signed")
    environment.filters.update({name: getattr(_numbers, name) for name in filters})
    # `tojson` also escapes whatever could end a script element or begin a comment.
    options = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}
    environment.policies["json.dumps_kwargs"] = options
    return environment
