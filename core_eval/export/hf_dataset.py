"""A suite as a dataset for the library `datasets`: a Parquet file a table, and a card that names them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from configs.difficulty import solved_share
from configs.suite_manifest import Manifest
from configs.task import Task
from core_eval.export import parquet
from core_eval.export.common import missing_library
from core_eval.export.tables import TABLES
from core_eval.log import LogReader, Tracked
from core_eval.score.release import Bound

LOGGED = ("episodes", "steps", "harm")
SPLIT = "test"


def write_dataset(
    manifest: Manifest,
    tasks: Sequence[Task],
    folder: Path,
    log: LogReader | None,
    tracked: Tracked,
    floors: Sequence[Bound] = (),
) -> list[str]:
    """Write the tables of a suite, and of a log where one is given; return their names.

    Raises:
        ExportError: pyarrow is not installed.
    """
    try:
        import pyarrow
        from pyarrow.parquet import write_table
    except ImportError as error:
        raise missing_library("hf", error) from None

    folder.mkdir(exist_ok=True)
    tables: Mapping[str, list[dict[str, Any]]] = {
        "tasks": [_task(task, manifest) for task in tasks],
        "prompts": [one for task in tasks for one in _prompts(task)],
        "automata": [_automaton(task) for task in tasks],
    }
    for name, rows in tables.items():
        write_table(pyarrow.Table.from_pylist(rows), folder / f"{name}.parquet")
    names = list(tables)
    if log is not None:
        parquet.write(log, log.episode_ids(), folder, tracked)
        for table in TABLES:
            if table.name in LOGGED:
                names.append(table.name)
            else:
                (folder / f"{table.name}.parquet").unlink()
    card = "\n".join([*_front_matter(manifest, names), dataset_card(manifest, tasks, floors)])
    (folder / "README.md").write_text(card, encoding="utf-8")
    return names


def _front_matter(manifest: Manifest, names: Sequence[str]) -> Iterator[str]:
    """Yield the YAML by which `datasets` finds the tables; JSON scalars are YAML."""
    yield "---"
    yield f"pretty_name: {json.dumps(f'pathrig suite {manifest.name}')}"
    yield f"license: {manifest.licence.lower()}"
    yield "language: [en]"
    yield "tags: [tool-use, agents, hardware-in-the-loop]"
    yield "configs:"
    for name in names:
        yield f"- config_name: {name}"
        if name == "tasks":
            yield "  default: true"
        yield "  data_files:"
        yield f"  - split: {SPLIT}"
        yield f"    path: {name}.parquet"
    yield "---"
    yield ""


def _task(task: Task, manifest: Manifest) -> dict[str, Any]:
    goal = {} if task.goal is None else {key: one.plain() for key, one in task.goal.patterns.items()}
    return {
        "id": task.id,
        "template": task.template,
        "world": None if task.world is None else task.world.name,
        "device": task.device.name,
        "prompt": task.prompt,
        "answer": task.answer,
        "decline": task.decline,
        "shortest_path": shortest_path(task),
        "solved_share": solved_share(task),
        "goal": json.dumps(goal, ensure_ascii=False, default=str),
        "init": json.dumps(dict(task.init), ensure_ascii=False, default=str),
        "tools": json.dumps([tool.schema() for tool in task.device.tools], ensure_ascii=False),
        "digest": manifest.tasks[task.id],
        "suite_digest": manifest.digest,
        "canary": manifest.canary,
    }


def _prompts(task: Task) -> Iterator[dict[str, Any]]:
    for number, text in enumerate((task.prompt, *task.paraphrases)):
        yield {"task": task.id, "wording": number, "prompt": text}


def _automaton(task: Task) -> dict[str, Any]:
    automaton = task.automaton
    return {
        "task": task.id,
        "states": len(automaton.states),
        "symbols": len(automaton.symbols),
        "automaton": json.dumps(automaton.to_json(), ensure_ascii=False),
    }


def shortest_path(task: Task) -> int:
    """Return the number of calls of a task's shortest golden path."""
    automaton = task.automaton
    if automaton.stages is not None:
        return 0 if automaton.stages.optional else automaton.stages.length
    reached, calls = {automaton.start}, 0
    while not reached & automaton.accepting:
        reached |= {target for (state, _), target in automaton.delta.items() if state in reached}
        calls += 1
    return calls


def dataset_card(manifest: Manifest, tasks: Sequence[Task], floors: Sequence[Bound] = ()) -> str:
    """Return the card.

    Args:
        manifest: of the suite.
        tasks: those of the suite.
        floors: what baselines pass; empty where it was not measured.
    """
    lengths = [shortest_path(task) for task in tasks if task.answer is None]
    worlds = Counter(task.device.name if task.world is None else task.world.name for task in tasks)
    asked = Counter(task.answer or "calls" for task in tasks)
    lines = [
        f"# Suite {manifest.name}",
        "",
        "Tasks for models that call tools on a rig or in a software world, each with its automaton of right "
        "paths. An episode is scored by its path (CORE), its end state, and the harm that it did.",
        "",
        "| fact | value |",
        "|---|---|",
        f"| made by | pathrig {manifest.version} |",
        f"| digest | `{manifest.digest}` |",
        f"| tasks | {len(tasks)}: {asked['calls']} need calls, {asked['decline']} are to be declined, "
        f"{asked['nothing']} ask for nothing |",
        f"| templates | {len({task.template for task in tasks})} |",
        f"| wordings | {sum(1 + len(task.paraphrases) for task in tasks)} |",
        f"| worlds | {len(worlds)} |",
    ]
    if lengths:
        lines.append(
            f"| calls of the shortest golden path, of tasks that need calls | median {median(lengths):g}, "
            f"{min(lengths)} to {max(lengths)} |"
        )
    lines += [
        "| split | test only: none of it is for training |",
        f"| licence | {manifest.licence} |",
        f"| canary | `{manifest.canary}` |",
        "",
        "## Worlds",
        "",
        "| world | tasks |",
        "|---|---|",
        *(f"| {world} | {count} |" for world, count in sorted(worlds.items())),
        "",
        "## Floors",
        "",
    ]
    if floors:
        lines += ["| baseline | passes | of |", "|---|---|---|"]
        lines += [f"| `{one.agent}` | {one.passed} | {one.tasks} |" for one in floors]
    else:
        lines.append("Not measured: `pathrig suite check` does it, and `suite build --db` takes its log.")
    return "\n".join(lines) + "\n"
