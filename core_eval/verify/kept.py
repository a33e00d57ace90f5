"""Results of verifications in a file, so that a verification goes on where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from configs.errors import ConfigError
from configs.suite_manifest import Manifest
from configs.task import Task
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.verify.task import Verification

Keep = Callable[[Verification, Task], None]


def digest(task: Task, options: str) -> str:
    """Return what a result is of: the task with its world, this version, and the options that it ran with."""
    return f"{Manifest.of('', [task]).digest} {version('pathrig')} {options}"


def read_results(path: Path, tasks: Sequence[Task], options: str) -> dict[str, Verification]:
    """Return by id the results that a file holds of tasks and options that have not changed since.

    Raises:
        ConfigError: the file cannot be read, or a line is no result.
    """
    if not path.exists():
        return {}
    current = {task.id: digest(task, options) for task in tasks}
    found = {}
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            where = number
            record = parse_json(line)
            of = record.pop("digest")
            result = Verification(
                **{**record, "faults": tuple(record["faults"]), "remarks": tuple(record["remarks"])}
            )
            if current.get(result.task) == of:
                found[result.task] = result
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", file=path) from None
    except (ForeignJsonError, AttributeError, KeyError, TypeError):
        raise ConfigError(f"line {where} is no result of a verification; remove it", file=path) from None
    return found


@contextmanager
def kept_results(path: Path | None, options: str) -> Iterator[Keep]:
    """Return what adds a result to the file; nothing is kept without one."""
    if path is None:
        yield lambda _result, _task: None
        return
    with path.open("a", encoding="utf-8") as file:

        def keep(result: Verification, task: Task) -> None:
            file.write(json.dumps({**asdict(result), "digest": digest(task, options)}) + "\n")
            file.flush()

        yield keep
