"""What computes: the compiled core, or torch on any device. All of them take and give the same."""

from amclust.backends.base import Backend, TrainingSet, find_backend

__all__ = ["Backend", "TrainingSet", "find_backend"]
