"""Criteria of vault queries, written as Python.

    from tallystick import field

    (field("symbol") == "GBP") & field("quantity").between(100, 5000) & ~(field("owner") == "O=Bank B, L=Paris, C=FR")

Fields and their values: docs/reference/vault-queries.md of the project.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Union

__all__ = ["Field", "Value", "Where", "field", "locked", "where_json"]

#: The values that a field can be compared with.
Value = Union[int, str]


class Where:
    """A criterion. `&`, `|` and `~` combine criteria."""

    __slots__ = ("_json",)

    def __init__(self, json: Mapping[str, Any]) -> None:
        self._json = dict(json)

    def to_json(self) -> dict[str, Any]:
        """Returns the JSON form for a request."""
        return self._json

    def __and__(self, other: Where) -> Where:
        return Where({"and": [*self._parts("and"), *other._parts("and")]})

    def __or__(self, other: Where) -> Where:
        return Where({"or": [*self._parts("or"), *other._parts("or")]})

    def __invert__(self) -> Where:
        return Where({"not": self._json})

    def __bool__(self) -> bool:
        raise TypeError(
            "join criteria with &, | and ~, and put comparisons in parentheses: a criterion is neither true nor false"
        )

    def __repr__(self) -> str:
        return f"Where({self._json!r})"

    def _parts(self, word: str) -> list[Any]:
        """Merges a chain of the same operator into one list, because nodes limit the depth of criteria."""
        return list(self._json[word]) if list(self._json) == [word] else [self._json]


class Field:
    """A field of states. Comparisons make criteria."""

    __slots__ = ("name",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, value: object) -> Where:  # type: ignore[override]
        return self._test("is", value)

    def __ne__(self, value: object) -> Where:  # type: ignore[override]
        return ~self._test("is", value)

    def __lt__(self, value: Value) -> Where:
        return self._test("less", value)

    def __gt__(self, value: Value) -> Where:
        return self._test("greater", value)

    def __le__(self, value: Value) -> Where:
        return self.between(None, value)

    def __ge__(self, value: Value) -> Where:
        return self.between(value, None)

    def between(self, low: Value | None, high: Value | None) -> Where:
        """From `low` to `high`, inclusive; None leaves a side open."""
        bounds = {"from": low, "to": high}
        return Where({"between": {"field": self.name, **{key: value for key, value in bounds.items() if value is not None}}})

    def one_of(self, values: Iterable[Value]) -> Where:
        """One of these values."""
        return Where({"in": {"field": self.name, "values": list(values)}})

    def startswith(self, prefix: str) -> Where:
        """Text that begins with this value."""
        return self._test("prefix", prefix)

    def __repr__(self) -> str:
        return f"field({self.name!r})"

    def _test(self, word: str, value: object) -> Where:
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise TypeError(f"{self.name} is compared with a number or text, not with {value!r}")
        return Where({word: {"field": self.name, "value": value}})


def field(name: str) -> Field:
    """Returns a field of states, such as `symbol`, `quantity`, or a contract's column `CONTRACT.COLUMN`."""
    return Field(name)


def locked(held: bool = True) -> Where:
    """States that a running flow holds locked; with False, states that no flow holds."""
    return Where({"locked": held})


def where_json(where: Where | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Returns the JSON form of a criterion, which may already be JSON."""
    return where.to_json() if isinstance(where, Where) else where
