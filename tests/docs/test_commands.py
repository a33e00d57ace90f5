"""The commands in the docs are run, and what the docs show of their output is compared."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest
import typer
from warm_pathrig import warm_pathrig

from core_eval.cli.main import app
from docs.outputs import PAGES, Block, Folder, blocks, check_output, play, renewed

pytestmark = pytest.mark.slow

NOT_RUN: Mapping[str, int] = {
    "README.md": 5,
    "agent-frameworks.md": 2,
    "bench.md": 4,
    "broker.md": 1,
    "ci.md": 1,
    "drivers.md": 3,
    "field-trial.md": 2,
    "field.md": 3,
    "firmware.md": 3,
    "home-assistant.md": 2,
    "lerobot.md": 1,
    "local-models.md": 4,
    "logs.md": 2,
    "marlin.md": 1,
    "mcp.md": 1,
    "modbus.md": 1,
    "own-device.md": 1,
    "own-model.md": 1,
    "own-rig.md": 1,
    "own-world.md": 1,
    "ros2.md": 1,
    "rules.md": 1,
    "sensors-and-faults.md": 1,
    "so101.md": 1,
    "tutorial.md": 1,
    "twin.md": 1,
    "watching.md": 3,
    "worlds.md": 3,
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.timeout(600)
def test_the_commands_of_a_page(page: Path, tmp_path: Path) -> None:
    warm = shlex.join(warm_pathrig())
    folder = Folder(tmp_path, warm, warm)
    folder.prepare()
    try:
        play(page, folder, check_output)
    finally:
        folder.end()


def test_how_many_blocks_are_not_run() -> None:
    """A new one is counted here on purpose: what can be run should be."""
    found = {page.name: sum(block.kind == "not run" for block in blocks(page)) for page in PAGES}
    assert {name: count for name, count in found.items() if count} == dict(NOT_RUN)
    kinds = Counter(block.kind for page in PAGES for block in blocks(page))
    assert kinds["run"] >= 15 and kinds["output"] + kinds["output of"] >= 3, kinds


def test_every_verb_is_told_of_in_a_page_for_people() -> None:
    text = " ".join(page.read_text(encoding="utf-8") for page in PAGES)
    missing = [
        verb for verb in map(" ".join, verbs(typer.main.get_command(app))) if f"pathrig {verb}" not in text
    ]
    assert missing == []


def verbs(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    below = getattr(command, "commands", {})
    if path and not below:
        yield path
    for name, sub in below.items():
        if not sub.hidden:
            yield from verbs(sub, (*path, name))


def test_a_block_that_is_wrong_is_found(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.prepare()
    with pytest.raises(AssertionError, match="no-such-verb"):
        folder.run("pathrig no-such-verb\ntrue\n")
    folder.run("echo 'a 1.5 b in 7 ms'; echo 'c'\n")
    check_output(block("a 1.5 b in 2 ms\nc\n", r"\d+ ms"), folder.printed)
    for text in ("a 2.5 b in 2 ms\n", "c\na 1.5 b in 2 ms\n"):
        with pytest.raises(AssertionError, match="does not go on"):
            check_output(block(text, r"\d+ ms"), folder.printed)


def test_a_block_is_renewed_with_its_own_lines() -> None:
    printed = "agent  PC  n\n───────\noracle  1.00  5\nrandom  0.20  5\ndone in 17 ms\n"
    old = "agent  PC\n──\nrandom  0.95\n\ndone in 3 ms\n"
    new = "agent  PC  n\n───────\nrandom  0.20  5\n\ndone in 3 ms\n"
    assert renewed(block(old, r"\d+ ms"), printed) == new
    with pytest.raises(ValueError, match="no line like 'gone'"):
        renewed(block("gone\n"), printed)


def block(text: str, pattern: str = "") -> Block:
    return Block(1, "", text, "output", "", pattern)
