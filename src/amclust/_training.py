"""From rows to a network: seed, train all restarts in one call, judge them, choose."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from amclust import _native
from amclust._averaging import averaged
from amclust._geometry import Geometry
from amclust._judging import choose_run, judge, judge_runs, order_runs
from amclust._network import Network, Want
from amclust._objectives import Objective, choose_objective, find_objective
from amclust._options import MAX_BETA, MIN_BETA, Options
from amclust._progress import reporter
from amclust._recipe import Recipe, Stage
from amclust._runs import (
    Fit,
    OptimizerState,
    Scatter,
    Start,
    TrainedRun,
    UntrainedRun,
    learned_values,
    network_at_start,
)
from amclust._size_limits import GivenLimits, LimitedRuns, hold_runs
from amclust._validation import (
    check_distinct,
    check_epochs,
    check_init,
    check_weights,
)
from amclust.backends import Backend, TrainingSet
from amclust.backends.base import (
    Progress,
)

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
    limits: GivenLimits | None = None,
) -> Fit:
    """Train restarts from new memories and choose the best; with limits, the cheapest in them."""
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
    runs: dict[int, TrainedRun | UntrainedRun] = {**judged}
    if limits is not None:
        held = hold_runs(
            data, trained, limits, seed=sample_seed, free_beta=isinstance(options.beta, str)
        )
        runs |= dict(zip(promising, held.runs, strict=True))
        chosen = promising[held.chosen]
        every = [runs[run] for run in range(len(starts))]
        return conclude_within(data, every, chosen, starts[chosen], held)
    judge_runs(data, trained)
    # What exact steps minimise is what counts.
    best = choose_run(trained, "loss" if trained[0].plan.exact else options.selection)
    if objective.beta_by_gap:
        trained[best] = averaged(data, trained[best], options, backend, recipe)
    runs |= dict(zip(promising, trained, strict=True))
    chosen = promising[best]
    found = conclude(data, [runs[run] for run in range(len(starts))], chosen, starts[chosen])
    found = without_empty(data, found, options)
    return dataclasses.replace(found, collapsed=has_collapsed(data, found, starts[chosen]))


def conclude_within(
    data: TrainingSet,
    runs: list[TrainedRun | UntrainedRun],
    chosen: int,
    start: Scatter,
    held: LimitedRuns,
) -> Fit:
    """Make a fit of runs that are within limits."""
    best = runs[chosen]
    assert isinstance(best, TrainedRun)
    return Fit(
        best.network(data.geometry),
        best.optimizer(start),
        runs,
        chosen,
        held.labels,
        square_distances=None if data.has_missing else held.cost,
    )


def has_collapsed(data: TrainingSet, found: Fit, start: Start) -> bool:
    """Return whether training brought most rows into one cluster.

    The partition of the initial memories stands in for that of k-means.
    """
    if found.network.n_clusters == 1 or not found.best.largest_share > COLLAPSED_SHARE:
        return False
    rows, judged = data.rows_to_judge(data.judged)
    before = dataclasses.replace(found.network, memories=start.memories)
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

    found = judge(data, networks(), data.judged.some())
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
        labels = data.labels(cooler)
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
    labels = data.labels(network)
    return dataclasses.replace(
        found, network=network, runs=runs, labels=labels, total_weight=None, collapsed=False
    )


def _n_clusters(data: TrainingSet, labels: NDArray[np.int32]) -> int:
    """Return how many clusters have rows that are trained on."""
    labels = labels if data.indices is None else labels[data.indices]
    return int(np.count_nonzero(np.bincount(labels[labels >= 0])))


def with_ignored_means(data: TrainingSet, found: Fit, earlier: Network | None = None) -> Fit:
    """Return a fit that knows the means of its memories' rows in the columns of weight 0."""
    network, columns = found.network, data.geometry.ignored
    if not len(columns):
        return found
    labels = network.infer(
        data.labelled_rows, Want.LABELS, indices=data.indices, n_jobs=data.threads
    ).labels
    weights = np.ones(len(labels)) if data.counts is None else data.counts.astype(np.float64)
    means = np.zeros((network.n_memories, len(columns)))
    for at, column in enumerate(columns):
        values = data.table.column(int(column), data.indices).astype(np.float64)
        seen = ~np.isnan(values) & (labels >= 0)
        sums, totals = (
            np.bincount(labels[seen], parts[seen], minlength=network.n_memories)
            for parts in (weights * np.where(seen, values, 0.0), weights)
        )
        # A memory without rows is where it was, or where all rows are on average.
        others: Any = sums.sum() / max(totals.sum(), 1e-30)
        if earlier is not None and earlier.ignored_means is not None:
            others = earlier.ignored_means[:, at]
        means[:, at] = np.where(totals > 0, sums / np.where(totals > 0, totals, 1.0), others)
    return dataclasses.replace(found, network=dataclasses.replace(network, ignored_means=means))


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
    # Logarithms of shares are no place for steps towards rows: these are judged only.
    plan.schedule.learning_rate = 0.0 if data.geometry.log_levels else rate
    plan.whole_epochs, plan.reseed, plan.keep = True, False, _native.Keep.LAST
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
    labels = data.labels(network)
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
        leaves_out=bool(options.contamination),
        resumed=resumed,
    )


# --- its steps ------------------------------------------------------------------------------------


def draw_seeds(random_state: Any, n_runs: int) -> tuple[NDArray[np.int64], int]:
    """Draw the seed of each restart, and that of the sample on which they are seeded."""
    rng = check_random_state(random_state)
    seeds = rng.randint(MAX_SEED, size=int(n_runs)).astype(np.int64)
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
    by_entries = data.rows.is_sparse or data.rows.gives_entries
    if not settings.neighbours or by_entries or data.rows.has_missing:
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
