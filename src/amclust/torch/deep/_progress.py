"""Progress of a deep fit on standard error, when asked for."""

from __future__ import annotations

from amclust._progress import ProgressLine, finish
from amclust.torch.deep._training import Training


class EpochLine:
    """The line that says which epoch is behind, and what it led to."""

    def __init__(self, verbose: int) -> None:
        self._verbose = verbose
        self._line = ProgressLine() if verbose else None

    def resume(self, training: Training, path: str) -> None:
        """Say where a training goes on."""
        finish(self._verbose, f"DeepClAM: goes on from {path}: {_words(training)}")

    def show(self, training: Training) -> None:
        """Say where a training stands: at verbose 1 now and then, at 2 after every epoch."""
        if self._line is not None and (self._verbose > 1 or self._line.is_due()):
            self._line.show(f"DeepClAM: {_words(training)}")

    def finish(self, training: Training) -> None:
        """Say what was kept."""
        chosen = training.plan.schedule.best(training.history)
        finish(
            self._verbose,
            f"DeepClAM: kept {_words(training, chosen)} ({len(training.history) - 1} trained)",
        )


def _words(training: Training, epoch: int = -1) -> str:
    plan, history = training.plan, training.history
    if not history:
        losses = training.pretrain_losses
        return f"pre-training, epoch {len(losses)} of {plan.pretrain_epochs}, loss {losses[-1]:.5g}"
    record = history[epoch]
    ratio = record.reconstruction / history[0].reconstruction if history[0].reconstruction else 1.0
    return (
        f"epoch {record.epoch} of {plan.schedule.max_epochs}, recalled reconstruction "
        f"{record.recalled_reconstruction:.5g}, reconstruction {ratio:.3f} of pre-training's, "
        f"silhouette {record.silhouette:.4f}, {record.living_clusters} living clusters"
    )
