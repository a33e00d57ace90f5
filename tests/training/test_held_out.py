"""No prompt, plan or number of a task that measures the model is in its training, nor a held-out wording."""

from __future__ import annotations

import re
from dataclasses import fields
from itertools import islice
from random import Random

import pytest

from configs.tasks_loader import TASKS_FOLDER, list_tasks
from training import amounts, transcripts
from training.alternatives import drawn
from training.held_out_wordings import HELD_OUT_WORDS
from training.shipped import HELD_OUT
from training.spoken_numbers import ONES, TENS
from training.transcripts import episode
from training.wordings import SEEN, Job

SAMPLE = 1500
DRAWS = 4
LONG = 6
NUMBER_WORDS = "|".join([*ONES[1:], *TENS])
AMOUNT = re.compile(
    rf"(?:(?:-?\d+(?:\.\d+)?|{NUMBER_WORDS})(?:[- ](?:and a half|{NUMBER_WORDS}))*)\s*"
    r"(?:ml|m?illilit(?:er|re)s?|lit(?:er|re)s?|l)\b(?: of (?:the )?(?:water|pesticide))?"
)
READING = ("get_", "list_", "scan_", "sense_")
GOING = ("move_", "home", "lock_", "unlock_")


def shipped_tasks():
    files = (TASKS_FOLDER / f"{name}.yaml" for name in HELD_OUT)
    tasks = [task for file in files for task in list_tasks(file)]
    return [task for task in tasks if task.device.name in ("farm_rover", "robotic_arm")]


def shipped_texts():
    return [text for task in shipped_tasks() for text in (task.prompt, *task.paraphrases)]


def words(text):
    """Lower case; N for a name, A for an amount, P for a point, # for another number."""
    text = AMOUNT.sub(" A ", text.lower())
    text = re.sub(r"-?\d+(?:\.\d+)?", " # ", re.sub(r"\b[a-z]+_\w+", " N ", text))
    found = " ".join(re.findall(r"[\w#]+", text))
    return re.sub(r"(?<!\S)(?:x )?#(?: (?:(?:y|z|yaw|and) )?#)+", "P", found).split()


def windows(text, size=LONG):
    found = words(text)
    return {tuple(found[k : k + size]) for k in range(len(found) - size + 1)}


def templates(wordings):
    """All texts of a set of wordings, with several of their alternatives."""
    rng, found = Random(0), []
    for part in (getattr(wordings, field.name) for field in fields(wordings)):
        for entry in (getattr(part, field.name) for field in fields(part)):
            texts = (*entry.orders, *entry.statements, *entry.done) if isinstance(entry, Job) else entry
            found += [drawn(rng, text) for text in texts for _ in range(DRAWS)]
    return found


def shipped_windows():
    return set().union(*(windows(text) for text in shipped_texts()))


def work(calls):
    steps = sorted(
        (tool, arguments.get("plant_id") or arguments.get("object_id")) for tool, arguments in calls
    )
    return [step for step in steps if not step[0].startswith(GOING + READING)] or [
        step for step in steps if step[0].startswith(READING)
    ]


def leaks(stories):
    """Yield what of the shipped tasks is in the stories: prompts, plans (what works on what), amounts."""
    prompts = {tuple(words(text)) for text in shipped_texts()}
    numbers = {float(n) for text in shipped_texts() for n in re.findall(r"\d+(?:\.\d+)?", text)}
    plans = [work(plan) for plan in shipped_plans()]
    for story in stories:
        calls = [(turn.tool, turn.arguments) for turn in story.turns if turn.learn]
        if tuple(words(story.prompt)) in prompts:
            yield "prompt", story.prompt
        if work(calls) in plans:
            yield "plan", story.prompt
        amounts = [arguments.get("liters", arguments.get("ml")) for _, arguments in calls]
        yield from (("number", story.prompt) for amount in amounts if amount in numbers)


def shipped_plans():
    """Some paths that each shipped task accepts: tools and arguments."""
    for task in shipped_tasks():
        if task.answer is None:
            for path in islice(task.automaton.golden_paths(), 8):
                symbols = [task.automaton.symbols[name] for name in path]
                yield [(symbol.tool, symbol.example()) for symbol in symbols]


@pytest.mark.slow
def test_a_sample_has_no_shipped_prompt_plan_or_number():
    assert list(leaks(episode(seed) for seed in range(SAMPLE))) == []


@pytest.mark.slow
def test_a_plan_that_leaks_is_found(monkeypatch):
    monkeypatch.setattr(transcripts, "is_shipped", lambda _: False)
    assert any(what == "plan" for what, _ in leaks(episode(seed) for seed in range(SAMPLE)))


@pytest.mark.slow
def test_a_number_that_leaks_is_found(monkeypatch):
    monkeypatch.setattr(amounts, "AMOUNTS", frozenset())
    assert any(what == "number" for what, _ in leaks(episode(seed) for seed in range(300)))


@pytest.mark.slow
def test_a_prompt_that_leaks_is_found():
    story = episode(0)
    for text in (shipped_texts()[0], shipped_texts()[0].replace("plant_B", "vine_7")):
        story.prompt = text
        assert ("prompt", text) in leaks([story])


@pytest.mark.slow
def test_no_prompt_shares_six_words_in_a_row_with_a_shipped_one():
    shipped = shipped_windows()
    prompts = (episode(seed).prompt for seed in range(SAMPLE))
    assert [prompt for prompt in prompts if windows(prompt) & shipped] == []


@pytest.mark.slow
def test_six_words_that_leak_are_found(monkeypatch):
    shipped = shipped_windows()
    monkeypatch.setattr(transcripts, "WORDINGS", frozenset())
    assert any(windows(episode(seed).prompt) & shipped for seed in range(100))


def test_held_out_wordings_are_not_those_of_training():
    kept = ("{name}",)
    seen = {tuple(words(text)) for text in templates(SEEN)}
    assert [
        text for text in templates(HELD_OUT_WORDS) if text not in kept and tuple(words(text)) in seen
    ] == []


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_a_seed_gives_the_same_prompt_in_other_words_each_time(seed):
    assert episode(seed, HELD_OUT_WORDS).prompt == episode(seed, HELD_OUT_WORDS).prompt
    assert episode(seed, HELD_OUT_WORDS).prompt != episode(seed).prompt
