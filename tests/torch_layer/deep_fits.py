"""Small deep fits, and what makes two of them the same."""

import torch
from numpy.testing import assert_array_equal
from torch import nn

from amclust.torch import autoencoders
from amclust.torch.deep import DeepClAM

SMALL = {"latent_dim": 3, "pretrain_epochs": 3, "max_epochs": 4, "random_state": 0}


def small(n_clusters=3, encoder=(16,), decoder=None, **parameters):
    return DeepClAM(n_clusters, encoder, decoder, **{**SMALL, **parameters})


def modules(n_features=6, seed=0):
    """A pair with layers that draw (dropout) and remember (batch normalisation)."""
    draws = torch.Generator().manual_seed(seed)
    encoder, decoder = autoencoders.mlp(n_features, 3, (8,), generator=draws)
    return nn.Sequential(encoder, nn.BatchNorm1d(3)), nn.Sequential(decoder, nn.Dropout(0.1))


def assert_same_fit(one, other):
    assert_array_equal(one.labels_, other.labels_)
    for name in one.history_.dtype.names:
        assert_array_equal(one.history_[name], other.history_[name])
    assert_array_equal(one.pretrain_loss_curve_, other.pretrain_loss_curve_)
    there = other._network.state_dict()
    for name, value in one._network.state_dict().items():
        assert torch.equal(value, there[name]), name
