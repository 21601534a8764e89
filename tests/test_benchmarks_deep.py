"""The deep benchmark: peers that do what they say, cells that repeat, results that are kept."""

from argparse import Namespace
from dataclasses import replace
from math import nan

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from numpy.testing import assert_array_equal  # noqa: E402
from sklearn.datasets import make_blobs  # noqa: E402
from sklearn.metrics import adjusted_rand_score, silhouette_score  # noqa: E402

from amclust.torch.autoencoders import mlp  # noqa: E402
from amclust.torch.deep._pretraining import pretrain  # noqa: E402
from benchmarks.data import IMAGES, Table, load_images, standardise  # noqa: E402
from benchmarks.deep import __main__ as command  # noqa: E402
from benchmarks.deep import cases, peers  # noqa: E402
from benchmarks.deep.__main__ import Summary, target_lines  # noqa: E402
from benchmarks.deep.cases import METHODS, Key, accuracy, deep_clam, defaults, make_case, silhouette  # noqa: E402
from benchmarks.deep.pretrained import AUTOENCODERS, QUICK, Autoencoder, Settings, Shelf, untrained  # noqa: E402
from benchmarks.folders import DATA  # noqa: E402
from benchmarks.framework.cases import Case, Record  # noqa: E402
from benchmarks.framework.environment import UnavailableError  # noqa: E402
from benchmarks.framework.running import Unfinished  # noqa: E402
from benchmarks.framework.store import Store  # noqa: E402

SHORT = Settings(
    rows=200, epochs=dict.fromkeys(AUTOENCODERS, 2), batch_size=50, updates=8, update_interval=4
)
ONE_INTERVAL = Settings(batch_size=50, updates=30, update_interval=30)
PEERS = ("dec", "dec_random", "idec", "dcec")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def blobs():
    """Four clusters in nine dimensions that overlap a little, as images of three by three."""
    features, classes = make_blobs(300, 9, centers=4, cluster_std=2.5, random_state=0)
    return Table("blobs", standardise(features).astype(np.float32), classes, (3, 3))


@pytest.fixture(scope="module", name="X")
def make_rows(blobs):
    return torch.from_numpy(blobs.features)


@pytest.fixture(scope="module")
def trained(X):
    generator = torch.Generator().manual_seed(0)
    pair = Autoencoder(*mlp(9, 3, (32, 16), generator=generator))
    pretrain(*pair, X, epochs=40, batch_size=50, learning_rate=5e-3, generator=generator)
    return pair


def weights(module):
    return torch.cat([value.detach().flatten() for value in module.parameters()])


def make_record(method="deepclam", seed=0, autoencoder="mlp", **changes):
    results = {"n_clusters": 3, "living": 3, "nmi": 0.6, "ari": 0.5, "accuracy": 0.7}
    results |= {"silhouette": 0.2, "silhouette_recalled": nan, "reconstruction_before": 0.1}
    results |= {"reconstruction": 0.105, "updates": 9, "labels": ""}
    key = Key("usps", autoencoder, method, seed)
    return Record(Case(key), results | changes, 1.5, {"commit": "x"})


def run(folder, *arguments):
    fixed = ["--sets", "digits", "--quick", "--threads", "1", "--seeds", "1"]
    places = ["--output", str(folder / "deep.jsonl"), "--cache", str(folder / "cache")]
    return command.main([*fixed, *places, *arguments])


def test_similarities_and_target_are_those_of_the_paper():
    latent, centers = torch.tensor([[0.0], [1.0]]), torch.tensor([[0.0], [2.0]])
    q = peers.similarities(latent, centers)
    torch.testing.assert_close(q, torch.tensor([[1 / 1.2, 0.2 / 1.2], [0.5, 0.5]]))
    by_hand = q**2 / q.sum(0)
    by_hand = by_hand / by_hand.sum(1)[:, None]
    p = peers.target_distribution(q)
    torch.testing.assert_close(p, by_hand)
    assert p[0, 0] > q[0, 0]
    torch.testing.assert_close(peers.divergence(p, q), (p * (p / q).log()).sum(1).mean())
    assert peers.divergence(q, q).abs() < 1e-6


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_lowers_its_loss_and_finds_the_blobs(name, blobs, trained, X):
    def loss(pair, centers, target):
        found = peers.divergence(target, peers.similarities(pair.latent(X), centers))
        weight = 1.0 if name.startswith("dec") else 0.1
        return weight * found.item() + (0.0 if name.startswith("dec") else pair.error(X))

    start = peers.k_means_centers(trained, X, 4, 0)
    if name == "dec_random":
        order = torch.randperm(len(X), generator=torch.Generator().manual_seed(0))
        start = trained.latent(X)[order[:4]]
    target = peers.target_distribution(peers.similarities(trained.latent(X), start))
    fitted = getattr(peers, name)(trained.copy(), X, 4, 0, ONE_INTERVAL)
    assert fitted.updates == 30
    assert loss(fitted.autoencoder, fitted.centers, target) < loss(trained, start, target)
    nearest = torch.cdist(fitted.autoencoder.latent(X), fitted.centers).argmin(1)
    assert_array_equal(fitted.labels, nearest.numpy())
    if name != "dec_random":
        assert adjusted_rand_score(blobs.classes, fitted.labels) > 0.8


@pytest.mark.parametrize(
    ("fit", "moved"),
    [
        (peers.autoencoder_k_means, (False, False)),
        (peers.autoencoder_graph, (False, False)),
        (peers.dec, (True, False)),
        (peers.idec, (True, True)),
        (deep_clam, (True, True)),
    ],
)
def test_a_method_trains_what_it_says_and_finds_the_blobs(fit, moved, blobs, trained, X):
    pair = trained.copy()
    fitted = fit(pair, X, 4, 0, ONE_INTERVAL)
    after = zip(trained, fitted.autoencoder, strict=True)
    assert tuple(not torch.equal(weights(a), weights(b)) for a, b in after) == moved
    assert adjusted_rand_score(blobs.classes, fitted.labels) > 0.8
    if fit is deep_clam:  # leaves the pair alone
        assert torch.equal(weights(trained.encoder), weights(pair.encoder))
        assert 0 < fitted.updates <= 30
        assert fitted.recalled.shape == (300, 3)
        assert_array_equal(fitted.labels, torch.cdist(fitted.recalled, fitted.centers).argmin(1))


def test_a_peer_stops_when_labels_settle(blobs, trained, X):
    settings = replace(ONE_INTERVAL, updates=500, update_interval=5, tolerance=1.0 + 1e-6)
    assert peers.dec(trained.copy(), X, 4, 0, settings).updates == 5
    settings = replace(settings, updates=12, tolerance=0.0)
    assert peers.dec(trained.copy(), X, 4, 0, settings).updates == 12


def test_scores():
    classes = np.array([0, 0, 0, 1, 1, 2])
    assert accuracy(classes, np.array([2, 2, 2, 0, 0, 1])) == 1.0
    # Greedy matching would give cluster 0 to class 0 and lose the rest.
    assert accuracy(np.repeat([0, 1], 5), np.array([0, 0, 0, 1, 1, 0, 0, 0, 0, 0])) == 0.7
    assert accuracy(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])) == 0.5
    latent = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
    labels = np.arange(60) % 3
    assert silhouette(latent, labels) == pytest.approx(silhouette_score(latent, labels), abs=1e-5)


@pytest.mark.parametrize("name", IMAGES)
def test_sets_are_square_images_in_the_unit_interval(name):
    try:
        images = load_images(name, DATA)
    except UnavailableError as error:
        pytest.skip(str(error))
    rows = {"usps": 9298, "fashion_mnist": 10_000, "digits": 1797}
    assert images.features.shape == (rows[name], images.shape[0] * images.shape[1])
    assert images.features.dtype == np.float32
    assert (images.features.min(), images.features.max()) == (0.0, 1.0)
    assert images.n_clusters == 10


def test_a_sample_is_the_same_every_time():
    whole = load_images("digits", DATA)
    first, second = load_images("digits", DATA, 50), load_images.__wrapped__("digits", DATA, 50)
    assert_array_equal(first.features, second.features)
    assert len(first.classes) == 50
    assert (first.features[:, None] == whole.features).all(2).any(1).all()


@pytest.mark.parametrize("kind", AUTOENCODERS)
def test_autoencoders_of_all_kinds_fit_the_images(kind, blobs, X):
    pair = untrained(kind, blobs, 0, 2)
    assert pair.latent(X).shape == (300, 2)
    assert pair.error(X) > 0


class Killed(BaseException):
    pass


def test_a_pretraining_that_was_killed_goes_on(tmp_path, blobs, monkeypatch):
    monkeypatch.setattr("benchmarks.deep.pretrained._SECONDS_BETWEEN_WRITES", 0.0)
    settings = replace(SHORT, epochs={"mlp": 4})
    straight = Shelf(tmp_path / "a", str).pretrained("mlp", blobs, 0, settings)
    said = []

    def say(text):
        said.append(text)
        if "epoch 2," in text and len(said) == 2:
            raise Killed

    shelf = Shelf(tmp_path / "b", say)
    with pytest.raises(Killed):
        shelf.pretrained("mlp", blobs, 0, settings)
    resumed = shelf.pretrained("mlp", blobs, 0, settings)
    assert "goes on after epoch 2" in said[2]
    assert torch.equal(weights(resumed.encoder), weights(straight.encoder))
    assert torch.equal(weights(resumed.decoder), weights(straight.decoder))
    said.clear()
    again = shelf.pretrained("mlp", blobs, 0, settings)
    assert not said
    assert torch.equal(weights(again.encoder), weights(straight.encoder))


def test_another_training_has_another_file(tmp_path, blobs):
    shelf = Shelf(tmp_path, str)
    for settings in (SHORT, replace(SHORT, epochs={"mlp": 1}), replace(SHORT, learning_rate=0.1)):
        shelf.pretrained("mlp", blobs, 0, settings)
    shelf.pretrained("mlp", blobs._replace(features=blobs.features[:100]), 0, SHORT)
    shelf.pretrained("mlp", blobs, 1, SHORT)
    assert len(list(tmp_path.iterdir())) == 5


@pytest.fixture
def short(monkeypatch):
    """Let a quick run be shorter still."""
    monkeypatch.setattr(cases, "QUICK", SHORT)


def test_a_case_repeats_and_leaves_the_pretrained_autoencoder_as_it_was(tmp_path, short):
    options = Namespace(quick=True, data_dir=DATA, cache=tmp_path)
    case = make_case(Key("digits", "mlp", "dec", 0), SHORT)
    first, second = (cases.perform(case, Unfinished(), options) for _ in range(2))
    assert first == pytest.approx(second, nan_ok=True)
    assert first["n_clusters"] == 10


def test_a_definition_depends_on_the_settings_that_matter(monkeypatch):
    def here(method, settings=QUICK):
        return make_case(Key("digits", "mlp", method, 0), settings).hash

    before = here("deepclam")
    assert before != here("dec")
    assert here("dec") != here("dec", replace(QUICK, updates=1))
    assert here("dec") == here("dec", replace(QUICK, epochs={**QUICK.epochs, "residual": 9}))
    other = replace(METHODS["deepclam"], parameters=lambda: {**defaults(), "n_steps": 99})
    monkeypatch.setitem(METHODS, "deepclam", other)
    assert here("deepclam") != before


def test_only_missing_cases_are_run(tmp_path, capsys, monkeypatch, short):
    assert run(tmp_path, "--methods", "kmeans") == 0
    assert "1 cases, 0 of them" in capsys.readouterr().out
    (first,) = Store(tmp_path / "deep.jsonl", Key).all()
    assert run(tmp_path, "--methods", "kmeans", "dcec") == 0
    said = capsys.readouterr().out
    assert "2 cases, 1 of them" in said
    assert "DCEC (convolutional)" in said
    assert "autoencoder + k-means" in said
    dcec, kmeans = Store(tmp_path / "deep.jsonl", Key).all()
    assert kmeans == first
    assert dcec.key == Key("digits", "convolutional", "dcec", 0)
    monkeypatch.setattr(cases, "QUICK", replace(SHORT, updates=3))
    assert run(tmp_path, "--methods", "dcec") == 0
    assert "1 cases, 0 of them" in capsys.readouterr().out


def test_missing_data_are_named(tmp_path, capsys):
    arguments = ["--sets", "usps", "--data-dir", str(tmp_path)]
    assert run(tmp_path, "--methods", "kmeans", *arguments) == 1
    assert "usps_train.csv.gz is missing" in capsys.readouterr().out


def summary_of(**ours):
    others = [
        make_record(method, seed, METHODS[method].kind("mlp"), nmi=0.5, accuracy=0.6)
        for method in ("kmeans", "dec", "dcec")
        for seed in range(3)
    ]
    records = [make_record(seed=seed, **ours) for seed in range(3)]
    return Summary([*others, *records], ["usps"], "mlp")


@pytest.mark.parametrize(
    ("ours", "reached"),
    [
        ({}, [True] * 7),
        ({"nmi": 0.5}, [False] * 3 + [True] * 4),
        ({"reconstruction": 0.111}, [True] * 6 + [False]),
        ({"living": 2}, [False] * 7),
    ],
)
def test_targets_are_reached_or_not(ours, reached):
    lines = list(target_lines(summary_of(**ours)))
    assert [line.reached for line in lines] == reached
    whats = ["usps: NMI", "usps: accuracy", "usps: reconstruction over pre-training's"]
    assert [line.what for line in lines[::3]] == whats
    assert lines[2].peer_name == "DCEC on its convolutional autoencoder"


def test_few_seeds_do_not_count():
    few = [make_record(), make_record("dec", nmi=0.1)]
    lines = list(target_lines(Summary(few, ["usps"], "mlp")))
    assert [line.valid for line in lines] == [False] * 3
    assert lines[0].note == "1 seeds of at least 3"


def test_means_and_deviations_are_over_the_seeds():
    seeds = ((0, "mlp"), (1, "mlp"), (2, "convolutional"), (2, "mlp"))
    records = [make_record("deepclam", seed, kind, nmi=0.5 + seed / 10) for seed, kind in seeds]
    table = Summary(records, ["usps"], "mlp").grid("usps")
    assert table.rows[0][:2] == ["DeepClAM", "0.600 ± 0.100"]
