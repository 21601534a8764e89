"""The types of the compiled core are generated from it: `make stub`."""

from pathlib import Path

import pytest

import amclust
from amclust import _native

STUB = Path(amclust.__file__).parent / "_native.pyi"


def test_the_stub_is_what_is_bound():
    stubgen = pytest.importorskip("nanobind.stubgen")
    generated = stubgen.StubGen(_native)
    generated.put(_native)
    assert STUB.read_text() == generated.get(), "run `make stub`"


def test_no_settings_are_dictionaries():
    assert "dict[str" not in STUB.read_text()
