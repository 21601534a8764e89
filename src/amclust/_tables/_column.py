"""One column that is clustered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amclust._tables._errors import shortened

KINDS = ("number", "boolean", "category")


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

    def to_json(self) -> dict[str, Any]:
        """Return the column as what JSON can hold."""
        data: dict[str, Any] = {"name": self.name, "kind": self.kind}
        return {**data, "categories": list(self.categories)} if self.categories else data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Column:
        """Return the column that `to_json` wrote down; refuse anything else."""
        try:
            column = cls(data["name"], data["kind"], tuple(data.get("categories", ())))
        except (KeyError, TypeError, AttributeError) as error:
            msg = f"not a column: {shortened(data, 80)}"
            raise ValueError(msg) from error
        texts = all(isinstance(text, str) for text in (column.name, *column.categories))
        if not texts or column.kind not in KINDS:
            msg = f"not a column: {shortened(data, 80)}"
            raise ValueError(msg)
        if bool(column.categories) != (column.kind == "category"):
            msg = f"not a column: {shortened(data, 80)}"
            raise ValueError(msg)
        return column
