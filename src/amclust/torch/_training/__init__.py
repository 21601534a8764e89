"""Training of ``ClAM(backend="torch")``: all restarts as one stacked tensor program."""

from amclust.torch._training._device import find_device
from amclust.torch._training._stack import train

__all__ = ["find_device", "train"]
