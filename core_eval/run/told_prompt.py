"""What a model is told in place of a task's prompt: other words, what a microphone heard, what was mistyped.

Each episode draws its own errors by its seed, the same for every model. What the task's plan needs stays: its
numbers, its names, and the words of its values. So the task can still be solved, and who fails has not been
told another one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from random import Random

from agents.options import Prompts
from configs.task import Task
from core_eval.verify.candidates import leaves

WORD_ERRORS = 0.1
"""Share of the other words that are heard or typed wrongly."""
UNITS = {
    **{"L": "litres", "l": "litres", "ml": "millilitres", "mL": "millilitres", "cm": "centimetres"},
    **{"mm": "millimetres", "m": "metres", "km": "kilometres", "kg": "kilograms", "g": "grams"},
    **{"s": "seconds", "min": "minutes", "h": "hours", "W": "watts", "N": "newtons", "Nm": "newton metres"},
    **{"m/s": "metres per second", "%": "percent", "°": "degrees", "°C": "degrees celsius"},
    **{"EUR": "euros", "€": "euros", "$": "dollars", "kPa": "kilopascals", "ms": "milliseconds"},
}
"""How units are said."""
SIGNS = {"@": " at ", ".": " dot ", "/": " slash ", "_": " ", "-": " ", "&": " and ", "+": " plus "}
"""How signs within a word are said."""
ALIKE = {
    one: [other for other in words.split() if other != one]
    for words in (
        "to too,for fore,there their,its it's,by buy bye,no know,new knew,write right,read red,whole hole",
        "week weak,meet meat,mail male,sell cell,see sea,wait weight,hour our,pair pear,row roe,here hear",
        "then than,where wear,are our,all or,and an,in and,this these,is as,so sow,sun son,list least",
        "soil spoil,plant planned,water what a,tank thank,bin been,lock look,block black,move remove",
        "send sent,file final,close clothes,before for,after half,until till",
    )
    for words in words.split(",")
    for one in words.split()
}
"""Words that are heard for each other."""
LOST = frozenset(
    {"a", "an", "the", "of", "to", "in", "on", "at", "is", "it", "that", "with", "then", "please"}
)
"""Words that are often not heard at all."""
KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
NUMBER = re.compile(r"(?<![\w.,:/-])([€$]?)(-?\d+(?:\.\d+)?)(?![:/.,-]?\w*\d)( ?)([A-Za-z°%€$/]*)(?!\w)")
"""A number, and what may be its unit."""
NAME = re.compile(r"\d|\w[_@/]\w")
"""What makes a word a name: a digit, or a sign within."""
CLOCK = re.compile(r"\b(\d{1,2}):00\b")
SHORTEST = 4
"""Letters of a word that is mistyped."""


def told_prompt(task: Task, prompts: Prompts, seed: int) -> str:
    """Return the task's prompt as a model is told it.

    Args:
        task: the task.
        prompts: `written`, as it stands; `paraphrased`, a drawn one of its paraphrases; `heard` or `typos`.
        seed: of what is drawn.
    """
    random = Random(seed)
    if prompts == "paraphrased":
        return random.choice(task.paraphrases or (task.prompt,))
    if prompts == "heard":
        return heard(task.prompt, kept_words(task), random)
    return typed(task.prompt, kept_words(task), random) if prompts == "typos" else task.prompt


def kept_words(task: Task) -> frozenset[str]:
    """Return the words, in lower case, of all that the plan and the goal name."""
    symbols = [*task.automaton.symbols.values(), *task.automaton.also_free, *task.found_by]
    values = [pattern.plain() for symbol in symbols for pattern in symbol.arguments.values()]
    goal = {} if task.goal is None else {key: one.plain() for key, one in task.goal.patterns.items()}
    named = " ".join(map(str, leaves([values, goal])))
    return frozenset(re.findall(r"[^\W\d_]+", named.lower()))


def heard(text: str, kept: frozenset[str], random: Random) -> str:
    """Return a text as speech recognition writes it: no sign, no capital, units and numbers in words.

    Of the words that are not kept some are lost, or others that sound alike.
    """
    said = NUMBER.sub(_said, CLOCK.sub(r"\1 o'clock", text))
    names = {word for part in said.split() if NAME.search(part) for word in _spoken(part)}
    words = [word for part in said.split() for word in _spoken(part)]
    return " ".join(_each(words, kept | names, random, _misheard))


def typed(text: str, kept: frozenset[str], random: Random) -> str:
    """Return a text with typing errors: letters swapped, lost, doubled, or those of a key beside."""

    def word(found: re.Match[str]) -> str:
        return next(_each([found[0]], kept, random, _mistyped))

    # A name or number stays: what has a digit, an underscore, or a capital within.
    return re.sub(rf"(?<![\w.@/'-])[A-Za-z][a-z]{{{SHORTEST - 1},}}(?![\w@/'-]|\.\w)", word, text)


def _each(
    words: Iterable[str],
    kept: frozenset[str],
    random: Random,
    wrong: Callable[[str, Random], str],
) -> Iterator[str]:
    for word in words:
        is_wrong = random.random() < WORD_ERRORS and word.lower() not in kept
        if told := wrong(word, random) if is_wrong else word:
            yield told


def _said(found: re.Match[str]) -> str:
    before, number, space, unit = found.groups()
    words = f" {_number_words(number)} "
    if unit in UNITS or not unit:
        return f"{words}{UNITS.get(unit, '')}{UNITS.get(before, '')} "
    # A word that follows, or part of a name, as in 4x.
    return f"{words}{UNITS.get(before, '')} {unit}" if space else found[0]


@cache
def _number_words(number: str) -> str:
    from inflect import engine

    return str(engine().number_to_words(number, andword="")).replace(",", "").replace("-", " ")


def _spoken(part: str) -> list[str]:
    """Return the words of what stands between two spaces."""
    part = part.strip("\"'`()[]{}.,;:!?")
    for sign, words in SIGNS.items():
        part = part.replace(sign, words)
    part = re.sub(r"\d+", lambda found: f" {_number_words(found[0])} ", part)
    return re.sub(r"[^\w\s']", " ", part).lower().split()


def _misheard(word: str, random: Random) -> str:
    if word in LOST and random.random() < 0.5:
        return ""
    return random.choice(ALIKE[word]) if word in ALIKE else word


def _mistyped(word: str, random: Random) -> str:
    at = random.randrange(1, len(word) - 1)
    row = next(row for row in KEYS if word[at] in row)
    place = row.index(word[at])
    beside = random.choice(row[max(0, place - 1) : place] + row[place + 1 : place + 2])
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    lost, doubled = word[:at] + word[at + 1 :], word[: at + 1] + word[at:]
    return random.choice([swapped, lost, doubled, word[:at] + beside + word[at + 1 :]])
