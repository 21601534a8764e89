"""One run of a stack: what it is to do, and its record, which has the keys of the native core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust.torch._training._schedule import Schedule


class Run:
    """One run: what it is to do, and its record so far."""

    def __init__(self, place: int, settings: dict[str, Any]) -> None:
        self.place, self.settings = place, settings
        self.seed = int(settings["seed"])
        earlier = settings.get("earlier")
        self.record = _new_record(settings) if earlier is None else dict(earlier)
        self.curve = list(self.record["loss_curve"])
        self.schedule: Schedule

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to train."""
        end = min(self.settings["max_epochs"], self.settings.get("pause_at", np.inf))
        return bool(self.record["converged"]) or len(self.curve) >= end

    def begin(self, steps_per_epoch: int) -> None:
        """Take up the schedule."""
        r = self.record
        self.schedule = Schedule(
            self.settings,
            steps_per_epoch,
            r["learning_rate"],
            r["schedule_best"],
            r["waited"],
            r["plateaus"],
        )

    def note_epoch(self, loss: float, living: int) -> bool:
        """Note how an epoch went; True: its memories are the best so far."""
        r = self.record
        self.curve.append(loss)
        if living < r["best_living"] or (living == r["best_living"] and not loss < r["loss"]):
            return False
        r.update(best_living=living, loss=loss, best_epoch=len(self.curve) - 1)
        return True

    def finish(self, arrays: dict[str, NDArray[Any]], stream: dict[str, int]) -> None:
        """Complete the record with where the run stands."""
        s = self.schedule
        self.record.update(
            arrays | stream,
            loss_curve=np.array(self.curve, dtype=np.float64),
            improving=not self.record["converged"] and s.plateaus == 0,
            learning_rate=s.learning_rate,
            schedule_best=s.best,
            waited=s.waited,
            plateaus=s.plateaus,
        )


def _new_record(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a run before its first epoch."""
    memories = settings["memories"]
    k, d = memories.shape
    log_weights, moments = settings.get("log_weights"), settings.get("moments")
    log_weights = np.zeros(k, np.float32) if log_weights is None else log_weights
    continued = moments is not None
    return {
        "memories": memories,
        "log_weights": log_weights,
        "last_memories": memories,
        "last_log_weights": log_weights,
        "moments": moments if continued else np.zeros((2, k, d), np.float32),
        "weight_moments": settings["weight_moments"] if continued else np.zeros((2, k), np.float32),
        "steps": int(settings["steps"]) if continued else 0,
        "loss_curve": np.zeros(0),
        "loss": 0.0,
        "best_epoch": 0,
        "best_living": -1,
        "reseeded": 0,
        "converged": False,
        "learning_rate": settings["learning_rate"],
        "schedule_best": np.inf,
        "waited": 0,
        "plateaus": 0,
        "pass": 0,
        "place": 0,
    }
