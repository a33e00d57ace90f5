"""The reference page of `import pathrig`, from its docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pathrig
from pathrig.log import Log

PLUGIN_MODULES = ("agent", "device", "world")
RETURNED = {"open_log": Log}
"""Classes whose members are shown with the function that returns them."""
SECTIONS = {"Args": "Arguments"}


def python_page(head: str) -> str:
    """The front door: each name with its signature and its docstring; what packages import."""
    parts = [
        "# Python",
        "`import pathrig` offers these names. They keep their meaning within a major version. Whatever\n"
        "else can be imported from the kit's packages may change at any release. The examples are run by a\n"
        "test; `folder` is an empty folder.",
    ]
    for name in sorted(pathrig.__all__, key=str.lower):
        value = getattr(pathrig, name)
        if name.lower() in PLUGIN_MODULES:
            members = ", ".join(
                f"`{one}`" for one in importlib.import_module(f"pathrig.{name.lower()}").__all__
            )
            text = (
                f"The base of packages. `pathrig.{name.lower()}` has what they import beside it: {members}."
            )
            parts.append(f"## {name}\n\n{text}\n\n{docstring(value)}")
            continue
        parts.append(f"## {name}\n\n```python\n{signature_of(name, value)}\n```\n\n{docstring(value)}")
        shown_class = RETURNED.get(name, value)
        for member, method in vars(shown_class).items() if inspect.isclass(shown_class) else ():
            if not member.startswith("_"):
                text = method.fget if isinstance(method, property) else method
                shown = member if isinstance(method, property) else signature_of(member, method)
                parts.append(
                    f"### {shown_class.__name__}.{member}\n\n```python\n{shown}\n```\n\n{docstring(text)}"
                )
    return head + "\n\n".join(parts) + "\n"


def signature_of(name: str, value: Any) -> str:
    """A call with its parameters, one a line where they are many."""
    given = [one for one in inspect.signature(value).parameters.values() if one.name != "self"]
    parts = [
        f"{one.name}: {one.annotation}" + ("" if one.default is one.empty else f" = {one.default!r}")
        for one in given
    ]
    keyword_only = sum(one.kind is one.KEYWORD_ONLY for one in given)
    if keyword_only:
        parts.insert(len(parts) - keyword_only, "*")
    line = f"{name}({', '.join(parts)})"
    return line if len(line) <= 100 else f"{name}(\n    " + ",\n    ".join(parts) + ",\n)"


def docstring(value: Any) -> str:
    """A docstring as Markdown: examples as code, sections as lists."""
    shown: list[str] = []
    in_code = False
    for line in inspect.cleandoc(value.__doc__ or "").splitlines():
        starts = line.startswith((">>>", "...")) or (in_code and bool(line))
        if starts != in_code:
            shown.append("```python" if starts else "```")
            in_code = starts
        if not in_code and re.fullmatch(r"(Args|Attributes|Returns|Yields|Raises):", line):
            shown.append(f"**{SECTIONS.get(line[:-1], line[:-1])}**\n")
        elif not in_code and (entry := re.fullmatch(r"    (\S[^:]*): (.*)", line)):
            shown.append(f"- `{entry[1]}`: {entry[2]}")
        elif not in_code and line.startswith("        "):
            shown.append(f"  {line.strip()}")
        else:
            shown.append(line if in_code else line.strip())
    return "\n".join([*shown, "```"] if in_code else shown)
