"""What the command says of itself: version, help of every verb, and words for a shell to complete."""

from __future__ import annotations

import os
import site
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest
import typer
from paths import ROOT

from core_eval.cli import verbs as cli_verbs
from core_eval.cli.main import app, main

LIGHT = {
    *sys.stdlib_module_names,
    *("annotated_doc", "core_eval", "shellingham", "typer"),
}
"""What `pathrig --help` imports: neither pydantic nor rich, which take 0.2 s."""
NOT_FOR_A_LIST = {
    *("configs.tasks_loader", "configs.yaml_task", "core_eval.run.config", "core_eval.rules.rule_file"),
    *("core_eval.score.scoring", "core_eval.harm.assessment", "jinja2", "llama_cpp", "mujoco", "scipy"),
}
OURS = {
    "core_eval", "core_eval.rig", "core_eval.rig.final_stops", "core_eval.text",
    "core_eval.text.visible_text", "core_eval.cli", "core_eval.cli.entry",
    "core_eval.cli.main", "core_eval.cli.progress", "core_eval.cli.screen", "core_eval.cli.verbs",
}  # fmt: skip


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


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_first_look_imports_little(option: str) -> None:
    code = "import sys; from core_eval.cli.entry import main; main(); print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-S", "-c", code, option]
    paths = os.pathsep.join([str(ROOT), *site.getsitepackages()])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "pathrig" in done.stdout
    names = set(done.stderr.split())
    assert {name.partition(".")[0] for name in names} - LIGHT <= {"__main__"}
    assert {name for name in names if name.partition(".")[0] in ("core_eval", "devices")} == OURS


def test_a_list_of_episodes_imports_neither_tasks_nor_rules(tmp_path: Path) -> None:
    db = str(tmp_path / "a.db")
    assert (
        main(["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "done", "--db", db])
        == 0
    )
    code = "import sys; from core_eval.cli.main import main; main(); print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", code, "show", db]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "water_one_plant" in done.stdout
    assert set(done.stderr.split()) & NOT_FOR_A_LIST == set()


def test_the_help_of_run_is_one_screen_in_five_groups(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["run", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 60 and max(map(len, lines)) <= 80
    groups = [line.rstrip(":") for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert groups == ["What", "Model", "Rig and guard", "Gates", "Output"]
    assert sum(line.startswith("  --") for line in lines) <= 30


def test_no_summary_of_a_verb_is_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "..." not in shown.partition("Evaluate:")[2]
    for summaries in cli_verbs.VERBS.values():
        assert all(f"{name} " in shown and f" {summary}\n" in shown for name, summary in summaries.items())


@pytest.mark.parametrize("group", ["tasks", "worlds", "rigs", "models", "log", "rigs broker"])
def test_no_summary_in_a_group_is_cut(
    group: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*group.split(), "--help"]) == 0
    assert "..." not in capsys.readouterr().out.partition("Commands:")[2]


@pytest.mark.parametrize(("old", "new"), cli_verbs.RENAMED.items())
def test_an_old_word_is_an_error_that_names_the_new_one(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*old.split(), "x.db", "-o", "y"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"`pathrig {old}` is `pathrig {new}` now" in said
    words = tuple(word for word in new.partition(" --")[0].split() if word.islower())
    assert words in VERBS, "it is a verb"


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
