"""Small parts of HTML. Whatever comes from a table is text: it goes through `escape`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

LONGEST_NAME = 60
UNBROKEN_NAME = 12


def shorten(text: str, longest: int = LONGEST_NAME) -> str:
    """Cut a long name, and show that it was cut."""
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def name(text: str, longest: int = LONGEST_NAME) -> str:
    """Show a name of the table's as text; a long one may break where its words join."""
    text = shorten(text, longest)
    if len(text) <= UNBROKEN_NAME:
        return escape(text.replace(" ", "\N{NO-BREAK SPACE}"))
    return re.sub(r"([_/.:-])(?=\w)", r"\1<wbr>", escape(text))


def script_data(identifier: str, value: Any) -> str:
    """Embed plain data; nothing in it can end the script element or begin a comment."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # In JSON these can only stand inside strings, where the escape means the same.
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{identifier}">{text}</script>'


def paragraphs(*texts: str) -> str:
    """Set paragraphs; empty ones are left out. The texts are HTML."""
    return "\n".join(f"<p>{text}</p>" for text in texts if text)


def table(
    caption: str,
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numeric: Sequence[int] = (),
    classes: str = "",
) -> str:
    """Set a table; the first cell of a row is its header. All texts are HTML."""
    kind = [' class="number"' if i in numeric else "" for i in range(len(headers))]
    head = "".join(f'<th scope="col"{kind[i]}>{text}</th>' for i, text in enumerate(headers))
    body = []
    for row in rows:
        first, *rest = row
        cells = "".join(
            f'<td{kind[i]} data-label="{escape(headers[i])}">{text}</td>'
            for i, text in enumerate(rest, start=1)
        )
        body.append(f'<tr><th scope="row"{kind[0]}>{first}</th>{cells}</tr>')
    return (
        f'<div class="table {classes}" role="region" tabindex="0" aria-label="{escape(caption)}">'
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Set facts as a list of terms and what they are. All texts are HTML."""
    rows = "".join(f"<div><dt>{term}</dt><dd>{fact}</dd></div>" for term, fact in pairs)
    return f'<dl class="facts">{rows}</dl>'


def figure(identifier: str, title: str, description: str, explanation: str) -> str:
    """Leave room for a figure, with its heading, its text for those who cannot see it, its caption.

    ``title`` and ``explanation`` are HTML, ``description`` is text.
    """
    return (
        f'<figure aria-labelledby="{identifier}-title">'
        f'<h3 id="{identifier}-title">{title}</h3>'
        f"<figcaption>{explanation}</figcaption>"
        f'<div class="plot" id="{identifier}" role="img" aria-label="{escape(description)}"></div>'
        "</figure>"
    )
