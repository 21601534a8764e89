"""The paper's evaluation: runs that are kept, and a page without inventions."""

import json
import os
import re
import shutil
import signal
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ttest_1samp
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.preprocessing import scale

import amclust.datasets
from benchmarks.framework import running
from benchmarks.framework.cases import unpack_labels
from benchmarks.framework.environment import UnavailableError
from benchmarks.framework.pages import write_text
from benchmarks.framework.running import Unfinished
from paper import __main__ as cli
from paper import sets
from paper.__main__ import PAGE
from paper.experiments import (
    EXPERIMENTS,
    case_of,
    is_alone,
    networks,
    partitions,
    perform,
    timings,
    toys,
)
from paper.figures import FIGURES
from paper.methods import METHODS
from paper.records import NOT_RUN, Records, Run, View
from paper.settings import FULL, QUICK
from paper.tables import ablations
from paper.tables.departures import UNEXPLAINED

# Of the made set in the place of zoo.
pytestmark = pytest.mark.filterwarnings("ignore:.*not the published data:UserWarning")

needs_records = pytest.mark.skipif(
    not FULL.folder.is_dir(), reason="the source distribution has no records"
)

# --- runs -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    """A folder with a made set in the place of zoo."""
    folder = tmp_path_factory.mktemp("data")
    write_zoo(folder)
    return folder


def write_zoo(folder, seed=0):
    folder.mkdir(exist_ok=True)
    generator = np.random.default_rng(seed)
    classes = np.arange(101) % 7
    features = generator.normal(size=(101, 16)) + 3 * generator.normal(size=(7, 16))[classes]
    pd.DataFrame(features).assign(label=classes).to_csv(folder / "zoo.csv.gz", index=False)


@pytest.fixture(scope="module")
def done(data_dir, tmp_path_factory):
    """All partitions of that set, on small budgets."""
    folder = tmp_path_factory.mktemp("records")
    options = ["--quick", "--sets", "zoo", "--experiments", "partitions"]
    options += ["--data-dir", str(data_dir), "--folder", str(folder)]
    assert cli.main(options) == 0
    return replace(QUICK, sets=("zoo",), data_dir=data_dir, folder=folder)


def partition_runs(settings):
    return list(partitions.runs(settings))


def missing(runs, settings):
    cases = [case_of(run, settings) for run in runs]
    return [case.key for case in Records(settings.folder).missing(cases)]


def execute(runs, settings):
    """Make the runs and keep their records; those that fail are given back."""
    cases, records = [case_of(run, settings) for run in runs], Records(settings.folder)
    return running.complete(cases, partial(perform, settings=settings), records, alone=is_alone)


def found(folder, *run):
    return Records(folder).find(Run(*run))


def test_nothing_is_run_twice(done):
    assert missing(partition_runs(done), done) == []
    other = replace(done, epochs=done.epochs + 1)
    again = missing(partition_runs(done), other)
    assert again
    assert {run.method for run in again} == {"clam", "clam-unmasked", "clam-weighted"}


def test_records_hold_what_was_run_and_found(done, data_dir):
    record = found(done.folder, "partitions", "zoo", "clam", "paper")
    results = record.results
    columns = record.case.definition["configs"]
    fits = 4 + done.clam_runs["zoo"]
    assert record.case.definition["fits"] == fits == len(columns["beta"])
    assert len(results["silhouettes"]) == len(results["living_clusters"]) == fits
    assert {"commit", "versions", "processor"} <= set(record.environment)
    best = results["best"]
    assert best["silhouette"] == max(score for score in results["silhouettes"] if score)
    assert best["config"]["beta"] == columns["beta"][best["index"]]
    bunch = np.loadtxt(data_dir / "zoo.csv.gz", delimiter=",", skiprows=1)
    labels = unpack_labels(best["labels"])
    assert best["silhouette"] == pytest.approx(
        silhouette_score(scale(bunch[:, :-1]), labels), abs=1e-4
    )
    assert best["ari"] == pytest.approx(adjusted_rand_score(bunch[:, -1], labels), abs=1e-4)
    living = results["living"]
    assert living["living"] == max(results["living_clusters"])


def test_an_interrupted_run_goes_on_to_the_same_result(done, tmp_path, monkeypatch):
    settings = replace(done, folder=tmp_path)
    run = Run("partitions", "zoo", "clam", "paper")
    monkeypatch.setattr("benchmarks.framework.running._SECONDS_BETWEEN_WRITES", 0.0)
    fit, fits = METHODS["clam"].__class__.fit, []

    def interrupted(*arguments):
        fits.append(1)
        if len(fits) == 6:
            raise KeyboardInterrupt
        return fit(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(METHODS["clam"].__class__, "fit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            execute([run], settings)
    kept = list((tmp_path / "unfinished").iterdir())
    assert len(kept) == 1
    assert len(json.loads(kept[0].read_text())["state"]["silhouettes"]) == 5
    assert missing([run], settings) == [run]
    assert execute([run], settings) == []
    assert found(tmp_path, *run).results == found(done.folder, *run).results
    assert not kept[0].exists()


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path):
    folder = tmp_path / "page.md"
    folder.mkdir()
    with pytest.raises(OSError, match="page"):
        write_text(folder, "text")
    assert list(tmp_path.iterdir()) == [folder]


def test_every_method_has_the_same_number_of_fits_in_the_honest_protocol():
    for method in METHODS.values():
        if method.name in ("clam-default", "dcec"):
            continue
        drawn = method.draw_configs("zoo", FULL, seed=1)
        grid = method.configs("zoo", FULL, single=True)
        assert len(drawn) == FULL.honest_fits if method.seeded else len(grid)
        assert all(config in grid for config in drawn[:5])
        assert drawn == method.draw_configs("zoo", FULL, seed=1)


def test_variants_of_clam_have_the_same_draws():
    plain, unmasked, weighted = (
        METHODS[name].configs("zoo", FULL) for name in ("clam", "clam-unmasked", "clam-weighted")
    )
    assert plain == weighted
    assert [config["beta"] for config in plain] == [config["beta"] for config in unmasked]
    assert "mask_prob" not in unmasked[0]


def test_spectral_clustering_is_that_of_scikit_learn(done):
    table = sets.load("zoo", done.data_dir)
    for gamma in (0.001, 0.01):
        config = {"affinity": "rbf", "gamma": gamma, "assign_labels": "kmeans", "n_init": 10}
        ours = METHODS["spectral"].fit(table, config, 0, done)
        theirs = SpectralClustering(7, **config, random_state=0).fit_predict(table.features)
        assert adjusted_rand_score(ours, theirs) == 1.0


def test_a_record_of_another_experiment_counts_as_missing(done, tmp_path, capsys):
    lines = (done.folder / "partitions.jsonl").read_text().splitlines()
    lines[3] = lines[3].replace('"partitions"', '"toys"', 1)
    path = tmp_path / "partitions.jsonl"
    path.write_text("\n".join(lines))
    runs, settings = partition_runs(done), replace(done, folder=tmp_path)
    (lost,) = missing(runs, settings)
    assert lost == sorted(runs)[2]  # below the line of the environment
    assert [record.key for record in Records(tmp_path).all()] == sorted({*runs} - {lost})
    (warning,) = capsys.readouterr().out.splitlines()
    assert f"line 4 of {path}" in warning


def test_a_damaged_state_of_a_run_is_left_behind(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.framework.running._SECONDS_BETWEEN_WRITES", 0.0)
    path = tmp_path / "state.json"
    Unfinished(path, "abc").keep({"found": [1]})
    assert Unfinished(path, "abc").state == {"found": [1]}
    path.write_bytes(path.read_bytes()[:-20])
    again = Unfinished(path, "abc")
    assert again.state is None
    assert again.seconds < 1.0
    assert str(path) in capsys.readouterr().out


def test_other_data_are_run_anew(done, tmp_path):
    runs = partition_runs(done)
    other = replace(done, data_dir=tmp_path / "other")
    write_zoo(other.data_dir, seed=1)
    assert missing(runs, other) == runs
    assert missing(runs, replace(done, data_dir=tmp_path)) == []  # nothing to compare with
    records, record = Records(tmp_path / "old"), found(done.folder, *runs[0])
    records.put(replace(record, case=replace(record.case, data=None)))
    assert missing(runs[:1], replace(other, folder=records.path)) == []


def test_fingerprints_are_of_values_classes_and_order(done, tmp_path):
    name = sets.fingerprint("zoo", done.data_dir)
    assert re.fullmatch("[0-9a-f]{12}", name)
    table = sets.load_raw("zoo", done.data_dir)
    other_classes = (table.classes + 1) % 7
    changed = {
        "same": (table.features, table.classes),
        "rows": (table.features[::-1], table.classes[::-1]),
        "classes": (table.features, other_classes),
        "values": (table.features + 1.0, table.classes),
    }
    found = {}
    for case, (features, classes) in changed.items():
        (tmp_path / case).mkdir()
        frame = pd.DataFrame(features).assign(label=classes)
        frame.to_csv(tmp_path / case / "zoo.csv.gz", index=False)
        found[case] = sets.fingerprint("zoo", tmp_path / case)
    assert found.pop("same") == name
    assert len({name, *found.values()}) == 4
    assert sets.fingerprint("zoo", tmp_path) is None
    assert sets.fingerprint("two-stripes", done.data_dir) is None


def test_the_cache_is_looked_at_where_no_folder_was_named(tmp_path, monkeypatch):
    guess, cache = tmp_path / "guess", tmp_path / "amclust" / "ecoli"
    monkeypatch.setattr(sets, "DATA", guess)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.delenv("AMCLUST_DATA", raising=False)
    assert not sets.is_at_hand("ecoli", guess)
    cache.mkdir(parents=True)
    monkeypatch.setattr(amclust.datasets._load, "check_values", lambda *_: None)
    rows = [f"name {i} 0 0 0 0 0 {i / 2} class{i % 8}\n" for i in range(336)]
    (cache / "ecoli.data").write_text("".join(rows))
    monkeypatch.setenv("AMCLUST_DATA", str(guess))
    assert not sets.is_at_hand("ecoli", guess)  # now it is no guess
    monkeypatch.delenv("AMCLUST_DATA")
    assert sets.is_at_hand("ecoli", guess)


def test_only_what_is_not_at_hand_and_has_no_stand_in_is_downloaded(
    data_dir, tmp_path, monkeypatch
):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    load, asked = sets.load_dataset, []

    def offline(name, *, data_dir, download):
        if download:
            asked.append(name)
            raise OSError("no network")
        return load(name, data_dir=data_dir, download=False)

    monkeypatch.setattr(sets, "load_dataset", offline)
    names = ["zoo", "ecoli", "ecoli", *sets.MADE, "two-stripes"]
    (problem,) = sets.problems(names, data_dir, download=True)
    assert problem == "ecoli: no network"
    assert asked == ["ecoli"]
    (problem,) = sets.problems(names, data_dir)
    assert problem.startswith("ecoli: ")
    assert "--download" in problem
    assert asked == ["ecoli"]


def test_only_large_sets_are_timed_on_made_points(done, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    made = {
        run.set: timings.definition(run, done)["made"]
        for run in timings.runs(replace(done, sets=None))
    }
    assert {name for name, is_made in made.items() if is_made} == set(sets.MADE)
    case = case_of(Run("timings", "ecoli", "all", "paper"), done)
    with pytest.raises(UnavailableError, match="Ecoli"):
        timings.perform(case, done, Unfinished(tmp_path / "s"))


@pytest.mark.parametrize("has_load", [True, False])
def test_timings_say_how_busy_the_machine_was(done, tmp_path, monkeypatch, has_load):
    if has_load:
        monkeypatch.setattr(os, "getloadavg", lambda: (0.126, 9.0, 9.0), raising=False)
    else:
        monkeypatch.delattr(os, "getloadavg", raising=False)
    run = Run("timings", "zoo", "all", "paper")
    assert execute([run], replace(done, folder=tmp_path, epochs=1)) == []
    record = found(tmp_path, *run)
    assert record.results["load"] == (0.13 if has_load else None)
    assert 1 <= record.results["threads"]["clam"] <= record.results["cores"]  # OMP_NUM_THREADS
    assert record.results["threads"]["kmeans"] >= 1
    assert "threads" not in record.case.definition


# --- toys and given networks ----------------------------------------------------------------------


def test_toys_are_where_the_sum_of_squares_is_wrong():
    table = toys.draw("two-stripes", 0).table
    few = {"kmeans": {"n_init": 20}, "clam": {"scale": None, "n_init": 50}}
    found = {name: toys.TOY_METHODS[name].fit(table, 0, few[name]).labels for name in few}
    agreement = {name: adjusted_rand_score(table.classes, found[name]) for name in few}
    assert agreement["kmeans"] < 0.1
    assert agreement["clam"] == 1.0


def test_outliers_are_marked_and_the_rest_is_the_clean_toy():
    clean, noisy = toys.draw("clean", 3), toys.draw("noisy", 3)
    assert clean.inliers.all()
    assert (~noisy.inliers).sum() == toys.TOYS["noisy"].outliers
    assert_allclose(noisy.table.features[noisy.inliers], clean.table.features)


def test_given_networks_keep_their_memories():
    memories = np.array(networks.MEMORIES["five-memories"])
    model = networks.given_network(memories, 20.0)
    assert_allclose(model.cluster_centers_, memories, atol=1e-6)
    assert model.beta_ == pytest.approx(20.0)


# --- the page -------------------------------------------------------------------------------------


def test_the_page_has_what_was_run_and_says_what_was_not(done):
    page = (done.folder / "paper.md").read_text(encoding="utf-8")
    chosen = found(done.folder, "partitions", "zoo", "kmeans", "paper").results["best"]
    row = next(line for line in page.splitlines() if line.startswith("| Zoo |"))
    assert row.startswith(
        f"| Zoo | {chosen['silhouette']:.3f} <small>({chosen['living']}/7)</small><br>*0.374*"
    )
    row = next(line for line in page.splitlines() if line.startswith("| Ecoli |"))
    assert row.startswith("| Ecoli | not run<br>*0.262*")
    assert "GCM (stand-in: NCI9)" in page


def test_the_plan_runs_nothing(data_dir, tmp_path, capsys):
    arguments = ["--plan", "--sets", "zoo", "--data-dir", str(data_dir), "--folder", str(tmp_path)]
    assert cli.main(arguments) == 0
    assert "hours" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_records_has_no_page(tmp_path, capsys):
    settings = replace(QUICK, folder=tmp_path / "none")
    assert list(View(settings).all()) == []
    assert cli.main(["--page-only", "--folder", str(settings.folder)]) == 2
    assert_one_line(capsys, "ERROR: --folder", "no records")
    assert not settings.folder.exists()


def test_every_table_and_figure_names_a_command_that_runs_something(tmp_path, capsys):
    page = PAGE.read_text(encoding="utf-8")
    commands = re.findall(r"`python -m paper ([^`]*--experiments[^`]*)`", page)
    assert len(commands) > len(FIGURES)
    for command in set(commands):
        assert cli.main(["--plan", "--quick", "--folder", str(tmp_path), *command.split()]) == 0
        assert not re.search("^0 of", capsys.readouterr().out, re.MULTILINE), command


@needs_records
def test_the_page_in_the_documentation_has_no_gap():
    runs = {run for one in EXPERIMENTS.values() for run in one.module.runs(FULL)}
    assert {record.key for record in View(FULL).all()} >= runs
    page = PAGE.read_text(encoding="utf-8")
    assert NOT_RUN not in page.lower()
    assert UNEXPLAINED not in page
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page)
    assert len(pictures) == len(FIGURES)
    assert all((PAGE.parent / picture).is_file() for picture in pictures)


@needs_records
def test_every_cell_of_the_page_is_traced_to_a_commit():
    commits = {record.environment["commit"] for record in View(FULL).all()}
    assert commits
    assert all(re.fullmatch("[0-9a-f]{7,}", commit) for commit in commits), commits


# --- the command line -----------------------------------------------------------------------------


@pytest.fixture
def no_page(monkeypatch):
    """Write no page; give the settings of those that were asked for."""
    asked = []
    monkeypatch.setattr(cli, "write_page", lambda path, settings: asked.append(settings))
    return asked


def assert_one_line(capsys, *parts):
    printed = capsys.readouterr()
    assert printed.err == ""
    (line,) = printed.out.splitlines()
    assert all(part in line for part in parts), line


def small_run(folder, data_dir, *options):
    """Complete two runs that take no time."""
    chosen = ["--sets", "zoo", "--experiments", "partitions", "--methods", "agglomerative"]
    places = ["--folder", str(folder), "--data-dir", str(data_dir)]
    return cli.main([*chosen, *places, *options])


def test_budgets_are_not_mixed(done, data_dir, tmp_path, no_page, capsys):
    folder = tmp_path / "records"
    folder.mkdir()
    file = folder / "partitions.jsonl"
    shutil.copy(done.folder / file.name, file)
    quick = file.read_text()
    assert small_run(folder, data_dir) == 2
    assert_one_line(capsys, "quick records", "full run", "--quick")
    assert [path.name for path in folder.iterdir()] == [file.name]
    assert file.read_text() == quick
    assert small_run(folder, data_dir, "--page-only") == 0
    assert [settings.quick for settings in no_page] == [True]
    assert no_page[0].folder == folder
    assert '"budget": "quick"' in quick
    full = quick.replace(', "budget": "quick"', "")
    file.write_text(full)
    capsys.readouterr()
    assert small_run(folder, data_dir, "--quick") == 2
    assert_one_line(capsys, "full records", "quick run")
    assert small_run(folder, data_dir, "--quick", "--page-only") == 2
    assert small_run(folder, data_dir, "--page-only") == 0
    assert [settings.quick for settings in no_page] == [True, False]
    file.write_text(full + quick.splitlines()[-1] + "\n")
    capsys.readouterr()
    assert small_run(folder, data_dir, "--page-only") == 2
    assert_one_line(capsys, "full and quick records")


def test_missing_sets_are_named_before_anything_is_run(data_dir, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    folder = tmp_path / "records"
    chosen = ["--quick", "--sets", "ecoli", "zoo", "nci9", "--experiments", "partitions", "curves"]
    assert cli.main([*chosen, "--data-dir", str(data_dir), "--folder", str(folder)]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if "UNAVAILABLE" in line]
    assert [line.split(":")[1].strip() for line in lines] == ["ecoli", "nci9"]
    assert not folder.exists()


def test_damaged_data_are_named_in_a_line(data_dir, tmp_path, capsys):
    content = (data_dir / "zoo.csv.gz").read_bytes()
    (tmp_path / "zoo.csv.gz").write_bytes(content[: len(content) // 2])
    (tmp_path / "gcm.csv.gz").write_bytes(b"no")
    assert small_run(tmp_path / "records", tmp_path, "--quick") == 1
    assert str(tmp_path / "zoo.csv.gz") in capsys.readouterr().out.splitlines()[-1]
    # Not a reason to take what stands in for it.
    assert cli.main(["--plan", "--sets", "gcm", "--data-dir", str(tmp_path)]) == 1
    assert_one_line(capsys, "UNAVAILABLE", str(tmp_path / "gcm.csv.gz"))


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("--experiments", "tables", "partitions"),
        ("--sets", "iris", "nci9"),
        ("--methods", "k-means", "clam-weighted"),
        ("--protocols", "fair", "honest"),
        ("--jobs", "0", "at least 1"),
        ("--jobs", "-3", "at least 1"),
        ("--jobs", "two", "at least 1"),
    ],
)
def test_unknown_values_are_refused_with_those_that_are_allowed(option, value, allowed, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([option, value])
    assert stop.value.code == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert all(part in message for part in (option, value, allowed))


def test_help_lists_what_is_allowed(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    words = re.split(r"[\s,]+", capsys.readouterr().out)
    assert {name for names in cli.CHOICES.values() for name in names} <= set(words)


def test_all_runs_can_be_chosen_by_method_and_protocol():
    for experiment in EXPERIMENTS.values():
        runs = list(experiment.module.runs(FULL))
        assert {run.method for run in runs} == set(experiment.methods)
        assert {run.protocol for run in runs} == set(experiment.protocols)


def test_a_choice_without_runs_is_refused(data_dir, tmp_path, capsys):
    assert small_run(tmp_path, data_dir, "--protocols", "toy") == 2
    assert_one_line(capsys, "ERROR", "no run")


@pytest.mark.parametrize("below", [".", "below"])
def test_a_folder_that_cannot_be_written_is_refused(data_dir, tmp_path, capsys, below):
    file = tmp_path / "file"
    file.write_text("mine")
    assert small_run(file / below, data_dir, "--quick") == 2
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("ERROR: --folder")
    assert str(file) in last
    assert file.read_text() == "mine"


def test_a_page_that_is_a_folder_is_refused(done, data_dir, capsys, tmp_path):
    page = tmp_path / "page"
    page.mkdir()
    for options in (("--quick",), ("--page-only",)):
        assert small_run(done.folder, data_dir, *options, "--page", str(page)) == 2
        assert_one_line(capsys, "ERROR: --page must be a file", str(page))
    assert list(tmp_path.iterdir()) == [page]


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_ends_the_runs_and_keeps_the_records(
    done, data_dir, tmp_path, monkeypatch, capsys, name, code
):
    ended, execute = [], running.execute

    def interrupted(cases, *arguments, **options):
        try:
            yield from execute(cases[:1], *arguments, **options)
            signal.raise_signal(getattr(signal, name))
            yield from execute(cases[1:], *arguments, **options)
        finally:
            ended.append(name)  # where joblib ends its workers

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(running, "execute", interrupted)
    assert small_run(tmp_path, data_dir, "--quick") == code
    assert ended == [name]
    assert signal.getsignal(signal.SIGTERM) == before
    assert "the same command goes on" in capsys.readouterr().out.splitlines()[-1]
    assert len(list(Records(tmp_path).all())) == 1


def test_an_interrupt_while_the_page_is_written_is_no_error(done, data_dir, monkeypatch, capsys):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "write_page", interrupted)
    for options in (("--quick",), ("--page-only",)):
        assert small_run(done.folder, data_dir, *options) == 130
        assert "interrupted" in capsys.readouterr().out


# --- ablations ------------------------------------------------------------------------------------


def test_an_effect_has_the_interval_of_student():
    differences = [0.1, 0.3, 0.2, 0.2]
    found = ablations.effect(differences)
    low, high = ttest_1samp(differences, 0.0).confidence_interval(0.95)
    assert found.mean - found.half_width == pytest.approx(low)
    assert found.mean + found.half_width == pytest.approx(high)
    assert found.is_clear
    assert str(found).startswith("**+0.200 ± ")
    assert not ablations.effect([-0.1, 0.1, 0.05]).is_clear
    assert ablations.effect([0.1]) is None


def test_effects_are_those_of_the_same_seeds(done):
    view = View(done)
    found = ablations.effect_on(view, "zoo", "masking", "nmi")
    with_it, without = (
        [record.results["living"]["nmi"] for record in view.partitions("zoo", name, "honest")]
        for name in ("clam", "clam-unmasked")
    )
    assert found.pairs == len(with_it) == done.seeds
    assert found.mean == pytest.approx(np.mean(with_it) - np.mean(without))
