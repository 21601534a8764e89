"""
An autoencoder that clusters
============================

An associative memory between encoder and decoder.

The decoder sees latents that were carried to the memories part of the way, so the network finds
ten attractors that images can be rebuilt from. Run: python examples/torch_autoencoder.py
"""

import torch
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import normalized_mutual_info_score
from torch import nn

from amclust.torch import AssociativeMemory
from amclust.torch import functional as F

CLUSTERS, LATENT = 10, 8


def main(epochs=60):
    torch.manual_seed(0)
    X, y = load_digits(return_X_y=True)
    x = torch.tensor(X / 16, dtype=torch.float32)
    encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, LATENT))
    decoder = nn.Sequential(nn.Linear(LATENT, 128), nn.ReLU(), nn.Linear(128, 64))
    memory = AssociativeMemory(CLUSTERS, LATENT, n_steps=2, step_size=0.3)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)

    for epoch in range(epochs):
        if epoch == epochs // 2:  # the latent space has taken shape: place the memories
            latent = encoder(x).detach()
            centres = KMeans(CLUSTERS, n_init=10, random_state=0).fit(latent).cluster_centers_
            with torch.no_grad():
                memory.memories.copy_(torch.tensor(centres))
                near = torch.cdist(latent, memory.memories).min(1).values.square()
                memory.log_beta.fill_((2 / near.mean()).log())
            before = normalized_mutual_info_score(y, memory.assign(latent))
            optimizer.add_param_group({"params": memory.parameters(), "lr": 1e-2})
        for rows in torch.randperm(len(x)).split(256):
            latent = encoder(x[rows])
            loss = nn.functional.mse_loss(decoder(latent), x[rows])
            if epoch >= epochs // 2:
                recalled = nn.functional.mse_loss(decoder(memory(latent)), x[rows])
                clear = F.silhouette_loss(latent, memory.memories, memory.beta, tie=0.1)
                loss = loss + recalled + 0.01 * clear
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    after = normalized_mutual_info_score(y, memory.assign(encoder(x)))
    print(f"NMI of the clusters: {before:.3f} autoencoder + k-means, {after:.3f} with the memory")
    return before, after


if __name__ == "__main__":
    main()
