"""The section on the data: how many rows and columns, what is missing, how they are scaled."""

from __future__ import annotations

from html import escape

import numpy as np

from amclust.report._clusters import Profiles
from amclust.report._html import definitions, name, shorten, table
from amclust.report._numbers import count, counted, share
from amclust.report._subject import Subject
from amclust.report._words import more

COLUMNS_SHOWN = 30
# A list of so many columns is open from the start.
FEW_COLUMNS = 8
CONSTANT_SHOWN = 8

SCALINGS = {
    "standard": "every column is divided by its standard deviation, so that none counts more "
    "because of its units",
    "robust": "every column is divided by the distance between its quartiles, so that neither its "
    "units nor its outliers make it count more",
    None: "none: columns are taken as they are, as if they shared their units",
}
DIRECTIONS = "rows are scaled to length 1, so that only their direction counts"
WHITENED = (
    "rows are whitened by the covariance of the columns, so that columns that move together do not "
    "count twice"
)


def scaling_of(subject: Subject) -> str:
    """Say in words how the model measures distances."""
    geometry = subject.geometry
    if geometry.spherical:
        return DIRECTIONS
    return SCALINGS[geometry.scaling] if geometry.whitening is None else WHITENED


def data_section(subject: Subject, profiles: Profiles, source: str | None) -> str:
    """Tell what the rows and columns are."""
    n_columns = len(subject.names)
    facts = [
        ("Rows", count(subject.n_rows) + (", numbered from 0" if subject.ids is None else "")),
        ("Columns", count(n_columns)),
        ("Missing values", _missing(subject)),
        ("Constant columns", _constant(subject)),
        ("Scaling", scaling_of(subject)),
    ]
    if source:
        facts.insert(0, ("Source", escape(shorten(source, 300))))
    if not subject.is_training_data:
        facts.append(
            ("Training", "these are not the rows of the model’s last fit; clusters are predicted")
        )
    opened = " open" if n_columns <= FEW_COLUMNS else ""
    return definitions(facts) + (
        f"<details{opened}><summary>The columns one by one</summary>{_columns(subject, profiles)}"
        f"{more(n_columns - COLUMNS_SHOWN, 'column')}</details>"
    )


def _missing(subject: Subject) -> str:
    missing = int(subject.missing.sum())
    if not missing:
        return "none"
    incomplete = int(np.count_nonzero(subject.missing))
    return (
        f"{count(missing)} of {count(subject.rows.size)} ({share(missing, subject.rows.size)}), in "
        f"{counted(incomplete, 'column')}"
    )


def _constant(subject: Subject) -> str:
    constant = np.flatnonzero(subject.columns.constant)
    if not len(constant):
        return "none"
    names = ", ".join(name(subject.names[j]) for j in constant[:CONSTANT_SHOWN])
    hidden = len(constant) - CONSTANT_SHOWN
    rest = f" and {count(hidden)} more" if hidden > 0 else ""
    return f"{names}{rest}; they tell no rows apart"


def _columns(subject: Subject, profiles: Profiles) -> str:
    columns, formats = subject.columns, profiles.table_formats
    rows = [
        (
            name(subject.names[j]),
            *(
                formats[j](float(values[j]))
                for values in (columns.mean, columns.spread, columns.least, columns.greatest)
            ),
            share(subject.missing[j], subject.n_rows) if subject.missing[j] else "none",
        )
        for j in range(min(COLUMNS_SHOWN, len(subject.names)))
    ]
    return table(
        "The columns, in original units",
        ("Column", "Mean", "Std. dev.", "Least", "Greatest", "Missing"),
        rows,
        numeric=range(1, 6),
    )
