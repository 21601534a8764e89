"""A deep fit, epoch by epoch: pre-training, seeding, training; stopped and resumed at will."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from amclust.torch import functional
from amclust.torch.deep._network import DeepNetwork, Evaluation, silhouette
from amclust.torch.deep._objective import RECIPE, Batch, Recipe, total_loss
from amclust.torch.deep._pretraining import PretrainingState, pretrain
from amclust.torch.deep._schedule import Epoch, Schedule
from amclust.torch.deep._seeding import SEEDINGS


@dataclass(frozen=True)
class Plan:
    """The parameters of DeepClAM that training needs, by the same names."""

    n_clusters: int
    seeding: str
    beta: float | str
    pretrain_epochs: int
    pretrain_lr: float
    corruption: float
    batch_size: int
    encoder_lr: float
    decoder_lr: float
    memory_lr: float
    schedule: Schedule
    recipe: Recipe = RECIPE


class Training:
    """A fit in progress. Between two epochs its whole state can be had, saved and put back.

    Parameters
    ----------
    network : DeepNetwork
        Trained in place.
    rows : Tensor of shape (n_samples, n_features)
        On the device of the network.
    plan : Plan
        How to train.
    seed : int
        All that is drawn follows from it.
    """

    def __init__(self, network: DeepNetwork, rows: Tensor, plan: Plan, seed: int) -> None:
        self.network, self.rows, self.plan = network, rows, plan
        self.seed = seed
        self.generator = torch.Generator().manual_seed(seed)
        self.pretraining: PretrainingState | None = None
        self.history: list[Epoch] = []
        self.best: dict[str, Tensor] = {}
        self.targets: Tensor | None = None
        self.optimizer = self._new_optimizer()

    # --- the three stages -----------------------------------------------------------------------

    def run(self, after_epoch: Callable[[], None]) -> None:
        """Train to the end, from wherever this stands; call back after every epoch."""
        with _private_randomness(self.network.device):
            if not self.history:
                self._pretrain(after_epoch)
                self._place_memories()
                after_epoch()
            while not self.is_finished:
                self._train_epoch()
                after_epoch()
        self.network.load_state_dict(self.best)

    @property
    def is_finished(self) -> bool:
        """Whether no epoch is left."""
        return bool(self.history) and self.plan.schedule.is_finished(self.history)

    @property
    def pretrain_losses(self) -> list[float]:
        """Mean loss of every epoch of pre-training so far."""
        return [] if self.pretraining is None else self.pretraining["losses"]

    def _pretrain(self, after_epoch: Callable[[], None]) -> None:
        if self.plan.pretrain_epochs == 0:  # the modules may have nothing to train
            return

        def progress(state: PretrainingState) -> None:
            self.pretraining = state
            self._seed_layers(len(state["losses"]))
            after_epoch()

        self._seed_layers(len(self.pretrain_losses))
        pretrain(
            self.network.encoder,
            self.network.decoder,
            self.rows,
            epochs=self.plan.pretrain_epochs,
            batch_size=self.plan.batch_size,
            learning_rate=self.plan.pretrain_lr,
            corruption=self.plan.corruption,
            generator=self.generator,
            progress=progress,
            start=self.pretraining,
        )

    def _place_memories(self) -> None:
        """Put the memories where the seeding finds clusters among the latent rows."""
        plan, memory = self.plan, self.network.memory
        latents = self.network.evaluate(self.rows).latents.cpu()
        distinct = len(torch.unique(latents, dim=0))
        if not torch.isfinite(latents).all():
            msg = "encoder makes NaN or infinity of finite rows."
            raise FloatingPointError(msg)
        if distinct < plan.n_clusters:
            msg = (
                f"n_clusters={plan.n_clusters} must be at most the number of distinct latent rows, "
                f"which is {distinct} (n_samples={len(latents)})."
            )
            raise ValueError(msg)
        found = SEEDINGS[plan.seeding](latents.numpy(), plan.n_clusters, plan.beta, self.seed)
        with torch.no_grad():
            memory.memories.copy_(found.memories)
            memory.log_beta.fill_(math.log(found.beta))
        self.targets = None if found.targets is None else found.targets.to(self.rows.device)
        if self.pretraining is not None:  # only its losses matter from here on
            self.pretraining = {**self.pretraining, "optimizer": {}}
        # Memories live in latent space: their learning rate is in units of its spread.
        spread = (latents - latents.mean(dim=0)).square().mean().sqrt().item()
        self.optimizer = self._new_optimizer(spread)
        self._conclude(0, 0, math.nan)

    def _train_epoch(self) -> None:
        epoch = len(self.history)
        n_steps = self.plan.schedule.depth(epoch)
        self._seed_layers(self.plan.pretrain_epochs + epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"] * self.plan.schedule.rate(epoch)
        self.network.train()
        total = self.rows.new_zeros(())
        order = torch.randperm(len(self.rows), generator=self.generator).to(self.rows.device)
        for index in order.tensor_split(math.ceil(len(order) / self.plan.batch_size)):
            loss = total_loss(self._batch(index, n_steps), self.plan.recipe)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.detach() * len(index)
        self._conclude(epoch, n_steps, total.item() / len(self.rows))

    def _batch(self, index: Tensor, n_steps: int) -> Batch:
        network, memory = self.network, self.network.memory
        rows = self.rows[index]
        targets = None if self.targets is None else self.targets[index]
        latents = network.encoder(rows)
        recalled = functional.recall(
            latents, memory.memories, memory.beta, n_steps=n_steps, step_size=memory.step_size
        )
        return Batch(
            rows,
            latents,
            recalled,
            targets,
            network.decoder,
            memory,
            self.plan.schedule.guard(self.history),
            self.history[0].reconstruction,
        )

    def _conclude(self, epoch: int, n_steps: int, loss: float) -> None:
        """Judge the network as it is now, keep it if it is the best, fill empty clusters anew."""
        found = self.network.evaluate(self.rows)
        if not math.isfinite(found.reconstruction + found.recalled_reconstruction):
            msg = (
                f"The reconstruction loss is no longer finite after epoch {epoch}; lower "
                "encoder_lr, decoder_lr and memory_lr, or scale X."
            )
            raise FloatingPointError(msg)
        k = self.plan.n_clusters
        living = int(torch.count_nonzero(found.counts(k)))
        score = (
            silhouette(found.latents.cpu().numpy(), found.labels.cpu().numpy())
            if k > 1
            else math.nan
        )
        self.history.append(
            Epoch(
                epoch,
                n_steps,
                loss,
                found.reconstruction,
                found.recalled_reconstruction,
                score,
                living,
            )
        )
        if self.plan.schedule.best(self.history) == epoch:
            self.best = {name: value.clone() for name, value in self.network.state_dict().items()}
        if living < k:
            self._revive(found)

    def _revive(self, found: Evaluation) -> None:
        """Put memories that no row falls to where rows are far from their own."""
        memories = self.network.memory.memories
        empty = (found.counts(len(memories)) == 0).nonzero().flatten()
        with torch.no_grad():
            far = (found.latents - memories[found.labels]).square().sum(dim=1).cpu()
            if torch.count_nonzero(far) < len(empty):
                return
            drawn = torch.multinomial(far, len(empty), generator=self.generator)
            memories[empty] = found.latents[drawn.to(empty.device)]
            moments = self.optimizer.state[memories]
            for name in ("exp_avg", "exp_avg_sq"):
                if name in moments:
                    moments[name][empty] = 0.0

    # --- state ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return all that the rest of the fit depends on; the tensors are the living ones."""
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "seed": self.seed,
            "pretraining": self.pretraining,
            "history": [list(record) for record in self.history],
            "best": self.best,
            "targets": self.targets,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state that `state_dict` returned."""
        if state["best"]:  # refused here if it does not fit
            self.network.load_state_dict(state["best"])
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        self.seed = state["seed"]
        self.pretraining = state["pretraining"]
        self.history = [Epoch(*record) for record in state["history"]]
        self.best = state["best"]
        targets = state["targets"]
        self.targets = None if targets is None else targets.to(self.rows.device)

    def _new_optimizer(self, latent_spread: float = 1.0) -> torch.optim.Optimizer:
        plan, network = self.plan, self.network
        encoder = list(network.encoder.parameters())
        shared = set(encoder)  # weights that both have are the encoder's
        decoder = [weight for weight in network.decoder.parameters() if weight not in shared]
        groups = [
            {"params": encoder, "initial_lr": plan.encoder_lr},
            {"params": decoder, "initial_lr": plan.decoder_lr},
            {"params": [network.memory.memories], "initial_lr": plan.memory_lr * latent_spread},
        ]
        return torch.optim.Adam(groups, fused=True)

    def _seed_layers(self, epoch: int) -> None:
        """Seed what dropout and the like draw from, for an epoch of pre-training or training."""
        seed = (self.seed + epoch * 1_000_003) % 2**63
        torch.default_generator.manual_seed(seed)
        if self.network.device.type == "cuda":
            torch.cuda.manual_seed(seed)


@contextmanager
def _private_randomness(device: torch.device) -> Iterator[None]:
    """Put torch's global generators back at the end: layers like dropout know no others."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        yield
