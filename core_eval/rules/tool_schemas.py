"""The plain values of a call's arguments, and what the schema of its tool says of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core_eval.path.calls import Call
from core_eval.text.notation import NAME_PART, Quantity, name_words, unit_of
from core_eval.text.values import as_float, as_object, same_value

MOST_REFERENCES = 4
"""References of a schema inside one another that are followed."""
_LISTS = re.compile(r"\b(?:one of|either|defaults?)\b", re.I)
_QUOTED = re.compile(r"(?<!\w)['\"`]([^'\"`]+)['\"`](?!\w)")


@dataclass(frozen=True)
class Argument:
    """One plain value of a call: its path, and what its schema says of it."""

    path: str
    value: Any
    schema: Mapping[str, Any]

    @property
    def quantity(self) -> Quantity:
        """The value with the unit of its name, or else of its description."""
        parts = NAME_PART.findall(self.path.rpartition(".")[2]) or [""]
        dimension, factor = unit_of(parts[-1], short=len(parts) > 1)
        for word in (
            () if dimension else re.findall(r"%|per cent|[A-Za-z]+", str(self.schema.get("description", "")))
        ):
            dimension, factor = unit_of(word, short=False)
            if dimension:
                break
        return Quantity(as_float(self.value), dimension, factor)

    @property
    def words(self) -> frozenset[str]:
        """The words of its name."""
        return name_words(self.path.rpartition(".")[2])

    @property
    def counted(self) -> frozenset[str]:
        """The words of what it may be the number of."""
        described = re.search(r"number of (\w+)", str(self.schema.get("description", "")))
        return self.words | (name_words(described[1]) if described else frozenset())


class ToolSchemas:
    """The schemas of the tools that an agent has, as in the OpenAI API.

    Attributes:
        of: the JSON schema of each tool's arguments, by its name.
        missed: the tools of calls whose schema a rule asked for, and that have none.
    """

    def __init__(self, tools: Iterable[Mapping[str, Any]]) -> None:
        functions = [tool.get("function", tool) for tool in tools]
        self.of = {str(one.get("name")): as_object(one.get("parameters")) for one in functions}
        self.missed: set[str] = set()
        self._properties: dict[str, Mapping[str, Any]] = {}

    def arguments(self, call: Call) -> Iterator[Argument]:
        """Yield the plain values of a call's arguments."""
        if call.name not in self._properties:
            root = self.of.get(call.name, {})
            self._properties[call.name] = as_object(_resolved(root.get("properties"), root))
        properties = self._properties[call.name]
        for name, value in call.arguments.items():
            yield from _plain(str(name), value, as_object(properties.get(name)))


def _plain(path: str, value: Any, schema: Mapping[str, Any]) -> Iterator[Argument]:
    if isinstance(value, Mapping):
        for name, entry in value.items():
            inner = as_object(as_object(schema.get("properties")).get(name))
            yield from _plain(f"{path}.{name}", entry, inner)
    elif isinstance(value, list | tuple):
        for place, entry in enumerate(value):
            yield from _plain(f"{path}[{place}]", entry, as_object(schema.get("items")))
    else:
        yield Argument(path, value, schema)


def stands_in_schema(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return whether a schema gives a value: a default, or one that it lists or describes."""
    listed = [one for key in ("enum", "examples") for one in _list(schema.get(key))]
    described = str(schema.get("description", ""))
    if _LISTS.search(described):
        listed += _QUOTED.findall(described)
    if any(same_value(value, one) for one in (*listed, schema.get("default"), schema.get("const"))):
        return True
    parts = (one for key in ("anyOf", "oneOf", "allOf") for one in _list(schema.get(key)))
    return any(stands_in_schema(value, as_object(one)) for one in parts)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _resolved(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a schema with what its references mean in their place, some levels deep."""
    if isinstance(schema, Mapping):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            target: Any = root
            for key in reference[2:].split("/"):
                target = as_object(target).get(key)
            return _resolved(as_object(target), root, depth + 1) if depth < MOST_REFERENCES else {}
        return {key: _resolved(one, root, depth) for key, one in schema.items()}
    return [_resolved(one, root, depth) for one in schema] if isinstance(schema, list) else schema
