"""Pre-training: it learns, it leaves things as they were, and it goes on where it stopped."""

import io
import math

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from amclust.torch.autoencoders import convolutional, mlp, residual  # noqa: E402
from amclust.torch.deep._pretraining import pretrain, reconstruction_error  # noqa: E402

PAIRS = {
    "mlp": lambda: mlp(12, 2, (16,), generator=seeded()),
    "convolutional": lambda: convolutional((4, 3), 2, (4, 6), generator=seeded()),
    "residual": lambda: residual(12, 2, 16, 2, generator=seeded()),
}


class StoppedError(Exception):
    pass


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def planar_rows(n_rows=150):
    """Rows in a plane of twelve dimensions, so that two latent coordinates are enough."""
    generator = seeded(1)
    plane = torch.randn(2, 12, generator=generator)
    return torch.randn(n_rows, 2, generator=generator) @ plane


def weights(pair):
    return torch.cat([value.detach().flatten() for one in pair for value in one.parameters()])


@pytest.fixture(params=PAIRS)
def pair(request):
    return PAIRS[request.param]()


def test_the_error_falls(pair):
    X = planar_rows()
    before = reconstruction_error(*pair, X)
    losses = pretrain(*pair, X, epochs=30, batch_size=32, learning_rate=5e-3, generator=seeded())
    after = reconstruction_error(*pair, X)
    assert len(losses) == 30
    assert losses[-1] < 0.7 * losses[0]
    assert after < 0.7 * before


def test_the_error_is_that_of_all_entries():
    encoder, decoder = PAIRS["mlp"]()
    X = planar_rows()
    with torch.no_grad():
        expected = (decoder(encoder(X)) - X).square().mean().item()
    found = [reconstruction_error(encoder, decoder, X, batch_size=size) for size in (7, 150, 4096)]
    assert found == pytest.approx([expected] * 3, rel=1e-5)


def test_a_linear_pair_finds_the_plane():
    pair = mlp(12, 2, (), generator=seeded())
    X = planar_rows()
    pretrain(*pair, X, epochs=100, batch_size=30, learning_rate=3e-2, generator=seeded())
    assert reconstruction_error(*pair, X) < 0.01 * X.var().item()


@pytest.mark.parametrize("corruption", [0.0, 0.3])
def test_a_training_that_was_stopped_goes_on_as_if_it_had_not(pair, corruption):
    X = planar_rows()
    settings = {"epochs": 7, "batch_size": 40, "corruption": corruption}
    start_weights = [module.state_dict() for module in pair]
    start_weights = [{name: v.clone() for name, v in one.items()} for one in start_weights]
    straight = pretrain(*pair, X, **settings, generator=seeded())
    expected = weights(pair)

    for module, state in zip(pair, start_weights, strict=True):
        module.load_state_dict(state)
    saved = io.BytesIO()

    def save_and_stop(state):
        if len(state["losses"]) == 3:
            torch.save({"modules": [module.state_dict() for module in pair], **state}, saved)
        if len(state["losses"]) == 5:
            raise StoppedError

    with pytest.raises(StoppedError):
        pretrain(*pair, X, **settings, generator=seeded(), progress=save_and_stop)

    saved.seek(0)
    state = torch.load(saved, weights_only=True)
    for module, values in zip(pair, state.pop("modules"), strict=True):
        module.load_state_dict(values)
    resumed = pretrain(*pair, X, **settings, generator=seeded(9), start=state)
    assert resumed == straight
    assert torch.equal(weights(pair), expected)


def test_a_state_is_not_changed_by_what_comes_after_it():
    X, pair, states = planar_rows(), PAIRS["mlp"](), []
    losses = pretrain(*pair, X, epochs=3, generator=seeded(), progress=states.append)
    assert [state["losses"] for state in states] == [losses[:1], losses[:2], losses]
    assert not torch.equal(states[0]["generator"], states[1]["generator"])


def test_a_finished_training_is_not_gone_on_with():
    X, pair, states = planar_rows(), PAIRS["mlp"](), []
    losses = pretrain(*pair, X, epochs=2, generator=seeded(), progress=states.append)
    before = weights(pair)
    again = pretrain(*pair, X, epochs=2, generator=seeded(), start=states[-1])
    assert again == losses
    assert torch.equal(weights(pair), before)


def test_the_learning_rate_falls_along_a_cosine():
    X, pair, rates = planar_rows(), PAIRS["mlp"](), []

    def note_rate(state):
        rates.append(state["optimizer"]["param_groups"][0]["lr"])

    pretrain(*pair, X, epochs=4, batch_size=150, generator=seeded(), progress=note_rate)
    half = math.sqrt(0.5)
    assert rates == pytest.approx([1e-3, 5e-4 * (1 + half), 5e-4, 5e-4 * (1 - half)])


def test_the_seed_decides_and_nothing_global_does():
    X = planar_rows()

    def trained(seed):
        pair = PAIRS["mlp"]()
        pretrain(*pair, X, epochs=2, batch_size=16, corruption=0.2, generator=seeded(seed))
        return weights(pair)

    before = torch.random.get_rng_state()
    assert torch.equal(trained(0), trained(0))
    assert not torch.equal(trained(0), trained(1))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_corrupted_entries_are_seen_as_zero_and_compared_all_the_same():
    X = torch.ones(64, 12)
    seen = []
    encoder = nn.Sequential(nn.Identity(), nn.Linear(12, 2))
    encoder[0].register_forward_hook(lambda module, inputs, output: seen.append(output))
    decoder = nn.Linear(2, 12)
    for module in (encoder[1], decoder):
        nn.init.zeros_(module.weight)
        nn.init.zeros_(module.bias)
    losses = pretrain(encoder, decoder, X, epochs=1, corruption=0.25, generator=seeded())
    assert set(torch.cat(seen).unique().tolist()) == {0.0, 1.0}
    assert 0.15 < (torch.cat(seen) == 0).float().mean() < 0.35
    assert losses == [1.0]


def test_all_rows_are_seen_once_an_epoch_in_even_batches():
    X = torch.arange(23.0)[:, None] / 23
    seen = []
    encoder = nn.Sequential(nn.Identity(), nn.Linear(1, 1))
    encoder[0].register_forward_hook(lambda module, inputs, output: seen.append(output))
    pretrain(encoder, nn.Linear(1, 1), X, epochs=1, batch_size=11, generator=seeded())
    assert [len(batch) for batch in seen] == [8, 8, 7]
    assert not torch.equal(torch.cat(seen), X)
    assert torch.equal(torch.cat(seen).sort(dim=0).values, X)


def test_modes_are_put_back():
    encoder = nn.Sequential(nn.Linear(12, 2), nn.BatchNorm1d(2))
    decoder = nn.Linear(2, 12).eval()
    encoder[1].eval()
    seen = []
    encoder[1].register_forward_hook(lambda module, inputs, output: seen.append(module.training))
    pretrain(encoder, decoder, planar_rows(), epochs=1, generator=seeded())
    reconstruction_error(encoder, decoder, planar_rows())
    assert seen == [True, False]
    assert [encoder.training, encoder[0].training, encoder[1].training] == [True, True, False]
    assert not decoder.training


def test_a_training_that_diverges_says_so():
    pair = PAIRS["mlp"]()
    X = planar_rows()
    X[3, 4] = math.inf
    with pytest.raises(FloatingPointError, match="epoch 1 of pre-training.*lower pretrain_lr"):
        pretrain(*pair, X, epochs=3, generator=seeded())
