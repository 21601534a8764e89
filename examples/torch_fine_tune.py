"""
A fitted clusterer, fine-tuned in a network
===========================================

From `ClAM` to torch and back: a few labels move the memories.

Digits with missing pixels are clustered. The network goes into a classifier, is trained with it on
200 labelled rows, and comes back as a `ClAM` that predicts, saves and reports.
Run: python examples/torch_fine_tune.py
"""

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score, confusion_matrix
from sklearn.model_selection import train_test_split
from torch import nn

from amclust import ClAM, Network


def main(steps=120):
    torch.manual_seed(0)
    X, y = load_digits(return_X_y=True)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    some, others = train_test_split(np.arange(len(X)), train_size=200, random_state=0, stratify=y)
    fitted = ClAM(10, scale=None, n_init=2, random_state=0).fit(X)

    memory = fitted.network_.to_torch(learn_beta=True)  # rows in original units, NaN and all
    head = nn.Linear(64, 10)  # tells digits from what the memories make of a row
    x, target = memory.complete(torch.tensor(X[some])), torch.tensor(y[some])  # once is enough
    # Which cluster is to be which digit.
    digit = linear_sum_assignment(-confusion_matrix(y[some], fitted.predict(X[some])))[1]
    cluster = torch.tensor(digit)[target]
    groups = [{"params": memory.parameters(), "lr": 2e-2}, {"params": head.parameters()}]
    optimizer = torch.optim.Adam(groups, lr=1e-2)
    for _ in range(steps):
        shares = memory.memberships(x).clamp(min=1e-6).log()
        loss = nn.functional.nll_loss(shares, cluster)
        loss = loss + nn.functional.cross_entropy(head(memory(x).float()), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    tuned = ClAM.from_network(Network.from_torch(memory), X)
    before, after = (adjusted_rand_score(y[others], m.predict(X[others])) for m in (fitted, tuned))
    print(f"ARI of the rows without labels: {before:.3f} fitted, {after:.3f} fine-tuned")
    return before, after, tuned


if __name__ == "__main__":
    main()
