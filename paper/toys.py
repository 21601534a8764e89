"""The toys: elongated clusters side by side, with and without outliers.

The paper shows pictures of its toys and does not say how they were drawn. Here clusters are
stripes of normal points, some times as long as the distance between them, turned by 30 degrees.
From about twice that distance on the sum of squares prefers a cut across the stripes, while the
silhouette prefers the stripes themselves up to a little more: the lengths are chosen in between,
on the drawings of seeds 0 to 39, and judged on others.
Points are spread evenly over the quantiles, so that every drawing has the length it should have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from benchmarks.data import BoolArray, FloatArray, IntArray, Table

_WIDTH = 0.08
_TURN = np.deg2rad(30.0)
_UNIFORM_DEVIATION = 12**-0.5


class Toy(NamedTuple):
    """How a toy is drawn.

    Attributes
    ----------
    stripes, rows : int
        Clusters, and points in each.
    length : float
        Of a stripe, in distances between stripes: the deviation is that of a uniform one.
    outliers : int
        Points beyond both ends of the stripes.
    """

    title: str
    stripes: int
    rows: int
    length: float
    outliers: int = 0


class Drawn(NamedTuple):
    """A toy: its points, true clusters, and which are no outliers."""

    table: Table
    inliers: BoolArray


TOYS = {
    "two-stripes": Toy("two clusters", 2, 150, 2.25),
    "three-stripes": Toy("three elongated clusters", 3, 120, 2.2),
    "clean": Toy("without outliers", 2, 150, 1.9),
    "noisy": Toy("with outliers", 2, 150, 1.9, outliers=20),
}
ELONGATED = ("two-stripes", "three-stripes")
NOISE = ("clean", "noisy")


def draw(name: str, seed: int) -> Drawn:
    """Draw a toy; the clean one of a seed is the noisy one without its outliers."""
    toy = TOYS[name]
    generator = np.random.default_rng(seed)
    parts = [_stripe(generator, toy, height) for height in range(toy.stripes)]
    classes: IntArray = np.repeat(np.arange(toy.stripes), toy.rows)
    outliers = _outliers(generator, toy)
    points = np.concatenate([*parts, outliers]) @ _turned().T
    classes = np.concatenate([classes, np.zeros(len(outliers), classes.dtype)])
    inliers = np.arange(len(points)) < toy.stripes * toy.rows
    return Drawn(Table(name, points, classes), inliers)


def _stripe(generator: np.random.Generator, toy: Toy, height: int) -> FloatArray:
    quantiles = (np.arange(toy.rows) + generator.uniform(size=toy.rows)) / toy.rows
    along = norm.ppf(quantiles) * toy.length * _UNIFORM_DEVIATION
    across = height + generator.normal(0.0, _WIDTH, toy.rows)
    return np.column_stack([along, across])


def _outliers(generator: np.random.Generator, toy: Toy) -> FloatArray:
    distance = generator.uniform(0.6 * toy.length, 0.6 * toy.length + 1.5, toy.outliers)
    side = np.where(np.arange(toy.outliers) % 2, -1.0, 1.0)
    return np.column_stack(
        [side * distance, generator.uniform(-0.6, toy.stripes - 0.4, toy.outliers)]
    )


def _turned() -> FloatArray:
    return np.array([[np.cos(_TURN), -np.sin(_TURN)], [np.sin(_TURN), np.cos(_TURN)]])
