"""A GBNF grammar for one whole answer, built from typed pieces.

An answer is free text, or thinking and text followed by one or more well-formed calls. A call has the spacing
that Qwen's templates print and models are trained on (a newline after the mark, one space after `:` and `,`),
a name out of the tools, and arguments by the tool's schema. llama.cpp crashes on a grammar that it cannot
parse, so no text of a user gets into a rule but as a quoted literal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agents.formats.tool_call_text import CLOSE, OPEN

BASE_RULES = r"""
value ::= object | array | string | number | boolean | null
object ::= "{" ( member ( ", " member )* )? "}"
member ::= string ": " value
array ::= "[" ( value ( ", " value )* )? "]"
string ::= "\"" ( [^"\\\x00-\x1f] | "\\" ( ["\\/bfnrt] | "u" hex hex hex hex ) )* "\""
hex ::= [0-9a-fA-F]
integer ::= "-"? ( "0" | [1-9] [0-9]{0,14} )
number ::= integer ( "." [0-9]{1,16} )? ( [eE] [-+]? [0-9]{1,3} )?
boolean ::= "true" | "false"
null ::= "null"
""".strip()

DEEPEST = 6


def answer_grammar(schemas: Sequence[Mapping[str, Any]]) -> str:
    """Return the grammar of an answer with these tools (function schemas); its root is `root`."""
    rules = Rules()
    text = rules.text_without(OPEN, "text")
    thought = rules.text_without("</think>", "thought")
    thinking = f'( "<think>" {thought} "</think>" )?'
    calls = rules.calls([schema["function"] for schema in schemas])
    if calls is None:
        rules.add("root", f"{thinking} {text}")
    else:
        rules.add("root", f'{thinking} {text} ( {calls} ( "\\n" {calls} )* )?')
    return rules.text()


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

    def text_without(self, mark: str, name: str) -> str:
        """Return any text in which `mark` does not occur.

        One rule for each length of the mark that has just been read. The mark's first character must occur
        nowhere else in it, as in all tags: then a failed match starts again from nothing.
        """
        first = mark[0]
        if first in mark[1:]:
            raise ValueError(f"the mark {mark!r} repeats its first character")
        for read in range(len(mark)):
            options = [f"[^{_in_class({first, mark[read]})}] {name}-0", f"{literal(first)} {name}-1"]
            if 0 < read < len(mark) - 1:
                options.append(f"{literal(mark[read])} {name}-{read + 1}")
            options.append('""')
            self.add(f"{name}-{read}", " | ".join(options))
        return f"{name}-0"

    def calls(self, functions: Sequence[Mapping[str, Any]]) -> str | None:
        """Return one call of any of these tools; None where there is no tool."""
        if not functions:
            return None
        bodies = []
        for number, function in enumerate(functions):
            head = literal(f'{{"name": {json.dumps(function["name"], ensure_ascii=False)}, "arguments": ')
            parameters = function.get("parameters") or {}
            arguments = self.object_of(parameters, f"tool-{number}")
            bodies.append(self.add(f"call-{number}", f'{head} {arguments} "}}"'))
        inner = self.add("call-body", " | ".join(bodies))
        return self.add("call", f'{literal(OPEN)} "\\n" {inner} "\\n" {literal(CLOSE)}')

    def object_of(self, schema: Mapping[str, Any], name: str, depth: int = 0) -> str:
        """Return an object with the schema's members, in its order; those that are not required may be left
        out.
        """
        properties = list((schema.get("properties") or {}).items())
        if not properties:
            return "object" if schema.get("additionalProperties") else '"{}"'
        required = set(schema.get("required") or ())
        self._members(properties, required, name, depth)
        return self.add(name, f'"{{" {name}-0-first "}}"')

    def _members(
        self, properties: list[tuple[str, Mapping[str, Any]]], required: set[str], name: str, depth: int
    ) -> None:
        """Add rules `NAME-k-first` and `NAME-k-next`: members from the k-th on, with none or some before."""
        last = len(properties)
        self.add(f"{name}-{last}-first", '""')
        self.add(f"{name}-{last}-next", '""')
        for k in reversed(range(last)):
            key, schema = properties[k]
            value = self.value_of(schema, f"{name}-{k}-value", depth + 1)
            member = f"{literal(json.dumps(key, ensure_ascii=False) + ': ')} {value} {name}-{k + 1}-next"
            skip = [] if key in required else [f"{name}-{k + 1}-"]
            self.add(f"{name}-{k}-first", " | ".join([member, *(s + "first" for s in skip)]))
            self.add(f"{name}-{k}-next", " | ".join([f'", " {member}', *(s + "next" for s in skip)]))

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
            return self.add(name, f'"[" ( {item} ( ", " {item} )* )? "]"')
        plain = {"string", "number", "integer", "boolean", "null", "object", "array"}
        return kind if isinstance(kind, str) and kind in plain else "value"


def literal(text: str) -> str:
    """Return a quoted GBNF literal."""
    escaped = "".join(_escaped(character, '"\\') for character in text)
    return f'"{escaped}"'


def _in_class(characters: set[str]) -> str:
    return "".join(_escaped(character, "]^-\\[") for character in sorted(characters))


def _escaped(character: str, special: str) -> str:
    if character in special:
        return f"\\{character}" if character in '"\\[]' else f"\\x{ord(character):02X}"
    if character == "\n":
        return "\\n"
    if ord(character) < 0x20:
        return f"\\x{ord(character):02X}"
    return character
