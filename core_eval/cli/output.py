"""Output, options and files that several verbs share."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from rich.console import Console

from core_eval.cli.console import console as console
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.text.foreign_text import ForeignTextError, read_text
from core_eval.text.json_text import json_text

if TYPE_CHECKING:
    from core_eval.log import EpisodeRow
    from core_eval.path.automaton import TaskAutomaton

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AggregateOption = Annotated[
    Path | None,
    typer.Option(
        help="YAML file that defines how agents are compared; the table then shows their gated minimum."
    ),
]


def check_output(path: Path, option: str) -> None:
    """Check that a file can be written, without writing it.

    Raises:
        UsageError: it cannot be written.
    """
    folder = path.absolute().parent
    if path.is_dir():
        raise UsageError(f"{option} {path}: is a folder; name a file")
    if not folder.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {folder}; create it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(f"{option} {path}: permission denied")


class UsageError(Exception):
    """The options or their values are invalid; the text is one line with the remedy."""


def print_agents(
    out: Console, episodes: Sequence[EpisodeRow], aggregate_file: Path | None = None, *, brief: bool = False
) -> None:
    """Print the tables of a run's agents, worlds and tasks, and the outcome; if `brief`, of agents alone.

    Raises:
        ConfigError: the aggregate file is invalid.
    """
    from core_eval.report.tables.worlds import run_tables
    from core_eval.score.aggregate import load_aggregate

    aggregate = None if aggregate_file is None else load_aggregate(aggregate_file)
    for table in run_tables(episodes, aggregate, brief=brief):
        out.print(table)


def print_json(value: Any) -> None:
    """Print indented JSON on standard output."""
    print(json_text(value, indent=2))


def print_json_stream(value: Mapping[str, Any]) -> None:
    """Print an object as `print_json`, one after the other; an iterator's elements one by one."""
    between = "{"
    for key, item in value.items():
        sys.stdout.write(f"{between}\n  {json_text(key)}: ")
        if isinstance(item, Iterator):
            comma = "["
            for one in item:
                sys.stdout.write(f"{comma}\n" + indent(json_text(one, indent=2), "    "))
                comma = ","
            sys.stdout.write("[]" if comma == "[" else "\n  ]")
        else:
            sys.stdout.write(indent(json_text(item, indent=2), "  ").lstrip())
        between = ","
    sys.stdout.write("{}\n" if between == "{" else "\n}\n")


def print_faults(malformed: Mapping[str, Sequence[str]]) -> None:
    """Print the faults of malformed tasks on standard error."""
    for faults in malformed.values():
        for fault in faults:
            print(f"pathrig: {fault}", file=sys.stderr)


def warn_of_cycles(automata: Iterable[TaskAutomaton]) -> None:
    """Print on standard error which automata have cycles, whose golden paths are the simple paths only."""
    for automaton in automata:
        if automaton.cycle_warning is not None:
            print(f"pathrig: warning: {automaton.cycle_warning}", file=sys.stderr)


@contextmanager
def replaced_file(
    path: Path,
    option: str,
    *,
    inputs: Sequence[Path | None] = (),
    private: bool = False,
    durable: bool = True,
) -> Iterator[TextIO]:
    """Open a temporary file that replaces `path` when the context ends without an error.

    A device or a pipe is written directly.

    Args:
        path: the file; a symbolic link is followed.
        option: the option that names it, for messages.
        inputs: files that are read, which must not be overwritten.
        private: make it readable by its owner only.
        durable: wait until the disk has it; not for the many files of a report, which can be written again.

    Raises:
        UsageError: the file is one of the inputs, or cannot be written.
    """
    for one in inputs:
        if one is not None and _same_file(path, one):
            raise UsageError(f"{option} {path}: is an input file ({one}); name another one")
    try:
        # A report has thousands of files: few questions about each.
        found = path.stat().st_mode if path.exists() else None
        if found is not None and not stat.S_ISREG(found):
            with path.open("w", encoding="utf-8", errors="replace") as file:
                yield file
            return
        known = 0o666 & ~_umask() if found is None else stat.S_IMODE(found)
        # Keep a symbolic link, and replace its target.
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
        with _temporary(target, None if private else known, durable) as file:
            yield file
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror or error}") from None


def write_file(
    path: Path,
    option: str,
    text: str,
    *,
    inputs: Sequence[Path | None] = (),
    private: bool = False,
    durable: bool = True,
) -> None:
    """Write a whole file; see `replaced_file`."""
    with replaced_file(path, option, inputs=inputs, private=private, durable=durable) as file:
        file.write(text)


@contextmanager
def _temporary(path: Path, mode: int | None, durable: bool) -> Iterator[TextIO]:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if mode is not None:
            # mkstemp creates it readable by its owner only.
            Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def read_json_object(path: Path, option: str) -> dict[str, Any]:
    """Read a JSON object from a user's file.

    Raises:
        UsageError: the file cannot be read, or does not hold a JSON object.
    """
    try:
        value = parse_json(read_text(path))
    except ForeignTextError as error:
        raise UsageError(f"{option} {path}: {error}") from None
    except ForeignJsonError as error:
        raise UsageError(f"{option} {path}: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{option} {path}: must hold one JSON object")
    return value
