"""The code in the guide runs."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

GUIDE = Path(__file__).parents[2] / "docs" / "torch.md"


def test_code_of_the_guide_runs():
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        exec(block, names)
