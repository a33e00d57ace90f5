"""GBNF grammars of calls, built from typed pieces.

llama.cpp crashes on a grammar that it cannot parse, so no text of a user gets into a rule but as a quoted
literal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agents.formats.calls import is_text

BASE_RULES = r"""
value ::= object | array | string | number | boolean | null
object ::= "{" ( member ( "," " "? member )* )? "}"
member ::= string ":" " "? value
array ::= "[" ( value ( "," " "? value )* )? "]"
string ::= "\"" ( [^"\\\x00-\x1f] | "\\" ( ["\\/bfnrt] | "u" hex hex hex hex ) )* "\""
hex ::= [0-9a-fA-F]
integer ::= "-"? ( "0" | [1-9] [0-9]{0,14} )
number ::= integer ( "." [0-9]{1,16} )? ( [eE] [-+]? [0-9]{1,3} )?
boolean ::= "true" | "false"
null ::= "null"
""".strip()

DEEPEST = 6


class Rules:
    """The rules of a grammar under construction. Each method adds what it needs and returns an expression."""

    def __init__(self) -> None:
        self._rules: dict[str, str] = {}

    def add(self, name: str, expression: str) -> str:
        """Add a rule; returns its name."""
        self._rules[name] = expression
        return name

    def text(self) -> str:
        """Return the grammar as GBNF."""
        return (
            "\n".join(f"{name} ::= {rule}" for name, rule in self._rules.items()) + "\n" + BASE_RULES + "\n"
        )

    def text_without(self, marks: Sequence[str], name: str) -> str:
        """Return any text in which none of the marks occurs: one rule for each part of a mark that has just
        been read.
        """
        parts = sorted({mark[:size] for mark in marks for size in range(len(mark))})
        numbers = {part: number for number, part in enumerate(parts)}
        characters = sorted({character for mark in marks for character in mark})
        for part, number in numbers.items():
            options = [f"[^{in_class(characters)}] {name}-0"]
            for character in characters:
                read = part + character
                tails = [read[begin:] for begin in range(len(read) + 1)]
                if not any(tail in marks for tail in tails):
                    following = next(tail for tail in tails if tail in numbers)
                    options.append(f"{literal(character)} {name}-{numbers[following]}")
            self.add(f"{name}-{number}", " | ".join([*options, '""']))
        return f"{name}-0"

    def choice(
        self,
        name: str,
        functions: Sequence[Mapping[str, Any]],
        build: Callable[[str, Mapping[str, Any], str], str],
    ) -> str:
        """Return one of as many alternatives as there are tools; `build` gets a tool's name, the schema of
        its parameters and a name for its rules.
        """
        options = [
            self.add(
                f"{name}-{number}",
                build(function["name"], function.get("parameters") or {}, f"{name}-{number}-arguments"),
            )
            for number, function in enumerate(functions)
        ]
        return self.add(name, " | ".join(options))

    def object_of(self, schema: Mapping[str, Any], name: str, depth: int = 0) -> str:
        """Return an object with the schema's members, in its order; those that are not required may be left
        out.
        """
        if not schema.get("properties"):
            return "object" if schema.get("additionalProperties") else '"{}"'

        def key(text: str) -> str:
            return json.dumps(text, ensure_ascii=False) + ":"

        def value(schema: Mapping[str, Any], rule: str) -> str:
            return f'" "? {self.value_of(schema, rule, depth + 1)}'

        return self.add(name, f'"{{" {self.members_of(schema, f"{name}-members", key, value)} "}}"')

    def members_of(
        self,
        schema: Mapping[str, Any],
        name: str,
        key: Callable[[str], str],
        value: Callable[[Mapping[str, Any], str], str],
        separator: str = '"," " "?',
    ) -> str:
        """Return the schema's members: their keys as `key` writes them, their values by the rules of `value`.

        Rules `NAME-k-first` and `NAME-k-next` are the members from the k-th on, with none or some before.
        """
        properties = list((schema.get("properties") or {}).items())
        required = set(schema.get("required") or ())
        last = len(properties)
        self.add(f"{name}-{last}-first", '""')
        self.add(f"{name}-{last}-next", '""')
        for k in reversed(range(last)):
            text, kind = properties[k]
            member = f"{literal(key(text))} {value(kind, f'{name}-{k}-value')} {name}-{k + 1}-next"
            skip = [] if text in required else [f"{name}-{k + 1}-"]
            self.add(f"{name}-{k}-first", " | ".join([member, *(s + "first" for s in skip)]))
            self.add(
                f"{name}-{k}-next", " | ".join([f"{separator} {member}".strip(), *(s + "next" for s in skip)])
            )
        return f"{name}-0-first"

    def plain_value_of(self, schema: Mapping[str, Any], name: str, end: str) -> str:
        """Return a value as it stands between marks: text without quotes up to `end`, else JSON."""
        if schema.get("enum") and is_text(schema):
            return self.add(name, " | ".join(literal(str(value)) for value in schema["enum"]))
        return self.text_without([end], name) if is_text(schema) else self.value_of(schema, name)

    def value_of(self, schema: Mapping[str, Any], name: str, depth: int = 0) -> str:
        """Return a value of a JSON schema: const, enum, alternatives and the plain types; else any JSON
        value.
        """
        if depth > DEEPEST:
            return "value"
        if "const" in schema:
            return literal(json.dumps(schema["const"], ensure_ascii=False))
        if schema.get("enum"):
            return self.add(
                name, " | ".join(literal(json.dumps(v, ensure_ascii=False)) for v in schema["enum"])
            )
        if schema.get("anyOf"):
            options = [self.value_of(s, f"{name}-{k}", depth + 1) for k, s in enumerate(schema["anyOf"])]
            return self.add(name, " | ".join(options))
        kind = schema.get("type")
        if kind == "object" and schema.get("properties"):
            return self.object_of(schema, name, depth)
        if kind == "array" and isinstance(schema.get("items"), Mapping):
            item = self.value_of(schema["items"], f"{name}-item", depth + 1)
            return self.add(name, f'"[" ( {item} ( "," " "? {item} )* )? "]"')
        plain = {"string", "number", "integer", "boolean", "null", "object", "array"}
        return kind if isinstance(kind, str) and kind in plain else "value"


def literal(text: str) -> str:
    """Return a quoted GBNF literal."""
    escaped = "".join(_escaped(character, '"\\') for character in text)
    return f'"{escaped}"'


def in_class(characters: Sequence[str]) -> str:
    """Return characters as they stand within a GBNF class."""
    return "".join(_escaped(character, "]^-\\[") for character in characters)


def _escaped(character: str, special: str) -> str:
    if character in special:
        return f"\\{character}" if character in '"\\[]' else f"\\x{ord(character):02X}"
    if character == "\n":
        return "\\n"
    if ord(character) < 0x20:
        return f"\\x{ord(character):02X}"
    return character
