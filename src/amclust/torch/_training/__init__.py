"""Training of ``ClAM(backend="torch")``: all restarts as one stacked tensor program."""

from amclust.torch._training._stack import train

__all__ = ["train"]
