"""The jinja environment that chat templates are written for, in a sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import jinja2
import jinja2.ext
import jinja2.parser
from jinja2 import meta, nodes
from jinja2.sandbox import SandboxedEnvironment

from agents.errors import BackendError


class GenerationTag(jinja2.ext.Extension):
    """`{% generation %}`: marks what a model writes, for training; its body is rendered as it stands."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: jinja2.parser.Parser) -> list[nodes.Node]:
        """Return the body."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def compiled(source: str) -> tuple[jinja2.Template, frozenset[str]]:
    """Return a template and the names of the variables that it reads.

    Raises:
        BackendError: it does not compile.
    """
    environment = SandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols, GenerationTag]
    )
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = strftime_now
    try:
        names = meta.find_undeclared_variables(environment.parse(source))
        return environment.from_string(source), frozenset(names)
    except (jinja2.TemplateError, RecursionError) as error:
        raise BackendError(f"the model's chat template does not compile: {error}") from None


def strftime_now(form: str) -> str:
    """Return the date, as templates ask for it."""
    return datetime.now().strftime(form)


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
