import copy
import math
import os
import pickle
import re
import signal
import threading
import warnings

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.utils.estimator_checks import parametrize_with_checks

torch = pytest.importorskip("torch")

from deep_fits import SMALL, assert_same_fit, modules, small  # noqa: E402
from torch import nn  # noqa: E402

from amclust.torch import AssociativeMemory, DeepClAM  # noqa: E402
from amclust.torch.deep._network import mean_square  # noqa: E402
from amclust.torch.deep._seeding import SEEDINGS, seed_by_clam  # noqa: E402


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(150, 6, centers=3, random_state=0)


@pytest.fixture(scope="module")
def fitted(blobs):
    return small().fit(blobs[0])


# --- the estimator ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([DeepClAM(4, (16,), latent_dim=3, pretrain_epochs=5, max_epochs=1)])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def test_it_finds_clusters(blobs, fitted):
    X, y = blobs
    assert adjusted_rand_score(y, fitted.labels_) == 1.0
    assert_array_equal(fitted.predict(X), fitted.labels_)
    assert fitted.labels_.dtype == np.int32


def test_digits_become_clusters_and_prototypes():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    model = DeepClAM(10, (64,), pretrain_epochs=30, pretrain_lr=1e-2, max_epochs=3, random_state=0)
    model.fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.4
    # What is recalled of a row is nearer to it than the mean row, and than another's prototype.
    recalled = np.square(X - model.recall(X)).mean()
    assert recalled < 0.8 * X.var(axis=0).mean()
    assert recalled < np.square(X - model.prototypes_[(model.labels_ + 1) % 10]).mean()


def test_attributes_say_what_they_claim(blobs, fitted):
    X = blobs[0]
    latents = fitted.transform(X)
    assert latents.shape == (150, 3)
    assert_allclose(fitted.silhouette_, silhouette_score(latents, fitted.labels_), atol=1e-4)
    assert fitted.score(X) == pytest.approx(fitted.silhouette_, abs=1e-6)
    with torch.no_grad():
        states = fitted.memory_(torch.from_numpy(latents))
    assert_allclose(
        fitted.recalled_silhouette_, silhouette_score(states, fitted.labels_), atol=1e-4
    )
    restored = fitted.inverse_transform(latents)
    assert_allclose(fitted.reconstruction_loss_, np.square(X - restored).mean(), rtol=1e-4)
    assert_allclose(fitted.loss_, np.square(X - fitted.recall(X)).mean(), rtol=1e-4)
    assert_allclose(fitted.inverse_transform(fitted.cluster_centers_), fitted.prototypes_)
    assert_array_equal(fitted.memory_.memories.detach(), fitted.cluster_centers_)
    assert fitted.beta_ == pytest.approx(float(fitted.memory_.beta))
    memberships = fitted.predict_proba(X)
    assert_allclose(memberships.sum(axis=1), 1, rtol=1e-5)
    assert_array_equal(fitted.get_feature_names_out(), ["deepclam0", "deepclam1", "deepclam2"])
    assert isinstance(fitted.memory_, AssociativeMemory)
    assert not fitted.encoder_.training


def test_history_has_a_row_for_every_epoch(fitted):
    history = fitted.history_
    assert_array_equal(history["epoch"], np.arange(fitted.n_iter_ + 1))
    assert_array_equal(history["loss"][1:], fitted.loss_curve_)
    assert len(fitted.pretrain_loss_curve_) == SMALL["pretrain_epochs"]
    assert history["chosen"].sum() == 1
    (chosen,) = history[history["chosen"]]
    assert chosen["silhouette"] == fitted.silhouette_ == history["silhouette"][1:].max()
    assert chosen["reconstruction"] == fitted.reconstruction_loss_
    assert history["reconstruction"][0] == fitted.pretrained_reconstruction_loss_
    assert (history["living_clusters"] == 3).all()


def test_training_lowers_the_loss_of_the_recall(blobs):
    model = small(max_epochs=15, decoder_lr=1e-2, deepen=0.0, max_reconstruction=math.inf)
    history = model.fit(blobs[0]).history_
    assert history["recalled_reconstruction"][-1] < 0.9 * history["recalled_reconstruction"][0]


def test_no_epochs_leave_the_seeds(blobs):
    model = small(max_epochs=0).fit(blobs[0])
    assert model.n_iter_ == 0
    assert len(model.history_) == 1
    assert model.loss_ > 0


def test_random_state_decides_all_and_nothing_global_is_touched(blobs):
    X = blobs[0]
    pair = modules()
    before = torch.get_rng_state()
    one, other = (small(3, *pair).fit(X) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(5)
    assert_same_fit(one, other)
    assert_same_fit(one, small(3, *pair).fit(X))
    different = small(3, *pair, random_state=1).fit(X)
    assert not np.array_equal(different.loss_curve_, one.loss_curve_)


def test_a_row_gets_the_same_answer_alone_and_among_others(blobs, fitted):
    X = blobs[0]
    for method in (fitted.transform, fitted.predict_proba, fitted.recall):
        together = method(X)
        assert_array_equal(np.concatenate([method(row[None]) for row in X[:5]]), together[:5])


def test_a_single_cluster_is_possible(blobs):
    model = small(1).fit(blobs[0])
    assert (model.labels_ == 0).all()
    assert np.isnan(model.silhouette_)
    assert model.score(blobs[0]) == -1.0
    assert model.loss_ == model.history_["recalled_reconstruction"].min()


def test_beta_and_steps_are_those_asked_for(blobs):
    model = small(beta=0.25, n_steps=4, step_size=0.3).fit(blobs[0])
    assert model.beta_ == pytest.approx(0.25)
    assert (model.memory_.n_steps, model.memory_.step_size) == (4, 0.3)


@pytest.mark.parametrize("load", [pickle, joblib])
def test_a_fitted_model_survives_pickling(blobs, fitted, load, tmp_path):
    path = tmp_path / "model"
    with open(path, "wb") as file:
        load.dump(fitted, file)
    with open(path, "rb") as file:
        again = load.load(file)
    assert_array_equal(again.transform(blobs[0]), fitted.transform(blobs[0]))
    assert again.encoder_ is again._network.encoder
    assert again.encoder_ is not fitted.encoder_


def test_data_frames_keep_their_names(blobs):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(blobs[0], columns=list("abcdef"))
    model = small().fit(frame)
    assert_array_equal(model.feature_names_in_, list("abcdef"))
    assert_array_equal(model.predict(frame), model.labels_)
    latents = model.set_output(transform="pandas").transform(frame)
    assert list(latents.columns) == ["deepclam0", "deepclam1", "deepclam2"]


def test_a_model_with_modules_clones(blobs):
    model = small(3, *modules()).fit(blobs[0])
    assert_same_fit(model, clone(model).fit(blobs[0]))


# --- encoders -----------------------------------------------------------------------------------


@pytest.mark.parametrize("encoder", ["mlp", "residual", "convolutional"])
def test_ready_encoders(encoder):
    X = load_digits().data[:60] / 16
    model = small(2, encoder, image_shape=(8, 8), pretrain_epochs=1, max_epochs=1).fit(X)
    assert model.recall(X).shape == X.shape
    assert model.transform(X).shape == (60, 3)


def test_given_modules_are_copied_and_used_as_they_are(blobs):
    X = blobs[0]
    encoder, decoder = modules()
    before = copy.deepcopy((encoder, decoder))
    model = small(3, encoder, decoder, pretrain_epochs=0, max_epochs=0).fit(X)
    small(3, encoder, decoder).fit(X)
    for module, old in zip((encoder, decoder), before, strict=True):
        assert module.training
        for name, value in module.state_dict().items():
            assert torch.equal(value, old.state_dict()[name])
    with torch.no_grad():
        expected = before[0].eval()(torch.tensor(X, dtype=torch.float32))
    assert_allclose(model.transform(X), expected, atol=1e-5)


def test_modules_that_share_weights_go_on_sharing_them(blobs):
    class Transposed(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def forward(self, latents):
            return latents @ self.layer.weight

    encoder = nn.Linear(6, 3)
    model = small(3, encoder, Transposed(encoder), pretrain_epochs=0).fit(blobs[0])
    assert model.decoder_.layer is model.encoder_
    assert not torch.equal(model.encoder_.weight, encoder.weight)


def test_modules_of_images_get_images():
    X = load_digits().data[:40] / 16
    shapes = []

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Conv2d(1, 2, 8)

        def forward(self, images):
            shapes.append(tuple(images.shape[1:]))
            return self.layer(images).flatten(1)

    decoder = nn.Sequential(nn.Unflatten(1, (2, 1, 1)), nn.ConvTranspose2d(2, 1, 8))
    model = small(2, Encoder(), decoder, image_shape=(1, 8, 8)).fit(X)
    assert set(shapes) == {(1, 8, 8)}
    assert model.recall(X).shape == X.shape


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"encoder": "convolutional"}, "encoder='convolutional' needs image_shape, got None"),
        ({"encoder": nn.Identity()}, "got encoder=Identity and decoder=None"),
        ({"decoder": nn.Identity()}, "got encoder=tuple and decoder=Identity"),
        ({"encoder": (8, 0)}, "encoder=(8, 0) must have widths"),
        ({"image_shape": (4, 4)}, "image_shape=(4, 4) has 16 entries, but X has 6 columns"),
        (
            {"encoder": nn.Unflatten(1, (2, 3)), "decoder": nn.Flatten()},
            "encoder must make (2, latent_dim) of (2, 6), got (2, 2, 3)",
        ),
        (
            {"encoder": nn.Identity(), "decoder": nn.Linear(6, 2)},
            "decoder must make (2, 6) of (2, 6), got (2, 2)",
        ),
        ({"encoder": nn.Linear(7, 2), "decoder": nn.Linear(2, 6)}, "encoder does not take"),
        (
            {"encoder": nn.Identity(), "decoder": nn.Identity()},
            "no parameters to pre-train; set pretrain_epochs=0",
        ),
        ({"device": "nowhere"}, "device must be None or one of"),
        ({"n_clusters": 151}, "n_clusters=151 must be at most n_samples=150"),
        ({"max_reconstruction": 0.9}, "'max_reconstruction' parameter of DeepClAM must be"),
    ],
)
def test_what_cannot_be_is_refused(blobs, parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        small(**parameters).fit(blobs[0])


def test_rows_that_are_all_the_same_are_refused():
    with pytest.raises(ValueError, match="distinct latent rows, which is 1"):
        small().fit(np.ones((20, 4)))


@pytest.mark.parametrize("stage", ["pretrain_epochs", "max_epochs"])
def test_a_loss_that_is_no_longer_finite_ends_the_fit(blobs, stage):
    rates = dict.fromkeys(["pretrain_lr", "encoder_lr", "decoder_lr"], 1e30)
    epochs = {"pretrain_epochs": 0, "max_epochs": 0, stage: 5}
    model = small(**rates, **epochs)
    with pytest.raises(FloatingPointError, match="lower"):
        model.fit(blobs[0])
    with pytest.raises(NotFittedError):
        model.predict(blobs[0])


def test_latent_rows_of_the_wrong_length_are_refused(fitted):
    with pytest.raises(ValueError, match="X has 5 columns, latent rows have 3"):
        fitted.inverse_transform(np.zeros((2, 5)))


# --- what is kept ------------------------------------------------------------------------------


def test_the_bound_holds_when_training_goes_wrong(blobs):
    model = small(encoder_lr=0.5, decoder_lr=0.5).fit(blobs[0])
    assert (model.history_["reconstruction"][1:] > 1.1 * model.history_["reconstruction"][0]).any()
    assert model.reconstruction_loss_ <= 1.1 * model.pretrained_reconstruction_loss_


def test_empty_clusters_are_revived_and_else_reported(blobs, monkeypatch):
    def seed_far(latents, n_clusters, beta, seed):
        seeds = seed_by_clam(latents, n_clusters, beta, seed)
        seeds.memories[-1] = 1e4
        return seeds

    monkeypatch.setitem(SEEDINGS, "clam", seed_far)
    model = small(seeding="clam", deepen=0.0, max_reconstruction=math.inf).fit(blobs[0])
    assert model.history_["living_clusters"][0] == 2
    assert model.history_["living_clusters"][-1] == 3
    assert len(np.unique(model.labels_)) == 3
    with pytest.warns(ConvergenceWarning, match="Only 2 of n_clusters=3 clusters are non-empty"):
        small(seeding="clam", max_epochs=0).fit(blobs[0])


# --- progress and interrupts --------------------------------------------------------------------


def test_progress_goes_to_standard_error_where_it_is_asked_for(blobs, capfd):
    small().fit(blobs[0])
    assert capfd.readouterr() == ("", "")
    small(verbose=2).fit(blobs[0])
    printed = capfd.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert lines[0].startswith("DeepClAM: pre-training, epoch 1 of 3, loss")
    assert lines[4].startswith("DeepClAM: epoch 1 of 4, recalled reconstruction")
    assert lines[-1].startswith("DeepClAM: kept epoch")
    assert len(lines) == 3 + 5 + 1


@pytest.mark.parametrize("stage", ["pretrain_epochs", "max_epochs"])
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(blobs, stage):
    X = blobs[0]
    model = small(patience=10**8).fit(X)
    before = dict(vars(model))
    model.set_params(**{stage: 10**8})
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
    finally:
        timer.cancel()
    model.set_params(**{stage: SMALL[stage]})
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items() if name != stage)
    assert_array_equal(model.predict(X), model.labels_)


def test_rows_out_of_all_range_are_refused(blobs, fitted):
    far = np.stack([blobs[0][0], np.full(6, 3e38)])
    for ask in (fitted.predict, fitted.predict_proba):
        with pytest.raises(ValueError, match="NaN or infinity of row 1 of X.*3e.38"):
            ask(far)
    assert np.isfinite(fitted.transform(far)).all()  # it is the distances that overflow


def test_an_autoencoder_that_learned_nothing_is_named(blobs):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        small().fit(1e-6 * blobs[0])
    said = [str(warning.message) for warning in found]
    assert any("autoencoder has learned nothing" in text and "Scale X" in text for text in said)


@pytest.mark.parametrize("encoder", [(16,), "module"])
def test_missing_values_are_compared_with_nothing(encoder):
    generator = np.random.default_rng(0)
    X, y = make_blobs(150, 6, centers=3, random_state=0)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    missing = generator.random(X.shape) < 0.15
    holed = np.where(missing, np.nan, X)
    pair = modules() if encoder == "module" else (encoder, None)
    model = small(3, *pair, pretrain_epochs=40, pretrain_lr=5e-3, batch_size=32).fit(holed)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(holed), model.labels_)
    completed = model.complete(holed)
    np.testing.assert_array_equal(completed[~missing], X[~missing])
    assert np.isfinite(completed).all()
    apart = np.sqrt(np.mean((completed - X)[missing] ** 2))
    assert apart < 0.7 * np.sqrt(np.mean(X[missing] ** 2))  # what means of columns reach


def test_losses_do_not_see_what_stands_for_missing_values():
    rows, made = torch.zeros(4, 3), torch.ones(4, 3)
    observed = torch.tensor([[True, True, False]] * 4)
    for filler in (0.0, 100.0):
        rows[:, 2] = filler
        assert mean_square(made, rows, observed) == 1.0
    assert mean_square(made[:, :2], rows[:, :2], None) == 1.0


def test_columns_without_a_value_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 4))
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match="No observed value in column 2"):
        small().fit(X)
