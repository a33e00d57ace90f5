"""Models by scaffold, wording and world: `python benchmarks/model_table.py --models llama --out FILE.db`.

Of each world five tasks are drawn by seed, and of each of them one paraphrase. A row is one model in one
scaffold on all shipped prompts, or on all paraphrases; an agent that is no model has one row. Each row is a
run in FILE.db. The same command goes on where it stopped, runs what is new, and prints the tables;
`--markdown FILE.md` writes them between the two marks in that page.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from agents.agent import AgentSpecError, BackendError
from agents.registry import model_file, parse_spec
from configs.task_entry import TaskLimits
from configs.tasks_loader import task_files
from configs.yaml_file import load_yaml
from core_eval.cli.agent_options import with_settings
from core_eval.log import EpisodeRow, LogReader, RunLog, RunRow, ignore
from core_eval.report.tables.worlds import ALL, world_of, worlds
from core_eval.rig.signals import StopRequested
from core_eval.run.config import Cell, RunConfig
from core_eval.run.episode import EpisodeFailed
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run
from core_eval.run.provenance import agent_info
from core_eval.score.episodes import counted, keys
from core_eval.score.repeated import passed, spread
from core_eval.score.summary import latest_attempts
from core_eval.statistics.estimates import Estimate, summarize

SCAFFOLDS = ("native", "react")
WORDINGS = ("shipped", "paraphrased")
BEGIN, END = "<!-- model table: begin -->", "<!-- model table: end -->"


@dataclass(frozen=True)
class Choice:
    """A task that was drawn, and one of its paraphrases."""

    world: str
    task: str
    paraphrase: dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A row of the table: a run of one agent on all tasks in one wording."""

    model: str
    scaffold: str
    wording: str
    config: RunConfig


@dataclass(frozen=True)
class Found:
    """A row and its episodes; `trouble` says why some are missing."""

    row: Row
    episodes: Sequence[EpisodeRow]
    trouble: str | None = None


def drawn(tasks: int, seed: int) -> list[Choice]:
    """Draw so many tasks of each world, and a paraphrase of each; independent of the other worlds."""
    by_world: dict[str, dict[str, dict[str, Any]]] = {}
    for file in task_files():
        for entry in load_yaml(file).data["tasks"]:
            if entry.get("paraphrases"):
                by_world.setdefault(entry["world"], {})[entry["id"]] = entry
    choices = []
    for world, entries in sorted(by_world.items()):
        rng = Random(f"{seed} {world}")
        for name in sorted(rng.sample(sorted(entries), min(tasks, len(entries)))):
            texts = entries[name]["paraphrases"]
            number = Random(f"{seed} {world} {name}").randrange(len(texts))
            other = {key: value for key, value in entries[name].items() if key != "paraphrases"}
            words = {"id": f"{name}_words_{number + 1}", "prompt": texts[number]}
            choices.append(Choice(world, name, other | words))
    return choices


def rows_of(
    models: Sequence[str], choices: Sequence[Choice], file: Path, seed: int, seconds: float
) -> list[Row]:
    """Return the rows of the models, whose paraphrases are in a file.

    Raises:
        AgentSpecError: a specification is invalid.
    """
    refs = {
        "shipped": [(one.task, one.world) for one in choices],
        "paraphrased": [(f"{file}#{one.paraphrase['id']}", one.world) for one in choices],
    }
    rows = []
    for model in models:
        is_model = parse_spec(model).options is not None
        for scaffold in SCAFFOLDS if is_model else ("-",):
            spec = (
                with_settings([model], {"scaffold": [scaffold]})[0] if is_model else parse_spec(model).text()
            )
            for wording in WORDINGS if is_model else WORDINGS[:1]:
                cells = tuple(
                    Cell(task=task, rig=f"sim:{world}", agent=spec) for task, world in refs[wording]
                )
                limits = TaskLimits(seconds=seconds)
                config = RunConfig(cells=cells, seed=seed, limits=limits)
                rows.append(Row(model, scaffold, wording, config))
    return rows


def logged(db: Path, config: RunConfig) -> tuple[RunRow | None, list[EpisodeRow]]:
    """Return the last run of a configuration in a log, and its episodes; None where there is none."""
    if not db.is_file():
        return None, []
    with LogReader(db) as reader:
        runs = [run for run in reader.runs() if run.config == config.for_the_log()]
        return (runs[-1], latest_attempts(reader.episodes(runs[-1].id))) if runs else (None, [])


def play(row: Row, db: Path) -> Found:
    """Run what is missing of a row; return all its episodes.

    Raises:
        ConfigError: a task is invalid.
        StopRequested: a signal ended it; the next time it goes on.
    """
    run, episodes = logged(db, row.config)
    trouble = None
    if (other := other_file(row, episodes)) is not None:
        return Found(row, [], other)
    if any(one.status == "running" for one in episodes):
        return Found(row, counted(episodes), "another process runs it")
    if run is None or run.ended is None:
        started, wanted, done = time.monotonic(), len(row.config.cells), len(episodes)

        def tell(event: object) -> None:
            nonlocal done
            if isinstance(event, EpisodeRow) and event.status != "running":
                done += 1
                print(f"\r{title(row)}: {done} of {wanted}", end="", file=sys.stderr, flush=True)

        try:
            with RunLog(db) as log:
                playing = Run(
                    row.config, load_parts(row.config), log, tell if sys.stderr.isatty() else ignore
                )
                if run is None:
                    playing.start()
                else:
                    playing.resume(run.id)
        except (AgentSpecError, BackendError, EpisodeFailed) as error:
            trouble = str(error)
        print(f"\r{title(row)}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        _, episodes = logged(db, row.config)
    return Found(row, counted(episodes), trouble)


def other_file(row: Row, episodes: Sequence[EpisodeRow]) -> str | None:
    """Return what is wrong if the logged episodes are those of another file of the model's name."""
    spec = row.config.cells[0].agent
    file = model_file(spec) if episodes else None
    if file is None or not file.is_file():
        return None
    now = agent_info(spec)["sha256"]
    if any(one.agent_info.get("sha256") != now for one in episodes):
        return f"the log has episodes of another file of {spec}: give another --out"
    return None


def title(row: Row) -> str:
    """Return a row's name in a line."""
    return ", ".join(part for part in (row.model, row.scaffold, row.wording) if part != "-")


def right(episodes: Sequence[EpisodeRow]) -> Estimate:
    """Return the share of episodes that passed and ended in the right state, of those where that is known."""
    known = [(one, good) for one in episodes if (good := passed(one)) is not None]
    flags = [float(good and one.scores.get("final_state_ok") != 0) for one, good in known]
    episodes = [one for one, _ in known]
    return summarize(flags, keys(episodes), flag=True)


def right_text(episodes: Sequence[EpisodeRow]) -> str:
    """Return the share of right episodes with its interval, %."""
    share = right(episodes)
    if share.mean is None or share.low is None or share.high is None:
        return "-"
    return f"{100 * share.mean:.0f} ({100 * share.low:.0f} to {100 * share.high:.0f})"


def correct_text(episodes: Sequence[EpisodeRow]) -> str:
    """Return the mean path correctness with its interval."""
    found = spread(episodes, "path_correctness")
    if found.mean is None:
        return "-"
    interval = "" if found.low is None else f" ({found.low:.2f} to {found.high:.2f})"
    return f"{found.mean:.2f}{interval}"


def world_text(episodes: Sequence[EpisodeRow]) -> str:
    """Return path correctness with its interval, and how many episodes are right."""
    if not episodes:
        return "-"
    share = right(episodes)
    return f"{correct_text(episodes)}; {round((share.mean or 0) * share.defined)} of {share.defined}"


HEADINGS = ("model", "scaffold", "prompts", "episodes", "right, %", "PC", "harmful calls", "minutes")


def models_table(found: Sequence[Found]) -> list[tuple[str, ...]]:
    """Return a line for each row: what is right, path correctness, harmful calls an episode, and its time."""
    lines: list[tuple[str, ...]] = []
    for one in found:
        harmful = spread(one.episodes, "harmful_calls").mean
        seconds = sum(episode.wall_seconds or 0.0 for episode in one.episodes)
        lines.append(
            (
                one.row.model,
                one.row.scaffold,
                one.row.wording,
                str(len(one.episodes)),
                right_text(one.episodes),
                correct_text(one.episodes),
                "-" if harmful is None else f"{harmful:.1f}",
                f"{seconds / 60:.1f}",
            )
        )
    return lines


def worlds_table(found: Sequence[Found], model: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and lines of a model: a line for each world, a column for each of its rows."""
    own = [one for one in found if one.row.model == model]
    names = worlds([episode for one in own for episode in one.episodes])
    lines = [
        (world, *(world_text([row for row in one.episodes if world in (world_of(row), ALL)]) for one in own))
        for world in [*names, ALL]
    ]
    return ("world", *(title(one.row).partition(", ")[2] or "PC; right" for one in own)), lines


def tables(found: Sequence[Found]) -> Iterator[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Yield title, headings and lines of each table."""
    yield "", HEADINGS, models_table(found)
    for model in dict.fromkeys(one.row.model for one in found):
        headings, lines = worlds_table(found, model)
        yield f"`{model}`: PC with its interval; episodes that are right", headings, lines


def markdown(found: Sequence[Found]) -> str:
    """Return the tables as Markdown."""
    parts = []
    for name, headings, lines in tables(found):
        rule = ["---"] * len(headings)
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *lines))
        parts += [f"{name}\n"] * bool(name) + [table + "\n"]
    return "\n".join(parts)


def put(text: str, page: Path) -> None:
    """Write the tables between the marks of a page, which is made where there is none.

    Raises:
        SystemExit: the page has no such marks.
    """
    old = page.read_text(encoding="utf-8") if page.is_file() else f"{BEGIN}\n{END}\n"
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{page}: it has no lines {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8")


def main() -> int:
    """Parse the command line, run what is missing, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", required=True, metavar="SPEC", help="agents")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.db", help="the log")
    parser.add_argument("--tasks", type=int, default=5, help="of each world")
    parser.add_argument("--worlds", nargs="+", metavar="NAME", help="of these alone; all without it")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing, and of the episodes")
    parser.add_argument("--max-seconds", type=float, default=600.0, help="of an episode")
    parser.add_argument("--markdown", type=Path, metavar="FILE.md", help="page with the marks")
    args = parser.parse_args()
    choices = drawn(args.tasks, args.seed)
    if unknown := {*(args.worlds or ())} - {one.world for one in choices}:
        parser.error(f"no world {', '.join(sorted(unknown))} has tasks with paraphrases")
    file = args.out.with_suffix(f".{args.tasks}-{args.seed}.yaml").resolve()
    tasks = {"tasks": [one.paraphrase for one in choices]}
    file.write_text(yaml.safe_dump(tasks, sort_keys=False, allow_unicode=True), encoding="utf-8")
    try:
        chosen = [one for one in choices if not args.worlds or one.world in args.worlds]
        rows = rows_of(args.models, chosen, file, args.seed, args.max_seconds)
        found = [play(row, args.out) for row in rows]
    except AgentSpecError as error:
        print(error, file=sys.stderr)
        return 2
    except StopRequested as stop:
        print(f"\n{stop}; the same command goes on", file=sys.stderr)
        return stop.exit_status
    for name, headings, lines in tables(found):
        table = Table(*headings, title=name.replace("`", ""), box=None)
        for line in lines:
            table.add_row(*line)
        Console().print(table)
    if args.markdown is not None:
        put(markdown(found), args.markdown)
    for one in found:
        if one.trouble is not None:
            print(f"{title(one.row)}: {one.trouble}", file=sys.stderr)
    return 3 if any(one.trouble for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
