import io
import sys

import pytest


@pytest.fixture
def save(tmp_path):
    """Save text or bytes as a file and return its path."""

    def save(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return save


@pytest.fixture
def pipe_in(monkeypatch):
    """Make bytes standard input; they can be read once and not sought in."""

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

        def seek(self, *_):
            raise io.UnsupportedOperation("seek")

    def pipe_in(content):
        stdin = io.TextIOWrapper(io.BufferedReader(Pipe(content)))
        monkeypatch.setattr(sys, "stdin", stdin)

    return pipe_in
