"""The README's example runs and prints what the README says."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.skipif(not README.exists(), reason="the README is not part of this checkout")
def test_the_example_prints_what_the_readme_says(capsys):
    text = README.read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```.*?```text\n(.*?)```", text, flags=re.DOTALL)
    assert found is not None
    code, expected = found.groups()
    exec(code, {})
    for said, printed in zip(
        expected.splitlines(), capsys.readouterr().out.splitlines(), strict=True
    ):
        words, number = said.rsplit(" ", 1)
        assert printed.startswith(words)
        # Instruction sets round differently: the last digit may move a little.
        assert float(printed.rsplit(" ", 1)[1]) == pytest.approx(float(number), abs=0.04)
