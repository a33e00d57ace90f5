"""`${name}` in commands, topics and patterns: pure text, never evaluated."""

from __future__ import annotations

import re
from collections.abc import Mapping

PLACEHOLDER = re.compile(r"\$\{(\w+)\}")


class TemplateError(ValueError):
    """A template with an undefined name, or a command with a forbidden byte."""


def names_in(template: str) -> list[str]:
    """Return the placeholders of a template, in order."""
    return PLACEHOLDER.findall(template)


def literal_text(template: str) -> str:
    """Return the template without its placeholders."""
    return PLACEHOLDER.sub("", template)


def render(template: str, values: Mapping[str, str]) -> str:
    """Return the template with its placeholders filled.

    Raises:
        TemplateError: there is no such name.
    """

    def fill(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise TemplateError(f"nothing is known for ${{{match[1]}}} in {template!r}")
        return values[match[1]]

    return PLACEHOLDER.sub(fill, template)


def render_regex(template: str, values: Mapping[str, str]) -> str:
    """Return a regular expression whose placeholders are filled with literal text."""
    return render(template, {name: re.escape(text) for name, text in values.items()})


def check_bytes(command: str, never: str, max_bytes: int) -> bytes:
    """Return the command's bytes, if all of them may be sent.

    Raises:
        TemplateError: it is too long, holds a forbidden byte or a line end, or is not ASCII.
    """
    for character in command:
        if character in never or not (" " <= character <= "~"):
            raise TemplateError(f"the command {command!r} holds {character!r}, which must not be sent")
    if len(command) > max_bytes:
        raise TemplateError(f"the command {command!r} is longer than {max_bytes} bytes")
    return command.encode("ascii")
