"""The commands in the docs and their outputs.

`python docs/outputs.py [PAGE...]` runs the commands of all pages, or of these, and writes what they print
into the pages' blocks of output. `tests/docs/test_commands.py` runs them and compares.

A page's fenced blocks are taken in order, in a folder of the page's own. What a block is, a comment on the
line before its fence says:

    <!-- not run: REASON -->      it needs hardware, a model file, a person ...; REASON is one of `REASONS`
    <!-- file: NAME -->           the content of a file, there before the first command; ```json NAME too
    <!-- exit status N -->        commands of which the last ends so
    <!-- output -->               lines of the last commands' output, in their order, as they are
    <!-- output, but: PATTERN --> the same, but what the pattern matches depends on the machine
    <!-- output of: COMMAND -->   the same of a command that the page does not show as a block
    <!-- stand-in for PORT -->    a simulator that runs on; the port that it prints replaces PORT

Without a comment a block without a language, or with `sh`, is commands: run by bash, each must succeed. Of
many `--episodes` and `--held-out` tasks two are run, of a world's suite its long tasks. A block of YAML is a
file where its first line is `# NAME.yaml`, and else has to be YAML.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
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
COMMENT = re.compile(
    r"<!-- (?P<kind>not run|file|output of|output|exit status|stand-in for)(?:, but: (?P<pattern>.+))?"
    r"(?(pattern)|(?::? (?P<what>.+))?) -->"
)
FENCE = re.compile(r"```(?P<language>\w*)(?: (?P<name>[\w.-]+))?")
NAMED = re.compile(r"# (?P<name>[\w.-]+\.yaml)\b")
MANY = re.compile(r"(--episodes|--held-out) \d+")
SUITE = re.compile(r"(?<=pathrig run --suite )\S+")
FRAGMENTS = {"yaml": yaml.safe_load, "toml": tomllib.loads}
"""How a part of a file is read, by its language."""
NUMBER = re.compile(r"[-+±]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|─{2,}")
ALIKE = 0.6
"""Least likeness of a line of a page and the line of the new output that takes its place."""


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is that of its fence, from 1."""

    line: int
    language: str
    text: str
    kind: str
    what: str
    pattern: str


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page, in order."""
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
        yield Block(start + 1, language, text, kind, what, (said and said["pattern"]) or "")
        start = None
    assert start is None, f"{page}: a block is not closed"


@dataclass
class Folder:
    """Where a page's blocks are run."""

    path: Path
    pathrig: str = f"{sys.executable} -m core_eval.cli.main"
    """The command line that runs `pathrig`."""
    python: str = sys.executable
    """The command line that runs a file of Python."""
    printed: str = ""
    ports: dict[str, str] = field(default_factory=dict)
    """What takes the place of a port that the page names."""
    stand_ins: list[subprocess.Popen[str]] = field(default_factory=list)

    def prepare(self) -> None:
        """Write the programs that the commands name."""
        binaries = self.path / ".venv" / "bin"
        binaries.mkdir(parents=True)
        (self.path / "site").mkdir()
        scripts = {
            "pathrig": f'exec {self.pathrig} "$@"',
            "python": f'case "$1" in *.py) exec {self.python} "$@";; esac; exec {sys.executable} "$@"',
            # The last word is the package's folder. Nothing is downloaded; this environment is left alone.
            "pip": f"exec {sys.executable} -m pip --disable-pip-version-check install --quiet --no-index "
            f'--no-deps --no-build-isolation --target {self.path}/site "./${{@: -1}}"',
        }
        for name, text in scripts.items():
            (binaries / name).write_text(f"#!/bin/bash\n{text}\n")
            (binaries / name).chmod(0o755)

    def write(self, name: str, text: str) -> None:
        """Write a file of the page."""
        (self.path / name).write_text(self.here(text), encoding="utf-8")

    def here(self, text: str) -> str:
        """Return a text with the ports of the stand-ins."""
        for named, port in self.ports.items():
            text = text.replace(named, port)
        return text

    def environment(self) -> dict[str, str]:
        """Return the environment of the commands."""
        return {
            **os.environ,
            "PATH": f"{self.path}/.venv/bin:{os.environ['PATH']}:/usr/sbin",
            "PYTHONPATH": f"{ROOT}:{self.path}/site:{os.environ.get('PYTHONPATH', '')}",
            "COLUMNS": "200",
        }

    def stand_in(self, command: str, port: str) -> None:
        """Start a simulator that runs on, and note its port."""
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
        """End the stand-ins."""
        for process in self.stand_ins:
            process.terminate()
            process.communicate(timeout=SECONDS)

    def run(self, script: str, status: int = 0) -> None:
        """Run commands, and keep what they print."""
        script = SUITE.sub(few_tasks, MANY.sub(r"\1 2", self.here(script)))
        # Files, and no pipes: those would be waited for until a process that outlives the script has ended.
        with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as errors:
            done = subprocess.run(
                ["bash", "-eu", "-o", "pipefail", "-c", script],
                cwd=self.path,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=errors,
                timeout=SECONDS,
                check=False,
            )
            printed.seek(0)
            errors.seek(0)
            self.printed = printed.read()
            said = f"{self.printed[-2000:]}{errors.read()[-2000:]}"
        assert done.returncode == status, f"{script}\n{said}"


def few_tasks(named: re.Match[str]) -> str:
    """Return what is run of a suite."""
    long = ROOT / "configs" / "tasks" / named[0] / "long.yaml"
    return str(long) if long.exists() else named[0]


OnOutput = Callable[[Block, str], None]
"""Takes a block of output and what its commands printed."""


def play(page: Path, folder: Folder, on_output: OnOutput) -> None:
    """Write the files of a page and run its commands."""
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
            on_output(block, folder.printed)


def plain(text: str, pattern: str = "") -> list[str]:
    """Return the lines without what is around them, without empty ones, and with `#` for the pattern."""
    lines = (line.strip() for line in text.splitlines())
    return [re.sub(pattern, "#", line) if pattern else line for line in lines if line]


def check_output(block: Block, printed: str) -> None:
    """Assert that every line of the block is in the output, in the block's order."""
    rest = iter(plain(printed, block.pattern))
    for line in plain(block.text, block.pattern):
        assert line in rest, f"line {block.line}: the output does not go on with {line!r}\n{printed[-3000:]}"


def renewed(block: Block, printed: str) -> str:
    """Return the block's text with the lines of the output that stand in the place of its own.

    Raises:
        ValueError: the output has none that is like one of its lines.
    """
    left = [line.rstrip() for line in printed.splitlines() if line.strip()]
    lines = []
    for old in block.text.splitlines():
        if not old.strip():
            lines.append(old)
            continue
        words = NUMBER.sub("#", old).split()
        likeness = [SequenceMatcher(None, words, NUMBER.sub("#", new).split()).ratio() for new in left]
        best = max(likeness, default=0.0)
        if best < ALIKE:
            raise ValueError(f"line {block.line}: the output has no line like {old!r}: write the block anew")
        at = likeness.index(best)
        same = plain(left[at], block.pattern) == plain(old, block.pattern)
        lines.append(old if same else left[at])
        left = left[at + 1 :]
    return "".join(f"{line}\n" for line in lines)


def renew(page: Path) -> bool:
    """Run a page's commands and write their output into it; return whether it changed."""
    lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
    made: dict[int, tuple[int, str]] = {}

    def take(block: Block, printed: str) -> None:
        made[block.line] = len(block.text.splitlines()), renewed(block, printed)

    with tempfile.TemporaryDirectory() as path:
        folder = Folder(Path(path))
        folder.prepare()
        try:
            play(page, folder, take)
        finally:
            folder.end()
    before = "".join(lines)
    for line, (count, text) in sorted(made.items(), reverse=True):
        lines[line : line + count] = [text]
    page.write_text("".join(lines), encoding="utf-8")
    return before != "".join(lines)


def main() -> int:
    """Renew the pages that are named, or all; tell of those that could not be."""
    failed = 0
    for page in [Path(name) for name in sys.argv[1:]] or PAGES:
        try:
            print(f"{page.name}: {'changed' if renew(page) else 'as it was'}", flush=True)
        except (AssertionError, ValueError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"{page.name}: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
