"""What a run of the benchmark was asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Options every section may look at.

    Attributes
    ----------
    data_dir, fashion_mnist_dir : Path
        Folders of the paper's tables, and of Fashion-MNIST's idx files.
    quick : bool
        Fewer repeats and smaller sizes: tells whether it runs, not how fast it is.
    """

    data_dir: Path
    fashion_mnist_dir: Path
    quick: bool = False

    def pick(self, full: int, quick: int) -> int:
        """Choose a repeat count or a size by the length of the run."""
        return quick if self.quick else full
