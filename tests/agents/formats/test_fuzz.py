"""Random answers, made of pieces of calls: none crashes a reader, and what is executed is a whole call."""

from __future__ import annotations

import random
import re

import pytest
from families import BY_NAME, OFTEN

from agents.formats.answer import parse_answer
from agents.formats.calls import CallText, Nonsense, Tools
from agents.formats.json_text import json_end
from agents.formats.python_text import read_python

SCHEMAS = [
    {
        "function": {
            "name": "pour",
            "parameters": {"properties": {"litres": {"type": "number"}, "plant": {"type": "string"}}},
        }
    },
    {"function": {"name": "home", "parameters": {"properties": {}}}},
]
TOOLS = Tools(SCHEMAS)
CALLS = [CallText("pour", {"litres": 4.5, "plant": "B"}), CallText("home", {})]
NOISE = [
    *"{}[]()<>|:,;=\"'`\\/\n\t #-+*.0\x00é你",
    *(
        "pour",
        "home",
        "litres",
        "plant",
        '"name"',
        '"arguments"',
        '"parameters"',
        '{"',
        '"}',
        "null",
        "1e999",
    ),
    *("<think>", "</think>", "```", "```json", "Action:", "Action Input:", "all\n", "function", "tool_call"),
    *("<", "<|", "|>", "</", "to=functions.", "print(", "lambda: 0", "import os", "__", "NaN", "\\ud800"),
    *("9" * 5000, "[" * 300, "-" * 400),
]
COUNT = 10_000
QUICK = {True: 500, False: 100}
"""Random answers of a format, by whether people often run it."""


def outputs(form, count, seed):
    """Answers of a format that were torn, mixed, cut and filled with noise."""
    rng = random.Random(f"{form.name} {seed}")
    whole = form.write(CALLS)
    pieces = [*NOISE, *form.marks, *re.split(r"(?<=\W)|(?=\W)", whole), whole, form.write(CALLS[:1])]
    for _ in range(count):
        if rng.random() < 0.5:
            yield "".join(rng.choices(pieces, k=rng.randint(1, 14)))
            continue
        text = whole
        for _ in range(rng.randint(1, 4)):
            place, size = rng.randrange(len(text) + 1), rng.randint(0, 6)
            text = text[:place] + rng.choice(pieces) * rng.randint(0, 1) + text[place + size :]
        yield text


def check(form, text, opened):
    parsed = parse_answer(text, TOOLS, form, opened=opened)
    for item in parsed.items:
        if isinstance(item, CallText):
            # A call that no part of the answer names was made up by the reader.
            assert item.name in text or "\\" in text, text
            assert all(key in text or "\\" in text for key in item.arguments), text
        else:
            assert isinstance(item, Nonsense) and item.reason and "\n" not in item.code
    return parsed.items


@pytest.mark.parametrize("name", BY_NAME)
def test_random_answers(name):
    form = BY_NAME[name]
    kinds = [
        check(form, text, number % 7 == 0)
        for number, text in enumerate(outputs(form, QUICK[name in OFTEN], 1))
    ]
    read = [item for items in kinds for item in items]
    assert any(isinstance(item, CallText) for item in read)
    assert any(isinstance(item, Nonsense) for item in read)


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", BY_NAME)
def test_ten_thousand_random_answers(name):
    form = BY_NAME[name]
    for number, text in enumerate(outputs(form, COUNT, 2)):
        check(form, text, number % 7 == 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] * (name not in OFTEN)) for name in BY_NAME]
)
def test_long_answers_are_read_in_time(name):
    """Tens of thousands of characters are read at once: no look goes over all that follows each mark."""
    form = BY_NAME[name]
    for mark in (*form.marks[:2], "{", '{"name": ', "[", "pour(", "<"):
        parse_answer(mark * (30_000 // len(mark)), TOOLS, form)


@pytest.mark.parametrize(
    "code", ["-" * 15_000 + "1", "(" * 9000, "f(" * 5000, "[" * 9000 + "]" * 9000, "\x00", "a" * 30_000]
)
def test_python_that_is_nested_too_deeply_is_nonsense(code):
    assert all(isinstance(item, Nonsense) for item in read_python(f"pour(litres={code})", TOOLS))


@pytest.mark.filterwarnings("error")
def test_what_python_warns_of_in_a_model_s_words_is_not_shown():
    (item,) = read_python(r"pour(plant='a\Bc')", TOOLS)
    assert item == CallText("pour", {"plant": "a\\Bc"})


def test_the_end_of_a_json_value():
    text = 'x {"a": ["}", {"b": "\\"]"}]} y'
    assert json_end(text, 2) == len(text) - 2
    assert json_end(text[:-3], 2) is None
