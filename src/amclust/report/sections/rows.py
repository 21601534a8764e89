"""The sections on single rows and cells: the least typical rows, and completed values."""

from __future__ import annotations

import numpy as np

from amclust.report._clusters import Profiles, farthest_noise, least_typical_rows
from amclust.report._completed import first_filled_cells
from amclust.report._html import name, paragraphs, table
from amclust.report._numbers import count, counted, number, share
from amclust.report._subject import Subject
from amclust.report._words import departures_list, more, swatch

ROWS_SHOWN = 12
FEATURES_OF_A_ROW = 3
CELLS_SHOWN = 20
COLUMNS_SHOWN = 15


def unusual_section(subject: Subject, profiles: Profiles) -> str:
    """List the rows of most energy, and those that are noise."""
    energy, usual = subject.energy[subject.clustered], ""
    if len(energy) > 1:
        inside = " in clusters" if subject.noise else ""
        usual = f" Half of the rows{inside} have less than {number(float(np.median(energy)))}."
    listing = table(
        "The least typical rows",
        ("Row", "Cluster", "Energy", "Most unusual features"),
        [
            (
                name(subject.row_name(int(i))),
                swatch(int(subject.labels[i])),
                number(float(subject.energy[i])),
                departures_list(
                    subject,
                    profiles,
                    profiles.of_row(subject.rows[i], int(subject.labels[i]))[:FEATURES_OF_A_ROW],
                    "memory",
                ),
            )
            for i in least_typical_rows(subject, ROWS_SHOWN)
        ],
        numeric=(2,),
        classes="stack",
    )
    missing = (
        " Values that were missing are taken as completed: they make no row unusual."
        if subject.missing.any()
        else ""
    )
    explanation = (
        "The energy of a row says how far it is from all memories: low where it is typical of a "
        f"cluster, high where it fits none.{usual} "
        "Rows with the most are worth a look: they may be errors, or the most interesting rows of "
        "all. Beside each are the features in which it differs most from the memory of its "
        f"cluster.{missing}"
    )
    return paragraphs(explanation) + listing + _noise(subject, profiles)


def _noise(subject: Subject, profiles: Profiles) -> str:
    """List the rows that no memory reaches."""
    if not subject.noise:
        return ""
    listing = table(
        "The noise",
        ("Row", "Nearest memory", "Distance", "Most unusual features"),
        [
            (
                name(subject.row_name(found.row)),
                swatch(found.nearest),
                number(found.distance),
                departures_list(
                    subject,
                    profiles,
                    profiles.of_row(subject.rows[found.row], found.nearest)[:FEATURES_OF_A_ROW],
                    "memory",
                ),
            )
            for found in farthest_noise(subject, ROWS_SHOWN)
        ],
        numeric=(2,),
        classes="stack",
    )
    rows, are = counted(subject.noise, "row"), "is" if subject.noise == 1 else "are"
    return (
        paragraphs(
            f"{rows} {are} noise: out of reach of all memories, in no cluster, of infinite energy. "
            "Listed first is what is farthest from its nearest memory."
        )
        + listing
        + more(subject.noise - ROWS_SHOWN, "row")
    )


def completed_section(subject: Subject, profiles: Profiles) -> str:
    """Tell which values were missing and what the model puts there."""
    total = int(subject.missing.sum())
    if not total:
        return paragraphs("No value is missing.")
    columns = np.argsort(-subject.missing, kind="stable")[: np.count_nonzero(subject.missing)]
    per_column = table(
        "Completed values, column by column",
        ("Column", "Completed", "Of its rows"),
        [
            (
                name(subject.names[j]),
                count(int(subject.missing[j])),
                share(subject.missing[j], subject.n_rows),
            )
            for j in columns[:COLUMNS_SHOWN]
        ],
        numeric=(1, 2),
    )
    formats = profiles.table_formats
    cells = first_filled_cells(subject, CELLS_SHOWN)
    first = table(
        "The first completed values" if total > len(cells) else "The completed values",
        ("Row", "Column", "Value", "Memory", "Cluster"),
        [
            (
                name(subject.row_name(cell.row)),
                name(subject.names[cell.column]),
                f"<b>{formats[cell.column](cell.value)}</b>",
                formats[cell.column](cell.memory),
                swatch(cell.cluster),
            )
            for cell in cells
        ],
        numeric=(2, 3),
    )
    return (
        paragraphs(
            f"{counted(total, 'value is', 'values are')} missing. The rows were "
            "clustered without guessing them first. Where a value is wanted, the model completes "
            "the row: what is known stays as it is, what is missing follows the memories that the "
            "known values point to. Listed beside the completed values is what the memory of the "
            "row’s cluster has there. <code>model.complete(X)</code> gives the whole table."
        )
        + '<div class="pair"><div>'
        + per_column
        + more(len(columns) - COLUMNS_SHOWN, "column")
        + "</div><div>"
        + first
        + more(total - len(cells), "value")
        + "</div></div>"
    )
