"""The benchmark of missing values: what is hidden and why, which means are compared, the page."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from benchmarks.framework.cases import Case, Record
from benchmarks.framework.environment import UnavailableError
from benchmarks.framework.lines import Line, Skipped
from benchmarks.framework.store import Store
from benchmarks.missing import __main__ as command
from benchmarks.missing import cases, made, mechanisms, methods, summary
from benchmarks.missing.cases import COMPLETE, NUMBER, TABLES, Key
from benchmarks.missing.mechanisms import MECHANISMS, draw_hidden, split_tables
from benchmarks.missing.methods import BAYES, IMPUTERS, KNN, MEAN, METHODS, OURS

MACHINE = {"commit": "c", "source": "s", "python": "3", "processor": "p", "versions": {}}


def make_rows(n_samples=400, n_features=10, seed=0):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((n_samples, n_features)) * 3.0 + 7.0


# --- mechanisms -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3, 0.4, 0.5])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_share_is_met(mechanism, rate):
    hidden = draw_hidden(make_rows(), mechanism, rate, seed=0)
    assert hidden.mean() == pytest.approx(rate, abs=0.005)


@pytest.mark.parametrize("rate", [0.2, 0.5])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_row_and_no_column_loses_all(mechanism, rate):
    # With two columns a quarter of the rows would.
    tables = [load_iris().data, make_rows(60, 2), make_rows(5, 3), make_rows(2, 4)]
    for features in tables:
        for seed in range(5):
            hidden = draw_hidden(features, mechanism, rate, seed)
            assert not hidden.all(axis=1).any()
            assert not hidden.all(axis=0).any()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_row_that_gets_a_cell_back_costs_another_one(mechanism):
    for seed in range(5):
        hidden = draw_hidden(make_rows(300, 4), mechanism, 0.4, seed)
        assert hidden.mean() == pytest.approx(0.4, abs=0.005)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_is_missing_already_is_not_hidden(mechanism):
    features = make_rows(300, 12)
    gone = np.random.default_rng(1).random(features.shape) < 0.1
    features[gone] = np.nan
    hidden = draw_hidden(features, mechanism, 0.3, seed=0)
    assert not (hidden & gone).any()
    assert hidden.sum() / (~gone).sum() == pytest.approx(0.3, abs=0.01)
    assert not (hidden | gone).all(axis=1).any()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_constant_columns_may_lose_cells_too(mechanism):
    features = make_rows(300, 6)
    features[:, :2] = 1.0
    hidden = draw_hidden(features, mechanism, 0.3, seed=0)
    assert hidden[:, :2].any()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_seed_hides_the_same_and_another_one_does_not(mechanism):
    features = make_rows()
    first = draw_hidden(features, mechanism, 0.3, seed=0)
    assert_array_equal(first, draw_hidden(features, mechanism, 0.3, seed=0))
    assert (first != draw_hidden(features, mechanism, 0.3, seed=1)).any()


def test_at_random_has_nothing_to_do_with_the_values():
    features = make_rows(20_000, 4)
    hidden = draw_hidden(features, "random", 0.3, seed=0)
    gaps = [f[h].mean() - f[~h].mean() for f, h in zip(features.T, hidden.T, strict=True)]
    assert np.abs(gaps).max() < 0.2  # of deviations of 3


def test_by_value_large_ones_are_likelier_missing():
    features = make_rows(2_000, 4)
    hidden = draw_hidden(features, "value", 0.3, seed=0)
    for values, gone in zip(features.T, hidden.T, strict=True):
        assert values[gone].mean() - values[~gone].mean() > 3.0
    # Likelier, not surely: as a logistic curve with the slope of the module has it.
    high = features[:, 0] > np.quantile(features[:, 0], 0.9)
    assert 0.5 < hidden[high, 0].mean() < 1.0


def test_by_another_column_that_column_is_observed_and_tells():
    features = make_rows(5_000, 10)
    hidden = draw_hidden(features, "other", 0.3, seed=0)
    drivers = np.flatnonzero(~hidden.any(axis=0))
    assert len(drivers) == round(10 * mechanisms.DRIVERS)
    for column in np.flatnonzero(hidden.any(axis=0)):
        correlations = [np.corrcoef(hidden[:, column], features[:, d])[0, 1] for d in drivers]
        own = np.corrcoef(hidden[:, column], features[:, column])[0, 1]
        assert np.abs(correlations).max() > 0.3
        assert np.sort(np.abs(correlations))[-2] < 0.1
        assert abs(own) < 0.1


def test_of_two_tables_a_row_lacks_one_the_other_or_neither():
    for rate in (0.2, 0.5):
        hidden = draw_hidden(make_rows(), "blocks", rate, seed=0)
        patterns = np.unique(hidden, axis=0)
        assert len(patterns) == 3
        lacks = patterns[patterns.any(axis=1)]
        assert_array_equal(lacks[0], ~lacks[1])
        complete = ~hidden.any(axis=1)
        assert complete.mean() >= mechanisms.JOINED - 0.005


@pytest.mark.parametrize("n_columns", [2, 3, 4, 7, 13, 64])
@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3, 0.4, 0.5])
def test_the_split_of_the_columns_meets_the_share(n_columns, rate):
    split = split_tables(n_columns, rate)
    larger = split.columns / n_columns
    assert 0 < split.columns < n_columns
    assert min(split.lack_larger, split.lack_smaller) > 0.0
    assert split.lack_larger + split.lack_smaller <= 1.0
    assert split.lack_larger * larger + split.lack_smaller * (1 - larger) == pytest.approx(rate)


# --- methods and scores ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", METHODS)
def test_a_method_keeps_what_is_observed_and_knows_no_units(name):
    method = METHODS[name]
    if not method.is_available():
        pytest.skip(f"{method.title} is not installed")
    features = load_iris().data
    rows = np.where(draw_hidden(features, "random", 0.2, seed=0), np.nan, features)
    # A power of two, which changes no other bit.
    several = (rows, 4.0 * rows)
    if name in IMPUTERS:
        filled, rescaled = (method.fill(one, 0) for one in several)
    else:
        found, again = (method(one, 3, 0) for one in several)
        assert_array_equal(found.labels, again.labels)
        assert np.unique(found.labels).size == 3
        filled, rescaled = found.completed, again.completed
    if filled is not None:
        observed = ~np.isnan(rows)
        assert_allclose(filled[observed], rows[observed])
        assert np.isfinite(filled).all()
        assert_allclose(rescaled, 4.0 * filled, rtol=1e-6)


def test_a_peer_that_is_not_there_is_said(capsys, monkeypatch):
    def missing(name, package):
        raise UnavailableError(f"pip install {package}")

    monkeypatch.setattr(methods, "optional_module", missing)
    assert not METHODS["stepmix"].is_available()
    assert METHODS[KNN].is_available()
    assert "SKIPPED: pip install stepmix" in capsys.readouterr().out


def test_rmse_is_in_deviations_of_the_complete_columns_and_leaves_out_constant_ones():
    features = np.column_stack([[0.0, 2.0, 4.0, 6.0], [1.0, 1.0, 1.0, 1.0]])
    hidden = np.zeros((4, 2), bool)
    hidden[[0, 3], 0] = hidden[1, 1] = True
    completed = features.copy()
    completed[0, 0] += 1.0
    completed[1, 1] += 50.0
    expected = np.sqrt(0.5) / features[:, 0].std()
    assert cases.rmse(completed, features, hidden) == pytest.approx(expected)


def test_coverage_is_the_share_within_the_deviations():
    errors = np.array([[0.0, 1.9], [2.1, -5.0]])
    cells = np.array([[False, True], [True, True]])
    assert cases.coverage(errors, np.ones((2, 2)), cells) == pytest.approx(1 / 3)
    assert cases.coverage(errors, np.full((2, 2), 3.0), cells) == 1.0


def test_how_sure_a_method_is_is_scored_where_it_says_so(tmp_path, monkeypatch):
    class Sure(methods.ClAM):
        def complete(self, X, *, return_std=False):
            completed = super().complete(X)
            return completed, np.where(np.isnan(X), 1e9, 0.0)

    key = Key(TABLES, "iris", "random", 20, OURS, 0)
    table = cases.load_set("iris", tmp_path)
    hidden = draw_hidden(table.features, "random", 0.2, seed=0)
    features = np.where(hidden, np.nan, table.features)
    monkeypatch.setattr(methods, "ClAM", Sure)
    assert cases._score_direct(key, table, features, hidden)["coverage"] == 1.0


def test_errors_of_centres_are_of_the_best_matching():
    clusters = made.draw_clusters(2_000, 20, seed=0)
    assert np.isnan(clusters.features).mean() == pytest.approx(0.2, abs=1e-3)
    assert made.centers_error(clusters.centers[::-1], clusters) == 0.0
    moved = clusters.centers + clusters.deviations
    assert made.centers_error(moved[[2, 0, 1, 3]], clusters) == pytest.approx(1.0)
    again = made.draw_clusters(200, 20, seed=0)
    assert_array_equal(again.centers, clusters.centers)


@pytest.mark.parametrize("method", cases.CENTERED)
def test_learned_centres_are_those_of_the_clusters(method):
    clusters = made.draw_clusters(2_000, 10, seed=0)
    found = made.learned_centers(method, clusters, seed=0)
    by_chance = made.centers_error(np.zeros_like(clusters.centers), clusters)
    assert made.centers_error(found, clusters) < 0.5 * by_chance


# --- means that are compared ----------------------------------------------------------------------


def make_record(name, method, seed=0, mechanism="random", rate=20, part=TABLES, **results):
    if part == TABLES:
        results = {"shape": [150, 4], "seconds": 1.0, **results}
    case = Case(Key(part, name, mechanism, rate, method, seed))
    return Record(case, results, 0.1, MACHINE)


def filled(name, method, kmeans, clam, rmse, **others):
    aris = {"ari_kmeans": kmeans, "ari_clam": clam, "rmse": rmse}
    return make_record(name, method, **aris, **others)


RECORDS = [
    make_record("iris", OURS, ari=0.8, rmse=0.5, coverage=0.95),
    make_record("wine", OURS, ari=0.6, rmse=0.7, coverage=0.80),
    filled("iris", MEAN, 0.5, 0.6, 1.0),
    filled("wine", MEAN, 0.5, 0.4, 1.0),
    # On the one set that it has it is better than ours: means over other sets would hide that.
    filled("wine", BAYES, 0.65, 0.1, 0.6, seconds=2.0),
]


def test_means_are_over_the_cases_that_both_have():
    aris = summary.aris_of(RECORDS)
    assert summary.pair(aris, f"{MEAN}+kmeans") == (f"{MEAN}+kmeans", 0.7, 0.5, 2, 2)
    beside = summary.pair(aris, f"{BAYES}+kmeans")
    assert beside == (f"{BAYES}+kmeans", 0.6, 0.65, 1, 2)
    assert beside.gain == pytest.approx(-0.05)
    assert beside.note == "1 of 2 cases"
    assert summary.pair(aris, f"{KNN}+kmeans") is None
    assert summary.pair(aris, f"{MEAN}+kmeans", lambda place: place.set == "iris").ours == 0.8


def test_other_rates_than_those_asked_for_have_rows_and_no_target():
    records = [make_record("iris", OURS, rate=10, ari=0.1, rmse=9.0), *RECORDS]
    records.append(filled("iris", MEAN, 0.9, 0.9, 0.1, rate=10))
    grid, _ = summary.ari_grids(summary.aris_of(records))
    assert [row[0] for row in grid.rows] == ["random, 10 %", "random, 20 %", "mean, 20 and 50 %"]
    assert grid.rows[-1][1] == "0.700"
    with_other, without = (map(repr, summary.target_entries(r)) for r in (records, RECORDS))
    assert list(with_other) == list(without)


def test_the_best_peer_is_the_one_that_ours_is_least_above():
    entries = {entry.what: entry for entry in summary.target_entries(RECORDS)}
    ari, rmse = entries["all cases: mean ARI"], entries["all cases: RMSE"]
    assert ari.peer_name == "iterative, Bayes + k-means"
    assert (ari.ours, ari.peer) == (0.6, 0.65)
    assert not ari.reached
    assert rmse.peer_name == "iterative, Bayes"
    assert rmse.value == pytest.approx(0.7 / 0.6)
    without = [one for one in RECORDS if one.key.method != BAYES]
    entries = {entry.what: entry for entry in summary.target_entries(without)}
    assert entries["all cases: mean ARI"].reached
    assert entries["all cases: RMSE"].value == pytest.approx(0.6)
    assert isinstance(entries["time beside IterativeImputer, slowest set"], Skipped)


def test_the_tables_set_each_mean_beside_ours_of_the_same_cases():
    ari, by_set = summary.ari_grids(summary.aris_of(RECORDS))
    assert ari.rows[0][:3] == ["random, 20 %", "0.700", "0.500 (+0.200)"]
    assert "0.650 (-0.050)" in ari.rows[0]
    iris = next(row for row in by_set.rows if row[0] == "iris")
    assert iris[-2:] == ["-", "-"]
    rmse, _ = summary.rmse_grids(summary.results_of(RECORDS, "rmse"))
    assert rmse.rows[0] == ["random, 20 %", "0.600", "1.000 (×0.60)", "0.600 (×1.17)"]


def test_coverage_is_held_against_both_bounds():
    lines = [one for one in summary.target_entries(RECORDS) if one.what.startswith("coverage")]
    low, high = lines
    assert (low.ours, low.reached) == (80.0, False)
    assert (high.ours, high.reached) == (95.0, True)
    assert low.note == "wine; 1 of 2 sets inside"


def test_the_number_of_clusters_is_held_against_the_complete_table():
    def number(name, mechanism, method, seed, found):
        rate = 0 if method == COMPLETE else 20
        results = {"found": found, "warned": False}
        results |= {"halves": [2, 4]} if method == COMPLETE else {}
        return make_record(name, method, seed, mechanism, rate, NUMBER, **results)

    records = [number("iris", COMPLETE, COMPLETE, seed, 3) for seed in range(2)]
    records += [number("wine", COMPLETE, COMPLETE, seed, 3) for seed in range(2)]
    records += [number("iris", "random", OURS, seed, 3 + seed) for seed in range(2)]
    records += [number("wine", "random", OURS, 0, 6), number("wine", "random", KNN, 0, 4)]
    (line,) = [one for one in summary.target_entries(records) if "number of" in one.what]
    assert isinstance(line, Line)
    assert (line.ours, line.peer, line.reached) == (3.0, 1.0, False)
    assert line.note.startswith("wine; within one on 1 of 2 sets")
    assert "as halves of the complete rows on 1;" in line.note
    assert [row[1] for row in summary.numbers_grid(records).rows] == ["3.0 (2 to 4)"] * 2


def test_time_and_memory_are_held_against_the_complete_fit():
    memory = {
        made.MISSING: {"share": 70.0, "data": 12e6, "way": "peak"},
        made.COMPLETE: {"share": 40.0},
    }
    seconds = {made.MISSING: [4.0, 2.0, 6.0], made.COMPLETE: [1.0, 1.0, 1.0]}
    results = {"load": 0.1, "seconds": seconds, "memory": memory}
    record = make_record("100000", OURS, part=cases.COST, **results)
    time, share, beyond = list(summary.target_entries([record]))[-3:]
    assert (time.value, time.reached) == (4.0, False)
    assert (share.value, share.reached) == (70.0, False)
    assert (beyond.value, beyond.reached) == (30.0, True)


def test_slow_peers_are_left_out_and_named():
    assert METHODS[MEAN].takes((60, 9_712))
    assert not METHODS[BAYES].takes((60, 9_712))
    wide = make_record("nci9", OURS, ari=0.5, rmse=1.0)
    wide.results["shape"] = [60, 9_712]
    found = summary.left_out([*RECORDS, wide])
    assert found[METHODS[BAYES].title] == ["nci9"]
    assert METHODS[MEAN].title not in found


# --- the command ----------------------------------------------------------------------------------


def test_a_page_without_records(tmp_path):
    command.write_page(tmp_path / "missing.md", Store(tmp_path / "missing.jsonl", Key))
    assert "Nothing is recorded yet" in (tmp_path / "missing.md").read_text()


def test_a_quick_run_makes_a_page(tmp_path, monkeypatch, capsys):
    tables = {}
    for name in ("iris", "wine"):
        table = cases.load_set(name, tmp_path)
        tables[name] = table.sample(60)
    monkeypatch.setattr(cases, "load_set", lambda name, folder: tables[name])
    output, page = tmp_path / "missing.jsonl", tmp_path / "missing.md"
    arguments = ["--quick", "--sets", "iris", "wine", "--methods", OURS, MEAN, KNN]
    arguments += ["--parts", "tables", "number", "--rates", "20"]
    arguments += ["--output", str(output), "--page", str(page)]
    assert command.main(arguments) == 0
    store = Store(output, Key)
    # Three methods under four mechanisms; and the number, with the complete table's.
    assert len(store.all()) == 2 * (3 * 4 + 2 * 4 + 1)
    text = page.read_text()
    assert "<!-- ari -->" in text
    assert all(f"| {mechanism}, 20 %" in text for mechanism in MECHANISMS)
    assert "| iris |" in text
    assert "targets reached" in capsys.readouterr().out
    assert command.main([*arguments, "--check"]) == 0
    assert "0 of them differ" in capsys.readouterr().out
