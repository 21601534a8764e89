"""Results files: replaced in one step."""

from __future__ import annotations

import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any


def write_json(path: Path, content: Any) -> None:
    """Write plain values as JSON; numbers that are not finite become null."""
    write_text(path, json.dumps(plain(content), indent=2, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one, never half of one.

    Parameters
    ----------
    path : Path
        File to write; missing folders are made.
    text : str
        Its content.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private to their owner; a results file is for everybody.
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def plain(content: Any) -> Any:
    """Return the content with null for numbers that are not finite, which JSON does not know."""
    if isinstance(content, float) and not math.isfinite(content):
        return None
    if isinstance(content, dict):
        return {key: plain(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [plain(value) for value in content]
    return content
