"""
A classifier that thinks in prototypes
======================================

An associative memory between encoder and head.

Every image is carried towards one of 30 learned memories and classified by what it has become, so a
prediction can be explained by showing the memory. Run: python examples/torch_classifier.py
"""

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from amclust.torch import AssociativeMemory

CLASSES, MEMORIES, LATENT = 10, 30, 16


def main(epochs=40):
    torch.manual_seed(0)
    X, y = load_digits(return_X_y=True)
    split = train_test_split(X / 16, y, test_size=0.3, random_state=0, stratify=y)
    train_x, test_x = (torch.tensor(part, dtype=torch.float32) for part in split[:2])
    train_y, test_y = (torch.tensor(part) for part in split[2:])

    encoder = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, LATENT))
    memory = AssociativeMemory(MEMORIES, LATENT, n_steps=3, learn_beta=True)
    head = nn.Linear(LATENT, CLASSES)
    model = nn.Sequential(encoder, head)
    optimizer = torch.optim.Adam([*model.parameters(), *memory.parameters()], lr=3e-3)
    for epoch in range(epochs):
        if epoch == epochs // 4:  # the latent space has taken shape: put the memory in
            with torch.no_grad():
                latent = encoder(train_x)
                memory.seed_(latent)
                near = torch.cdist(latent, memory.memories).min(1).values.square()
                memory.log_beta.fill_((1 / near.mean()).log())
            model = nn.Sequential(encoder, memory, head)
        for rows in torch.randperm(len(train_x)).split(128):
            loss = nn.functional.cross_entropy(model(train_x[rows]), train_y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    with torch.no_grad():
        accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
        # What the head says of the memories themselves: the class each prototype stands for.
        meaning = head(memory.memories).argmax(1)
        explained = (meaning[memory.assign(encoder(test_x))] == test_y).float().mean().item()
    print(f"test accuracy {accuracy:.3f}, by the class of the prototype alone {explained:.3f}")
    return accuracy, explained


if __name__ == "__main__":
    main()
