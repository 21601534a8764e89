"""Blobs with noise, and tables with wild cells."""

import numpy as np

from benchmarks.data import FloatArray, IntArray

# The box that noise is drawn from, that of the centres, and the mean spread of a blob.
NOISE_BOX, CENTRE_BOX, SPREAD = 10.0, 8.0, 0.6
MAX_TRIES = 500


def noisy_blobs(
    k: int, d: int, noise: float, separation: float, seed: int
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Draw blobs of unequal size and spread (up to 1 : 3), and uniform noise among them.

    Centres are at least `separation` times the sum of two spreads apart. Returned are rows, their
    blobs (-1 for noise), and the density of the blobs at each row: nobody can find noise better
    than by that.
    """
    rng = np.random.default_rng([seed, k, d, round(100 * noise), round(10 * separation)])
    spreads = SPREAD * np.exp(rng.uniform(-np.log(3) / 2, np.log(3) / 2, k))
    centres: list[FloatArray] = []
    tries = 0
    while len(centres) < k:
        new, tries = rng.uniform(-CENTRE_BOX, CENTRE_BOX, d), tries + 1
        if tries > MAX_TRIES:  # the box is full
            centres, tries = [], 0
        gaps = [np.linalg.norm(new - other) for other in centres]
        near = separation * (spreads[len(centres)] + spreads[: len(centres)])
        if (np.array(gaps) >= near).all():
            centres.append(new)
    parts = rng.uniform(1, 3, k)
    parts /= parts.sum()
    blobs = rng.choice(k, 100 * k + 200, p=parts)
    rows = np.array(centres)[blobs] + rng.normal(size=(len(blobs), d)) * spreads[blobs, None]
    n_noise = round(noise / (1 - noise) * len(rows))
    rows = np.vstack([rows, rng.uniform(-NOISE_BOX, NOISE_BOX, (n_noise, d))])
    squares = ((rows[:, None] - np.array(centres)) ** 2).sum(axis=2) / spreads**2
    density = (parts * np.exp(-squares / 2) / spreads**d).sum(axis=1)
    return rows, np.append(blobs, np.full(n_noise, -1)), density


def with_wild_cells(
    rows: FloatArray, share: float, size: float, two_sided: bool, seed: int
) -> FloatArray:
    """Move some cells by so many standard deviations of their columns, up or up and down."""
    rng = np.random.default_rng([seed, round(1e4 * share), round(size)])
    moved = rng.random(rows.shape) < share
    sign = rng.choice([-1.0, 1.0], rows.shape) if two_sided else 1.0
    return np.where(moved, rows + sign * size * rows.std(axis=0), rows)
