"""The rule by which the suite `core` is chosen; `python -m configs.released_suite` writes its list anew.

Of each shipped template it has the instance without a seed of one branch, and of those of `LONG` calls or
more also instances that seeds draw. A task that is no template is in it as it is. Tasks that come with a
world of a package (the SO-101's) are not in it: it would need what that package needs.
"""

from __future__ import annotations

from collections.abc import Iterator

from configs.suite_manifest import CANARY, task_digest
from configs.suites import SUITES_FOLDER
from configs.task import Task
from configs.tasks_loader import TASKS_FOLDER, list_tasks, load_task
from core_eval.text.streams import STREAMS, stream

LONG = 8
"""Calls of a golden path from which on a template has more than one instance."""
DRAWN = 2
"""How many more."""
SEEDS = range(1, 40)
"""Of them the first that draw instances unlike each other."""
FILE = SUITES_FOLDER / "core.yaml"


def chosen() -> Iterator[str]:
    """Yield the ids of the suite's tasks, in the order of their files."""
    templates: dict[str, list[Task]] = {}
    for task in (one for one in list_tasks() if one.file.is_relative_to(TASKS_FOLDER)):
        templates.setdefault(task.template, []).append(task)
    for name, branches in templates.items():
        plain = branches[stream(STREAMS, 0, "released suite", name) % len(branches)]
        yield plain.id
        if plain.instance_of is None or golden_length(plain) < LONG:
            continue
        known = {task_digest(plain)}
        for seed in SEEDS:
            if len(known) > DRAWN:
                break
            drawn = load_task(f"{name}@{seed}")
            if task_digest(drawn) not in known:
                known.add(task_digest(drawn))
                yield drawn.id


def golden_length(task: Task) -> int:
    """Return the number of calls of its first golden path."""
    return len(next(iter(task.automaton.golden_paths(limit=1))))


def as_text() -> str:
    """Return the list as a task file."""
    lines = "".join(f"  - {name}\n" for name in chosen())
    return f"# {CANARY}\n# Written by `python -m configs.released_suite`.\nsuite:\n{lines}"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(as_text(), encoding="utf-8")
