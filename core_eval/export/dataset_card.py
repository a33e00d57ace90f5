"""The card of a suite: what it holds, in measured numbers, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from configs.suite_manifest import Manifest
from configs.task import Task
from core_eval.score.release import Bound


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
