"""One fit of an estimator: of which rows, how many clusters, of which shape.

Parameters are read from the estimator by their names, as `Options` does. Where rows lie is the
matter of a `RowSource`, and what computes that of a `Backend`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust._assemblies import MemoryGraph, Shape, choose_shape, learn_memories
from amclust._completion import completion_of_clusters
from amclust._distant import is_outside, place_weights, seen_places, without
from amclust._full_passes import take_full_passes
from amclust._geometry import Geometry
from amclust._likelihoods import MAX_ROWS, can_refine, gone_on, refined
from amclust._metrics import find_metric, name_metric
from amclust._n_clusters import candidate_numbers, estimate_n_clusters
from amclust._network import Network
from amclust._options import Options
from amclust._preparing import draw_rows, n_drawn, prepare, prepare_trimmed
from amclust._progress import finish
from amclust._recipe import Recipe
from amclust._rows import DrawnRows, RowSource, TableSize
from amclust._runs import Fit, OptimizerState
from amclust._size_limits import (
    GivenLimits,
    check_heaviest,
    given_limits,
    possible_numbers,
)
from amclust._threads import n_threads
from amclust._training import MAX_SEED, draw_seeds, fit, fit_on, with_ignored_means
from amclust._trimming import (
    find_farther,
    find_high,
    mark_outliers,
    with_threshold,
)
from amclust._validation import DistinctRowsError
from amclust._warnings import warn
from amclust.backends import Backend, TrainingSet

# So many memories may share a covariance where nobody says how many clusters there are.
SHARING_MEMORIES = (1, 2, 4, 8, 16)
# Where more is missing, an estimate of the number of clusters is warned of.
MAX_MISSING_SHARE = 0.4
# With fewer rows for each memory, assemblies are warned of.
MIN_ROWS_PER_MEMORY = 3
# Up to so many rows, assemblies do not depend on the order of rows.
MAX_ORDERLESS_ROWS = 16_384
# Exact steps end where one gains less than this part of `tol`, as in the core.
EXACT_TOLERANCE = 0.01
# How often memories are trained anew without the rows that lie highest above them, at most.
MAX_CONCENTRATIONS = 10


@dataclass(frozen=True, eq=False)
class Learned:
    """What was found, and by which evidence."""

    found: Fit
    n_clusters_evidence: NDArray[np.void] | None = None  # None: the number was given, or seen
    shape: Shape | None = None  # None: nobody asked for assemblies


@dataclass(frozen=True, eq=False)
class Fitting:
    """What a fit is made of: the parameters of an estimator, a table and what computes."""

    model: Any
    source: RowSource
    backend: Backend

    @property
    def recipe(self) -> Recipe:
        """What the defaults are made of."""
        recipe: Recipe = self.model.recipe
        return recipe

    @property
    def limits(self) -> GivenLimits | None:
        """Between which limits the sizes of clusters are to be; None: sizes are free."""
        return given_limits(self.model)

    def check_sizes(self, numbers: list[int]) -> None:
        """Refuse limits of size that some number of clusters cannot meet."""
        if self.limits is not None:
            total = draw_rows(self.source).total_weight
            for n_clusters in numbers:
                possible_numbers(self.limits, [n_clusters], total)

    def fit(self, rng: np.random.RandomState) -> Learned:
        """Learn memories from several starts."""
        model = self.model
        seeds, sample_seed = draw_seeds(rng, model.n_init if isinstance(model.init, str) else 1)
        candidates, options = self._checked()
        most = self._max_memories(candidates)

        def count(size: TableSize) -> int | None:
            return n_drawn(size, options.batch_size, self.recipe, most)

        drawn = draw_rows(self.source, sample_seed, count)
        trimmed, data = self._prepare(drawn, options, candidates)
        if self.limits is not None:
            self._check_whole(drawn)
            numbers = self._numbers(candidates)
            check_heaviest(self.limits, trimmed.sample_weight)
            possible = possible_numbers(self.limits, numbers, trimmed.total_weight)
            candidates = None if candidates is None else possible
        if model.n_memories is not None:
            learned = self._fit_shape(data, options, candidates, seeds, sample_seed, rng)
            return self._completed(learned, drawn, trimmed, data, options)
        n_clusters, evidence = self._decide_n_clusters(data, candidates, rng)
        if self.limits is None or options.contamination:
            found = self._fit(data, options, n_clusters, seeds, sample_seed)
        if options.contamination:
            found, trimmed, data = self._concentrate(
                found, drawn, trimmed, data, options, sample_seed
            )
        if self.limits is not None:  # memories are the means of all rows then
            found = self._fit(data, options, n_clusters, seeds, sample_seed, self.limits)
            return self._completed(Learned(found, evidence), drawn, trimmed, data, options)
        if can_refine(options, data, n_clusters):

            def read(geometry: Geometry) -> TrainingSet:
                return self._prepare_in(geometry, trimmed, options, [n_clusters])

            found, data = refined(data, found, options, read)
        few = self.recipe.is_few(data.n_rows, n_clusters)
        if drawn.is_sample and (found.best.plan.exact or few) and found.best.refined is None:
            found = take_full_passes(
                self.source,
                data,
                found,
                max_passes=self.recipe.full_passes,
                tol=EXACT_TOLERANCE * model.tol,
            )
        return self._completed(Learned(found, evidence), drawn, trimmed, data, options)

    def max_full_passes(self, size: TableSize | None) -> int:
        """Return how many passes over all rows may follow training; of a table of unknown size too.

        As `fit` does: where rows were drawn, for exact steps, and for more memories than those rows
        can hold.
        """
        candidates = candidates_of(self.model)
        numbers, most = self._numbers(candidates), self._max_memories(candidates)
        if size is None:
            size = TableSize(2**62, 1.0)
        drawn = n_drawn(size, Options.of(self.model, max(numbers)).batch_size, self.recipe, most)
        may_be_exact = self.model.objective == "reconstruction" or min(numbers) == 1
        assembled = self.model.n_memories is not None
        if drawn is None or assembled or not (may_be_exact or self.recipe.is_few(drawn, most)):
            return 0
        return self.recipe.full_passes

    def begin(self, rng: np.random.RandomState) -> Learned:
        """Go once through the rows, from new memories."""
        seed = int(rng.randint(MAX_SEED))
        candidates, options = self._checked()
        drawn = draw_rows(self.source)
        trimmed, data = self._prepare(drawn, options, candidates)
        if self.model.n_memories is not None:
            # How the first rows lie between memories says which of them make up a cluster.
            sample_seed = int(rng.randint(MAX_SEED))
            seeds = np.array([seed])
            learned = self._fit_shape(data, options, candidates, seeds, sample_seed, rng)
        else:
            n_clusters, evidence = self._decide_n_clusters(data, candidates, rng)
            learned = Learned(self._fit_on(data, options, n_clusters, seed, None), evidence)
        return self._completed(learned, drawn, trimmed, data, options)

    def go_on(self, network: Network, state: OptimizerState) -> Learned:
        """Go once through more rows, from where earlier ones left the memories."""
        candidates = candidates_of(self.model)
        n_clusters = self._unchanged_n_clusters(network, candidates)
        options = Options.of(self.model, n_clusters if candidates is None else max(candidates))
        drawn = trimmed = draw_rows(self.source)
        geometry = network.geometry
        data = self._prepare_in(geometry, drawn, options, [n_clusters], more_rows=True)
        if options.contamination:
            places = seen_places(drawn)
            outside = find_farther(
                network, data, places, place_weights(drawn, places), options.contamination
            )
            trimmed = without(drawn, places[outside])
            data = self._prepare_in(geometry, trimmed, options, [n_clusters], more_rows=True)
        found = self._fit_on(data, options, n_clusters, 0, (network, state))
        if geometry.log_levels:

            def read(geometry: Geometry) -> TrainingSet:
                return self._prepare_in(geometry, trimmed, options, [n_clusters])

            found, data = gone_on(data, found, network, options, read)
        learned = Learned(found)
        return self._completed(learned, drawn, trimmed, data, options, network)

    # --- rows -------------------------------------------------------------------------------------

    def _checked(self) -> tuple[list[int] | None, Options]:
        """Return the numbers of clusters to choose from, None if it is given, and the options."""
        candidates = candidates_of(self.model)
        numbers = self._numbers(candidates)
        check_many(self.model, max(numbers), self.source.n_rows)
        check_n_memories(self.model, numbers[0])
        return candidates, Options.of(self.model, max(numbers))

    def _numbers(self, candidates: list[int] | None) -> list[int]:
        return [int(self.model.n_clusters)] if candidates is None else candidates

    def _max_memories(self, candidates: list[int] | None) -> int:
        given = self.model.n_memories
        return max(*self._numbers(candidates), int(given) if isinstance(given, Integral) else 1)

    def _prepare(
        self, drawn: DrawnRows, options: Options, candidates: list[int] | None
    ) -> tuple[DrawnRows, TrainingSet]:
        """Return the rows that are trained on, in units of their own."""
        settings = self._settings(candidates)
        return prepare_trimmed(drawn, self._sized(options), **settings)

    def _prepare_in(
        self,
        geometry: Geometry,
        drawn: DrawnRows,
        options: Options,
        candidates: list[int] | None,
        *,
        more_rows: bool = False,
    ) -> TrainingSet:
        """Return rows in units that are known, of others than these where there are more."""
        settings = self._settings(candidates)
        sized = self._sized(options)
        return prepare(drawn, sized, geometry=geometry, more_rows=more_rows, **settings)

    def _sized(self, options: Options) -> Options:
        if self.model.n_memories is None:
            return options
        # Exact steps see all rows: order says nothing then.
        size = max(options.batch_size, MAX_ORDERLESS_ROWS)
        return dataclasses.replace(options, batch_size=size)

    def _settings(self, candidates: list[int] | None) -> dict[str, Any]:
        """Return what else `prepare` has to know."""
        names = getattr(self.model, "feature_names_in_", None)
        return {
            "n_clusters": self._numbers(candidates)[0],
            "threads": n_threads(self.model.n_jobs),
            "feature_names": None if names is None else tuple(str(name) for name in names),
            "n_memories": None if candidates is None else SHARING_MEMORIES,
            # Between the arms of a shape, completed rows would join them.
            "reads_completed": self.model.n_memories is None,
        }

    def _check_whole(self, drawn: DrawnRows) -> None:
        """Refuse to leave rows out within limits of size where not all rows are looked at."""
        if drawn.is_sample and self.model.contamination:
            msg = (
                f"contamination={self.model.contamination} goes with {self.limits} where a fit "
                f"looks at all rows: X has {self.source.n_rows:,}, of which it looks at "
                f"{drawn.rows.n_rows if drawn.trained is None else len(drawn.trained):,}. Leave "
                "the outliers out first, by a fit without limits."
            )
            raise ValueError(msg)

    # --- rows that belong nowhere -----------------------------------------------------------------

    def _concentrate(
        self,
        found: Fit,
        drawn: DrawnRows,
        trimmed: DrawnRows,
        data: TrainingSet,
        options: Options,
        sample_seed: int,
    ) -> tuple[Fit, DrawnRows, TrainingSet]:
        """Train on without the rows that lie highest, until these stay the same."""
        n_clusters, places = found.network.n_memories, seen_places(drawn)
        weights, outside = place_weights(drawn, places), is_outside(trimmed, places)
        share = float(options.contamination or 0.0)
        for _ in range(MAX_CONCENTRATIONS):
            high, scales = find_high(found.network, data, places, weights, outside, share)
            if np.array_equal(high.outside, outside):
                break
            outside = high.outside
            trimmed = without(drawn, places[outside])
            data = self._prepare_in(data.geometry, trimmed, options, [n_clusters])
            going_on = dataclasses.replace(options, init=found.network.centers)
            seeds = np.array([found.best.seed])
            more = self._fit(data, going_on, n_clusters, seeds, sample_seed)
            runs = [*found.runs[: found.chosen], more.best, *found.runs[found.chosen + 1 :]]
            found = dataclasses.replace(more, runs=runs, chosen=found.chosen)
        network = with_threshold(found.network, scales, high.threshold)
        return dataclasses.replace(found, network=network), trimmed, data

    def _completed(
        self,
        learned: Learned,
        drawn: DrawnRows,
        trimmed: DrawnRows,
        data: TrainingSet,
        options: Options,
        earlier: Network | None = None,
    ) -> Learned:
        """Return what was learned with all that a network knows besides its memories.

        What columns of weight 0 are in each cluster, what missing values are likely to be, and
        which rows belong nowhere.
        """
        found = with_ignored_means(data, learned.found, earlier)
        if earlier is None:
            found = with_completion(data, options, found)
        if options.contamination:
            share, known = options.contamination, self.limits is not None
            found = mark_outliers(
                self.source, found, drawn, trimmed, data, share, earlier, known=known
            )
        return dataclasses.replace(learned, found=found)

    # --- clusters ---------------------------------------------------------------------------------

    def _fit(
        self,
        data: TrainingSet,
        options: Options,
        n_clusters: int,
        seeds: NDArray[np.int64],
        sample_seed: int,
        limits: GivenLimits | None = None,
    ) -> Fit:
        recipe = self.recipe
        if limits is None and can_refine(options, data, n_clusters) and data.n_rows > MAX_ROWS:
            # What is trained is refined whichever it is: of many rows the best start alone.
            recipe = dataclasses.replace(recipe, trained_share=0.0, min_trained=1)
        return fit(
            data,
            options,
            n_clusters=n_clusters,
            seeds=seeds,
            sample_seed=sample_seed,
            backend=self.backend,
            recipe=recipe,
            verbose=self.model.verbose,
            limits=limits,
        )

    def _fit_on(
        self,
        data: TrainingSet,
        options: Options,
        n_clusters: int,
        seed: int,
        earlier: tuple[Network, OptimizerState] | None,
    ) -> Fit:
        return fit_on(
            data,
            options,
            n_clusters=n_clusters,
            seed=seed,
            earlier=earlier,
            backend=self.backend,
            recipe=self.recipe,
        )

    def _decide_n_clusters(
        self, data: TrainingSet, candidates: list[int] | None, rng: np.random.RandomState
    ) -> tuple[int, NDArray[np.void] | None]:
        """Return the number of clusters, as given or estimated from the rows, and the evidence."""
        if candidates is None:
            return int(self.model.n_clusters), None
        if data.missing_share > MAX_MISSING_SHARE:
            warn(
                f"{data.missing_share:.0%} of the values are missing: how many clusters there are "
                "can hardly be told from the others. Give n_clusters.",
            )
        seed = int(rng.randint(MAX_SEED))
        n_clusters, evidence = estimate_n_clusters(data, candidates, seed, self.recipe)
        finish(self.model.verbose, f"ClAM: {n_clusters} clusters, by the median of the votes")
        return n_clusters, evidence

    def _fit_shape(
        self,
        data: TrainingSet,
        options: Options,
        candidates: list[int] | None,
        seeds: NDArray[np.int64],
        sample_seed: int,
        rng: np.random.RandomState,
    ) -> Learned:
        """Fit assemblies of memories, or with n_memories="auto" round clusters that do as well."""
        automatic = isinstance(self.model.n_memories, str)
        graph = self._learn_memories(data, candidates, int(seeds[0]), sample_seed)
        n_clusters, evidence = None, None
        if graph is not None and candidates is not None:
            n_clusters = graph.n_clusters(candidates, self.recipe)
            if n_clusters is None and not automatic:
                n_clusters = min(candidates)
        if n_clusters is None:
            n_clusters, evidence = self._decide_n_clusters(data, candidates, rng)
        shape = choose_shape(
            data,
            options,
            graph,
            n_clusters,
            seeds,
            compare_round=automatic,
            sample_seed=sample_seed,
            backend=self.backend,
            recipe=self.recipe,
            verbose=self.model.verbose,
        )
        return Learned(shape.found, evidence, shape)

    def _learn_memories(
        self, data: TrainingSet, candidates: list[int] | None, seed: int, sample_seed: int
    ) -> MemoryGraph | None:
        """Return memories that cover the rows; None: there are too few rows for assemblies."""
        given, largest = self.model.n_memories, max(self._numbers(candidates))
        automatic = isinstance(given, str)
        n_memories: int | None
        if automatic:
            n_memories = self.recipe.n_memories(largest, data.n_rows) if largest > 1 else None
        else:
            # As many memories as clusters are no assemblies.
            n_memories = int(given) if given > 1 and given != self.model.n_clusters else None
        graph = None
        while n_memories is not None and graph is None:
            options = Options.of(self.model, n_memories)
            try:
                graph = learn_memories(
                    data,
                    options,
                    n_memories,
                    max_clusters=largest,
                    seed=seed,
                    sample_seed=sample_seed,
                    backend=self.backend,
                    recipe=self.recipe,
                    verbose=self.model.verbose,
                )
            except DistinctRowsError as error:
                if not automatic:
                    msg = str(error).replace("n_clusters=", "n_memories=")
                    raise ValueError(msg) from None
                n_memories = self.recipe.n_memories(largest, error.distinct)
        if n_memories is not None and n_memories * MIN_ROWS_PER_MEMORY > data.n_rows:
            warn(
                f"n_memories={n_memories} have {data.n_rows} distinct rows, fewer than "
                f"{MIN_ROWS_PER_MEMORY} each: how they lie together may be chance. Use fewer "
                "memories, or n_memories='auto'.",
            )
        return graph

    def _unchanged_n_clusters(self, network: Network, candidates: list[int] | None) -> int:
        """Return the number of clusters of training that goes on; it and the metric stay."""
        model, fitted = self.model, network.geometry.metric
        n_clusters = network.n_clusters if candidates is not None else int(model.n_clusters)
        given = network.n_clusters if model.n_memories is None else model.n_memories
        if isinstance(given, Integral) and given != network.n_memories:
            msg = (
                f"n_memories={model.n_memories} cannot change while learning goes on: the first "
                f"rows had {network.n_memories}."
            )
            raise ValueError(msg)
        if (model.metric, n_clusters) != (fitted, network.n_clusters):
            msg = (
                f"metric={name_metric(model.metric)} and n_clusters={model.n_clusters} cannot "
                f"change while learning goes on: the first rows had {name_metric(fitted)} and "
                f"{network.n_clusters}."
            )
            raise ValueError(msg)
        return n_clusters


def with_completion(data: TrainingSet, options: Options, found: Fit) -> Fit:
    """Return a fit that knows what missing values are likely to be, also where no row has any."""
    known = data.geometry.completion is not None
    if known or data.has_missing or data.others_missing or not options.completes:
        return found
    limits = data.geometry.limits
    completion = completion_of_clusters(
        data.table if limits is None else limits.within(data.table),
        found.labels,
        indices=data.indices,
        weights=data.counts,
    )
    geometry = dataclasses.replace(found.network.geometry, completion=completion)
    network = dataclasses.replace(found.network, geometry=geometry)
    return dataclasses.replace(found, network=network)


# --- parameters that have to suit each other ------------------------------------------------------


def candidates_of(model: Any) -> list[int] | None:
    """Return the numbers of clusters to choose from; None: the number is given."""
    candidates = candidate_numbers(model.n_clusters, model.objective)
    if candidates is not None:
        for name in _arrays(model):
            msg = (
                f"{name} cannot be an array with n_clusters={model.n_clusters!r}: it fixes "
                "the number of clusters. Give n_clusters as an int."
            )
            raise ValueError(msg)
    return candidates


def check_many(model: Any, n_clusters: int, n_rows: int) -> None:
    """Refuse, or warn of, what does not suit many clusters."""
    recipe, given = model.recipe, model.batch_size
    _check_tree(model, "n_clusters", n_clusters, "clusters")
    silhouette = model.objective in ("auto", "silhouette") and n_clusters > 1
    if isinstance(given, str) or given >= n_rows or not silhouette:
        return
    if given < recipe.min_batch_rows_per_cluster * n_clusters:
        spherical = find_metric(model.metric).spherical
        fitting = recipe.batch_size("auto", n_clusters, spherical=spherical)
        warn(
            f"batch_size={given} has {given / n_clusters:.2g} rows per cluster for n_clusters="
            f"{n_clusters}: clusters that a batch misses may be lost. Use batch_size='auto' "
            f"({fitting} here{', so all rows' if fitting >= n_rows else ''}).",
        )


def check_n_memories(model: Any, n_clusters: int) -> None:
    """Refuse numbers of memories, and arrays, that do not fit one another."""
    given = model.n_memories
    if given is None:
        return
    if isinstance(given, str):
        for name in _arrays(model):
            msg = (
                f"{name} cannot be an array with n_memories='auto': it fixes the number "
                "of memories. Give n_memories as an int."
            )
            raise ValueError(msg)
        return
    _check_tree(model, "n_memories", given, "memories")
    if given < n_clusters:
        msg = (
            f"n_memories={given} must be at least n_clusters={n_clusters}: a cluster is made "
            "of one memory or more."
        )
        raise ValueError(msg)
    if n_clusters < given <= model.recipe.shared_by:
        msg = (
            f"n_memories={given} must be more than {model.recipe.shared_by}, since so many of "
            f"them share a row, or the same as n_clusters={model.n_clusters!r}."
        )
        raise ValueError(msg)
    for name in _arrays(model):
        shape = np.shape(getattr(model, name))
        if not shape or shape[0] != given:
            msg = (
                f"{name} must have one entry for each of n_memories={given}, got an array of "
                f"shape {shape}."
            )
            raise ValueError(msg)


def _check_tree(model: Any, parameter: str, number: int, things: str) -> None:
    most = model.recipe.max_tree_clusters
    if isinstance(model.init, str) and model.init == "ward" and number > most:
        msg = (
            f"init='ward' makes a tree for at most {most} {things}, got {parameter}={number}. "
            "Use init='k-means++', or 'auto', which chooses it."
        )
        raise ValueError(msg)


def _arrays(model: Any) -> list[str]:
    """Return which of the parameters that may be arrays are."""
    values = ((name, getattr(model, name)) for name in ("init", "weights"))
    return [name for name, value in values if value is not None and not isinstance(value, str)]
