"""Training of ``ClAM(backend="torch")``: all restarts as one stacked tensor program."""

from amclust.torch._training._objectives import register_torch_objective
from amclust.torch._training._stack import train

__all__ = ["register_torch_objective", "train"]
