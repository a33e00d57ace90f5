"""YAML files whose faults are reported with their line: duplicate keys, wrong types, unknown keys."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from configs.errors import ConfigError
from configs.yaml_text import MAX_BYTES, YamlError, YamlText, parse_yaml
from core_eval.text.foreign_text import ForeignTextError, read_text

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class YamlFile:
    """The content of one YAML file.

    Attributes:
        path: the file.
        data: its top-level mapping.
        text: what was written, which knows its lines.
    """

    path: Path
    data: Mapping[str, Any]
    text: YamlText

    def error(self, message: str, *where: str | int) -> ConfigError:
        """Return an error at a key, or at the nearest enclosing one that the file has."""
        return ConfigError(
            message, file=self.path, line=self.text.line(*where), key=".".join(map(str, where))
        )

    @contextmanager
    def at(self, *where: str | int) -> Iterator[None]:
        """Within the context, an error is one at this key of the file."""
        try:
            yield
        except ConfigError as error:
            raise self.error(error.message, *where, *error.at) from None

    def validate(self, model: type[Model], *where: str | int) -> Model:
        """Return the part of the file at `where` as a pydantic model; its validators get `file` as context.

        Raises:
            ConfigError: the first fault, with its line, and how many more there are.
        """
        part: Any = self.data
        for key in where:
            part = part[key]
        try:
            return model.model_validate(part, context={"file": self})
        except ValidationError as error:
            raise self.from_validation(error, model, *where) from None

    def from_validation(
        self, error: ValidationError, model: type[BaseModel], *where: str | int
    ) -> ConfigError:
        """Return a pydantic error as one line that names the first fault, and counts the others.

        An unknown key goes first: what it was meant to be is then missing, and one of the others.
        """
        faults = error.errors(include_url=False)
        unknown = [fault for fault in faults if fault["type"] == "extra_forbidden"]
        first = (unknown or faults)[0]
        location = [part for part in first["loc"] if isinstance(part, str | int)]
        message = first["msg"].removeprefix("Value error, ")
        cause = first.get("ctx", {}).get("error")
        if isinstance(cause, ConfigError):
            if cause.file == self.path:
                return cause
            message, location = cause.message, [*location, *cause.at]
        if unknown:
            key = str(location[-1])
            meant = suggestion(model, location[:-1], key)
            message = f"unknown key {key!r}, " + (
                f"did you mean {meant!r}?" if meant else "remove or correct it"
            )
            faults = [
                fault
                for fault in faults
                if not (fault["type"] == "missing" and fault["loc"] == (*first["loc"][:-1], meant))
            ]
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        return self.error(f"{message}{more}", *where, *location)


def load_yaml(path: Path, text: str | None = None) -> YamlFile:
    """Read a YAML file that holds one mapping; `text` is what it holds, where it has been read already.

    Raises:
        ConfigError: it cannot be read, is no YAML, has a key twice, or holds something else.
    """
    try:
        content = read_text(path) if text is None else text
        if len(content) > MAX_BYTES:
            raise ConfigError(f"has more than {MAX_BYTES:,} bytes", file=path)
        parsed = parse_yaml(content)
    except ForeignTextError as error:
        raise ConfigError(f"cannot be read: {error}", file=path) from None
    except YamlError as error:
        raise ConfigError(str(error), file=path, line=error.line) from None
    if not isinstance(parsed.value, dict):
        raise ConfigError("must hold a mapping (key: value lines)", file=path)
    return YamlFile(path, parsed.value, parsed)


MANY = 20


def nearest(names: Collection[str], wanted: str = "") -> str:
    """Return a list of names for an error message, and which of them may have been meant.

    Of very many names the list has those most like what was wanted.
    """
    if len(names) > MANY and wanted:
        return f"{', '.join(get_close_matches(wanted, names, 6, 0.0))} and {len(names) - 6} others"
    folded = {name.casefold(): name for name in names}
    meant = [folded[name] for name in get_close_matches(wanted.casefold(), folded, 1)]
    return (", ".join(sorted(names)) or "none") + (f" (did you mean {meant[0]}?)" if meant else "")


def where_named(part: Any, name: str) -> tuple[str | int, ...]:
    """Return the path to the first key or text that is this name; empty where there is none."""
    entries = part.items() if isinstance(part, Mapping) else enumerate(part) if isinstance(part, list) else ()
    for key, value in entries:
        if name in (key, value):
            return (key,)
        if (inner := where_named(value, name)) != ():
            return (key, *inner)
    return ()


def suggestion(model: type[BaseModel], location: Sequence[str | int], key: str) -> str | None:
    """Return the key of the model at `location` that looks most like an unknown one; None where none does."""
    names = {name for found in _models_at(model, location) for name in _keys(found)}
    return next(iter(get_close_matches(key, sorted(names), n=1)), None)


def _models_at(model: type[BaseModel], location: Sequence[str | int]) -> list[type[BaseModel]]:
    here: list[Any] = [model]
    for part in location:
        below: list[Any] = []
        for one in here:
            if isinstance(one, type) and issubclass(one, BaseModel):
                if part in _keys(one):
                    below += _kinds(_keys(one)[str(part)])
            else:
                below += [kind for argument in get_args(one) for kind in _kinds(argument)]
        # A part that names no field is pydantic's word for a member of a union.
        here = below or here
    return [one for one in here if isinstance(one, type) and issubclass(one, BaseModel)]


def _keys(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _kinds(annotation: Any) -> Iterable[Any]:
    """Return a field's models and containers, unions taken apart."""
    if isinstance(annotation, type) and not get_args(annotation):
        return [annotation] if issubclass(annotation, BaseModel) else []
    if getattr(annotation, "__origin__", None) in (dict, list, tuple):
        return [annotation]
    return [kind for argument in get_args(annotation) for kind in _kinds(argument)]
