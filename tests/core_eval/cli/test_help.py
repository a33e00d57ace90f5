"""What the command says of itself: version, help of every verb, and words for a shell to complete."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version

import click
import pytest
import typer
from paths import ROOT

from core_eval.cli.main import app, main


def verbs(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    below = getattr(command, "commands", {})
    return [path, *(verb for name, sub in below.items() for verb in verbs(sub, (*path, name)))]


VERBS = verbs(typer.main.get_command(app))


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"pathrig {version('pathrig')}\n"


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_has_help(verb: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*verb, "-h"]) == 0
    short = capsys.readouterr().out
    assert main([*verb, "--help"]) == 0
    assert short == capsys.readouterr().out
    assert short.startswith(f"Usage: {' '.join(['pathrig', *verb])} ")
    assert "-h, --help" in short


@pytest.mark.parametrize(("typed", "offered"), [("pathrig ri", "rigs"), ("pathrig rigs che", "check")])
def test_a_shell_gets_words_to_complete(typed: str, offered: str) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "_PATHRIG_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    command = [sys.executable, "-m", "core_eval.cli.main"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [offered]
