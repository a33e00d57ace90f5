"""Drawings of tasks' automata, with the path of an episode or a trace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core_eval.cli.output import UsageError, write_file
from core_eval.log import LogReader
from core_eval.log.rows import logged_calls
from core_eval.path import Call, TaskAutomaton
from core_eval.report.pictures.automaton_dot import to_dot
from core_eval.report.pictures.automaton_drawing import to_svg
from core_eval.text.foreign_text import ForeignTextError, open_lines
from core_eval.traces.trace_file import BadTrace, read_traces


def made_calls(task: str, db: Path | None, episode: int | None, trace: Path | None) -> list[Call]:
    """Return the calls of the path to draw; none if the options name no episode and no trace.

    Raises:
        UsageError: the options exclude each other, or the file has no calls of the task.
        LogError: the log cannot be read, or has no such episode.
    """
    if (db is None) != (episode is None):
        raise UsageError("--db DB and --episode N go together")
    if db is not None and trace is not None:
        raise UsageError("give --db and --episode, or --trace, not both")
    if db is not None and episode is not None:
        return _of_episode(task, db, episode)
    return [] if trace is None else _of_trace(task, trace)


def draw(
    automaton: TaskAutomaton,
    calls: list[Call],
    *,
    svg: Path | None,
    dot: Path | None,
    inputs: Sequence[Path | None],
) -> None:
    """Write the drawings whose files are given.

    Raises:
        UsageError: a file cannot be written, or is one of the inputs.
    """
    for path, option, picture in ((svg, "--svg", to_svg), (dot, "--dot", to_dot)):
        if path is not None:
            write_file(path, option, picture(automaton, calls), inputs=inputs)


def _of_episode(task: str, db: Path, episode: int) -> list[Call]:
    with LogReader(db) as reader:
        row = reader.episode(episode)
        if row.task != task:
            raise UsageError(f"--episode {episode}: is an episode of task {row.task}, not of {task}")
        return logged_calls(reader.steps(episode))


def _of_trace(task: str, path: Path) -> list[Call]:
    try:
        with open_lines(path) as opened:
            for found in read_traces(opened.lines, file=str(path)):
                if str(found.task) == task:
                    if isinstance(found, BadTrace):
                        raise UsageError(f"--trace {found.error}")
                    return list(found.calls)
    except ForeignTextError as error:
        raise UsageError(f"--trace {path}: {error}") from None
    raise UsageError(f"--trace {path}: has no trace of task {task}")
