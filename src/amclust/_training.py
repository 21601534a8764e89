"""From rows to a network: seed, train all restarts in one call, judge them, choose."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from amclust import _native
from amclust._completion import learn_completion
from amclust._geometry import Geometry
from amclust._metrics import find_metric
from amclust._network import Network, Want
from amclust._objectives import AUTO, Objective, choose_objective, find_objective
from amclust._progress import reporter
from amclust._recipe import Recipe, Stage
from amclust._rows import DrawnRows, RowSource, draw_places
from amclust._silhouettes import judge_on, judged_places, silhouettes
from amclust._validation import (
    check_columns,
    check_distinct,
    check_epochs,
    check_init,
    check_rows,
    check_weights,
)
from amclust.backends import Backend, TrainingSet
from amclust.backends.base import (
    EnergyFunction,
    EnergySeeding,
    Progress,
    Seeding,
    read_to_train,
)

# What float32 holds, with room for distances (beta in core units).
MIN_BETA, MAX_BETA = 1e-20, 1e20
# Rows times memories of a batch.
MAX_PAIRS = 2**22
# Seeds are drawn below this.
MAX_SEED = np.iinfo(np.int32).max
# By what beta is multiplied, and how often at most, until memories keep the rows nearest to them.
COOLING, MAX_COOLINGS = 4.0, 12
# A cluster with more of the rows, where the initial memories have none such, is warned of.
COLLAPSED_SHARE = 0.9
# After so many steps the learning rate of `partial_fit` has fallen to 1 / sqrt(2).
SETTLING_STEPS = 20

RUN_DTYPE = np.dtype(
    [
        ("seed", np.int64),
        ("beta", np.float64),
        ("loss", np.float64),
        ("silhouette", np.float64),
        ("living_clusters", np.int64),
        ("n_iter", np.int64),
        ("converged", np.bool_),
        ("chosen", np.bool_),
    ]
)


# --- values ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """What users decide about training: the parameters of `ClAM` that it reads, by their names."""

    objective: str
    beta: float | str
    n_steps: int
    step_size: float
    mask_prob: float
    mask_value: float | str
    weights: Any
    metric: Any  # a name, or an Energy
    scale: str | None
    init: Any
    n_init: int
    batch_size: int
    max_epochs: int
    learning_rate: float
    patience: int
    lr_factor: float
    min_lr: float
    tol: float
    early_stopping: bool
    selection: str
    record_epochs: Any

    @classmethod
    def of(cls, estimator: Any, n_clusters: int, **changed: Any) -> Options:
        """Return the options of an estimator, some changed; those that suit k are decided here."""
        given = {f.name: getattr(estimator, f.name) for f in dataclasses.fields(cls)} | changed
        given["batch_size"] = estimator.recipe.batch_size(
            given["batch_size"], n_clusters, spherical=find_metric(given["metric"]).spherical
        )
        return cls(**given)

    @property
    def completes(self) -> bool:
        """Whether missing values are completed before training, which does not do it itself."""
        known = self.objective != AUTO and find_objective(self.objective)
        return not (known and known.fills_from_mask)

    def core_beta(self, geometry: Geometry) -> float | None:
        """Return a given beta in core units; None: from the data."""
        if isinstance(self.beta, str):
            return None
        # Beyond float32, memberships are as good as hard, or as good as equal: so are these.
        return float(np.clip(float(self.beta) * geometry.distance_unit, MIN_BETA, MAX_BETA))


@dataclass(frozen=True, eq=False)
class OptimizerState:
    """What `partial_fit` goes on from.

    Attributes
    ----------
    moments : float32 ndarray of shape (2, n_memories, n_features)
        Adam's moments of the memories.

    weight_moments : float32 ndarray of shape (2, n_memories)
        Those of the log-weights.

    steps : int
        Steps made so far.

    mean_square, total_square : float
        Scatter of rows around the initial memories, and around their mean: what the parts of the
        silhouette objective are measured in.

    seed : int
        The seed of the run.

    objective : str
        What was minimised.

    energy_moments : float32 ndarray of shape (2, n_parameters)
        Adam's moments of what is learned of an energy.
    """

    moments: NDArray[np.float32]
    weight_moments: NDArray[np.float32]
    steps: int
    mean_square: float
    total_square: float
    seed: int
    objective: str
    energy_moments: NDArray[np.float32] = field(
        default_factory=lambda: np.zeros((2, 0), np.float32)
    )


@dataclass(frozen=True)
class UntrainedRun:
    """A restart that was judged by its start, and went no further."""

    seed: int
    beta: float  # in core units
    silhouette: float
    n_nonempty: int


@dataclass
class TrainedRun:
    """One restart: what it was to do, what it found, and how good that is."""

    plan: _native.Plan
    record: _native.Record
    seed: int
    silhouette: float = np.nan
    n_nonempty: int = 0  # clusters that have rows
    largest_share: float = np.nan  # the part of the rows that is in the largest cluster
    recorded: dict[int, NDArray[np.float32]] = field(default_factory=dict)  # memories by epoch
    moved: NDArray[np.float32] | None = None  # memories, where empty clusters were given rows
    cooled: float | None = None  # and the inverse temperature at which these keep them

    @property
    def beta(self) -> float:
        """Inverse temperature, in core units."""
        return self.plan.network.beta if self.cooled is None else self.cooled

    @property
    def objective(self) -> Objective:
        """What was minimised."""
        return find_objective(self.plan.objective.name)

    def network(self, geometry: Geometry) -> Network:
        """Return the network that was found."""
        found = self.record
        log_weights = found.log_weights.astype(np.float64)
        if self.plan.learn_weights:  # only ratios matter: make the mean weight 1
            log_weights -= np.log(np.mean(np.exp(log_weights)))
        network = network_at_start(self.plan, geometry)
        return dataclasses.replace(
            network,
            memories=found.memories if self.moved is None else self.moved,
            log_weights=log_weights.astype(np.float32),
            beta=self.beta,
            energy_function=energy_function(geometry, len(log_weights), found.energy),
        )

    def optimizer(self, seeding: Scatter) -> OptimizerState:
        """Return what more training goes on from."""
        return OptimizerState(
            self.record.moments,
            self.record.weight_moments,
            self.record.steps,
            seeding.mean_square,
            seeding.total_square,
            self.seed,
            self.plan.objective.name,
            self.record.energy_moments,
        )


@dataclass(frozen=True, eq=False)
class Start:
    """Where a run starts: memories, and the scales of the rows around them.

    The temperature follows from `mean_distance` and `median_gap`, in the distances of the energy
    (for those of the core, the former is `mean_square`).
    """

    memories: NDArray[np.float32]
    mean_square: float
    median_gap: float
    total_square: float
    mean_distance: float
    compact: bool = False  # the memories have a bounded reach
    separated: bool = False  # hardly any row is near the border of two clusters
    energy: NDArray[np.float32] | None = None  # what was learned of the energy; None: nothing yet

    @classmethod
    def of(cls, seeding: Seeding) -> Start:
        """Return what a backend found."""
        mean_distance, compact, separated = seeding.mean_square, False, False
        if isinstance(seeding, EnergySeeding):
            mean_distance, compact = seeding.mean_distance, seeding.compact
        else:
            separated = seeding.separated
        return cls(
            seeding.memories,
            seeding.mean_square,
            seeding.median_gap,
            seeding.total_square,
            mean_distance,
            compact,
            separated,
        )


Scatter = Start | OptimizerState


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit found."""

    network: Network
    optimizer: OptimizerState
    runs: list[TrainedRun | UntrainedRun]
    chosen: int
    labels: NDArray[np.int32]
    total_weight: float | None = None  # of all rows; None: values are missing, or rows were drawn
    collapsed: bool = False  # most rows are in one cluster, which was not so before training
    # Sum over all rows of a table, in core units, where some were trained on.
    square_distances: float | None = None

    @property
    def best(self) -> TrainedRun:
        """The chosen run."""
        run = self.runs[self.chosen]
        assert isinstance(run, TrainedRun)
        return run

    @property
    def inertia(self) -> float | None:
        """Sum of squared distances to the memories, where exact steps have minimised it."""
        run, geometry = self.best, self.network.geometry
        found = self.square_distances
        if found is None and self.total_weight is not None:
            found = run.record.loss * geometry.n_features * self.total_weight
        if found is None or not run.plan.exact or geometry.spherical:
            return None
        return float(found * geometry.distance_unit)

    @property
    def table(self) -> NDArray[np.void]:
        """One row per restart, in original units."""
        unit = self.network.geometry.distance_unit
        table = np.zeros(len(self.runs), dtype=RUN_DTYPE)
        for index, run in enumerate(self.runs):
            loss, epochs, converged = np.nan, 0, False
            if isinstance(run, TrainedRun):
                record = run.record
                loss, epochs, converged = record.loss, record.n_epochs, record.converged
            table[index] = (
                run.seed,
                run.beta / unit,
                loss,
                run.silhouette,
                run.n_nonempty,
                epochs,
                converged,
                index == self.chosen,
            )
        return table


def network_at_start(plan: _native.Plan, geometry: Geometry) -> Network:
    """Return the network that a run starts from."""
    start = plan.network
    n_memories = len(start.memories)
    return Network(
        start.memories,
        start.log_weights,
        start.beta,
        start.step_size,
        start.n_steps,
        geometry,
        np.arange(n_memories, dtype=np.int32),
        find_objective(plan.objective.name).fills_from_mask,
        energy_function(geometry, n_memories, plan.energy),
    )


def energy_function(
    geometry: Geometry, n_memories: int, learned: NDArray[np.float32]
) -> EnergyFunction | None:
    """Return the energy of a metric, with what was learned of it; None: the core has it."""
    if geometry.is_native:
        return None
    from amclust.backends import torch

    return torch.energy_function(geometry, n_memories, learned)


def learned_values(energy: Any) -> NDArray[np.float32]:
    """Return what was learned of an energy that the core does not have."""
    from amclust.backends import torch

    return torch.learned_values(energy)


# --- the rows -------------------------------------------------------------------------------------


def n_drawn(source: RowSource, batch_size: int, recipe: Recipe, n_memories: int) -> int | None:
    """Return on how many rows of a table so many memories are trained; None: on all of them."""
    enough = recipe.n_drawn(source.n_counted, n_memories, source.values_per_row)
    enough = max(enough, batch_size)
    return enough if enough < source.n_counted else None


def draw_rows(source: RowSource, count: int | None, seed: int) -> DrawnRows:
    """Bring the rows that a fit looks at to memory: so many, or all.

    They are drawn by their places in the table, so that it does not matter where these lie.
    """
    n_counted = source.n_counted
    if not n_counted:
        msg = "sample_weight must have at least one positive weight, got only zeros."
        raise ValueError(msg)
    trained = None if count is None else draw_places(n_counted, count, seed)
    return source.draw(trained, judged_places(n_counted))


def prepare(
    drawn: DrawnRows,
    options: Options,
    *,
    n_clusters: int,
    threads: int,
    feature_names: tuple[str, ...] | None,
    geometry: Geometry | None = None,
    n_memories: Sequence[int] | None = None,
    reads_completed: bool = True,
) -> TrainingSet:
    """Check rows and bring them into core units, which are chosen here if not given.

    Where one batch holds all rows, the distinct ones are trained on, weighted: then neither their
    order nor how copies are given matters. `n_memories` are those that may share the covariance of
    "mahalanobis"; None: as many as there are clusters. Without `reads_completed`, what rows lack is
    left to the memories.
    """
    rows, sample_weight = drawn.rows, drawn.sample_weight
    indices, counts = drawn.trained, sample_weight
    whole = rows.n_rows <= options.batch_size and not drawn.is_sample
    if whole:
        indices, counts = rows.distinct(None, sample_weight)
        if geometry is None:
            weighted = sample_weight is not None and not sample_weight.all()
            advice = "Rows of weight 0 do not count." if weighted else ""
            check_distinct(len(indices), n_clusters, rows.n_rows, advice)
    elif counts is not None and indices is not None:
        counts = np.ascontiguousarray(counts[indices])
    if drawn.statistics is not None:
        everything, stats = drawn.statistics.everything, drawn.statistics.counted
    else:
        # Rows of weight 0 are not trained on, but they get labels.
        everything = stats = check_rows(rows, options.metric, feature_names, threads)
        if geometry is None and (whole or sample_weight is not None):
            counted, weights = (indices, counts) if whole else drawn.counted
            stats = rows.statistics(counted, weights, threads)
    if geometry is None:
        check_columns(stats, feature_names, options.metric)
        completion = None
        # Rows that are whitened have no values of their own, so that new ones must be completed.
        whitens = find_metric(options.metric).whitens
        if whitens or (stats.missing > 0 and options.completes):
            completion = learn_completion(
                rows, stats, indices=indices, weights=counts, threads=threads
            )
        geometry = Geometry.fit(
            rows,
            stats,
            metric=options.metric,
            scale=options.scale,
            mask_value=options.mask_value,
            indices=indices,
            weights=counts,
            threads=threads,
            feature_names=feature_names,
            completion=completion,
            n_memories=[n_clusters] if n_memories is None else n_memories,
        )
        geometry = dataclasses.replace(geometry, reads_completed=whitens or reads_completed)
    weights = counts
    if counts is not None:  # only ratios matter to the loss
        weights = np.ascontiguousarray(counts / counts.mean(dtype=np.float64), dtype=np.float32)
    if drawn.is_sample:  # a column without missing values has the weight of all rows
        total = float(stats.weight.max())
    elif counts is not None:
        total = float(counts.sum(dtype=np.float64))
    else:
        total = float(rows.n_rows if indices is None else len(indices))
    return TrainingSet(
        table=rows,
        rows=read_to_train(geometry, rows, indices, stats.missing > 0, threads),
        geometry=geometry,
        indices=indices,
        weights=weights,
        counts=counts,
        judged=judge_on(drawn),
        has_missing=stats.missing > 0,
        threads=threads,
        is_sample=drawn.is_sample,
        total_weight=total,
        ranges=(everything.min, everything.max),
        others_missing=everything.missing > stats.missing,
        missing_share=1.0 - float(stats.weight.mean() / max(total, 1e-30)),
    )


# --- one fit --------------------------------------------------------------------------------------


def fit(
    data: TrainingSet,
    options: Options,
    *,
    n_clusters: int,
    seeds: NDArray[np.int64],
    sample_seed: int,
    backend: Backend,
    recipe: Recipe,
    verbose: int = 0,
) -> Fit:
    """Train restarts from new memories and choose the best."""
    epochs = check_epochs(options.record_epochs, options.max_epochs)
    objective = _objective(data, options, n_clusters)
    starts = seed_runs(data, options, n_clusters, seeds, sample_seed, backend, recipe)
    judged, promising = rank_starts(data, starts, seeds, objective, options, recipe)
    progress = reporter(verbose, len(promising), options.max_epochs)
    trained = train_stages(
        data,
        [starts[run] for run in promising],
        seeds[promising],
        objective,
        options,
        backend,
        recipe,
        progress,
        epochs,
    )
    judge_runs(data, trained)
    # What exact steps minimise is what counts.
    best = choose_run(trained, "loss" if trained[0].plan.exact else options.selection)
    runs: dict[int, TrainedRun | UntrainedRun] = {**judged}
    runs |= dict(zip(promising, trained, strict=True))
    chosen = promising[best]
    found = conclude(data, [runs[run] for run in range(len(starts))], chosen, starts[chosen])
    found = without_empty(data, found, options)
    return dataclasses.replace(found, collapsed=has_collapsed(data, found, starts[chosen]))


def has_collapsed(data: TrainingSet, found: Fit, start: Start) -> bool:
    """Return whether training brought most rows into one cluster.

    The partition of the initial memories stands in for that of k-means.
    """
    if found.network.n_clusters == 1 or not found.best.largest_share > COLLAPSED_SHARE:
        return False
    judged, network = data.judged, found.network
    before = dataclasses.replace(network, memories=start.memories)
    rows = data.labelled_rows
    labels = before.core_labels(rows, indices=judged.indices, n_jobs=data.threads)
    sizes = np.bincount(labels[labels >= 0], judged.counts[labels >= 0], minlength=1)
    return bool(sizes.max() <= COLLAPSED_SHARE * judged.counts.sum(dtype=np.float64))


def rank_starts(
    data: TrainingSet,
    starts: list[Start],
    seeds: NDArray[np.int64],
    objective: Objective,
    options: Options,
    recipe: Recipe,
) -> tuple[dict[int, UntrainedRun], list[int]]:
    """Return the restarts as they start, judged, and which of them to train.

    On many rows the silhouette of a start tells how good the silhouette will be that training
    makes of it; on few, small changes make large differences, and all are trained.
    """
    everything = list(range(len(starts)))
    spherical = data.geometry.spherical
    n_trained = recipe.n_trained(len(starts), data.n_rows, spherical=spherical)
    seeded = isinstance(options.init, str)
    ranked_by_silhouette = objective.beta_by_gap and options.selection == "silhouette"
    if n_trained == len(starts) or not (seeded and ranked_by_silhouette):
        return {}, everything

    def networks() -> Iterator[Network]:
        # One after the other: of many columns each is large.
        for start in starts:
            (plan,) = _stage_plans(
                data, [start], seeds[:1], objective, options, recipe, recipe.stages[0]
            )
            yield network_at_start(plan, data.geometry)

    found = judge(dataclasses.replace(data, judged=data.judged.some()), networks())
    if any(np.isnan(one.silhouette) for one in found):  # the sample had rows of a single cluster
        found = judge(data, networks())
    judged = {
        place: UntrainedRun(int(seed), one.beta, one.silhouette, one.n_nonempty)
        for place, (seed, one) in enumerate(zip(seeds, found, strict=True))
    }
    n_nonempty = np.array([one.n_nonempty for one in found])
    scores = np.array([one.silhouette for one in found])
    order = order_runs(-n_nonempty, scores, np.zeros(len(scores)), "silhouette")
    return judged, sorted(order[:n_trained].tolist())


def without_empty(data: TrainingSet, found: Fit, options: Options) -> Fit:
    """Move the memories that no row falls to: a fit ends with as many clusters as were asked for.

    Where the temperature is not given it is lowered if rows are still carried away from memories
    that are nearest to them. Where two memories are as near to a row as each other that does not
    help, and all of them move to the means of their rows.
    """
    most = _n_clusters(data, found.labels)
    if found.network.energy_function is not None or most == found.network.n_clusters:
        return found
    for cooler, moved in _rescues(data, found, options):
        labels = cooler.core_labels(data.labelled_rows, n_jobs=data.threads)
        n_nonempty = _n_clusters(data, labels)
        if n_nonempty > most:
            most = n_nonempty
            run = dataclasses.replace(found.best, moved=moved, cooled=cooler.beta)
            runs = [*found.runs[: found.chosen], run, *found.runs[found.chosen + 1 :]]
            found = dataclasses.replace(found, network=cooler, runs=runs, labels=labels)
        if n_nonempty == cooler.n_clusters:
            break
    judge_runs(data, [found.best])
    return found


def _rescues(
    data: TrainingSet, found: Fit, options: Options
) -> Iterator[tuple[Network, NDArray[np.float32]]]:
    """Yield networks that may have rows for all memories, with these."""
    network, plan, seed = found.network, found.best.plan.network, found.best.seed
    for average in (False, True):
        moved = _native.fill_empty(
            data.rows,
            data.indices,
            data.weights,
            core_network(network.memories, network.log_weights, plan.beta, options, data.geometry),
            data.geometry.fill,
            seed,
            average,
            data.threads,
        )
        for power in range(MAX_COOLINGS if isinstance(options.beta, str) else 1):
            beta = float(np.clip(plan.beta * COOLING**power, MIN_BETA, MAX_BETA))
            yield dataclasses.replace(network, memories=moved, beta=beta), moved


def with_assembly(
    data: TrainingSet,
    found: Fit,
    assembly: NDArray[np.int32],
    sizes: NDArray[np.float64] | None,
    beta: float | None = None,
) -> Fit:
    """Return a fit whose memories make up clusters; a smaller beta unless that empties one."""
    made = dataclasses.replace(found.network, assembly=assembly, sizes=sizes)
    betas = [made.beta] if beta is None or beta == made.beta else [beta, made.beta]
    for value in betas:
        network = dataclasses.replace(made, beta=value)
        (judgement,) = judge(data, [network])
        if judgement.n_nonempty == network.n_clusters:
            break
    run = dataclasses.replace(
        found.best,
        cooled=network.beta,
        silhouette=judgement.silhouette,
        n_nonempty=judgement.n_nonempty,
        largest_share=judgement.largest_share,
    )
    runs = [*found.runs[: found.chosen], run, *found.runs[found.chosen + 1 :]]
    labels = network.core_labels(data.labelled_rows, n_jobs=data.threads)
    return dataclasses.replace(
        found, network=network, runs=runs, labels=labels, total_weight=None, collapsed=False
    )


def _n_clusters(data: TrainingSet, labels: NDArray[np.int32]) -> int:
    """Return how many clusters have rows that are trained on."""
    labels = labels if data.indices is None else labels[data.indices]
    return int(np.count_nonzero(np.bincount(labels[labels >= 0])))


def fit_on(
    data: TrainingSet,
    options: Options,
    *,
    n_clusters: int,
    seed: int,
    earlier: tuple[Network, OptimizerState] | None,
    backend: Backend,
    recipe: Recipe,
) -> Fit:
    """Go once through rows, from new memories or from where earlier training left them."""
    if earlier is None:
        objective = _objective(data, options, n_clusters)
        (start,) = seed_runs(data, options, n_clusters, np.array([seed]), seed, backend, recipe)
        plan = make_plan(data, start, seed, objective, options, recipe)
        seen = 0
    else:
        network, state = earlier
        objective = _objective(data, options, n_clusters, state.objective)
        seed, seen = state.seed, state.steps
        learned = None
        if network.energy_function is not None:
            learned = learned_values(network.energy_function)
        start = Start(
            network.memories,
            state.mean_square,
            np.nan,
            state.total_square,
            state.mean_square,
            energy=learned,
        )
        # New rows are shuffled and masked anew: the draws hang on the steps made so far.
        plan = make_plan(data, start, seed + seen, objective, options, recipe, beta=network.beta)
        plan.network = core_network(
            network.memories, network.log_weights, network.beta, options, data.geometry
        )
        plan.resume(state.moments, state.weight_moments, state.steps, state.energy_moments)
    plan.schedule.max_epochs = 1
    plan.schedule.early_stopping = False
    # Steps get smaller as more is seen, so that the memories settle.
    rate = options.learning_rate / np.sqrt(1 + seen / SETTLING_STEPS)
    rate = float(max(options.min_lr, rate))
    if data.geometry.spherical:
        rate *= recipe.sphere_rate(data.rows.n_features)
    plan.schedule.learning_rate = rate
    plan.whole_epochs, plan.reseed, plan.keep_last = True, False, True
    plan.exact = plan.measure_first = False
    (run,) = train_plans(data, [plan], [seed], backend, None)
    if not np.isfinite(run.record.memories).all():
        msg = (
            "These rows are too far from those that came before: in units of the first rows, "
            "training left what float32 holds. Rescale them, or fit anew."
        )
        raise ValueError(msg)
    judge_runs(data, [run])
    found = conclude(data, [run], 0, start)
    if earlier is None or earlier[0].n_clusters == earlier[0].n_memories:
        return found
    sizes = earlier[0].sizes
    if sizes is not None:  # centres of clusters are means over all rows that came
        counts = None if data.counts is None else data.counts.astype(np.float64)
        labels = found.labels if data.indices is None else found.labels[data.indices]
        inside = labels >= 0  # the others are noise
        counts = None if counts is None else counts[inside]
        sizes = sizes + np.bincount(labels[inside], counts, minlength=len(sizes))
    return with_assembly(data, found, earlier[0].assembly, sizes)


def conclude(
    data: TrainingSet, runs: Sequence[TrainedRun | UntrainedRun], chosen: int, start: Scatter
) -> Fit:
    """Make a network of the chosen run and label all rows by it."""
    best = runs[chosen]
    assert isinstance(best, TrainedRun)
    network = best.network(data.geometry)
    labels = network.core_labels(data.labelled_rows, n_jobs=data.threads)
    # What is known of some rows only is no sum over all of them.
    weight = None if data.has_missing or data.is_sample else data.total_weight
    return Fit(network, best.optimizer(start), list(runs), chosen, labels, weight)


def _objective(
    data: TrainingSet, options: Options, n_clusters: int, resumed: str | None = None
) -> Objective:
    return choose_objective(
        options.objective,
        n_clusters=n_clusters,
        n_features=data.rows.n_features,
        has_missing=data.rows.has_missing,
        resumed=resumed,
    )


# --- its steps ------------------------------------------------------------------------------------


def draw_seeds(random_state: Any, n_runs: int) -> tuple[NDArray[np.int64], int]:
    """Draw the seed of each restart, and that of the sample on which they are seeded."""
    rng = check_random_state(random_state)
    seeds = rng.randint(MAX_SEED, size=n_runs).astype(np.int64)
    return seeds, int(rng.randint(MAX_SEED))


def seed_runs(
    data: TrainingSet,
    options: Options,
    n_clusters: int,
    seeds: NDArray[np.int64],
    sample_seed: int,
    backend: Backend,
    recipe: Recipe,
) -> list[Start]:
    """Give every run its initial memories, with the scales that set the temperature."""
    if not isinstance(options.init, str):
        memories = check_init(options.init, n_clusters, data.geometry)
        start = Start.of(backend.measure(data, memories, sample_seed))
        return [start] * len(seeds)
    methods = recipe.seeding_methods(options.init, len(seeds), n_clusters)
    whole = [int(seed) for seed in seeds]
    found = backend.seed(data, n_clusters, methods, whole, sample_seed)
    advice = (
        "Rows of the same direction count as one."
        if data.geometry.spherical
        else "Rows that differ by less than about 1e-7 of the spread of X count as one: look for "
        "extreme values."
    )
    distinct = min(seeding.distinct for seeding in found)
    check_distinct(distinct, n_clusters, data.rows.n_rows, advice)
    return [Start.of(seeding) for seeding in found]


def core_network(
    memories: NDArray[np.float32],
    log_weights: NDArray[np.float32],
    beta: float,
    options: Options,
    geometry: Geometry,
) -> _native.Network:
    """Return a network in core units."""
    return _native.Network(
        memories,
        log_weights,
        geometry.energy,
        beta,
        float(options.step_size),
        int(options.n_steps),
    )


def make_plan(
    data: TrainingSet,
    start: Start,
    seed: int,
    objective: Objective,
    options: Options,
    recipe: Recipe,
    *,
    beta: float | None = None,
    beta_factor: float = 1.0,
) -> _native.Plan:
    """Return the plan of one run.

    ``beta`` is in core units; None: the user's, or from the data, times ``beta_factor``.
    """
    n_clusters = len(start.memories)
    beta = options.core_beta(data.geometry) if beta is None else beta
    plain = options.weights is None and data.geometry.is_native
    exact = objective.exact and plain and beta is None and beta_factor == 1.0
    if beta is None:
        rule = recipe.inverse_temperature(
            objective.beta_by_gap or exact,
            start.mean_distance,
            start.median_gap,
            compact=start.compact,
        )
        beta = beta_factor * rule * (recipe.hard_factor if exact else 1.0)
        beta = float(np.clip(beta, MIN_BETA, MAX_BETA))
    log_weights = np.zeros(n_clusters, np.float32)
    if options.weights is not None and not isinstance(options.weights, str):
        log_weights = check_weights(options.weights, n_clusters)
    plan = _native.Plan(core_network(start.memories, log_weights, beta, options, data.geometry))
    if start.energy is not None:
        plan.energy = start.energy
    plan.learn_weights = isinstance(options.weights, str)
    plan.exact = exact
    seeded = isinstance(options.init, str) and options.init != "random"
    plan.measure_first = bool(
        objective.beta_by_gap and seeded and options.early_stopping and options.max_epochs > 1
    )
    plan.starts_separated = start.separated
    plan.batch_size = int(options.batch_size)
    inside, total = start.mean_square, start.total_square
    explained = max(total - inside, recipe.min_explained * total, 1e-12)
    settings = plan.objective
    settings.name = objective.name
    settings.seed = int(seed)
    settings.mask_prob = float(options.mask_prob)
    settings.fill = data.geometry.fill
    unit = explained if recipe.anchor_unit == "explained" else max(inside, 1e-12)
    settings.anchor = recipe.anchor / unit
    settings.tie = recipe.tie / max(inside, 1e-12)
    settings.neighbours = recipe.met_memories(n_clusters, beta, start.median_gap)
    if not settings.neighbours or data.rows.is_sparse or data.rows.has_missing:
        # Rows meet all memories: a batch holds a few numbers for each pair.
        plan.batch_size = min(plan.batch_size, max(recipe.batch_rows, MAX_PAIRS // n_clusters))
    schedule = plan.schedule
    schedule.max_epochs = int(options.max_epochs)
    schedule.patience = int(options.patience)
    schedule.learning_rate = float(options.learning_rate)
    schedule.min_lr = float(options.min_lr)
    if settings.neighbours and data.n_rows <= plan.batch_size:
        schedule.learning_rate *= recipe.crowd_rate
    if data.geometry.spherical:
        schedule.learning_rate *= recipe.sphere_rate(data.rows.n_features)
        schedule.min_lr *= recipe.sphere_rate(data.rows.n_features)
    if objective.beta_by_gap and seeded:
        schedule.enough_epochs = recipe.enough_epochs(
            data.rows.n_features, spherical=data.geometry.spherical
        )
    schedule.lr_factor = float(options.lr_factor)
    schedule.tol = float(options.tol)
    schedule.early_stopping = bool(options.early_stopping)
    return plan


def train_stages(
    data: TrainingSet,
    starts: list[Start],
    seeds: NDArray[np.int64],
    objective: Objective,
    options: Options,
    backend: Backend,
    recipe: Recipe,
    progress: Progress | None,
    record_epochs: Sequence[int],
) -> list[TrainedRun]:
    """Train restarts of one configuration through the stages of the recipe."""
    runs: list[TrainedRun] = []
    for stage in recipe.stages:
        plans = _stage_plans(data, starts, seeds, objective, options, recipe, stage)
        runs = train_recorded(data, plans, seeds, backend, progress, record_epochs)
        starts = [
            dataclasses.replace(
                start,
                memories=run.record.memories,
                energy=run.record.energy,
                separated=False,
            )
            for start, run in zip(starts, runs, strict=True)
        ]
    return runs


def _stage_plans(
    data: TrainingSet,
    starts: list[Start],
    seeds: NDArray[np.int64],
    objective: Objective,
    options: Options,
    recipe: Recipe,
    stage: Stage,
) -> list[_native.Plan]:
    if stage.objective is not None:
        objective = find_objective(stage.objective)
    if stage.learning_rate is not None:
        options = dataclasses.replace(options, learning_rate=stage.learning_rate)
    factor = stage.beta_factor
    return [
        make_plan(data, start, int(seed), objective, options, recipe, beta_factor=factor)
        for start, seed in zip(starts, seeds, strict=True)
    ]


def train_recorded(
    data: TrainingSet,
    plans: list[_native.Plan],
    seeds: Sequence[int] | NDArray[np.int64],
    backend: Backend,
    progress: Progress | None,
    record_epochs: Sequence[int],
) -> list[TrainedRun]:
    """Train runs, and keep their memories after some epochs, ascending.

    Training pauses there and goes on as if it had not.
    """
    recorded = [{0: plan.network.memories} if 0 in record_epochs else {} for plan in plans]
    for epoch in (epoch for epoch in record_epochs if epoch > 0):
        for plan in plans:
            plan.pause_at = epoch
        found = backend.train(data, plans, progress)
        for plan, memories, record in zip(plans, recorded, found, strict=True):
            plan.earlier = record
            if record.n_epochs == epoch:  # else it stopped before
                memories[epoch] = record.last_memories
    for plan in plans:
        plan.pause_at = plan.schedule.max_epochs
    runs = train_plans(data, plans, seeds, backend, progress)
    for run, memories in zip(runs, recorded, strict=True):
        run.recorded = memories
    return runs


def train_plans(
    data: TrainingSet,
    plans: list[_native.Plan],
    seeds: Sequence[int] | NDArray[np.int64],
    backend: Backend,
    progress: Progress | None,
) -> list[TrainedRun]:
    """Train runs of any configurations on the same rows, in one call."""
    records = backend.train(data, plans, progress)
    return [
        TrainedRun(plan, record, int(seed))
        for plan, record, seed in zip(plans, records, seeds, strict=True)
    ]


class Judgement(NamedTuple):
    """How good a partition is."""

    silhouette: float  # NaN: of a single cluster
    n_nonempty: int
    largest_share: float
    beta: float  # of the network, in core units


def judge(data: TrainingSet, networks: Iterable[Network]) -> list[Judgement]:
    """Judge the partitions that networks make of the rows to judge by."""
    rows = data.labelled_rows
    counts, partitions, others, n_clusters = data.judged.counts, [], [], 1
    for network in networks:
        labels = network.core_labels(rows, indices=data.judged.indices, n_jobs=data.threads)
        inside = labels >= 0  # the others are noise
        of_clusters = np.bincount(labels[inside], counts[inside], minlength=1)
        n_nonempty = len(np.unique(labels[inside]))
        if n_nonempty < network.n_clusters and data.judged.is_sample:
            # The others may have rows outside of the sample.
            found = network.infer(rows, Want.COUNTS, indices=data.indices, n_jobs=data.threads)
            n_nonempty = len(np.unique(network.assembly[np.flatnonzero(found.counts)]))
        partitions.append(labels)
        share = float(of_clusters.max() / counts.sum(dtype=np.float64))
        others.append((n_nonempty, share, network.beta))
        n_clusters = max(n_clusters, network.n_clusters)
    scores = np.full(len(partitions), np.nan)
    if n_clusters > 1:
        scores = silhouettes(rows, data.judged, np.stack(partitions), data.threads)
    return [Judgement(float(score), *rest) for score, rest in zip(scores, others, strict=True)]


def judge_runs(data: TrainingSet, runs: list[TrainedRun]) -> None:
    """Fill in every run's silhouette, its non-empty clusters and the share of the largest one."""
    found = judge(data, (run.network(data.geometry) for run in runs))
    for run, judgement in zip(runs, found, strict=True):
        run.silhouette, run.n_nonempty, run.largest_share, _ = judgement


def choose_run(runs: list[TrainedRun], selection: str) -> int:
    """Return the best of runs with the same number of clusters."""
    n_nonempty, found, losses = np.array(
        [(run.n_nonempty, run.silhouette, run.record.loss) for run in runs]
    ).T
    return int(order_runs(-n_nonempty, found, losses, selection)[0])


def order_runs(
    n_empty: NDArray[Any], silhouettes: NDArray[Any], losses: NDArray[Any], selection: str
) -> NDArray[np.int64]:
    """Return the places of runs, the best first.

    One with fewer empty clusters always goes before one with more.
    """
    scores = -losses
    if selection == "silhouette":
        scores = np.where(np.isnan(silhouettes), scores, silhouettes)
    return np.lexsort((-scores, n_empty))
