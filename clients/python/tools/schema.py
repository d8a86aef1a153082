"""The API's description, and its schemas as Python types."""

from __future__ import annotations

import json
import keyword
import pathlib
import re
from dataclasses import dataclass
from typing import Any

REF = "#/components/schemas/"
PRIMITIVES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def name_of(reference: str) -> str:
    return reference[len(REF) :]


def snake(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")


def safe(name: str) -> str:
    """Returns a name of JSON as a Python name."""
    name = re.sub(r"\W", "_", name)
    return name + "_" if keyword.iskeyword(name) else name


def text(words: str, indent: str, width: int = 140) -> list[str]:
    """Wraps words as lines of a docstring or of a comment, without drawings."""
    lines, line = [], ""
    words = re.sub(r"```.*?```", "", words, flags=re.DOTALL)
    for word in words.replace("\\", "\\\\").split():
        if line and len(indent) + len(line) + 1 + len(word) > width:
            lines.append(indent + line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, indent + line] if line else lines


@dataclass
class Kind:
    """A Python type: how it is written, read from JSON, and converted to JSON. `{}` stands for the value."""

    python: str
    read: str = "{}"
    write: str = "{}"

    @property
    def optional(self) -> Kind:
        if self.python == "Any" or self.python.endswith("| None"):
            return self
        return Kind(f"{self.python} | None", self.read, self.write)


class Document:
    def __init__(self, described: dict[str, Any]) -> None:
        self.described = described
        self.schemas: dict[str, Any] = described["components"]["schemas"]

    @classmethod
    def read(cls, path: pathlib.Path) -> Document:
        return cls(json.loads(path.read_text()))

    def is_record(self, name: str) -> bool:
        return "properties" in self.schemas[name]

    def kind(self, schema: dict[str, Any]) -> Kind:
        """Returns the type of a schema."""
        if "$ref" in schema:
            name = name_of(schema["$ref"])
            if self.is_record(name):
                return Kind(name, f"{name}.from_json({{}})", "{}.to_json()")
            return Kind(name)
        for word in ("anyOf", "oneOf"):
            if word in schema:
                some = [part for part in schema[word] if part.get("type") != "null"]
                if len(some) == 1:
                    inner = self.kind(some[0])
                    return inner.optional if len(some) < len(schema[word]) else inner
                return Kind("Any")
        if "enum" in schema:
            for name, named in self.schemas.items():
                if words_of(named) == schema["enum"]:
                    return Kind(name)
        types = schema.get("type")
        if isinstance(types, list):
            some = [one for one in types if one != "null"]
            if len(some) != 1:
                if not all(one in PRIMITIVES for one in some):
                    return Kind("Any")
                several = Kind(" | ".join(PRIMITIVES[one] for one in some))
                return several.optional if len(some) < len(types) else several
            return self.kind({**schema, "type": some[0]}).optional
        if types == "array":
            inner = self.kind(schema.get("items", {}))
            return Kind(f"list[{inner.python}]", *(each(inner, how) for how in ("read", "write")))
        if types == "object":
            if isinstance(schema.get("additionalProperties"), dict):
                inner = self.kind(schema["additionalProperties"])
                return Kind(f"dict[str, {inner.python}]", "dict({})", "dict({})")
            return Kind("dict[str, Any]", "dict({})", "dict({})")
        return Kind(PRIMITIVES.get(types or "", "Any"))


def words_of(schema: dict[str, Any]) -> list[str]:
    """Returns the words of a type that is one of several words; none for another type."""
    if schema.get("enum"):
        return list(schema["enum"])
    options = schema.get("oneOf") or schema.get("anyOf") or []
    return [option["const"] for option in options] if all("const" in option for option in options) else []


def each(inner: Kind, how: str) -> str:
    """Returns the code that reads or writes a list."""
    form = inner.read if how == "read" else inner.write
    if form == "{}":
        return "list({})"
    item = form.format("item")
    if inner.python.endswith("| None"):
        item = f"None if item is None else {item}"
    return f"[{item} for item in {{}}]"
