"""Ready autoencoders for deep clustering: plain modules over flat rows, in pairs.

Every function returns ``(encoder, decoder)``. The encoder takes rows ``(n, n_features)`` to the
latent space ``(n, latent_dim)``, the decoder takes them back. Neither output is squashed: latent
coordinates may lie anywhere, and so may the values of a table. Any other pair of modules that does
the same can stand in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

__all__ = ["Residual", "convolutional", "mlp", "residual"]

_Layer = TypeVar("_Layer", nn.Linear, nn.Conv2d, nn.ConvTranspose2d)
_STRIDE = 2


def mlp(
    n_features: int,
    latent_dim: int = 10,
    hidden: Sequence[int] = (500, 500, 2000),
    *,
    generator: torch.Generator | None = None,
) -> tuple[nn.Sequential, nn.Sequential]:
    """Return the usual fully connected autoencoder of deep clustering.

    Parameters
    ----------
    n_features : int
        Length of a row.
    latent_dim : int, default=10
        Length of a latent row.
    hidden : sequence of int, default=(500, 500, 2000)
        Widths of the encoder's hidden layers, each with a ReLU; the decoder has them in reverse.
        Without any, both are linear.
    generator : torch.Generator, default=None
        Where the initial weights are drawn from, and on which device; None: torch's own, which
        ``torch.manual_seed`` sets.

    Returns
    -------
    encoder, decoder : torch.nn.Sequential
        From ``(n, n_features)`` to ``(n, latent_dim)``, and back.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch.autoencoders import mlp
    >>> encoder, decoder = mlp(64, latent_dim=3, hidden=(32, 16))
    >>> latent = encoder(torch.zeros(5, 64))
    >>> latent.shape, decoder(latent).shape
    (torch.Size([5, 3]), torch.Size([5, 64]))
    """
    widths = [
        _positive("n_features", n_features),
        *_all_positive("hidden", hidden),
        _positive("latent_dim", latent_dim),
    ]
    generator = _own(generator)
    return _perceptron(widths, generator), _perceptron(widths[::-1], generator)


def convolutional(
    image_shape: Sequence[int],
    latent_dim: int = 10,
    channels: Sequence[int] = (32, 64, 128),
    *,
    generator: torch.Generator | None = None,
) -> tuple[nn.Sequential, nn.Sequential]:
    """Return a small convolutional autoencoder, that of DCEC, for images of any size.

    The encoder halves height and width in every convolution (5 × 5, the last 3 × 3, each with a
    ReLU) and ends in a linear layer; the decoder goes back through transposed convolutions.

    Parameters
    ----------
    image_shape : sequence of int
        ``(height, width)`` or ``(channels, height, width)``.
    latent_dim : int, default=10
        Length of a latent row.
    channels : sequence of int, default=(32, 64, 128)
        Channels of the encoder's convolutions, at least one.
    generator : torch.Generator, default=None
        Where the initial weights are drawn from, and on which device; None: torch's own, which
        ``torch.manual_seed`` sets.

    Returns
    -------
    encoder, decoder : torch.nn.Sequential
        From flat rows ``(n, channels * height * width)`` to ``(n, latent_dim)``, and back to flat
        rows.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch.autoencoders import convolutional
    >>> encoder, decoder = convolutional((7, 5), latent_dim=3, channels=(8, 16))
    >>> latent = encoder(torch.zeros(4, 35))
    >>> latent.shape, decoder(latent).shape
    (torch.Size([4, 3]), torch.Size([4, 35]))
    """
    image = _image(image_shape)
    latent_dim = _positive("latent_dim", latent_dim)
    channels = _all_positive("channels", channels)
    if not channels:
        msg = "channels=() must have at least one entry."
        raise ValueError(msg)
    generator = _own(generator)

    # The images between the layers, from the input to the smallest.
    shapes = [image]
    for depth in channels:
        _, height, width = shapes[-1]
        shapes.append((depth, -(-height // _STRIDE), -(-width // _STRIDE)))
    smallest = shapes[-1]
    n_values = smallest[0] * smallest[1] * smallest[2]

    encoder: list[nn.Module] = [nn.Unflatten(1, image)]
    for larger, smaller in pairwise(shapes):
        encoder += [_convolution(larger, smaller, smaller == smallest, generator), nn.ReLU()]
    encoder += [nn.Flatten(), _linear(n_values, latent_dim, generator)]

    decoder: list[nn.Module] = [_linear(latent_dim, n_values, generator), nn.ReLU()]
    decoder.append(nn.Unflatten(1, smallest))
    for smaller, larger in pairwise(shapes[::-1]):
        decoder += [_expansion(smaller, larger, smaller == smallest, generator), nn.ReLU()]
    decoder[-1] = nn.Flatten()  # in the place of the last ReLU: the output is linear
    return nn.Sequential(*encoder), nn.Sequential(*decoder)


def residual(
    n_features: int,
    latent_dim: int = 10,
    width: int = 500,
    depth: int = 3,
    *,
    generator: torch.Generator | None = None,
) -> tuple[nn.Sequential, nn.Sequential]:
    """Return an autoencoder of residual blocks, which start as the identity.

    Parameters
    ----------
    n_features : int
        Length of a row.
    latent_dim : int, default=10
        Length of a latent row.
    width : int, default=500
        Width of the blocks.
    depth : int, default=3
        Number of blocks in the encoder, and in the decoder.
    generator : torch.Generator, default=None
        Where the initial weights are drawn from, and on which device; None: torch's own, which
        ``torch.manual_seed`` sets.

    Returns
    -------
    encoder, decoder : torch.nn.Sequential
        From ``(n, n_features)`` to ``(n, latent_dim)``, and back.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch.autoencoders import residual
    >>> encoder, decoder = residual(64, latent_dim=3, width=32, depth=2)
    >>> latent = encoder(torch.zeros(5, 64))
    >>> latent.shape, decoder(latent).shape
    (torch.Size([5, 3]), torch.Size([5, 64]))
    """
    n_features = _positive("n_features", n_features)
    latent_dim = _positive("latent_dim", latent_dim)
    width, depth = _positive("width", width), _positive("depth", depth)
    generator = _own(generator)

    def stack(inputs: int, outputs: int) -> nn.Sequential:
        blocks = [Residual(width, generator=generator) for _ in range(depth)]
        last = _linear(width, outputs, generator)
        return nn.Sequential(_linear(inputs, width, generator), *blocks, nn.ReLU(), last)

    return stack(n_features, latent_dim), stack(latent_dim, n_features)


class Residual(nn.Module):
    """Two linear layers beside a straight path: x + W₂ relu(W₁ relu(x)).

    The second layer starts at zero, so the block starts as the identity.

    Parameters
    ----------
    width : int
        Length of a row, in and out.
    generator : torch.Generator, default=None
        Where the initial weights are drawn from, and on which device; None: torch's own, which
        ``torch.manual_seed`` sets.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch.autoencoders import Residual
    >>> Residual(3)(torch.tensor([[1.0, -2.0, 0.5]]))
    tensor([[ 1.0000, -2.0000,  0.5000]], grad_fn=<AddBackward0>)
    """

    def __init__(self, width: int, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        width = _positive("width", width)
        generator = _own(generator)
        self.first = _linear(width, width, generator)
        self.second = _linear(width, width, generator)
        for values in self.second.parameters():
            nn.init.zeros_(values)

    def forward(self, x: Tensor) -> Tensor:
        """Return x with the block's change added."""
        change: Tensor = self.second(self.first(x.relu()).relu())
        return x + change


def _perceptron(widths: Sequence[int], generator: torch.Generator) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [_linear(inputs, outputs, generator), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    return _drawn(nn.Linear(inputs, outputs, device="meta"), inputs, generator)


def _convolution(
    larger: Sequence[int], smaller: Sequence[int], is_last: bool, generator: torch.Generator
) -> nn.Conv2d:
    kernel = 3 if is_last else 5
    layer = nn.Conv2d(
        larger[0], smaller[0], kernel, stride=_STRIDE, padding=kernel // 2, device="meta"
    )
    return _drawn(layer, larger[0] * kernel**2, generator)


def _expansion(
    smaller: Sequence[int], larger: Sequence[int], is_first: bool, generator: torch.Generator
) -> nn.ConvTranspose2d:
    kernel = 3 if is_first else 5
    layer = nn.ConvTranspose2d(
        smaller[0],
        larger[0],
        kernel,
        stride=_STRIDE,
        padding=kernel // 2,
        # Both 2m - 1 and 2m were halved to m.
        output_padding=(1 - larger[1] % _STRIDE, 1 - larger[2] % _STRIDE),
        device="meta",
    )
    # Of the kernel's entries one in stride² meets a given pixel.
    return _drawn(layer, smaller[0] * kernel**2 / _STRIDE**2, generator)


def _drawn(layer: _Layer, fan_in: float, generator: torch.Generator) -> _Layer:
    """Draw weights and biases as torch does, uniformly within ±1/√fan_in.

    The layer comes without storage: its constructor would draw from torch's global generator.
    """
    layer.to_empty(device=generator.device)
    bound = fan_in**-0.5
    for values in layer.parameters():
        nn.init.uniform_(values, -bound, bound, generator=generator)
    return layer


def _own(generator: torch.Generator | None) -> torch.Generator:
    """Return the generator, or torch's own."""
    if generator is None:
        return torch.default_generator
    if not isinstance(generator, torch.Generator):
        msg = f"generator={generator!r} must be a torch.Generator or None."
        raise TypeError(msg)
    return generator


def _image(image_shape: Sequence[int]) -> tuple[int, int, int]:
    sides = _all_positive("image_shape", image_shape)
    if len(sides) not in (2, 3):
        msg = (
            f"image_shape={tuple(sides)} must be (height, width) or (channels, height, width), "
            f"got {len(sides)} entries."
        )
        raise ValueError(msg)
    return (1, sides[0], sides[1]) if len(sides) == 2 else (sides[0], sides[1], sides[2])


def _all_positive(name: str, values: Any) -> list[int]:
    try:
        entries = list(values)
    except TypeError:
        msg = f"{name}={values!r} must be a sequence of integers."
        raise TypeError(msg) from None
    return [_positive(f"{name}[{place}]", value) for place, value in enumerate(entries)]


def _positive(name: str, value: Any) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool):
        msg = f"{name}={value!r} must be an integer."
        raise TypeError(msg)
    if value < 1:
        msg = f"{name}={value} must be at least 1."
        raise ValueError(msg)
    return int(value)
