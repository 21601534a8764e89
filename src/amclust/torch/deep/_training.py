"""A deep fit, epoch by epoch: pre-training, seeding, training; stopped and resumed at will."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from amclust.torch import functional
from amclust.torch.deep._network import DeepNetwork, Evaluation, mean_square, silhouette
from amclust.torch.deep._pretraining import PretrainingState, pretrain
from amclust.torch.deep._seeding import SEEDINGS
from amclust.torch.layer import AssociativeMemory

# --- what is minimised: a recipe of weighted terms, each a small function of one batch ------------


class Batch(NamedTuple):
    """Rows and what the network made of them; a term takes from it what it needs."""

    rows: Tensor
    latents: Tensor  # encoder(rows)
    recalled: Tensor  # the latents after the steps of this epoch
    targets: Tensor | None  # memberships to agree with, if the seeding gave any
    decoder: nn.Module
    memory: AssociativeMemory
    guard: float  # what the autoencoder's own loss counts in this epoch
    unit: float  # the reconstruction loss after pre-training: what other terms are measured in
    observed: Tensor | None = None  # which entries of the rows are values; None: all


Term = Callable[[Batch], Tensor]
Recipe = Sequence[tuple[float, Term]]


def recalled_reconstruction(batch: Batch) -> Tensor:
    """Compare rows with what the decoder makes of their recalled latents: the objective proper.

    It ties the representation to the clusters, since little but the memory is left of a row.
    """
    return mean_square(batch.decoder(batch.recalled), batch.rows, batch.observed)


def reconstruction(batch: Batch) -> Tensor:
    """Compare rows with what the decoder makes of their own latents: what the bound is on."""
    return batch.guard * mean_square(batch.decoder(batch.latents), batch.rows, batch.observed)


def agreement(batch: Batch) -> Tensor:
    """Compare memberships with the targets (cross-entropy): rows of a cluster come together."""
    if batch.targets is None:
        return batch.rows.new_zeros(())
    memory = batch.memory
    logits = memory.energy_function.logits(batch.latents, memory.memories, memory.beta)
    return batch.unit * F.cross_entropy(logits, batch.targets)


RECIPE: Recipe = ((0.5, recalled_reconstruction), (1.0, reconstruction), (3.0, agreement))


def total_loss(batch: Batch, recipe: Recipe) -> Tensor:
    """Return the weighted sum of a recipe's terms."""
    total = batch.rows.new_zeros(())
    for weight, term in recipe:
        total = total + weight * term(batch)
    return total


# --- how epochs go: how deep the recall is, which epoch is kept, when to stop ---------------------


class Epoch(NamedTuple):
    """What an epoch led to; epoch 0 is what pre-training and seeding gave."""

    epoch: int
    n_steps: int  # of the recall that was trained; 0 in epoch 0
    loss: float  # mean over the epoch, while the weights change; NaN in epoch 0
    reconstruction: float  # of decoder(encoder(x)), after it
    recalled_reconstruction: float  # of decoder(recall(encoder(x))) at full depth, after it
    silhouette: float
    living_clusters: int


_KINDS = {int: np.int64, float: np.float64}
HISTORY_DTYPE = np.dtype(
    [(name, _KINDS[kind]) for name, kind in get_type_hints(Epoch).items()] + [("chosen", np.bool_)]
)

# By how much the autoencoder's own loss counts more after an epoch half way to the bound.
GUARD_FACTOR = 1.5


class Schedule(NamedTuple):
    """Decisions that depend on nothing but the epochs so far, so that a resumed fit makes them too.

    The recall deepens from one step to `n_steps` over the first part `deepen` of the epochs.
    """

    max_epochs: int
    n_steps: int
    deepen: float
    max_reconstruction: float
    patience: int

    @property
    def deepening_epochs(self) -> int:
        """Return how many epochs have fewer steps than `n_steps`."""
        return 0 if self.n_steps == 1 else round(self.deepen * self.max_epochs)

    def depth(self, epoch: int) -> int:
        """Return the steps of the recall in an epoch, the first being 1."""
        behind = epoch - 1
        if behind >= self.deepening_epochs:
            return self.n_steps
        return 1 + behind * (self.n_steps - 1) // self.deepening_epochs

    def rate(self, epoch: int) -> float:
        """Return the learning rate of an epoch as a part of the first: half a cosine down to 0."""
        return (1 + math.cos(math.pi * (epoch - 1) / self.max_epochs)) / 2

    def guard(self, history: Sequence[Epoch]) -> float:
        """Return what the autoencoder's own loss counts: more after epochs near the bound."""
        near = (1 + self.max_reconstruction) / 2 * history[0].reconstruction
        return GUARD_FACTOR ** sum(record.reconstruction > near for record in history)

    def best(self, history: Sequence[Epoch]) -> int:
        """Return the epoch to keep: the best silhouette within the bound, without empty clusters.

        Where all epochs have empty clusters, it has as few as possible. Epoch 0 is within the
        bound; it is kept only where no other epoch is its equal in these.
        """
        bound = self.max_reconstruction * history[0].reconstruction

        def rank(record: Epoch) -> tuple[bool, int, bool, float]:
            # A single cluster has no silhouette.
            score = record.silhouette
            score = -record.recalled_reconstruction if math.isnan(score) else score
            within = record.reconstruction <= bound
            return within, record.living_clusters, record.epoch > 0, score

        return max(range(len(history)), key=lambda epoch: rank(history[epoch]))

    def is_finished(self, history: Sequence[Epoch]) -> bool:
        """Whether all epochs are behind, or none was better for `patience` epochs of full depth."""
        behind = len(history) - 1
        waited = behind - max(self.best(history), self.deepening_epochs)
        return behind >= self.max_epochs or waited >= self.patience


def history_table(history: Sequence[Epoch], chosen: int) -> NDArray[np.void]:
    """One row an epoch, as a structured array."""
    rows = [(*record, record.epoch == chosen) for record in history]
    return np.array(rows, dtype=HISTORY_DTYPE)


# --- the fit --------------------------------------------------------------------------------------


class Plan(NamedTuple):
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

    The network is trained in place, on rows that are on its device; all that is drawn follows from
    the seed. Entries that were not `observed` are seen by the encoder, and not compared.
    """

    def __init__(
        self,
        network: DeepNetwork,
        rows: Tensor,
        plan: Plan,
        seed: int,
        observed: Tensor | None = None,
    ) -> None:
        self.network, self.rows, self.plan, self.observed = network, rows, plan, observed
        self.seed = seed
        self.generator = torch.Generator().manual_seed(seed)
        self.pretraining: PretrainingState | None = None
        self.history: list[Epoch] = []
        self.best: dict[str, Tensor] = {}
        self.targets: Tensor | None = None
        self.optimizer = self._new_optimizer()

    def run(self, after_epoch: Callable[[], None]) -> None:
        """Train to the end, from wherever this stands; call back after every epoch."""
        # Layers like dropout draw from torch's global generators, which are put back at the end.
        device = self.network.device
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
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

    def describe(self, epoch: int = -1) -> str:
        """Say what an epoch led to; the last one, if no other is asked for."""
        plan, history = self.plan, self.history
        if not history:
            losses = self.pretrain_losses
            epochs = f"epoch {len(losses)} of {plan.pretrain_epochs}"
            return f"pre-training, {epochs}, loss {losses[-1]:.5g}"
        record, first = history[epoch], history[0].reconstruction
        ratio = record.reconstruction / first if first else 1.0
        return (
            f"epoch {record.epoch} of {plan.schedule.max_epochs}, recalled reconstruction "
            f"{record.recalled_reconstruction:.5g}, reconstruction {ratio:.3f} of pre-training's, "
            f"silhouette {record.silhouette:.4f}, {record.living_clusters} non-empty clusters"
        )

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
            observed=self.observed,
        )

    def _place_memories(self) -> None:
        """Put the memories where the seeding finds clusters among the latent rows."""
        plan, memory = self.plan, self.network.memory
        latents = self.network.evaluate(self.rows, self.observed).latents.cpu()
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
            None if self.observed is None else self.observed[index],
        )

    def _conclude(self, epoch: int, n_steps: int, loss: float) -> None:
        """Judge the network as it is now, keep it if it is the best, fill empty clusters anew."""
        found = self.network.evaluate(self.rows, self.observed)
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

    def state_dict(self) -> dict[str, Any]:
        """Return all that the rest of the fit depends on; the tensors are those in use."""
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
