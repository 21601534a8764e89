"""Text tables of any dialect to the command line, and its options."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import strategies as st

from amclust.cli import main
from fuzz.oracle import ANSWER, REFUSED, WrongError, is_ours, require

CELLS = st.one_of(
    st.integers(-99, 99).map(str),
    st.integers(-99, 99).map(str),
    st.floats(-10, 10, allow_nan=False).map(lambda value: f"{value:.3g}"),
    st.sampled_from(
        [
            *(
                "",
                "NA",
                "nan",
                "NaN",
                "null",
                "-",
                "?",
                "inf",
                "-Infinity",
                "1e400",
                "1e19",
                "1e-320",
            ),
            *(
                '"',
                '""',
                '"1"',
                '"a,b"',
                '"a\nb"',
                "'1'",
                "1,5",
                "1.000,5",
                "1'000",
                "1 000",
                "0x1F",
            ),
            *(
                "true",
                "FALSE",
                "é",
                "\ufeff",
                "\u2028",
                "\0",
                " 1 ",
                "+1",
                "1_000",
                "١٢",
                "-0",
                "1e",
            ),
            *("#", "2020-01-01", "=1+1", "\\N", "1\t2", "x" * 300, "9" * 400),
        ]
    ),
    st.text(max_size=4),
)
OPTIONS = [
    [],
    [],
    ["--no-header"],
    ["--delimiter", ";"],
    ["--delimiter", "tab"],
    ["--delimiter", '"'],
    ["--decimal", "comma"],
    ["--thousands", "point"],
    ["--thousands", "apostrophe", "--decimal", "comma"],
    ["--encoding", "latin-1"],
    ["--encoding", "utf-16"],
    ["--encoding", "ascii"],
    ["--encoding", "idna"],
    ["--encoding", "punycode"],
    ["--one-hot", "all"],
    ["--drop-empty"],
    ["--id", "a"],
    ["--use", "a,b"],
    ["--drop", "a"],
    ["--format", "tsv"],
    ["--format", "parquet"],
    ["--stream", "--chunk-rows", "3"],
]
LEARN = ["--threads", "1", "-q", "--restarts", "1", "--epochs", "2"]


@st.composite
def texts(draw: Any) -> bytes:
    """Bytes that may be a table."""
    width = draw(st.integers(1, 4))
    mark = draw(st.sampled_from([",", ",", ";", "\t", "|", " "]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n"]))
    names = st.one_of(st.sampled_from(list("abcd")), CELLS)
    odd = draw(st.booleans())
    rows = [draw(st.lists(names, min_size=width, max_size=width)) if odd else list("abcd"[:width])]
    ragged = draw(st.integers(0, 5)) == 0
    plain = st.integers(-99, 99).map(str)
    kinds = (
        [CELLS, plain, plain] if odd else [plain, plain, st.sampled_from(["", "1.5", "NA", "0"])]
    )
    cells = [draw(st.sampled_from(kinds)) for _ in range(width)]
    for _ in range(draw(st.integers(0 if odd else 3, 12))):
        row = [draw(one) for one in cells]
        rows.append(row[: draw(st.integers(0, width))] if ragged else row)
    text = end.join(mark.join(row) for row in rows) + draw(st.sampled_from(["", end]))
    code = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "latin-1", "utf-16", "cp1252"]))
    data = text.encode(code, "replace")
    if draw(st.integers(0, 7)) == 0:
        place = draw(st.integers(0, len(data)))
        data = data[:place] + draw(st.binary(max_size=5)) + data[place:]
    if draw(st.integers(0, 9)) == 0:
        data = gzip.compress(data)
        if draw(st.booleans()):
            data = data[: draw(st.integers(2, len(data)))]
    return data


strategy = st.tuples(texts(), st.sampled_from(OPTIONS), st.sampled_from(["fit", "complete"]))


def check(case: Any) -> str:
    """Fit or complete a table, in a folder that is empty else."""
    data, options, command = case
    if "--stream" in options:
        options, command = [*options, "--threads", "1", "-q"], "fit"
    else:
        options = [*options, *LEARN]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        path.write_bytes(data)
        output = ["-o", str(Path(folder, "m.amc" if command == "fit" else "filled.csv"))]
        code = _run([command, str(path), "-k", "2", *options, *output])
        if code == 0:
            require(Path(output[1]).exists(), "exit code 0 without a file")
            if command == "fit":
                _run(["predict", output[1], str(path), *_reading(options)])
        left = {one.name for one in Path(folder).iterdir()} - {"table.csv", Path(output[1]).name}
        require(not left, f"left behind: {left}")
    return ANSWER if code == 0 else REFUSED


def _reading(options: list[str]) -> list[str]:
    names = {"--delimiter", "--decimal", "--thousands", "--encoding", "--format"}
    pairs = zip(options, [*options[1:], ""], strict=True)
    kept = [word for name, value in pairs if name in names for word in (name, value)]
    return [*kept, *(["--no-header"] if "--no-header" in options else [])]


def _run(arguments: list[str]) -> int:
    """Run a command line; what it raises has to be ours."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    err = io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.dict(os.environ, {"AMCLUST_TRACEBACK": "1"}),
    ):
        try:
            return main(arguments)
        except SystemExit as stop:
            require(stop.code == 2, f"exit code {stop.code}")
            return 2
        except (ValueError, OSError, ImportError) as error:
            if not is_ours(error):
                msg = f"an error of another library: {type(error).__name__}: {error}"
                raise WrongError(msg) from error
            require(str(error).strip(), "an error without words")
            return int(getattr(error, "exit_code", 1))
        except Exception as error:
            msg = f"an error that nobody expects: {type(error).__name__}: {error}"
            raise WrongError(msg) from error
