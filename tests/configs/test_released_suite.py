import json
from statistics import median

import pytest

from configs.operator import ASK
from configs.released_suite import FILE, as_text, golden_length
from configs.suite_manifest import CANARY
from configs.suites import every_task, read_suite
from configs.tasks_loader import _shipped_entries, task_files, template_keys
from configs.worlds_loader import make_simulator
from core_eval.text.streams import STREAMS, world_stream
from core_eval.verify.task import score_faults
from core_eval.verify.trials import Trials, example_calls
from core_eval.verify.wording import check_wording

TEMPLATES = {
    name: entry for file in task_files() for entry in _shipped_entries(file) for name in entry.instances
}


@pytest.mark.timeout(400)
def test_the_list_follows_its_rule() -> None:
    assert FILE.read_text(encoding="utf-8") == as_text(), "run `python -m configs.released_suite`"


def test_the_suite_is_large_and_long_enough() -> None:
    suite = read_suite("core")
    assert not suite.malformed
    assert len({task.id for task in suite.tasks}) == len(suite.tasks) >= 300
    assert median(golden_length(task) for task in suite.tasks if task.answer is None) >= 6


def test_there_are_long_tasks_of_each_kind() -> None:
    """Of each kind as many as the suite is said to have; a task may be of several."""
    tasks = [task for task in every_task().tasks if "@" not in task.id]
    long = [task for task in tasks if task.answer is None and 8 <= golden_length(task) <= 25]
    loops = ('"optional"', '"until"', '"repeat"')
    kinds = {
        "long": (110, long),
        "24 golden paths": (60, [t for t in long if len(list(t.automaton.golden_paths(limit=24))) == 24]),
        "optional steps or loops": (
            40,
            [t for t in long if any(word in json.dumps(template_keys(t), default=str) for word in loops)],
        ),
        "two worlds": (30, [t for t in tasks if t.world and t.world.name in ("office", "accounting")]),
        "must ask": (
            30,
            [t for t in tasks if any(s.tool == ASK and s.fact for s in t.automaton.symbols.values())],
        ),
        "restraint": (30, [t for t in tasks if "restraint" in t.file.name]),
    }
    assert {name: len(found) for name, (least, found) in kinds.items() if len(found) < least} == {}


def test_every_task_file_has_the_canary() -> None:
    assert [file for file in (*task_files(), FILE) if CANARY not in file.read_text(encoding="utf-8")] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name if number % 4 == 0 else pytest.param(name, marks=pytest.mark.nightly)
        for number, name in enumerate(TEMPLATES)
    ],
)
def test_a_drawn_instance_holds(name: str) -> None:
    """A golden path runs, reaches the goal without harm, and the words fit; `tasks verify` searches more."""
    task = TEMPLATES[name].instances[name](100)({})
    assert task.world is not None
    seed = world_stream(STREAMS, 0, task.id)
    simulator = make_simulator(task.world, seed)
    calls = example_calls(task.automaton, next(iter(task.automaton.golden_paths(limit=1))), task.offered)
    outcome = Trials(task, simulator, seed)(calls)
    assert outcome.good, outcome.reason
    assert list(score_faults(task, calls)) == []
    assert check_wording(task, [], simulator, seed)[0] == []
