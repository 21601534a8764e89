"""What the sections have in common: clusters and departures in words, and what is left out."""

from __future__ import annotations

from amclust.report._clusters import Departure, Profiles
from amclust.report._html import name
from amclust.report._numbers import counted, signed
from amclust.report._subject import Subject


def swatch(cluster: int) -> str:
    """Show a cluster by its number, beside its colour; -1 is noise."""
    return (
        f'<span class="cluster"><i class="swatch" data-cluster="{cluster}" aria-hidden="true"></i>'
        f"{cluster if cluster >= 0 else 'noise'}</span>"
    )


def more(hidden: int, noun: str, *, rest: str = "") -> str:
    """Say how many are not shown."""
    return f'<p class="more">and {counted(hidden, f"more {noun}")}{rest}</p>' if hidden > 0 else ""


def unit_of(subject: Subject) -> str:
    """Name the unit of scaled differences, as it is written behind a number."""
    geometry = subject.geometry
    return "" if geometry.by_column and geometry.scaling is None else " sd"


def departures_list(
    subject: Subject, profiles: Profiles, departures: list[Departure], usual: str
) -> str:
    """List features with their value and what is usual, in original units."""
    unit, items = unit_of(subject), []
    for departure in departures:
        written = profiles.formats[departure.column]
        direction = "above" if departure.scaled > 0 else "below"
        # Without scaling the difference can be seen from the two numbers.
        size = (
            f'<span class="delta {direction}">{signed(departure.scaled)}{unit}</span>'
            if unit
            else ""
        )
        items.append(
            f'<li><span class="feature">{name(subject.names[departure.column])}</span> '
            f"<b>{written(departure.value)}</b> "
            f'<span class="usual">({usual}: {written(departure.usual)})</span> {size}</li>'
        )
    return f'<ul class="departures">{"".join(items)}</ul>'
