"""What shipped tasks of the two rigs say and ask for, so that no made-up episode does.

These are the tasks of the files `HELD_OUT`, with the defaults of their parameters; the tasks of other files
came after the model.

Held out are: any six words in a row of their prompts and paraphrases, with whatever names, amounts and
points; their plans, which are the plants or objects on which the same tools work, in any order; every number
in them, as an amount; and every place of their worlds and plans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from agents.scaffolds.prompting import NOT_TRAINED_ON
from configs.task_template import Template
from configs.tasks_loader import TASKS_FOLDER
from configs.worlds.farm_rover import WORLD as FARM
from configs.worlds.robotic_arm import WORLD as BENCH
from configs.yaml_file import load_yaml
from configs.yaml_text import Loader
from devices.device_type import DeviceType
from training.spoken_numbers import ONES, TENS

HELD_OUT = ("farm_rover", "farm_rover_more", "robotic_arm", "robotic_arm_more", "cautions")
"""The files of `configs/tasks` whose tasks the model is measured by."""
WORLDS = (FARM.name, BENCH.name)
DEFAULTS = (FARM.defaults, BENCH.defaults)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
NUMBER_WORDS = "|".join([*ONES[1:], *TENS])
AMOUNT = re.compile(
    rf"(?:-?\d+(?:\.\d+)?|{NUMBER_WORDS})(?:[- ](?:and a half|point|{NUMBER_WORDS}))*\s*"
    r"(?:ml|m?illilit(?:er|re)s?|lit(?:er|re)s?|l)\b(?: of (?:the )?(?:water|pesticide))?"
)
NAME = re.compile(r"\b[a-z]+_\w+\b", re.IGNORECASE)
NOT_WORK = re.compile(r"(un)?lock_|move_|home$|get_|list_|scan_|sense_")
READS = re.compile(r"get_|list_|scan_|sense_")
POINT = re.compile(r"(?:x )?#(?: (?:y |z |yaw |and )?#)+")
Step = tuple[str, str]
TELLING = 6


def taught(device: DeviceType) -> DeviceType:
    """Return a device type with the tools that the shipped models learn."""
    return device.fitted(device.by_name.keys() - NOT_TRAINED_ON)


def words(prompt: str) -> list[str]:
    """Return a prompt's words in lower case: N for names, A for amounts, P for points, # for numbers."""
    named = NAME.sub(" N ", AMOUNT.sub(" A ", prompt.lower()))
    counted = " ".join(re.findall(r"\w+|#", NUMBER.sub(" # ", named)))
    return POINT.sub("P", counted).split()


def wordings(prompt: str) -> frozenset[tuple[str, ...]]:
    """Return each six words in a row, and all words of a prompt that has no more."""
    said = words(prompt)
    return frozenset(tuple(said[k : k + TELLING]) for k in range(max(1, len(said) - TELLING + 1)))


def signature(calls: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[Step, ...]:
    """Return which tools work on what, sorted; where nothing works, which read what."""
    steps = [(tool, str(args.get("plant_id") or args.get("object_id") or "")) for tool, args in calls]
    work = [step for step in steps if not NOT_WORK.match(step[0])]
    return tuple(sorted(work or [step for step in steps if READS.match(step[0])]))


@lru_cache
def shipped_tasks() -> tuple[Mapping[str, Any], ...]:
    """Return the entries of `HELD_OUT` that take place in the worlds of both rigs."""
    entries = (entry for name in HELD_OUT for entry in _entries(TASKS_FOLDER / f"{name}.yaml"))
    return tuple(entry for entry in entries if entry.get("world") in WORLDS)


def _entries(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield a file's tasks; of a template each branch, with the defaults of the parameters."""
    file = load_yaml(path, path.read_text())
    for index, entry in enumerate(file.data["tasks"]):
        template = Template.at(file, index)
        if template is None:
            yield entry
        else:
            for _, branch in template.branches():
                instance, _ = branch.instance(None)
                yield instance.data["tasks"][index]


@lru_cache
def shipped_texts() -> tuple[str, ...]:
    """Return all prompts and paraphrases."""
    return tuple(text for task in shipped_tasks() for text in (task["prompt"], *task.get("paraphrases", ())))


def _steps(plan: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the calls of a plan, those of all branches."""
    if isinstance(plan, str):
        yield plan, {}
    elif isinstance(plan, list):
        for part in plan:
            yield from _steps(part)
    elif isinstance(plan, Mapping):
        for key, value in plan.items():
            if isinstance(value, Mapping):
                yield key, value
            else:
                yield from _steps(value)


def _points(value: Any) -> Iterator[tuple[float, float]]:
    """Yield each x and y that stand together."""
    if isinstance(value, Mapping):
        if "x" in value and "y" in value:
            x, y = (v.get("near") if isinstance(v, Mapping) else v for v in (value["x"], value["y"]))
            if isinstance(x, int | float) and isinstance(y, int | float):
                yield float(x), float(y)
        for part in value.values():
            yield from _points(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _points(part)


WORDINGS = frozenset().union(*map(wordings, shipped_texts()))
PLANS = frozenset(signature(_steps(task["plan"])) for task in shipped_tasks() if "plan" in task)
AMOUNTS = frozenset(
    abs(float(number))
    for task in shipped_tasks()
    for number in NUMBER.findall(f"{task['prompt']} {task.get('paraphrases')} {task.get('plan')}")
)
POINTS = frozenset(_points([*shipped_tasks(), *(yaml.load(path.read_text(), Loader) for path in DEFAULTS)]))
