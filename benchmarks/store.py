"""The results file: plain JSON, replaced in one step."""

from __future__ import annotations

import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any


def write_json(path: Path, content: Any) -> None:
    """Write JSON so that a reader sees the old file or the new one, never half of one.

    Parameters
    ----------
    path : Path
        File to write; missing folders are made.
    content : object
        Plain values.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as file:
        temporary = Path(file.name)
        try:
            json.dump(_plain(content), file, indent=2, allow_nan=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            temporary.unlink()
            raise
    # Temporary files are private to their owner; a results file is for everybody.
    temporary.chmod(0o644)
    temporary.replace(path)


def _plain(content: Any) -> Any:
    """Return the content with null for numbers that are not finite, which JSON does not know."""
    if isinstance(content, float) and not math.isfinite(content):
        return None
    if isinstance(content, dict):
        return {key: _plain(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_plain(value) for value in content]
    return content
