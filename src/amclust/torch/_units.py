"""Original units and core units as tensors: `Geometry` for rows that gradients go through."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from amclust._geometry import SHARPNESS, Geometry, Whitening
from amclust._winsorising import Limits
from amclust.torch._completion import Completer, hold


class CoreRows(NamedTuple):
    """Rows as the network takes them."""

    x: Tensor
    missing: Tensor | None  # what is left to the memories; None: nothing


class Units(nn.Module):
    """How rows in original units become rows in core units, and states come back.

    What rows are is a part of a network, and not learned: a state dict does not have it.

    Parameters
    ----------
    geometry : Geometry
        That of a fitted network.

    Attributes
    ----------
    completer : Completer or None
        What missing values are likely to be; None: they are left to the memories.

    counted : Tensor of shape (n_features,)
        What part of a column that counts each feature is.

    distance_unit : float
        What one unit of the core's distances, and so of energy, is in original units.
    """

    offset: Tensor
    scale: Tensor
    fill: Tensor
    counted: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, geometry: Geometry) -> None:
        super().__init__()
        self.geometry = geometry
        self.distance_unit = geometry.distance_unit
        low, high = geometry.range
        counted = (geometry.scale > 0).astype(np.float64)
        if geometry.categories is not None:
            counted *= geometry.categories.parts
        for name, values in (
            ("counted", counted),
            ("offset", geometry.offset),
            ("scale", geometry.scale),
            ("fill", geometry.fill),
            ("low", low),
            ("high", high),
        ):
            hold(self, name, values)
        whitening, limits, completion = geometry.whitening, geometry.limits, geometry.completion
        self.whitening = None if whitening is None else _Whitening(whitening)
        self.limits = None if limits is None else _Limits(limits)
        self.completer = None if completion is None else Completer(completion, geometry.range)

    def extra_repr(self) -> str:
        """Return what kind of units these are, for the printed form."""
        return f"metric={self.geometry.metric!r}, scaling={self.geometry.scaling!r}"

    def forward(self, x: Tensor, missing: Tensor | None = None) -> CoreRows:
        """Bring rows (n, d) into core units, completed where that is known.

        Missing values are NaN, or marked.
        """
        x, gone = self._seen(x, missing)
        if self.limits is not None:
            x, gone = self.limits(x, gone)
        if gone is None:
            return CoreRows(self.to_core(x), None)
        if self.completer is not None and self.geometry.reads_completed:
            return CoreRows(self.to_core(self.completer(x, gone)), None)
        if self.whitening is not None:
            message = "This network does not know what missing values are likely to be."
            raise ValueError(message)
        return CoreRows(torch.where(gone, 0.0, self.to_core(x)), gone)

    def observed(self, x: Tensor, missing: Tensor | None = None) -> CoreRows:
        """Bring the values that there are into core units, whether they are believed or not."""
        x, gone = self._seen(x, missing)
        if self.limits is not None:
            x = self.limits.inside(x)
        x = self.to_core(x)
        return CoreRows(x if gone is None else torch.where(gone, 0.0, x), gone)

    def complete(self, x: Tensor, missing: Tensor) -> Tensor:
        """Return rows in original units with their missing values filled, by the completer."""
        assert self.completer is not None
        seen, gone = self._seen(x, missing)
        if gone is None:
            return x
        lacking = gone
        if self.limits is not None:
            seen, lacking = self.limits(seen, gone)
        return torch.where(gone, self.completer(seen, lacking).to(x.dtype), x)

    def to_core(self, x: Tensor) -> Tensor:
        """Bring complete rows into core units."""
        if self.whitening is not None:
            x = (x - self.whitening.mean) @ self.whitening.there
        return (x - self.offset) * self.scale

    def to_original(self, states: Tensor) -> Tensor:
        """Bring states back to original units; columns of weight 0 are at the offset."""
        x = states / torch.where(self.scale > 0, self.scale, math.inf) + self.offset
        return x if self.whitening is None else x @ self.whitening.back + self.whitening.mean

    def centers(self, memories: Tensor) -> Tensor:
        """Return memories in original units; of categories shares, as `Geometry.centers` does."""
        x, layout = self.to_original(memories), self.geometry.categories
        if layout is None or not self.geometry.log_levels:
            return x
        widths = layout.widths.tolist()
        blocks = [
            (SHARPNESS * block).softmax(-1) if levels is not None else block
            for block, levels in zip(x.split(widths, dim=-1), layout.levels, strict=True)
        ]
        return torch.cat(blocks, dim=-1)

    def within(self, x: Tensor) -> Tensor:
        """Return completed values inside the range of the observed ones."""
        return x.maximum(self.low).minimum(self.high)

    def _seen(self, x: Tensor, missing: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return rows without NaN, in the precision of the units, and what is missing."""
        gone = x.isnan() if missing is None else missing | x.isnan()
        x = x.to(torch.promote_types(x.dtype, self.offset.dtype))
        if not torch.compiler.is_compiling() and not bool(gone.any()):
            return x, None
        # Some number: the gradient of NaN times 0 would be NaN.
        middle = self.offset if self.whitening is None else self.whitening.mean
        return torch.where(gone, middle, x), gone


class _Whitening(nn.Module):
    mean: Tensor
    there: Tensor
    back: Tensor

    def __init__(self, whitening: Whitening) -> None:
        super().__init__()
        hold(self, "mean", whitening.mean)
        hold(self, "there", whitening.forward)
        hold(self, "back", whitening.backward)


class _Limits(nn.Module):
    """The ranges that values of columns are brought into, and which are not believed."""

    low: Tensor
    high: Tensor
    believed_low: Tensor
    believed_high: Tensor

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        for name in ("low", "high", "believed_low", "believed_high"):
            hold(self, name, getattr(limits, name))

    def inside(self, x: Tensor) -> Tensor:
        return x.maximum(self.low).minimum(self.high)

    def forward(self, x: Tensor, gone: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return rows within the limits; what is not believed is missing, unless all of it is."""
        there = torch.ones_like(x, dtype=torch.bool) if gone is None else ~gone
        believed = (x >= self.believed_low) & (x <= self.believed_high) & there
        doubted = there & ~believed & believed.any(-1, keepdim=True)
        x = self.inside(x)
        if gone is not None:
            return x, gone | doubted
        if not torch.compiler.is_compiling() and not bool(doubted.any()):
            return x, None
        return x, doubted
