"""The types of the compiled core, written by its build."""

import re
from importlib.util import find_spec
from pathlib import Path

from amclust import _native

# Beside the sources in an editable install, else beside the module.
BESIDE = [Path(find_spec("amclust").origin).parent, Path(_native.__file__).parent]
STUB = next(path for folder in BESIDE if (path := folder / "_native.pyi").exists())


def test_the_stub_names_what_is_bound():
    stub = STUB.read_text()
    names = [name for name in vars(_native) if not name.startswith("_")]
    assert names
    assert not [n for n in names if not re.search(rf"^(class {n}\b|def {n}\(|{n}: )", stub, re.M)]


def test_no_settings_are_dictionaries():
    assert "dict[str" not in STUB.read_text()
