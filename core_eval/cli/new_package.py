"""Writes a package from templates, as a start for a user's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import jinja2

from core_eval.cli.output import UsageError, console

NAME = re.compile(r"[a-z][a-z0-9_]*")


def write_package(what: str, name: str, target: Path, files: Mapping[str, Path]) -> None:
    """Write `target` from the templates in the folder `new_WHAT`, by name, to these paths in it.

    Raises:
        UsageError: the name is none, or the folder exists or cannot be written.
    """
    if NAME.fullmatch(name) is None:
        raise UsageError(f"{name!r} cannot name a {what}: use lower-case letters, digits and underscores")
    if target.exists():
        raise UsageError(f"{target} exists already: give another --folder")
    loader = jinja2.FileSystemLoader(Path(__file__).parent / f"new_{what}")
    environment = jinja2.Environment(loader=loader, keep_trailing_newline=True, autoescape=False)
    try:
        for template, path in files.items():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            text = environment.get_template(template).render(name=name, package=f"pathrig_{name}")
            (target / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}") from None
    console().print(f"wrote {target}; install it with `pip install -e {target}`", highlight=False)
