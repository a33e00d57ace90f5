"""What several verbs write: tables of agents, JSON; and the options and files that they share."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from core_eval.cli.screen import console as console

if TYPE_CHECKING:
    from core_eval.log import EpisodeRow

AggregateOption = Annotated[
    Path | None,
    typer.Option(
        help="YAML file that says how agents are compared; the table then shows their gated minimum."
    ),
]


def check_output(path: Path, option: str) -> None:
    """Find out whether a file can be written, before there is anything to write; nothing is written.

    Raises:
        UsageError: it cannot.
    """
    folder = path.absolute().parent
    if path.is_dir():
        raise UsageError(f"{option} {path}: is a folder; name a file")
    if not folder.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {folder}; make it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(f"{option} {path}: may not be written")


class UsageError(Exception):
    """What was asked for makes no sense; one line that says what to do."""


def print_agents(out: Console, episodes: Sequence[EpisodeRow], aggregate_file: Path | None) -> None:
    """The table of agents; of several their differences and Pareto front; of repeated tasks each one.

    Raises:
        ConfigError: the aggregate file is wrong.
    """
    from core_eval.report.aggregate import load_aggregate
    from core_eval.report.tables import (
        agents_legend,
        agents_table,
        comparisons_table,
        front_line,
        repeats_line,
        tasks_table,
    )

    aggregate = load_aggregate(aggregate_file)
    tasks = tasks_table(episodes)
    if tasks is not None:
        out.print(tasks)
    out.print(agents_table(episodes, None if aggregate_file is None else aggregate))
    for more in (
        repeats_line(episodes),
        comparisons_table(episodes),
        front_line(episodes, aggregate),
        agents_legend(episodes),
    ):
        if more is not None:
            out.print(more)


def print_json(value: Any) -> None:
    """JSON on standard output, indented."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def read_json_object(path: Path, option: str) -> dict[str, Any]:
    """The JSON object that a file of the user's holds.

    Raises:
        UsageError: it cannot be read, or holds something else.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{option} {path}: is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{option} {path}:{error.lineno}: is no JSON ({error.msg})") from None
    if not isinstance(value, dict):
        raise UsageError(f"{option} {path}: must hold one JSON object")
    return value
