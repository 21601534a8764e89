"""One column that is clustered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from amclust.cli.tables._errors import shortened

KINDS = ("number", "boolean", "category")


class ColumnJson(TypedDict, total=False):
    """A column as JSON holds it."""

    name: str
    kind: str
    categories: list[str]  # not of numbers and truth values


@dataclass(frozen=True)
class Column:
    """A column that is clustered, and what it holds."""

    name: str
    kind: str
    """"number", "boolean" or "category"."""
    categories: tuple[str, ...] = ()

    @property
    def features(self) -> list[str]:
        """Names of the columns of the matrix that this one becomes."""
        if self.kind == "category":
            return [f"{self.name}={category}" for category in self.categories]
        return [self.name]

    def to_json(self) -> ColumnJson:
        """Return the column as what JSON can hold."""
        data: ColumnJson = {"name": self.name, "kind": self.kind}
        if self.categories:
            data["categories"] = list(self.categories)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Column:
        """Return the column that `to_json` wrote down; refuse anything else."""
        if not _is_column(data):
            msg = f"not a column: {shortened(data, 80)}"
            raise ValueError(msg)
        return cls(data["name"], data["kind"], tuple(data.get("categories", ())))


def _is_column(data: object) -> bool:
    if not isinstance(data, dict):
        return False
    categories = data.get("categories", [])
    return (
        isinstance(data.get("name"), str)
        and data.get("kind") in KINDS
        and isinstance(categories, list)
        and all(isinstance(category, str) for category in categories)
        and bool(categories) == (data["kind"] == "category")
    )
