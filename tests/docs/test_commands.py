"""The commands in the docs are run, and what the docs show of their output is compared.

A page's fenced blocks are taken in order, in a folder of the page's own. What a block is, a comment on the
line before its fence says:

    <!-- not run: REASON -->      it needs hardware, a model file, a person ...; REASON is one of `REASONS`
    <!-- file: NAME -->           the content of a file, there before the first command; ```json NAME too
    <!-- exit status N -->        commands of which the last ends so
    <!-- output -->               lines of the last commands' output, in their order, as they are
    <!-- output, numbers masked --> the same with each number as `#`, since they depend on the machine
    <!-- output of: COMMAND -->   the same of a command that the page does not show as a block
    <!-- stand-in for PORT -->    a simulator that runs on; the port that it prints replaces PORT

Without a comment a block without a language, or with `sh`, is commands: run by bash, each must succeed; of
many `--episodes` two are run. A block of YAML is a file where its first line is `# NAME.yaml`, and else has
to be YAML.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click
import pytest
import typer
import yaml
from paths import ROOT

from core_eval.cli.main import app

pytestmark = pytest.mark.slow

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SECONDS = 200
REASONS = frozenset(
    {
        "needs a rig",
        "needs a broker",
        "needs a model file",
        "needs a person",
        "takes minutes",
        "needs a toolchain and a board",
        "installs, compiles and tests for minutes",
        "writes into the checkout",
    }
)
NOT_RUN: Mapping[str, int] = {
    "README.md": 4,
    "agent-frameworks.md": 2,
    "ci.md": 1,
    "drivers.md": 2,
    "field-trial.md": 2,
    "firmware.md": 3,
    "home-assistant.md": 2,
    "how-to.md": 6,
    "local-models.md": 4,
    "mcp.md": 1,
    "own-device.md": 1,
    "own-world.md": 1,
    "sensors-and-faults.md": 1,
    "tutorial.md": 1,
    "twin.md": 2,
    "worlds.md": 1,
}
COMMENT = re.compile(
    r"<!-- (?P<kind>not run|file|output of|output|exit status|stand-in for)(?P<masked>, numbers masked)?"
    r"(?::? (?P<what>.+))? -->"
)
FENCE = re.compile(r"```(?P<language>\w*)(?: (?P<name>[\w.-]+))?")
NAMED = re.compile(r"# (?P<name>[\w.-]+\.yaml)\b")
MANY_EPISODES = re.compile(r"--episodes \d+")
FRAGMENTS = {"yaml": yaml.safe_load, "toml": tomllib.loads}
"""How a part of a file is read, by its language."""
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is that of its fence, from 1."""

    line: int
    language: str
    text: str
    kind: str
    what: str
    masked: bool


def blocks(page: Path) -> Iterator[Block]:
    lines = page.read_text(encoding="utf-8").splitlines()
    start, language, name = None, "", None
    for number, line in enumerate(lines):
        fence = FENCE.fullmatch(line)
        if fence is None:
            continue
        if start is None:
            start, language, name = number, fence["language"], fence["name"]
            continue
        said = COMMENT.fullmatch(lines[start - 1]) if start else None
        text = "".join(f"{one}\n" for one in lines[start + 1 : number])
        named = NAMED.match(text) if language == "yaml" else None
        kind, what = (said["kind"], said["what"] or "") if said else ("run", "")
        if name is not None:
            kind, what = "file", name
        elif said is None and language not in ("", "sh"):
            kind, what = ("file", named["name"]) if named else ("fragment", "")
        yield Block(start + 1, language, text, kind, what, bool(said and said["masked"]))
        start = None
    assert start is None, f"{page}: a block is not closed"


@dataclass
class Folder:
    """Where a page's blocks are run."""

    path: Path
    printed: str = ""
    ports: dict[str, str] = field(default_factory=dict)
    """What takes the place of a port that the page names."""
    stand_ins: list[subprocess.Popen[str]] = field(default_factory=list)

    def prepare(self) -> None:
        binaries = self.path / ".venv" / "bin"
        binaries.mkdir(parents=True)
        (self.path / "site").mkdir()
        scripts = {
            "pathrig": f'exec {sys.executable} -m core_eval.cli.main "$@"',
            "python": f'exec {sys.executable} "$@"',
            # The last word is the package's folder. Nothing is downloaded; this environment is left alone.
            "pip": f"exec {sys.executable} -m pip --disable-pip-version-check install --quiet --no-index "
            f'--no-deps --no-build-isolation --target {self.path}/site "./${{@: -1}}"',
        }
        for name, text in scripts.items():
            (binaries / name).write_text(f"#!/bin/bash\n{text}\n")
            (binaries / name).chmod(0o755)

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(self.here(text), encoding="utf-8")

    def here(self, text: str) -> str:
        for named, port in self.ports.items():
            text = text.replace(named, port)
        return text

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{self.path}/.venv/bin:{os.environ['PATH']}:/usr/sbin",
            "PYTHONPATH": f"{ROOT}:{self.path}/site:{os.environ.get('PYTHONPATH', '')}",
            "COLUMNS": "200",
        }

    def stand_in(self, command: str, port: str) -> None:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.path,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.stand_ins.append(process)
        assert process.stdout is not None
        self.ports[port] = process.stdout.readline().strip()
        assert self.ports[port], f"{command} printed no port"

    def end(self) -> None:
        for process in self.stand_ins:
            process.terminate()
            process.communicate(timeout=SECONDS)

    def run(self, script: str, status: int = 0) -> None:
        script = MANY_EPISODES.sub("--episodes 2", self.here(script))
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", script],
            cwd=self.path,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == status, f"{script}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        self.printed = done.stdout


def plain(text: str, *, masked: bool) -> list[str]:
    """The lines, without what is before and after them, and without empty ones."""
    if masked:
        text = re.sub(r"─+", "─", NUMBER.sub("#", text))
    lines = (" ".join(line.split()) if masked else line.strip() for line in text.splitlines())
    return [line for line in lines if line]


def check_output(block: Block, printed: str) -> None:
    """Every line of the block is in the output, in the block's order."""
    rest = iter(plain(printed, masked=block.masked))
    for line in plain(block.text, masked=block.masked):
        assert line in rest, f"line {block.line}: the output does not go on with {line!r}\n{printed[-3000:]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.timeout(600)
def test_the_commands_of_a_page(page: Path, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.prepare()
    try:
        play(page, folder)
    finally:
        folder.end()


def play(page: Path, folder: Folder) -> None:
    for block in reversed(list(blocks(page))):
        if block.kind == "file":
            folder.write(block.what, block.text)
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        if block.kind == "not run":
            assert block.what in REASONS, f"{where}: {block.what!r} is no reason of {sorted(REASONS)}"
        elif block.kind == "file":
            folder.write(block.what, block.text)
        elif block.kind == "stand-in for":
            folder.stand_in(block.text.strip(), block.what)
        elif block.kind == "fragment":
            assert block.language in FRAGMENTS, f"{where}: say what a block of {block.language} is"
            FRAGMENTS[block.language](block.text)
        elif block.kind in ("run", "exit status"):
            folder.run(block.text, int(block.what or 0))
        else:
            if block.kind == "output of":
                folder.run(block.what)
            check_output(block, folder.printed)


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
        yield from verbs(sub, (*path, name))


def test_a_block_that_is_wrong_is_found(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.prepare()
    with pytest.raises(AssertionError, match="no-such-verb"):
        folder.run("pathrig no-such-verb\ntrue\n")
    folder.run("echo 'a 1.5 b'; echo 'c'\n")
    check_output(Block(1, "", "a 2.5  b\nc\n", "output", "", masked=True), folder.printed)
    for text in ("a 2.5 b\n", "c\na 1.5 b\n"):
        with pytest.raises(AssertionError, match="does not go on"):
            check_output(Block(1, "", text, "output", "", masked=False), folder.printed)
