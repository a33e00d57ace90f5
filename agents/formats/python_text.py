"""Read calls that are written as Python."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from agents.formats.calls import Item, Nonsense, Tools, call_of
from agents.formats.json_text import closed_at

CONSTANTS = {"true": True, "false": False, "null": None}
LONGEST = 20_000
"""Characters that are parsed; a call needs far fewer."""
STRING = re.compile(r"""(?<![\"'\w])(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')(?!["'])""", re.DOTALL)
_STRUCTURE = re.compile(r"""[()\[\]{}]|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?""", re.DOTALL)


def bracket_end(text: str, start: int) -> int | None:
    """Return where the bracket that opens at `start` is closed; None if it is not."""
    return closed_at(_STRUCTURE.finditer(text, start))


def read_python(text: str, tools: Tools) -> list[Item]:
    """Return the calls in an expression, a list of them or one on each line. Nothing is executed."""
    # Models write new lines in a text as they are.
    source = STRING.sub(lambda one: one[0].replace("\n", "\\n").replace("\0", "\\0"), text.strip())
    try:
        if len(source) > LONGEST:
            raise ValueError("it is too long")
        with warnings.catch_warnings():
            # A model's escapes are no matter for the terminal.
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        calls = [_read(node, source, tools) for node in _calls(tree)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        what = error.msg if isinstance(error, SyntaxError) else str(error) or "it is nested too deeply"
        return [Nonsense("bad_call", f"the call is not NAME(KEY=VALUE, ...): {what}", source)]
    return calls or [Nonsense("bad_call", "the call is not NAME(KEY=VALUE, ...)", source)]


def _calls(tree: ast.Module) -> list[ast.expr]:
    nodes: list[ast.expr] = []
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            nodes.append(statement.value)
        elif isinstance(statement, ast.Expr):
            value = statement.value
            nodes += value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
        else:
            raise ValueError("it holds other statements")
    return nodes


def _read(node: ast.expr, source: str, tools: Tools) -> Item:
    words = ast.get_source_segment(source, node) or source
    if not isinstance(node, ast.Call):
        return Nonsense("bad_call", "the call is not NAME(KEY=VALUE, ...)", words)
    name = _name(node.func)
    if name == "print" and len(node.args) == 1 and "print" not in tools.names:
        return _read(node.args[0], source, tools)
    if name is None:
        return Nonsense("no_name", "the call names no tool", words)
    if name not in tools.names and "." in name:
        # `default_api.NAME(...)` and `NAME.call(...)` are how some families name a tool.
        name = next((part for part in name.split(".") if part in tools.names), name)
    if node.args or any(keyword.arg is None for keyword in node.keywords):
        return Nonsense(
            "bad_arguments", f"give the arguments of {name} by name, as in {name}(KEY=VALUE)", words
        )
    keys = [str(keyword.arg) for keyword in node.keywords]
    if len(set(keys)) != len(keys):
        return Nonsense("bad_arguments", f"the call of {name} gives an argument twice", words)
    return call_of(name, {str(k.arg): _value(k.value) for k in node.keywords}, words)


def _name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        inner = _name(node.value)
        return None if inner is None else f"{inner}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else None


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return node.value
    if isinstance(node, ast.Name) and node.id in CONSTANTS:
        return CONSTANTS[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        number = _value(node.operand)
        if isinstance(number, int | float) and not isinstance(number, bool):
            return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Dict) and all(isinstance(k, ast.Constant) for k in node.keys):
        return {
            str(key.value): _value(value)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant)
        }
    raise ValueError("an argument is no plain value")
