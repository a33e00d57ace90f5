"""A model is told a task in other words, as heard or mistyped, and the task stays the same."""

import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from agents.agent import AgentSpecError
from agents.registry import parse_spec
from configs.suites import read_suite
from configs.task import Task
from core_eval.cli.main import main
from core_eval.log import LogReader
from core_eval.run.told_prompt import WORD_ERRORS, heard, kept_words, told_prompt, typed

WORDS = re.compile(r"[^\W\d_]+")


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return Random(3).sample(read_suite("core").tasks, 60)


@pytest.mark.parametrize("seed", range(3))
def test_typing_errors_spare_numbers_names_and_what_the_plan_needs(seed: int, tasks: list[Task]) -> None:
    changed = words = 0
    for place, task in enumerate(tasks):
        told = told_prompt(task, "typos", seed * 100 + place)
        kept = kept_words(task)
        before, after = task.prompt.split(), told.split()
        assert len(before) == len(after)
        for one, other in zip(before, after, strict=True):
            words += 1
            changed += one != other
            if one != other:
                assert WORDS.search(one) and not re.search(r"[\d_@/]", one)
                assert not kept & {word.lower() for word in WORDS.findall(one)}
                assert abs(len(one) - len(other)) <= 1
    # Short words, numbers and names are spared, so fewer than one of ten is wrong.
    assert WORD_ERRORS / 4 < changed / words < WORD_ERRORS


@pytest.mark.parametrize("seed", range(3))
def test_what_is_heard_has_no_sign_and_keeps_the_words_that_the_plan_needs(
    seed: int, tasks: list[Task]
) -> None:
    differ = 0
    for place, task in enumerate(tasks):
        told, plain = (
            told_prompt(task, "heard", seed * 100 + place),
            heard(task.prompt, frozenset(), _Never()),
        )
        assert re.fullmatch(r"[\w' ]+", told) and told == told.lower() and not re.search(r"[\d_]", told)
        kept = kept_words(task)
        before, after = Counter(plain.split()), Counter(told.split())
        assert all(after[word] >= before[word] for word in kept)
        differ += told != plain
    assert len(tasks) / 3 < differ < len(tasks)


class _Never(Random):
    """Draws no error."""

    def random(self) -> float:
        return 1.0


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("Spray plant_D with 50 ml.", "spray plant d with fifty millilitres"),
        ("Go to (1, 3); wait 2.5 s.", "go to one three wait two point five seconds"),
        ("It holds 5%, at 16.5 °C", "it holds five percent at sixteen point five degrees celsius"),
        ("It owes: -3 EUR, or 2.50 €.", "it owes minus three euros or two point five zero euros"),
        ("Meet at 10:00 or 14:30.", "meet at ten o'clock or fourteen thirty"),
        ("Mail a.b@example.org 'Later today'", "mail a dot b at example dot org later today"),
        ("2 plants, A100 and T1", "two plants a one hundred and t one"),
        ("$70 for 4x4 m/s", "seventy dollars for four x four m slash s"),
    ],
)  # fmt: skip
def test_numbers_units_and_signs_are_said(written: str, said: str) -> None:
    assert heard(written, frozenset(), _Never()) == said


def test_a_seed_draws_the_same_words_and_another_one_others(tasks: list[Task]) -> None:
    task = next(task for task in tasks if task.paraphrases)
    for prompts in ("paraphrased", "heard", "typos"):
        told = [told_prompt(task, prompts, seed) for seed in range(12)]
        assert told == [told_prompt(task, prompts, seed) for seed in range(12)] and len(set(told)) > 1
    assert {told_prompt(task, "paraphrased", seed) for seed in range(30)} == set(task.paraphrases)
    assert told_prompt(task, "written", 1) == task.prompt


def test_a_mistyped_word_differs_by_one_key() -> None:
    one = {typed("watering", frozenset(), Random(seed)) for seed in range(300)} - {"watering"}
    assert {"waterinig", "waering", "watterring"}.isdisjoint(one & {"watterring"}) and len(one) > 10
    assert all(7 <= len(word) <= 9 and word[0] == "w" for word in one)


@pytest.mark.llama
def test_a_model_of_a_run_is_told_the_task_with_typing_errors(tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    task, seed = "water_two_plants", 4
    command = ["run", "--task", task, "--rig", "sim", "--agent", "llama?prompts=typos&max_steps=1"]
    assert main([*command, "--seed", str(seed), "--db", str(db)]) == 0
    with LogReader(db) as log:
        (row,) = log.episodes()
        shown = log.prompt(row.id)
    assert shown is not None and shown.rendered is not None
    assert row.definition.prompt not in shown.rendered
    assert "prompts=typos" in row.agent


def test_another_way_of_telling_is_refused() -> None:
    with pytest.raises(AgentSpecError, match="prompts=shouted"):
        parse_spec("llama?prompts=shouted")
