"""Small networks of every kind, in float64, for the tests of the torch layer."""

import torch

from amclust.torch import energies

DIM = 3
BETA = 0.7
N_STEPS = 4


def make_energies():
    """Return one energy of each kind, by name; their parameters are float64."""
    generator = torch.Generator().manual_seed(3)
    factor = torch.eye(DIM) + 0.3 * torch.randn(DIM, DIM, generator=generator)
    found = {
        "euclidean": energies.Euclidean(),
        "weighted": energies.Weighted(energies.Euclidean(), [0.5, 2.0, 1.0, 1.5]),
        "cosine": energies.Cosine(),
        "mahalanobis": energies.Mahalanobis(DIM, factor=factor),
        "low rank": energies.Mahalanobis(DIM, factor=factor[:, :2]),
        "kernel": energies.Kernel(DIM, 0.2, 64, generator=generator),
        "manhattan": energies.Manhattan(0.05),
        "epanechnikov": energies.Epanechnikov(),
    }
    return {name: energy.double() for name, energy in found.items()}


ENERGIES = list(make_energies())


def beta_of(name):
    """Return a temperature at which memories compete; balls of the compact energy overlap."""
    return {"cosine": 3.0, "kernel": 2.0, "epanechnikov": 0.08}.get(name, BETA)


def rows(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def holes(*shape, seed=0, share=0.3):
    """Return a mask with at least one coordinate of every row left."""
    missing = torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) < share
    missing[..., 0] &= ~missing.all(-1)
    return missing
