"""YAML text as plain values, within bounds: size, nesting, aliases, numbers; every fault has its line.

Only what a configuration needs is read: mappings with scalar keys, lists, text, numbers, truth values, null,
anchors and merge keys. Dates and tags of other types are refused, since no file has a use for them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's where PyYAML was built with it, which reads ten times as fast."""
MAX_BYTES = 1 << 24
MAX_DEPTH = 100
"""Mappings and lists inside one another; libyaml's own composer ends the process at some ten thousand."""
MAX_ALIASED = 1_000_000
"""Nodes that aliases may add to those that are written."""
SHOWN = 40
"""Letters of a wrong value in an error."""

_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_SCALARS = {f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null", "value")}


class YamlError(ValueError):
    """Text that is not valid YAML; one line with the cause.

    Attributes:
        line: where, from 1; None where the fault has no line.
    """

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class YamlText:
    """A YAML document.

    Attributes:
        value: its plain value.
        root: its nodes with their line numbers; None where it is empty.
    """

    value: Any
    root: yaml.Node | None

    def line(self, *where: str | int) -> int | None:
        """Return the line (from 1) of a key or a list entry, or of the nearest existing parent."""
        node, line = self.root, None if self.root is None else _line(self.root)
        for part in where:
            place, node = _below(node, part)
            if place is None:
                break
            line = _line(place)
        return line


def parse_yaml(text: str) -> YamlText:
    """Return the value of a YAML text of one document.

    Raises:
        YamlError: whatever is wrong with it; nothing else is raised.
    """
    try:
        _check_depth(text)
        root = yaml.compose(text, Loader=Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise YamlError(error.problem or "is no YAML", mark.line + 1 if mark else None) from None
    except yaml.YAMLError as error:
        raise YamlError(f"is no YAML: {error}", None) from None
    return YamlText(None if root is None else _Builder().value(root), root)


def _check_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise YamlError(f"nested deeper than {MAX_DEPTH} levels", _line(event))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


@dataclass(frozen=True)
class _Built:
    """A node's value, and what it is with all its aliases written out."""

    value: Any
    nodes: int
    depth: int


@dataclass
class _Builder:
    """Makes values of nodes. An alias is the node that it means, so its value is made once and shared."""

    built: dict[int, _Built] = field(default_factory=dict)
    begun: set[int] = field(default_factory=set)
    scalars: Any = field(default_factory=yaml.constructor.SafeConstructor)

    def value(self, node: yaml.Node) -> Any:
        """Return a node's plain value."""
        return self._build(node).value

    def _build(self, node: yaml.Node) -> _Built:
        known = self.built.get(id(node))
        if known is not None:
            return known
        if id(node) in self.begun:
            raise YamlError("an alias stands inside what it means", _line(node))
        self.begun.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            built = _Built(self._scalar(node), 1, 0)
        else:
            if node.tag not in (f"{_TAG}map", f"{_TAG}seq"):
                raise _bad_tag(node)
            parts = [self._build(part) for part in _children(node)]
            value = self._mapping(node) if isinstance(node, yaml.MappingNode) else [p.value for p in parts]
            depth = 1 + max((part.depth for part in parts), default=0)
            built = _Built(value, 1 + sum(part.nodes for part in parts), depth)
        if built.depth > MAX_DEPTH:
            raise YamlError(f"nested deeper than {MAX_DEPTH} levels", _line(node))
        if built.nodes > MAX_ALIASED + len(self.begun):
            raise YamlError(f"its aliases stand for more than {MAX_ALIASED:,} values", _line(node))
        self.built[id(node)] = built
        return built

    def _mapping(self, node: yaml.MappingNode) -> dict[Any, Any]:
        own: dict[Any, Any] = {}
        merged: list[dict[Any, Any]] = []
        seen = set()
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key in seen:
                raise YamlError(f"the key {key!r} stands twice", _line(key_node))
            seen.add(key)
            value = self.built[id(value_node)].value
            if key_node.tag == _MERGE:
                merged += self._merged(value, key_node)
            else:
                own[key] = value
        result: dict[Any, Any] = {}
        # Of two that hold a key the first goes, and the mapping's own goes before all.
        for other in reversed(merged):
            result |= other
        return result | own

    def _merged(self, value: Any, key_node: yaml.Node) -> list[dict[Any, Any]]:
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(one, dict) for one in values):
            raise YamlError("<< takes a mapping, or a list of mappings", _line(key_node))
        return values

    def _key(self, node: yaml.Node) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            raise YamlError(
                "a key must be text, and this one is a list or a mapping "
                '(an expression needs quotes: "{{ ... }}")',
                _line(node),
            )
        # `on`, `off`, `yes` and `no` are names as good as any other.
        return node.value if node.tag in (_MERGE, f"{_TAG}bool") else self.built[id(node)].value

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        if node.tag == _MERGE:
            return node.value
        if node.tag == f"{_TAG}timestamp":
            raise YamlError(f"{node.value} reads as a date; write it in quotes", _line(node))
        if node.tag not in _SCALARS:
            raise _bad_tag(node)
        kind = node.tag.removeprefix(_TAG)
        try:
            if kind in ("str", "value"):
                return node.value
            return getattr(self.scalars, f"construct_yaml_{kind}")(node)
        except (ValueError, KeyError, OverflowError):
            digits = sys.get_int_max_str_digits()
            said = node.value if len(node.value) <= SHOWN else f"{node.value[:SHOWN]}..."
            more = f" of at most {digits} digits" if kind == "int" else ""
            raise YamlError(f"{said} is no {kind}{more}", _line(node)) from None


def _bad_tag(node: yaml.Node) -> YamlError:
    return YamlError(f"the tag {node.tag.replace(_TAG, '!!')} is not known here, remove it", _line(node))


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            # A key that is a list is refused, not walked.
            if isinstance(key, yaml.ScalarNode):
                yield key
            yield value
    else:
        yield from node.value


def _below(node: yaml.Node | None, part: str | int) -> tuple[yaml.Node | None, yaml.Node | None]:
    """Return the node under a key or an index, and its value; None if there is none."""
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and 0 <= part < len(node.value):
        return node.value[part], node.value[part]
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == str(part):
                return key, value
        for key, value in node.value:
            if key.tag == _MERGE:
                for other in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    found = _below(other, part)
                    if found[0] is not None:
                        return found
    return None, None


def text_end(node: yaml.Node) -> int:
    """Return the index where a node's own text ends: before the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return text_end(last[1] if isinstance(node, yaml.MappingNode) else last)
    return int(node.end_mark.index)


def _line(at: Any) -> int:
    return int(at.start_mark.line) + 1
