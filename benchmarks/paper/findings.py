"""What was found out where our figures are not the paper's; looked up by the page.

Keys are (table, set, method); "" stands for any. The most special entry counts. Only what was
checked belongs here.
"""

from __future__ import annotations

UNEXPLAINED = "not looked into yet"

FINDINGS: dict[tuple[str, str, str], str] = {}


def finding(table: str, name: str, method: str) -> str:
    """Give what is known about a departure."""
    for key in (
        (table, name, method),
        ("", name, method),
        (table, name, ""),
        (table, "", method),
        ("", name, ""),
        ("", "", method),
    ):
        if key in FINDINGS:
            return FINDINGS[key]
    return UNEXPLAINED
