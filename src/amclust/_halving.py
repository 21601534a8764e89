"""Successive halving: many runs for a few epochs, the best of them on from there, for more."""

from __future__ import annotations

import copy
import dataclasses
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from amclust import _callbacks, _native
from amclust._estimator import ClAM
from amclust._fitting import Fitting, with_completion
from amclust._judging import judge_runs, order_runs
from amclust._metrics import find_metric
from amclust._objectives import choose_objective
from amclust._options import Options
from amclust._preparing import draw_rows, n_drawn, prepare_trimmed
from amclust._rows import DrawnRows
from amclust._runs import RUN_DTYPE, Start, TrainedRun
from amclust._size_limits import given_limits, hold_runs
from amclust._space import Config, parameters_of
from amclust._threads import n_threads
from amclust._training import (
    MAX_SEED,
    conclude,
    conclude_within,
    draw_seeds,
    make_plan,
    seed_runs,
    train_plans,
    with_ignored_means,
    without_empty,
)
from amclust._trimming import mark_outliers
from amclust.backends import TrainingSet

# A native call is seconds of work, not more, so that an interrupt loses little: in rows times
# features times memories times epochs, and in runs.
CALL_WORK, CALL_RUNS = 4e9, 4096

TABLE_DTYPE = np.dtype(
    [
        ("run", np.int64),
        ("config", np.int64),
        ("n_clusters", np.int64),
        ("seed", np.int64),
        ("rung", np.int64),  # the last one that trained it, from 0; -1: none yet
        ("epochs", np.int64),
        ("beta", np.float64),  # in original units
        ("loss", np.float64),
        ("silhouette", np.float64),
        ("living_clusters", np.int64),
        ("largest_share", np.float64),
        ("converged", np.bool_),
    ]
)


class Rung(NamedTuple):
    """How many runs (of each number of clusters) are trained, and up to which epoch."""

    n_runs: int
    epochs: int


def make_rungs(n_runs: int, n_rungs: int, max_epochs: int, eta: int) -> list[Rung]:
    """Return rungs of which each keeps one run in eta and trains it eta times as long."""
    return [
        Rung(max(1, n_runs // eta**i), round(max_epochs / eta ** (n_rungs - 1 - i)))
        for i in range(n_rungs)
    ]


def max_run_epochs(rungs: list[Rung]) -> int:
    """Return the run-epochs that rungs take if no run stops early."""
    before = [0, *(rung.epochs for rung in rungs)]
    return sum(
        rung.n_runs * (rung.epochs - start) for rung, start in zip(rungs, before, strict=False)
    )


def plan_rungs(
    n_configs: int | None,
    n_init: int,
    total_budget: int,
    parts: int,
    max_epochs: int,
    min_epochs: int,
    eta: int,
) -> list[Rung]:
    """Return the rungs for an equal part of the budget, one for each number of clusters.

    All configurations are begun if the budget allows it, with as few rungs as it allows (a single
    one trains every run to the end); else as many as it allows, with the most rungs.
    """
    budget = total_budget // parts
    max_rungs = 1
    while max_epochs / eta**max_rungs >= min_epochs:
        max_rungs += 1

    def rungs(configs: int, n_rungs: int) -> list[Rung]:
        return make_rungs(configs * n_init, n_rungs, max_epochs, eta)

    if n_configs is not None:
        for n_rungs in range(1, max_rungs + 1):
            if max_run_epochs(rungs(n_configs, n_rungs)) <= budget:
                return rungs(n_configs, n_rungs)
    affordable = bisect_right(
        range(1, budget + 1), budget, key=lambda n: max_run_epochs(rungs(n, max_rungs))
    )
    if not affordable:
        min_budget = parts * max_run_epochs(rungs(1, max_rungs))
        numbers = f"each of {parts} numbers of clusters, " if parts > 1 else ""
        msg = (
            f"budget must be at least {min_budget} run-epochs (one configuration for {numbers}"
            f"n_init={n_init}, min_epochs={min_epochs}, max_epochs={max_epochs}, eta={eta}), got "
            f"{total_budget}."
        )
        raise ValueError(msg)
    return rungs(affordable, max_rungs)


@dataclass(frozen=True)
class State:
    """How far a search has come. What is not here follows from the parameters and the data.

    A state does not change: a step ends with a new one, so an interrupt finds a whole one.
    """

    config_seed: int
    sample_seed: int
    seeds: NDArray[np.int64]
    runs: NDArray[np.void]  # one row per run: where it stands
    judged: NDArray[np.void]  # one row for each time that a run was judged
    rung: int
    alive: NDArray[np.bool_]  # the runs of this rung
    records: dict[int, _native.Record]  # of runs that may go on
    best: int = -1  # in judged
    best_record: _native.Record | None = None

    @classmethod
    def new(
        cls, rng: np.random.RandomState, n_init: int, n_configs: int, n_clusters: list[int]
    ) -> State:
        """Draw what chance decides; the seeds are those ClAM draws from the same generator."""
        seeds, sample_seed = draw_seeds(rng, n_init)
        return cls.begun(int(rng.randint(MAX_SEED)), sample_seed, seeds, n_configs, n_clusters)

    @classmethod
    def begun(
        cls,
        config_seed: int,
        sample_seed: int,
        seeds: NDArray[np.int64],
        n_configs: int,
        n_clusters: list[int],
    ) -> State:
        """Return the state before anything is trained."""
        grid = np.zeros((n_configs, len(n_clusters), len(seeds)), TABLE_DTYPE)
        grid["run"] = np.arange(grid.size).reshape(grid.shape)
        grid["config"] = np.arange(n_configs)[:, None, None]
        grid["n_clusters"] = np.array(n_clusters)[:, None]
        grid["seed"] = seeds
        grid["rung"] = -1
        alive = np.ones(grid.size, bool)
        return cls(config_seed, sample_seed, seeds, grid.ravel(), grid.ravel()[:0], 0, alive, {})

    @property
    def pending(self) -> NDArray[np.int64]:
        """The runs that this rung has yet to train; converged ones are what they are."""
        behind = (self.runs["rung"] < self.rung) & ~self.runs["converged"]
        return np.flatnonzero(self.alive & behind)


def ranked(table: NDArray[np.void]) -> NDArray[np.int64]:
    """Return the places of a table's rows, the best first; of equals, those trained longer."""
    places = np.argsort(-table["rung"], kind="stable")
    rows = table[places]
    n_empty = rows["n_clusters"] - rows["living_clusters"]
    return places[order_runs(n_empty, rows["silhouette"], rows["loss"], "silhouette")]


@dataclass(frozen=True, eq=False)
class Task:
    """One run of a search: how it is to be trained, and what that comes from."""

    plan: _native.Plan
    seed: int
    start: Start
    data: TrainingSet


class Drawing(NamedTuple):
    """Which rows of a table runs are trained on."""

    n_rows: int | None  # so many of them; None: all
    whole: bool  # in one batch: then the distinct ones, weighted


class Search:
    """The runs of a search. The model of ``fitting`` has the parameters that do not vary."""

    def __init__(
        self,
        fitting: Fitting,
        configs: list[Config],
        rungs: list[Rung],
        state: State,
    ) -> None:
        self.model, self.source, self._backend = fitting.model, fitting.source, fitting.backend
        self.configs, self.rungs, self.state = configs, rungs, state
        self._data: dict[Any, TrainingSet] = {}
        # Which rows these are of, before and after some were trimmed.
        self._drawn: dict[Any, tuple[DrawnRows, DrawnRows]] = {}
        self._starts: dict[Any, list[Start]] = {}

    def run(self, progress: Any, on_step: Callable[[bool], None], fit: _callbacks.Task) -> None:
        """Go on from the state to the end; ``on_step`` hears of every call, and if a rung ended."""
        for number in range(self.state.rung):  # of a search that was interrupted
            fit.part("rung", number).end()
        while self.state.rung < len(self.rungs):
            pending = self.state.pending
            rung = fit.part("rung", self.state.rung, len(pending), ordered=False)
            for places in self._calls(pending):
                runs = [rung.part("run", int(place)) for place in places]
                self.state = self._trained(places, progress)
                for run in runs:
                    run.end()
                on_step(False)
            alive = np.zeros(len(self.state.runs), bool)
            alive[self._survivors(self.state)] = True
            self.state = dataclasses.replace(self.state, rung=self.state.rung + 1, alive=alive)
            on_step(True)
            if rung.end(lambda: {"best_estimator_": self.best_estimator()}):
                return  # a callback has seen enough

    def task(self, row: np.void) -> Task:
        """Return what is to be done for a run."""
        config, n_clusters = self.configs[row["config"]], int(row["n_clusters"])
        params = parameters_of(config, self.model)
        options = Options.of(self.model, n_clusters, **params)
        data = self._prepared(options)
        starts = self._seeded(options, data, n_clusters)
        start = starts[int(np.flatnonzero(self.state.seeds == row["seed"])[0])]
        objective = choose_objective(
            options.objective,
            n_clusters=n_clusters,
            n_features=data.rows.n_features,
            has_missing=data.rows.has_missing,
            leaves_out=bool(options.contamination),
            resumed=None,
        )
        plan = make_plan(
            data,
            start,
            row["seed"],
            objective,
            options,
            self.model.recipe,
            beta_factor=config.get("beta_factor", 1.0),
        )
        return Task(plan, int(row["seed"]), start, data)

    def best_estimator(self) -> ClAM:
        """Return the best run, as it was when it was best, as a fitted ClAM."""
        best = self.state.judged[self.state.best]
        task, config = self.task(best), self.configs[best["config"]]
        model = copy.copy(self.model)
        model.set_params(n_clusters=int(best["n_clusters"]), **parameters_of(config, model))
        if "beta_factor" in config:
            model.set_params(beta=float(best["beta"]))
        assert self.state.best_record is not None
        run = TrainedRun(
            task.plan,
            self.state.best_record,
            task.seed,
            float(best["silhouette"]),
            int(best["living_clusters"]),
        )
        limits = given_limits(model)
        options = Options.of(model, int(best["n_clusters"]))
        if limits is None:
            found = conclude(task.data, [run], 0, task.start)
            found = without_empty(task.data, found, options)
        else:
            free_beta = isinstance(model.beta, str) or "beta_factor" in config
            held = hold_runs(
                task.data, [run], limits, seed=self.state.sample_seed, free_beta=free_beta
            )
            found = conclude_within(task.data, list(held.runs), 0, task.start, held)
        found = with_ignored_means(task.data, found)
        # As its rows were read: that is for the estimator to say.
        read = dataclasses.replace(options, objective=self.model.objective)
        found = with_completion(task.data, read, found)
        if options.contamination:
            (key,) = (key for key, data in self._data.items() if data is task.data)
            share, known = options.contamination, limits is not None
            found = mark_outliers(
                self.source, found, *self._drawn[key], task.data, share, known=known
            )
        model._keep(found)
        runs = self.state.runs.copy()
        runs[best["run"]] = best
        runs = runs[(runs["config"] == best["config"]) & (runs["n_clusters"] == best["n_clusters"])]
        model.runs_ = np.zeros(len(runs), RUN_DTYPE)
        for name in ("seed", "beta", "loss", "silhouette", "living_clusters", "converged"):
            model.runs_[name] = runs[name]
        model.runs_["n_iter"] = runs["epochs"]
        model.runs_["chosen"] = runs["run"] == best["run"]
        return model

    def columns(self, names: list[str]) -> dict[str, NDArray[Any]]:
        """Return all that was judged, with the parameters of the configurations."""
        table = self.state.judged
        params = [parameters_of(config, self.model) for config in self.configs]
        columns = {name: table[name] for name in ("run", "config", "n_clusters", "seed")}
        for name in names:
            if name == "beta_factor":
                values = [config.get(name, np.nan) for config in self.configs]
            elif name == "beta":  # that of the runs, below
                continue
            else:
                values = [param.get(name, getattr(self.model, name)) for param in params]
            columns[name] = _as_column(values)[table["config"]]
        columns["beta"] = table["beta"]
        columns |= {name: table[name] for name in table.dtype.names or () if name not in columns}
        columns["chosen"] = np.arange(len(table)) == self.state.best
        return columns

    # --- models, rows and seeds -------------------------------------------------------------------

    def _prepared(self, options: Options) -> TrainingSet:
        """Return the rows as the batch size and the mask value ask for.

        Whether missing values are completed first is for the estimator to say: all configurations
        are compared on the same rows.
        """
        options = dataclasses.replace(options, objective=self.model.objective)
        key = (self._drawing(options.batch_size), options.mask_value)
        if key not in self._data:
            names = getattr(self.model, "feature_names_in_", None)
            drawn = draw_rows(self.source, self.state.sample_seed, lambda _: key[0].n_rows)
            trimmed, self._data[key] = prepare_trimmed(
                drawn,
                options,
                n_clusters=int(self.model.n_clusters),
                threads=n_threads(self.model.n_jobs),
                feature_names=None if names is None else tuple(str(name) for name in names),
            )
            self._drawn[key] = drawn, trimmed
        return self._data[key]

    def _drawing(self, batch_size: int) -> Drawing:
        size, n_clusters = self.source.size, int(self.model.n_clusters)
        n_rows = n_drawn(size, batch_size, self.model.recipe, n_clusters)
        return Drawing(n_rows, batch_size >= self.source.n_rows)

    def _seeded(self, options: Options, data: TrainingSet, n_clusters: int) -> list[Start]:
        """Return the initial memories, the same for all runs of a seed (missing values aside)."""
        filled = options.mask_value if data.rows.has_missing else None
        key = (self._drawing(options.batch_size), n_clusters, filled)
        if key not in self._starts:
            self._starts[key] = seed_runs(
                data,
                options,
                n_clusters,
                self.state.seeds,
                self.state.sample_seed,
                self._backend,
                self.model.recipe,
            )
        return self._starts[key]

    # --- one rung ---------------------------------------------------------------------------------

    def _calls(self, pending: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Share out runs to native calls: one, unless that is long or they differ in their rows."""
        runs, calls = self.state.runs[pending], []
        recipe, given = self.model.recipe, self.model.batch_size
        spherical = find_metric(self.model.metric).spherical
        groups: dict[Drawing, list[int]] = {}
        for at, (config, k) in enumerate(zip(runs["config"], runs["n_clusters"], strict=True)):
            size = self.configs[config].get("batch_size", given)
            size = recipe.batch_size(size, int(k), spherical=spherical)
            groups.setdefault(self._drawing(size), []).append(at)
        cells = float(min(self.source.n_rows, _native.EPOCH_ROWS) * self.source.n_features)
        work = (self.rungs[self.state.rung].epochs - runs["epochs"]) * runs["n_clusters"] * cells
        threads = n_threads(self.model.n_jobs)
        for group in map(np.array, groups.values()):
            number = np.arange(len(group))
            call = np.minimum(np.cumsum(work[group]) // CALL_WORK, number // threads)
            call = np.maximum(call, number // CALL_RUNS)
            calls += np.split(pending[group], np.flatnonzero(np.diff(call)) + 1)
        return [call for call in calls if len(call)]

    def _trained(self, places: NDArray[np.int64], progress: Any) -> State:
        """Train runs to the end of the rung, judge them, and return the state after that."""
        state = self.state
        tasks = [self.task(state.runs[place]) for place in places]
        for place, task in zip(places, tasks, strict=True):
            task.plan.pause_at = self.rungs[state.rung].epochs
            task.plan.earlier = state.records.get(int(place))
        data = tasks[-1].data
        plans, seeds = [task.plan for task in tasks], [task.seed for task in tasks]
        trained = train_plans(data, plans, seeds, self._backend, progress)
        judge_runs(data, trained)
        runs, records = state.runs.copy(), state.records.copy()
        for place, run in zip(places, trained, strict=True):
            row, records[int(place)] = runs[place], run.record
            row["rung"] = state.rung
            row["epochs"] = run.record.n_epochs
            row["beta"] = run.beta / data.geometry.distance_unit
            row["loss"] = run.record.loss
            row["silhouette"] = run.silhouette
            row["living_clusters"] = run.n_nonempty
            row["largest_share"] = run.largest_share
            row["converged"] = run.record.converged
        judged = np.concatenate([state.judged, runs[places]])
        best, best_record = state.best, state.best_record
        rivals = np.r_[[best] if best >= 0 else [], len(state.judged) : len(judged)].astype(int)
        best = int(rivals[ranked(judged[rivals])[0]])
        if best != state.best:
            best_record = records[int(judged["run"][best])]
        after = dataclasses.replace(
            state, runs=runs, judged=judged, best=best, best_record=best_record
        )
        needed = {*self._survivors(after).tolist(), *after.pending.tolist()}
        records = {place: record for place, record in records.items() if place in needed}
        return dataclasses.replace(after, records=records)

    def _survivors(self, state: State) -> NDArray[np.int64]:
        """Return the runs that the next rung takes, of those that have come through this one."""
        if state.rung + 1 == len(self.rungs):
            return np.zeros(0, np.int64)
        through = state.alive.copy()
        through[state.pending] = False
        n_runs = self.rungs[state.rung + 1].n_runs
        survivors = []
        for k in np.unique(state.runs["n_clusters"]):
            places = np.flatnonzero(through & (state.runs["n_clusters"] == k))
            survivors.append(places[ranked(state.runs[places])][:n_runs])
        return np.concatenate(survivors)


def _as_column(values: list[Any]) -> NDArray[Any]:
    """Return numbers as an array of numbers, anything else as one of objects."""
    column = np.array(values)
    return column if column.dtype.kind in "biuf" else np.array(values, dtype=object)
