"""What missing values are likely to be, as tensors: the regressions of `amclust._completion`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from amclust._completion import Completion, Range, Regression

# As in the core: memories with less of a row are none of its.
NO_MEMBERSHIP = 1e-9
# Numbers that the covariances of some rows take at a time.
MAX_NUMBERS = 2**22


class Completer(nn.Module):
    """Completes rows by several mixtures of memories with covariances, whose answers it averages.

    All of it is in double precision: missing values are small differences of large numbers.
    """

    mean: Tensor
    spread: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, completion: Completion, inside: Range) -> None:
        super().__init__()
        self.mixtures = nn.ModuleList(
            _ByFactors(one) if one.loadings is not None else _ByPrecisions(one)
            for one in completion.regressions
        )
        for name, values in (
            ("mean", completion.mean),
            ("spread", completion.spread),
            ("low", inside.low),
            ("high", inside.high),
        ):
            hold(self, name, values)

    def forward(self, x: Tensor, missing: Tensor) -> Tensor:
        """Return rows (n, d) with their missing values filled, in original units."""
        if torch.compiler.is_compiling():  # no rows are chosen where shapes have to be known
            return self._filled(x, missing)
        incomplete = missing.any(-1).nonzero().squeeze(-1)
        if not len(incomplete):
            return x
        size = max(1, MAX_NUMBERS // x.shape[-1] ** 2)
        chunks = [self._filled(x[some], missing[some]) for some in incomplete.split(size)]
        return x.index_copy(0, incomplete, torch.cat(chunks))

    def _filled(self, x: Tensor, missing: Tensor) -> Tensor:
        known = torch.where(missing, 0.0, (x - self.mean) / self.spread)
        gone = missing.to(known.dtype)
        total = sum(mixture(known, gone) for mixture in self.mixtures)
        found = total / len(self.mixtures) * self.spread + self.mean
        found = found.maximum(self.low).minimum(self.high)
        return torch.where(missing, found.to(x.dtype), x)


class _ByPrecisions(nn.Module):
    """One mixture with full covariances: one for each memory, or one for all."""

    precisions: Tensor
    pulls: Tensor
    constants: Tensor
    log_parts: Tensor

    def __init__(self, mixture: Regression) -> None:
        super().__init__()
        assert mixture.precisions is not None
        precisions = mixture.precisions
        each = np.broadcast_to(precisions, (len(mixture.parts), *precisions.shape[1:]))
        pulls = np.einsum("mij,mj->mi", each, mixture.means)
        with np.errstate(divide="ignore"):
            log_parts = np.log(mixture.parts) + 0.5 * np.linalg.slogdet(each)[1]
        hold(self, "precisions", precisions)
        hold(self, "pulls", pulls)
        hold(self, "constants", (pulls * mixture.means).sum(1))
        hold(self, "log_parts", log_parts)

    def forward(self, x: Tensor, gone: Tensor) -> Tensor:
        """Return the missing values of rows, which are 0 in ``x`` and 1 in ``gone``."""
        shared = len(self.precisions) == 1
        hidden, logs = [], []
        kept = torch.diag_embed(1.0 - gone)
        both = gone.unsqueeze(-1) * gone.unsqueeze(-2)
        for number, precision in enumerate(self.precisions):
            own = slice(None) if shared else slice(number, number + 1)
            image = x @ precision
            lower = torch.linalg.cholesky(precision * both + kept)
            wanted = gone.unsqueeze(-1) * (self.pulls[own] - image.unsqueeze(-2)).mT
            found = torch.cholesky_solve(wanted, lower)
            energy = (x * image).sum(-1, keepdim=True) - 2.0 * (x @ self.pulls[own].mT)
            energy = energy + self.constants[own] - (wanted * found).sum(-2)
            narrower = lower.diagonal(dim1=-2, dim2=-1).log().sum(-1, keepdim=True)
            logs.append(self.log_parts[own] - narrower - 0.5 * energy.clamp(min=0.0))
            hidden.append(found)
        p = _memberships(torch.cat(logs, -1))
        return (torch.cat(hidden, -1) @ p.unsqueeze(-1)).squeeze(-1)


class _ByFactors(nn.Module):
    """One mixture whose covariance is that of a few factors, and noise."""

    means: Tensor
    loadings: Tensor
    noise: Tensor
    log_parts: Tensor
    outers: Tensor
    crossed: Tensor

    def __init__(self, mixture: Regression) -> None:
        super().__init__()
        assert mixture.loadings is not None
        assert mixture.noise is not None
        means, loadings, noise = mixture.means, mixture.loadings, mixture.noise
        d, rank = loadings.shape
        scaled = loadings / noise[:, None]
        with np.errstate(divide="ignore"):
            hold(self, "log_parts", np.log(mixture.parts))
        hold(self, "means", means)
        hold(self, "loadings", loadings)
        hold(self, "noise", noise)
        hold(self, "outers", (scaled[:, :, None] * loadings[:, None, :]).reshape(d, rank * rank))
        hold(self, "crossed", np.einsum("mj,ja->jma", means, scaled).reshape(d, -1))

    def forward(self, x: Tensor, gone: Tensor) -> Tensor:
        """Return the missing values of rows, which are 0 in ``x`` and 1 in ``gone``."""
        rank, seen, noise = self.loadings.shape[-1], 1.0 - gone, self.noise
        square = (seen @ self.outers).unflatten(-1, (rank, rank))
        lower = torch.linalg.cholesky(square + torch.eye(rank, dtype=x.dtype, device=x.device))
        pulled = (x / noise) @ self.loadings
        pulled = pulled.unsqueeze(-2) - (seen @ self.crossed).unflatten(-1, (-1, rank))
        energy = (x.square() / noise).sum(-1, keepdim=True) - 2.0 * (x @ (self.means / noise).mT)
        energy = energy + seen @ (self.means.square() / noise).mT
        factors = torch.cholesky_solve(pulled.mT, lower)
        energy = energy - (pulled * factors.mT).sum(-1)
        constant = 0.5 * (seen @ noise.log()) + lower.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        logs = self.log_parts - constant.unsqueeze(-1) - 0.5 * energy.clamp(min=0.0)
        p = _memberships(logs)
        mixed = (factors @ p.unsqueeze(-1)).squeeze(-1)
        return p @ self.means + mixed @ self.loadings.mT


def _memberships(logs: Tensor) -> Tensor:
    p = logs.softmax(-1)
    return torch.where(p > NO_MEMBERSHIP, p, 0.0)


def hold(module: nn.Module, name: str, values: NDArray[Any]) -> None:
    """Keep an array in a module as a part of what it is: not of its state, which is learned."""
    kind = torch.float64 if values.dtype.kind == "f" else None
    module.register_buffer(name, torch.tensor(values, dtype=kind), persistent=False)
