"""Asks before a program or a secret is used that a file or a log names."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.models import OptionInfo

from core_eval.cli.output import console

if TYPE_CHECKING:
    from configs.programs import Use

_allowed = False


def _allow(given: bool) -> bool:
    global _allowed
    _allowed = given
    return given


def allow_option(group: str | None = None) -> OptionInfo:
    """Return the option --allow-programs, in a group of a verb's help."""
    info: OptionInfo = typer.Option(
        "--allow-programs",
        callback=_allow,
        help="Run programs, and send keys, that files name, unasked.",
        rich_help_panel=group,
    )
    return info


AllowPrograms = Annotated[bool, allow_option()]


def allowed() -> bool:
    """Return whether --allow-programs is given."""
    return _allowed


@contextmanager
def asking() -> Iterator[None]:
    """Within the context, ask on the terminal about what a file names, once each; without one, refuse."""
    from configs.programs import TrustedFiles, consent

    _allow(False)
    granted: set[Use] = set()

    def ask(use: Use) -> bool:
        if _allowed or use in granted or use.file in TrustedFiles():
            return True
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        print(f"pathrig: {use.file}: {use.key}: {use.what}", file=sys.stderr)
        if typer.confirm("Allow it this time?", err=True):
            granted.add(use)
        return use in granted

    with consent(ask):
        yield


def trust(
    files: Annotated[list[Path], typer.Argument(help="A rig's, a model's or a driver's YAML file.")],
) -> None:
    """Trust files by their content.

    What they name runs from now on without being asked.

    Each program, class and key that they name is printed. A file that is changed is asked about again.
    """
    from configs.programs import TrustedFiles, consent

    out = console()
    uses: list[Use] = []

    def note(use: Use) -> bool:
        # Before a class is imported.
        out.print(f"{use.file}: {use.key}: {use.what}", highlight=False, markup=False, soft_wrap=True)
        uses.append(use)
        return True

    with consent(note):
        for file in files:
            _load(file)
    for file in files:
        if not any(use.file == file for use in uses):
            out.print(
                f"{file}: names nothing that would be asked about",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )
    named: Sequence[Path] = list(dict.fromkeys(use.file for use in uses))
    if named:
        trusted = TrustedFiles()
        trusted.add(named)
        out.print(f"written to {trusted.path}", highlight=False, markup=False, soft_wrap=True)


def _load(path: Path) -> None:
    """Load a file by what it is, which is told by a key that each kind requires."""
    from configs.drivers_loader import load_driver
    from configs.models_loader import model_spec
    from configs.rigs_loader import load_rig
    from configs.yaml_file import load_yaml

    data = load_yaml(path).data
    if "model" in data:
        model_spec(str(path))
    elif "link" in data:
        load_driver(str(path))
    else:
        load_rig(str(path))
