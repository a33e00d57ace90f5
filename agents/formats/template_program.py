"""The program of the process that renders chat templates: the jinja environment that they are written for.

It imports nothing of the kit. Each line of standard input is a request, `{"source", "seconds"}` with
`"variables"` where the template is rendered; each line of standard output answers one: `{"names"}`, the
variables that the template reads, or `{"text"}`, or `{"error", "compiled"}`.
"""

from __future__ import annotations

import json
import math
import resource
import signal
import sys
import time
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any

import jinja2
import jinja2.ext
import jinja2.parser
from jinja2 import meta, nodes
from jinja2.sandbox import SandboxedEnvironment

MEMORY = 256 << 20
"""Bytes that a template may use."""
MOST_TEXT = 1 << 24
"""Characters of a rendered text, and of a template."""


class GenerationTag(jinja2.ext.Extension):
    """`{% generation %}`: marks what a model writes, for training; its body is rendered as it stands."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: jinja2.parser.Parser) -> list[nodes.Node]:
        """Return the body."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


@lru_cache(maxsize=4)
def compiled(source: str) -> tuple[jinja2.Template, list[str]]:
    """Return a template and the names of the variables that it reads."""
    environment = SandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols, GenerationTag]
    )
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    parsed = environment.parse(source)
    names = meta.find_undeclared_variables(parsed)
    return environment.from_string(parsed), sorted(names)


def to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Return JSON as templates expect it: characters as they are, a list for any other sequence."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
        default=_as_list,
    )


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def _raise(message: str) -> None:
    raise jinja2.TemplateError(message)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    template = None
    try:
        template, names = compiled(request["source"])
        if "variables" not in request:
            return {"names": names}
        text = template.render(**request["variables"])
        if len(text) > MOST_TEXT:
            raise ValueError(f"the text has more than {MOST_TEXT:,} characters")
        return {"text": text}
    except Exception as error:  # a template is foreign code: it may raise anything
        said = f"more than {MEMORY >> 20} MiB" if isinstance(error, MemoryError) else str(error)[:1000]
        name = "" if isinstance(error, jinja2.TemplateSyntaxError) else f"{type(error).__name__}: "
        return {"error": f"{name}{said}", "compiled": template is not None}


def main() -> None:
    """Answer requests until there are no more; the system ends a process that takes too long."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        until = math.ceil(time.process_time() + request["seconds"])
        resource.setrlimit(resource.RLIMIT_CPU, (until, hard))
        sys.stdout.buffer.write(json.dumps(_answer(request)).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
