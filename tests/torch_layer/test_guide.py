"""The code in the guide runs."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

from amclust._objectives import OBJECTIVES
from amclust.torch._training._objectives import OBJECTIVES as TORCH_OBJECTIVES

GUIDE = Path(__file__).parents[2] / "docs" / "torch.md"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_code_of_the_guide_runs(monkeypatch):
    for table in (OBJECTIVES, TORCH_OBJECTIVES):  # what the guide registers is gone afterwards
        monkeypatch.setitem(table, "scatter", None)
        del table["scatter"]
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        exec(block, names)
