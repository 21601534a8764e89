"""What missing values are likely to be: the regressions of `amclust._completion` in ONNX.

ONNX knows no linear systems, and every row that lacks values has one of its own. They are brought
to one size, that of the row that lacks most, by lines of the identity, and eliminated together:
column by column, in a loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from amclust._completion import Completion, Regression
from amclust.onnx._graph import Graph, Value

# As in the core: memories with less of a row are none of its.
NO_MEMBERSHIP = 1e-9

Double = np.float64


class _Rows(NamedTuple):
    """Rows that lack values, in units of the columns' spread."""

    x: Value  # 0 where values are missing
    gone: Value  # 1 there
    size: Value  # of the systems
    columns: Value  # (n, size): those that a row lacks, then others
    lacked: Value  # (n, size): 1 for the former


def completed(g: Graph, completion: Completion, x: Value, gone: Value) -> Value:
    """Return rows, in units of the columns' spread, with values where they are `gone`.

    Those that lack nothing are zeros.
    """
    some = g.node("NonZero", gone.any(1), dtype=np.int64).reshape([-1])
    lacking = gone.take(some)
    known = g.where(lacking, 0.0, x.take(some).cast(Double))
    rows = _together(g, known, lacking.cast(Double))
    found = [
        _by_precisions(g, one, rows) if one.loadings is None else _by_factors(g, one, rows)
        for one in completion.regressions
    ]
    total = found[0]
    for more in found[1:]:
        total = total + more
    nothing = 0.0 * gone.cast(Double)
    return g.node("ScatterND", nothing, some.expand(1), total / len(found), dtype=Double)


def _together(g: Graph, x: Value, gone: Value) -> _Rows:
    one = g.constant([1], np.int64)
    counts = g.concat([gone.sum(1).cast(np.int64), one], 0)  # one at least, if there are no rows
    size = counts.reduce("Max", 0, keep=True)
    lacked, columns = g.nodes_of("TopK", [gone, size], [Double, np.int64], axis=1)
    return _Rows(x, gone, size, columns, lacked)


def _by_precisions(g: Graph, one: Regression, rows: _Rows) -> Value:
    """Under a memory the hidden part is P_hh^-1 ((P rho)_h - P_ho x_o)."""
    assert one.precisions is not None
    x, columns, lacked = rows.x, rows.columns, rows.lacked
    d, shared = one.means.shape[1], len(one.precisions) == 1
    places = columns.expand(2) * d + columns.expand(1)
    both = lacked.expand(2) * lacked.expand(1)
    unit = g.constant(np.eye(d), Double).first(rows.size, 0).first(rows.size, 1)
    kept = (1.0 - lacked).expand(2) * unit
    hidden, logs = [], []
    with np.errstate(divide="ignore"):
        log_parts = np.log(one.parts)
    for number, precision in enumerate(one.precisions):
        own = slice(None) if shared else slice(number, number + 1)
        means = one.means[own]
        pulls = means @ precision
        image = x @ precision
        there = g.constant(pulls.T, Double).take(columns)
        image_there = g.node("GatherElements", image, columns, axis=1)
        wanted = lacked.expand(2) * (there - image_there.expand(2))
        square = both * g.constant(precision.ravel(), Double).take(places) + kept
        found, narrower = _solved(g, square, wanted, d, rows.size)
        energy = (x * image).sum(1, keep=True) - 2.0 * (x @ pulls.T)
        energy = energy + (pulls * means).sum(1) - (wanted * found).sum(1)
        prior = log_parts[own] + 0.5 * np.linalg.slogdet(precision)[1]
        logs.append(prior - 0.5 * narrower - 0.5 * energy.most(0.0))
        hidden.append(found)
    p = _shares(g, g.concat(logs, 1))
    values = (g.concat(hidden, 2) * p.expand(1)).sum(2)
    return g.node("ScatterElements", 0.0 * x, columns, values, axis=1)


def _by_factors(g: Graph, one: Regression, rows: _Rows) -> Value:
    """Factors z = B^-1 W_o' N_o^-1 (x - rho)_o with B = 1 + W_o' N_o^-1 W_o."""
    assert one.loadings is not None
    assert one.noise is not None
    x, seen, means, noise = rows.x, 1.0 - rows.gone, one.means, one.noise
    m, rank = len(means), one.loadings.shape[1]
    loadings = g.constant(one.loadings, Double)
    scaled = g.constant(one.loadings / noise[:, None], Double)
    # Products of constants: a runtime makes them once, and the file is smaller without.
    outers = (scaled.expand(2) * loadings.expand(1)).reshape([-1, rank * rank])
    crossed = (scaled.expand(2) * means.T[:, None]).reshape([-1, rank * m])
    square = (seen @ outers).reshape([-1, rank, rank]) + np.eye(rank)
    pulled = (x @ scaled).expand(2) - (seen @ crossed).reshape([-1, rank, m])
    factors, log_square = _solved(g, square, pulled, rank, g.constant([rank], np.int64))
    energy = (x * x * (1 / noise)).sum(1, keep=True) - 2.0 * (x @ (means / noise).T)
    energy = energy + seen @ (means**2 / noise).T - (pulled * factors).sum(1)
    with np.errstate(divide="ignore"):
        log_parts = np.log(one.parts)
    constant = 0.5 * (seen @ np.log(noise)[:, None]) + 0.5 * log_square
    p = _shares(g, log_parts - constant - 0.5 * energy.most(0.0))
    mixed = (factors * p.expand(1)).sum(2)
    return p @ means + mixed @ one.loadings.T


def _solved(g: Graph, square: Value, wanted: Value, most: int, size: Value) -> tuple[Value, Value]:
    """Return the solutions of systems, and the logarithms of their determinants.

    By Gauss and Jordan: of positive definite matrices no pivots need to be looked for.
    """
    units = g.constant(np.eye(most), Double)

    def eliminate(number: Value, systems: Value, logs: Value) -> tuple[Value, Value]:
        line, column = systems.take(number, 1), systems.take(number, 2)
        pivot = line.take(number, 1).expand(1)
        line = line / pivot
        column = column - units.take(number).first(size, 0)
        return systems - column.expand(2) * line.expand(1), logs + pivot.apply("Log")

    start = 0.0 * wanted.sum(1).sum(1, keep=True)
    systems, logs = g.loop(size, [g.concat([square, wanted], 2), start], eliminate)
    return systems.last(size, 2), logs


def _shares(g: Graph, logs: Value) -> Value:
    p = logs.softmax()
    return g.where(p > NO_MEMBERSHIP, p, 0.0)
