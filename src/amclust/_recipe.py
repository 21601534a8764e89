"""Everything that the default is made of, in one value.

`docs/recipe.md` has what other choices gave. A benchmark passes another recipe.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Literal


@dataclass(frozen=True)
class Stage:
    """One of several trainings in a row, each from the memories of the last."""

    objective: str | None = None  # None: the one that is asked for
    beta_factor: float = 1.0
    learning_rate: float | None = None


@dataclass(frozen=True)
class Recipe:
    """The constants behind the defaults of `ClAM`.

    Attributes
    ----------
    anchor : float
        What one unit of silhouette is worth: so much of the scatter that the initial memories
        explain ("explained"), or of that inside their clusters ("inside": `anchor_unit`) ...

    tie : float
        ... and so much distance of the memories from their clusters' centres, in units of the
        scatter inside the clusters.

    min_explained : float
        The least part of all scatter that initial memories are taken to explain (random rows may be
        bad).

    gap_factor, separated_factor, spread_factor : float
        The temperature, see `inverse_temperature`.

    hard_factor : float
        Times beta of the silhouette: that of exact steps, where the nearest memory decides.

    reach_factor : float
        The temperature of energies whose memories have a bounded reach: beta is this over the mean
        square of a row's distance to its memory, so that a ball has twice its root as radius.

    seeding_turns : tuple of str
        Restarts take turns: trees find what k-means++ misses where clusters are small, and the
        other way.

    max_tree_clusters : int
        A tree takes memory with the square of the clusters: above this, k-means++ alone.

    neighbours, min_crowd : int
        Above `min_crowd` clusters the silhouette is trained with so many memories near each row.

    crowd_rate : float
        ... and, where a batch holds all rows, with this part of the learning rate: memories are
        close, and no noise of batches would carry steps that lead too far back.

    min_sharpness : float
        ... where the temperature is this far below the gap of the seeding: elsewhere rows belong
        to more memories than that.

    sphere_columns : int
        On the sphere memories have length 1 however many columns there are, and Adam moves every
        column alike: with more columns than this a step is as long as with so many.

    sphere_batch_rows_per_cluster : int
        On the sphere batches of more than a few clusters have so many rows for each: the noise of
        small ones frees memories that share a cluster.

    wide_columns, wide_epochs : int
        On the sphere, seeded memories of more columns than this (words, that is) are trained for so
        many epochs: more of them changed no topics of documents.

    batch_rows, max_few_clusters, batch_rows_per_cluster, large_batch : int
        With `batch_size="auto"`, a batch has so many rows; for more than a few clusters so many per
        cluster: the silhouette takes centres and scatters from a batch. Beyond a large batch half
        as many per cluster do.

    min_batch_rows_per_cluster : int
        With fewer a given batch size is warned of.

    trained_share, min_trained, min_ranked_rows, sphere_trained : float, int, int, float
        Of several restarts on at least so many rows, this part is trained (and at least so many):
        those that start with the best silhouettes. On the sphere this part of these: more made no
        difference on documents, whose starts are good.

    max_drawn_rows, drawn_rows_per_memory, max_drawn_values, min_drawn_rows : int
        Of more rows than these (so many for each memory, where that is more) as many are drawn to
        be trained on, as long as they have no more values; a few in any case.

    full_passes : int
        Where rows were drawn and memories are to be means (exact steps), or fewer were drawn than
        memories need, all rows are gone through so often at the most.

    stages : tuple of Stage
        The trainings of a restart.

    averaged_batches, averaged_epochs, averaged_rate : int, int, float
        Where the rows are so many batches (fewer are no surer than a batch is), the chosen restart
        goes on for so many epochs, at most as many as it had, with this part of the learning rate,
        and the mean of its memories is taken.

    assembled, assembled_per_cluster, rows_per_memory : int
        With `n_memories="auto"` assemblies are made of so many memories, more where clusters are
        many, fewer where rows are few.

    shared_by : int
        How many memories share a row in the graph that is cut ...

    decay : float
        ... by exp(-decay d / w), d the distance and w that of the first memory that does not.

    noise : float
        Memories with less than this part of the rows that those around them have hold noise: it
        would join clusters, so that a cut without it is tried too.

    round_cut : float
        Assemblies are chosen where their cut is below this part of that of round clusters.

    clear_gap : float
        With k clusters, 1 minus the k-th eigenvalue of the graph is less than this part of 1 minus
        the next one where their number is clear.
    """

    anchor: float = 2.0
    anchor_unit: Literal["explained", "inside"] = "explained"
    tie: float = 2.0
    min_explained: float = 0.1
    gap_factor: float = 24.0
    separated_factor: float = 8.0
    spread_factor: float = 4.0
    hard_factor: float = 100.0
    reach_factor: float = 0.25
    seeding_turns: tuple[str, ...] = ("ward", "k-means++")
    max_tree_clusters: int = 512
    neighbours: int = 8
    min_crowd: int = 32
    crowd_rate: float = 0.3
    min_sharpness: float = 8.0
    sphere_columns: int = 100
    sphere_batch_rows_per_cluster: int = 32
    wide_columns: int = 4096
    wide_epochs: int = 10
    batch_rows: int = 1024
    max_few_clusters: int = 12
    batch_rows_per_cluster: int = 128
    large_batch: int = 16_384
    min_batch_rows_per_cluster: int = 4
    trained_share: float = 0.4
    min_trained: int = 4
    min_ranked_rows: int = 1000
    sphere_trained: float = 0.5
    max_drawn_rows: int = 2**18
    drawn_rows_per_memory: int = 256
    max_drawn_values: int = 2**25
    min_drawn_rows: int = 2**14
    full_passes: int = 5
    stages: tuple[Stage, ...] = (Stage(),)
    averaged_batches: int = 8
    averaged_epochs: int = 8
    averaged_rate: float = 0.3
    assembled: int = 100
    assembled_per_cluster: int = 8
    rows_per_memory: int = 5
    shared_by: int = 3
    decay: float = 4.0
    noise: float = 0.3
    round_cut: float = 0.65
    clear_gap: float = 0.28

    def n_trained(self, n_runs: int, n_rows: int, *, spherical: bool = False) -> int:
        """Return how many of some restarts are trained."""
        if n_rows < self.min_ranked_rows:
            return n_runs
        trained = min(n_runs, max(self.min_trained, ceil(self.trained_share * n_runs)))
        return ceil(self.sphere_trained * trained) if spherical else trained

    def n_drawn(self, n_rows: int, values_per_row: float, n_memories: int) -> int:
        """Return on how many of some rows memories are trained."""
        wanted = max(self.max_drawn_rows, self.drawn_rows_per_memory * n_memories)
        held = int(self.max_drawn_values / max(values_per_row, 1.0))
        return min(n_rows, max(min(wanted, held), self.min_drawn_rows, 2 * n_memories))

    def is_few(self, n_rows: int, n_memories: int) -> bool:
        """Return whether memories would need more rows than were drawn."""
        return n_rows < self.drawn_rows_per_memory * n_memories

    def n_memories(self, n_clusters: int, n_distinct: int) -> int | None:
        """Return of how many memories to make assemblies; None: rows are too few for them."""
        wanted = max(self.assembled, self.assembled_per_cluster * n_clusters)
        found = min(wanted, n_distinct // self.rows_per_memory)
        return found if found >= max(2 * n_clusters, self.shared_by + 1) else None

    def met_memories(self, n_clusters: int, beta: float, median_gap: float) -> int:
        """Return how many memories a row meets in training; 0: all of them."""
        sharp = beta * median_gap >= self.min_sharpness
        return self.neighbours if n_clusters > self.min_crowd and sharp else 0

    def sphere_rate(self, n_features: int) -> float:
        """Return the part of the learning rate that steps on the sphere are made with."""
        return min(1.0, (self.sphere_columns / n_features) ** 0.5)

    def enough_epochs(self, n_features: int, *, spherical: bool) -> int:
        """Return after how many epochs seeded memories have settled; 0: the loss tells."""
        return self.wide_epochs if spherical and n_features > self.wide_columns else 0

    def batch_size(self, given: int | str, n_clusters: int, *, spherical: bool = False) -> int:
        """Return how many rows a batch has: as given, or what suits the number of clusters."""
        if not isinstance(given, str):
            return int(given)
        if n_clusters <= self.max_few_clusters:
            return self.batch_rows
        if spherical:
            return max(self.batch_rows, self.sphere_batch_rows_per_cluster * n_clusters)
        rows = self.batch_rows_per_cluster * n_clusters
        return max(self.batch_rows, min(rows, self.large_batch), rows // 2)

    def inverse_temperature(
        self, by_gap: bool, mean_square: float, median_gap: float, *, compact: bool = False
    ) -> float:
        """Return beta in the units of the given scales.

        Two dimensionless rules (measured over the sets of the paper): for the losses that compare a
        recalled state with the row, beta = c / s2 with s2 the mean squared distance of a row to its
        memory; for the silhouette, beta = c / gap with gap the median over rows of the difference
        between the squared distances to the second nearest and to the nearest memory, since in high
        dimensions the gap is a small part of s2. c is large: memberships are soft only near the
        borders, so that the silhouette that is trained is nearly the one of the labels. Where
        clusters are far apart the gap says nothing about their size, so beta is at least 8 / s2:
        memories need not leave their clusters to make memberships sharp.

        Where memories have a bounded reach (`compact`) the gap would make it far too small.
        """
        if compact:
            return self.reach_factor / mean_square if mean_square > 0 else 1.0
        if by_gap and median_gap > 0:
            separated = self.separated_factor / mean_square if mean_square > 0 else 0.0
            return max(self.gap_factor / median_gap, separated)
        return self.spread_factor / mean_square if mean_square > 0 else 1.0

    def seeding_methods(self, init: str, n_runs: int, n_clusters: int) -> list[str]:
        """Return how each run is seeded."""
        if init != "auto":
            return [init] * n_runs
        if n_clusters > self.max_tree_clusters:
            return ["k-means++"] * n_runs
        turns = self.seeding_turns
        return [turns[run % len(turns)] for run in range(n_runs)]
