"""YAML files whose faults are reported with their line: duplicate keys, wrong types, unknown keys."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from configs.errors import ConfigError
from core_eval.path.foreign_text import ForeignTextError, read_text

Model = TypeVar("Model", bound=BaseModel)
KeyPath = tuple[str | int, ...]


@dataclass(frozen=True)
class YamlFile:
    """The content of one YAML file.

    Attributes:
        path: the file.
        data: its top-level mapping.
        lines: the line (from 1) of every key and list entry, by its path from the top.
    """

    path: Path
    data: Mapping[str, Any]
    lines: Mapping[KeyPath, int]

    def error(self, message: str, *where: str | int) -> ConfigError:
        """An error at a key, or at the nearest enclosing one that the file has."""
        known = where
        while known and known not in self.lines:
            known = known[:-1]
        return ConfigError(message, file=self.path, line=self.lines.get(known), key=".".join(map(str, where)))

    def validate(self, model: type[Model], *where: str | int) -> Model:
        """The part of the file at `where` as a pydantic model.

        Raises:
            ConfigError: the first fault, with its line, and how many more there are.
        """
        part: Any = self.data
        for key in where:
            part = part[key]
        try:
            return model.model_validate(part)
        except ValidationError as error:
            raise self.from_validation(error, *where) from None

    def from_validation(self, error: ValidationError, *where: str | int) -> ConfigError:
        """A pydantic error as one line that names the first fault, and counts the others."""
        faults = error.errors(include_url=False)
        first = faults[0]
        location = [part for part in first["loc"] if isinstance(part, str | int)]
        message = "unknown key, remove or correct it" if first["type"] == "extra_forbidden" else first["msg"]
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        return self.error(f"{message}{more}", *where, *location)


class _Loader(yaml.SafeLoader):
    """Safe, and strict about keys that stand twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def _lines(node: yaml.Node, path: KeyPath, into: dict[KeyPath, int]) -> None:
    into.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key_node, value in node.value:
            key = (*path, str(key_node.value))
            into[key] = key_node.start_mark.line + 1
            _lines(value, key, into)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _lines(value, (*path, index), into)


def load_yaml(path: Path, text: str | None = None) -> YamlFile:
    """Read a YAML file that holds one mapping; `text` is what it holds, where it has been read already.

    Raises:
        ConfigError: it cannot be read, is no YAML, has a key twice, or holds something else.
    """
    if text is None:
        try:
            text = read_text(path)
        except ForeignTextError as error:
            raise ConfigError(f"cannot be read: {error}", file=path) from None
    try:
        node = yaml.compose(text, Loader=_Loader)
        data = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise ConfigError(
            error.problem or "is no YAML", file=path, line=mark.line + 1 if mark else None
        ) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"is no YAML: {error}", file=path) from None
    if not isinstance(data, dict) or node is None:
        raise ConfigError("must hold a mapping (key: value lines)", file=path)
    lines: dict[KeyPath, int] = {}
    _lines(node, (), lines)
    return YamlFile(path, data, lines)


def nearest(names: Sequence[str]) -> str:
    """A list of names for an error message."""
    return ", ".join(sorted(names)) or "none"
