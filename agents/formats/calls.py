"""Calls read from a model's words, and attempts that could not be read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core_eval.text.foreign_json import ForeignJsonError, parse_json

NAME_KEYS = ("name", "tool_name", "function")
ARGUMENT_KEYS = ("arguments", "parameters")
"""One meaning under two names: Hermes and Mistral write the first, Llama and Command-R the second."""
OTHER_KEYS = frozenset(("id", "call_id", "tool_call_id", "index", "type"))
"""Keys that say nothing of the call itself."""


@dataclass(frozen=True, slots=True)
class CallText:
    """A call that could be read."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Nonsense:
    """Words that were meant as a call and are none.

    Attributes:
        code: `unclosed`, `stray_mark`, `bad_json`, `bad_call`, `not_an_object`, `no_name`, `bad_arguments`,
            `unread_call`, `unclosed_thought`, `call_in_thought`, `too_many`, `too_long`.
        reason: a sentence for the model.
        text: the words.
    """

    code: str
    reason: str
    text: str


Item = CallText | Nonsense


class Tools:
    """The tools that a model was offered, as far as reading its words needs them."""

    def __init__(self, schemas: Sequence[Mapping[str, Any]] = ()) -> None:
        functions = [schema["function"] for schema in schemas]
        self._properties = {
            function["name"]: (function.get("parameters") or {}).get("properties") or {}
            for function in functions
        }

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self._properties)

    def value(self, tool: str, key: str, text: str) -> Any:
        """Return an argument that was written without quotes: text where the schema says string, else JSON
        if it is some.
        """
        if is_text(self._properties.get(tool, {}).get(key, {})):
            return text
        plain = {"True": "true", "False": "false", "None": "null"}.get(text.strip(), text.strip())
        try:
            return parse_json(plain, strict_numbers=False, unique_keys=True)
        except ForeignJsonError:
            return text


def is_text(schema: Mapping[str, Any]) -> bool:
    """Return whether a JSON schema takes a string."""
    if "anyOf" in schema:
        return any(is_text(option) for option in schema["anyOf"])
    if schema.get("enum"):
        return isinstance(schema["enum"][0], str)
    return schema.get("type") == "string" or isinstance(schema.get("const"), str)


def read_record(record: Any, text: str) -> Item:
    """Return the call that a JSON value describes."""
    if not isinstance(record, dict):
        return Nonsense("not_an_object", "the call must be an object with name and arguments", text)
    if isinstance(record.get("function"), dict):
        around = sorted(set(record) - {"function", *OTHER_KEYS})
        if around:
            return Nonsense("bad_arguments", f"{around[0]!r} must stand within `function`", text)
        record = record["function"]
    names = [record[key] for key in NAME_KEYS if key in record]
    if len(names) > 1:
        return Nonsense("no_name", "the call names its tool twice: give one `name`", text)
    name = names[0] if names else None
    given = [key for key in ARGUMENT_KEYS if key in record]
    if len(given) == 2:
        return Nonsense("bad_arguments", "the call has both arguments and parameters: give one", text)
    unknown = sorted(set(record) - {*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS})
    if name is not None and unknown:
        reason = f"the call has the unknown key {unknown[0]!r}: put all arguments into `arguments`"
        return Nonsense("bad_arguments", reason, text)
    return call_of(name, record[given[0]] if given else {}, text)


def call_of(name: Any, arguments: Any, text: str) -> Item:
    """Return a call of a tool's name and arguments as they were written."""
    if not isinstance(name, str) or not name or not _whole(name):
        return Nonsense("no_name", "the call names no tool: give name and arguments", text)
    read = read_arguments(arguments)
    if read is None:
        return Nonsense("bad_arguments", f"the arguments of {name} must be a JSON object", text)
    return CallText(name, read)


def read_arguments(value: Any) -> Mapping[str, Any] | None:
    """Return arguments given as an object, or as a string of one; None if they are neither."""
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        try:
            value = parse_json(value, strict_numbers=False, unique_keys=True)
        except ForeignJsonError:
            return None
    return value if isinstance(value, dict) and _whole(value) else None


def to_json(value: Any) -> str:
    """Return JSON with a space after colon and comma, in the characters as they are."""
    return json.dumps(value, ensure_ascii=False)


def _whole(value: Any) -> bool:
    """Return whether all text in the value is valid UTF-8: JSON escapes may hold half a character."""
    try:
        to_json(value).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True
