"""Ready autoencoders: their shapes, where their weights come from, and what they refuse."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from amclust.torch import autoencoders  # noqa: E402
from amclust.torch.autoencoders import Residual, convolutional, mlp, residual  # noqa: E402

BUILDERS = {
    "mlp": lambda **options: mlp(12, 3, (16, 8), **options),
    "convolutional": lambda **options: convolutional((3, 4), 3, (4, 6), **options),
    "residual": lambda **options: residual(12, 3, 16, 2, **options),
}


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def weights(pair):
    return torch.cat([value.flatten() for module in pair for value in module.parameters()])


@pytest.fixture(params=BUILDERS)
def build(request):
    return BUILDERS[request.param]


def test_rows_go_to_the_latent_space_and_back(build):
    encoder, decoder = build()
    latent = encoder(torch.randn(5, 12, generator=seeded()))
    assert latent.shape == (5, 3)
    assert decoder(latent).shape == (5, 12)


def test_neither_output_is_squashed(build):
    encoder, decoder = build(generator=seeded())
    latent = encoder(torch.randn(200, 12, generator=seeded()))
    assert (latent < 0).any()
    assert (decoder(latent) < 0).any()


def test_every_parameter_takes_part(build):
    encoder, decoder = build(generator=seeded())
    for part in (*encoder.modules(), *decoder.modules()):
        if isinstance(part, Residual):
            nn.init.ones_(part.second.weight)
    decoder(encoder(torch.randn(50, 12, generator=seeded()))).square().sum().backward()
    for module in (encoder, decoder):
        for value in module.parameters():
            assert value.grad is not None
            assert value.grad.abs().sum() > 0


def test_the_weights_come_from_the_generator(build):
    first = weights(build(generator=seeded(0)))
    assert torch.equal(first, weights(build(generator=seeded(0))))
    assert not torch.equal(first, weights(build(generator=seeded(1))))


def test_without_a_generator_torch_s_own_draws(build):
    with torch.random.fork_rng():
        torch.manual_seed(3)
        first, second = weights(build()), weights(build())
        assert not torch.equal(first, second)
        torch.manual_seed(3)
        assert torch.equal(weights(build()), first)


def test_encoder_and_decoder_share_no_draws():
    encoder, decoder = mlp(6, 6, (6,), generator=seeded())
    assert not torch.equal(encoder[0].weight, decoder[0].weight)


def test_weights_and_biases_are_drawn_within_the_bounds_of_torch():
    for layer in (*mlp(100, 25, (400,), generator=seeded())[0][::2],):
        bound = layer.in_features**-0.5
        for values in layer.parameters():
            assert 0.8 * bound < values.abs().max() <= bound
            assert abs(values.mean()) < 0.3 * bound
    encoder, decoder = convolutional((8, 8), 2, (16, 4), generator=seeded())
    for layer, fan_in in ((encoder[1], 25), (encoder[3], 9 * 16), (decoder[3], 9 * 4 / 4)):
        bound = fan_in**-0.5
        assert 0.8 * bound < layer.weight.abs().max() <= bound


def test_the_mlp_is_the_usual_stack():
    encoder, decoder = mlp(784)
    widths = [layer.out_features for layer in encoder if isinstance(layer, nn.Linear)]
    assert widths == [500, 500, 2000, 10]
    widths = [layer.out_features for layer in decoder if isinstance(layer, nn.Linear)]
    assert widths == [2000, 500, 500, 784]
    assert [type(layer) for layer in encoder[1::2]] == [nn.ReLU] * 3


def test_without_hidden_layers_the_mlp_is_linear():
    encoder, decoder = mlp(4, 2, hidden=())
    assert [type(layer) for layer in (*encoder, *decoder)] == [nn.Linear, nn.Linear]


@pytest.mark.parametrize(
    "shape", [(1, 1), (2, 3), (7, 7), (8, 5), (16, 16), (28, 28), (3, 9, 6), (2, 1, 11)]
)
@pytest.mark.parametrize("channels", [(3,), (3, 4), (2, 3, 4)])
def test_images_of_any_size_come_back(shape, channels):
    encoder, decoder = convolutional(shape, 2, channels)
    n_values = int(torch.tensor(shape).prod())
    rows = torch.zeros(2, n_values)
    assert encoder(rows).shape == (2, 2)
    assert decoder(encoder(rows)).shape == (2, n_values)


def test_rows_are_read_as_channels_height_width():
    encoder, _ = convolutional((2, 3, 4), 2, (5,), generator=seeded())
    image = torch.randn(1, 2, 3, 4, generator=seeded())
    assert torch.equal(encoder(image.flatten(1)), encoder[1:](image))


def test_the_convolutional_one_is_that_of_dcec():
    encoder, decoder = convolutional((28, 28))
    found = [layer for layer in encoder if isinstance(layer, nn.Conv2d)]
    assert [(one.out_channels, one.kernel_size[0]) for one in found] == [(32, 5), (64, 5), (128, 3)]
    found = [layer for layer in decoder if isinstance(layer, nn.ConvTranspose2d)]
    assert [(one.out_channels, one.kernel_size[0]) for one in found] == [(64, 3), (32, 5), (1, 5)]


def test_a_residual_block_starts_as_the_identity_and_can_leave_it():
    rows = torch.randn(4, 5, generator=seeded())
    block = Residual(5, generator=seeded())
    assert torch.equal(block(rows), rows)
    nn.init.eye_(block.second.weight)
    expected = rows + block.first(rows.relu()).relu()
    torch.testing.assert_close(block(rows), expected)


def test_state_dicts_carry_over(build):
    first, second = build(), build()
    for source, target in zip(first, second, strict=True):
        target.load_state_dict(source.state_dict())
    assert torch.equal(weights(first), weights(second))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mlp(0), ValueError, "n_features=0 must be at least 1."),
        (lambda: mlp(2.0), TypeError, "n_features=2.0 must be an integer."),
        (lambda: mlp(True), TypeError, "n_features=True must be an integer."),
        (lambda: mlp(4, -1), ValueError, "latent_dim=-1 must be at least 1."),
        (lambda: mlp(4, 2, (3, 0)), ValueError, r"hidden\[1\]=0 must be at least 1."),
        (lambda: mlp(4, 2, 3), TypeError, "hidden=3 must be a sequence of integers."),
        (lambda: mlp(4, generator=1), TypeError, "generator=1 must be a torch.Generator"),
        (lambda: convolutional((4,)), ValueError, r"image_shape=\(4,\) must be \(height, width\)"),
        (lambda: convolutional(28), TypeError, "image_shape=28 must be a sequence"),
        (lambda: convolutional((0, 4)), ValueError, r"image_shape\[0\]=0 must be at least 1."),
        (lambda: convolutional((4, 4), 2, ()), ValueError, r"channels=\(\) must have at least one"),
        (lambda: residual(4, width=0), ValueError, "width=0 must be at least 1."),
        (lambda: residual(4, depth="3"), TypeError, "depth='3' must be an integer."),
        (lambda: Residual(0), ValueError, "width=0 must be at least 1."),
    ],
)
def test_what_is_not_allowed_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_public_names_are_there():
    assert all(hasattr(autoencoders, name) for name in autoencoders.__all__)
