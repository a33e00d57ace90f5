"""Where the values of a call's arguments come from: prompt, conversation, earlier results, schema."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import combinations, product
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.path.calls import Call
from core_eval.rules.given_text import Number, PlaceKind, Text, numbers_of, read_result
from core_eval.rules.tool_schemas import Argument, ToolSchemas, stands_in_schema
from core_eval.text.notation import (
    MOMENTS,
    NAME_PART,
    SMALL_NUMBERS,
    WEEKDAYS,
    Quantity,
    are_akin,
    dates,
    name_words,
    normal,
    quantities,
    stem,
    the_dates,
    the_month,
    the_time,
    times,
    unit_of,
    without_day_ranges,
)
from core_eval.text.values import ROUNDING, is_number

SMALL = 12
"""An integer up to this stands in many texts by chance: it needs the argument's noun or key beside it."""
MOST_DAYS = 3660
"""A day is moved by so many days at most."""
MOST_OPERANDS, FEW_OPERANDS = 14, 8
"""A value is derived from so many numbers at most; by three of them, from few."""
FEW_WORDS, PHONE = 3, 9
"""A text of so many words is a name, each of which stands somewhere; so many digits are a telephone."""
HOURS = 24
_MONEY = frozenset(
    ("amount", "balance", "charge", "cost", "deposit", "discount", "fee", "paid", "payment", "price")
) | {"refund", "shipping", "tax"}
_SPECIFIC = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|[\w@+.-]*\d[\w@+.:-]*\w|\d")
_COMPOUND = re.compile(r"^(\d+(?:\.\d+)?)-([A-Za-z-]+)$")
_NAME = re.compile(r"(?<=[^.!?:\n] )(?<!\d\) )[^\W\d_a-z]\w*[^\W\d_A-Z]\w*")
_NONE_OF = re.compile(r"(?:\b(?:no|not|none|without)|n[\u2019']t)\b([^.!?;\n]{1,60})", re.I)
_DAY_PARTS = ("year", "month", "day")
_SCHEME = re.compile(r"^https?://(?:www\.)?", re.I)
_ADDRESS = re.compile(r"(?<![\w.+-])([\w.+-]+)@[\w.-]+")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands.

    Attributes:
        text: what stands there, or how it is derived.
        step: the number of the call whose result has it; None elsewhere.
    """

    kind: PlaceKind
    text: str = ""
    step: int | None = None

    def __str__(self) -> str:
        at = "" if self.step is None else f" of step {self.step}"
        return f"{self.kind}{at}" + (f": {self.text}" if self.text else "")


def _kind_of(quantity: Quantity, words: frozenset[str]) -> str | None:
    if quantity.dimension in ("EUR", "USD") or (quantity.dimension is None and words & _MONEY):
        return "money"
    return quantity.dimension


class Told:
    """What an agent has been told so far.

    Args:
        prompt: its task, and its system prompt.
        tools: the schemas of its tools, as in the OpenAI API.

    Attributes:
        texts: all, oldest first.
        heard_last: what the user said last, between two calls.
        places_found: how many values of the calls so far stand where, if it was asked.
        schemas: those of its tools.
    """

    def __init__(self, prompt: str = "", tools: Iterable[Mapping[str, Any]] = ()) -> None:
        self.texts: list[Text] = []
        self.heard_last = ""
        self.schemas = ToolSchemas(tools)
        self._is_dialogue = False
        self._looked_up: tuple[str, Mapping[str, Any], list[tuple[Argument, Place]]] | None = None
        self._k = 0
        self.places_found: Counter[PlaceKind] = Counter()
        if prompt:
            self._read(PlaceKind.PROMPT, prompt)

    def hear(self, text: str) -> None:
        """Take what the user said before the next call."""
        if text:
            self._is_dialogue, self._looked_up, self.heard_last = True, None, text
            self._read(PlaceKind.CONVERSATION, text)

    def take(self, call: Call) -> None:
        """Take the next call with its result."""
        if call.result is not None:
            asked = frozenset(normal(str(one.value)) for one in self.schemas.arguments(call))
            failed = call.status is not CallStatus.OK
            text = Text(PlaceKind.RESULT, "", self._k, call, asked=asked, failed=failed)
            pieces: list[str] = []
            read_result(call.result, (), text, pieces)
            text.raw = "; ".join(pieces)
            text.words = "|".join(map(normal, pieces))
            self.texts.append(text)
        if self._looked_up is not None:
            self.places_found.update(place.kind for _, place in self._looked_up[2])
        self._k += 1
        self._looked_up = None

    def _read(self, kind: PlaceKind, raw: str) -> None:
        self.texts.append(Text(kind, raw, words=normal(raw), numbers=[*numbers_of(raw)]))

    def places(self, call: Call) -> list[tuple[Argument, Place]]:
        """Return the values of the next call's arguments with their places."""
        if self._looked_up is None or self._looked_up[:2] != (call.name, call.arguments):
            found = [(one, self.place(one, call)) for one in self.schemas.arguments(call)]
            self._looked_up = call.name, call.arguments, found
        return self._looked_up[2]

    def place(self, argument: Argument, call: Call) -> Place:
        """Return where an argument's value stands.

        Args:
            argument: of its `schemas`.
            call: its call; what its other arguments name is looked at for sums.
        """
        value = argument.value
        if value is None or value == "" or isinstance(value, bool):
            return Place(PlaceKind.SCHEMA)
        found = self._number(argument, call) if is_number(value) else self._text(str(value), argument, call)
        if found is None and stands_in_schema(value, argument.schema):
            return Place(PlaceKind.SCHEMA)
        return found or Place(PlaceKind.NOWHERE)

    def _newest_first(self) -> Iterator[Text]:
        return reversed(self.texts)

    def _is_said(self, text: Text) -> bool:
        """Return whether a text is about this request: the user's words, or a prompt without a dialogue."""
        return text.kind is PlaceKind.CONVERSATION or (
            text.kind is PlaceKind.PROMPT and not self._is_dialogue
        )

    def _number(self, argument: Argument, call: Call) -> Place | None:
        wanted, words = argument.quantity, argument.words
        is_small = wanted.value.is_integer() and abs(wanted.value) <= SMALL
        for text in self._newest_first():
            if text.repeats(normal(str(argument.value))):
                continue
            for number in text.numbers:
                given = number.quantity
                if number.is_count or not given.is_meant_by(wanted):
                    continue
                same_unit = wanted.dimension is not None and wanted.dimension == given.dimension
                if not is_small or same_unit or self._is_said(text) or are_akin(words, number.key):
                    return Place(text.kind, text.excerpt(f"{given.value:g}"), text.step)
            if wanted.value == 0 and self._is_said(text):
                for none in _NONE_OF.finditer(text.raw):
                    if any(are_akin(frozenset({one}), words) for one in name_words(none[1])):
                        return Place(text.kind, none[0], text.step)
        last = (NAME_PART.findall(argument.path) or [""])[-1].casefold()
        if last in _DAY_PARTS:
            part = _DAY_PARTS.index(last)
            if (place := self._part_of_day(lambda found: found[part] == wanted.value)) is not None:
                return place
        if stands_in_schema(argument.value, argument.schema):
            return Place(PlaceKind.SCHEMA)
        for text in self._newest_first():
            for number in text.numbers:
                is_counted = number.is_count and number.quantity.value == wanted.value
                if is_counted and are_akin(argument.counted, number.key):
                    return Place(PlaceKind.DERIVED, f"count of {' '.join(sorted(number.key))}", text.step)
        return self._derived(wanted, words, call)

    def _derived(self, wanted: Quantity, words: frozenset[str], call: Call) -> Place | None:
        if wanted.dimension == "time" and (spans := _spans(call)):
            for sum_, shown in spans:
                if Quantity(sum_, "time", 60.0).is_meant_by(wanted):
                    return Place(PlaceKind.DERIVED, shown)
        is_chance = _kind_of(wanted, words) is None and abs(wanted.value) <= SMALL
        if wanted.value == 0 or is_chance:
            return None
        times_ = {len(one) for one in call.arguments.values() if isinstance(one, list)}
        for sum_, shown in _sums(self._operands(wanted, words, call), times_ & {2, 3, 4, 5}):
            if abs(abs(sum_) - abs(wanted.value)) <= ROUNDING * max(1.0, abs(sum_)):
                return Place(PlaceKind.DERIVED, shown)
        return None

    def _operands(self, wanted: Quantity, words: frozenset[str], call: Call) -> list[float]:
        """Return the numbers of the wanted kind, in its unit: what was said, the latest result, and records
        that the call names."""
        kind = _kind_of(wanted, words)
        named = {normal(str(one.value)) for one in self.schemas.arguments(call) if isinstance(one.value, str)}
        pool: list[tuple[Text, Number]] = []
        results = [text for text in self._newest_first() if text.kind is PlaceKind.RESULT]
        for text in results:
            if text is results[0] or (not text.failed and any(_has_digit(one) for one in text.asked & named)):
                pool += ((text, number) for number in text.numbers)
            for names, numbers in text.records:
                if names & named:
                    pool += ((text, number) for number in numbers)
        # A policy has many amounts; those that the user said last come before them.
        for text in self._newest_first():
            if text.kind is not PlaceKind.RESULT:
                pool += ((text, number) for number in text.numbers)
        found: dict[float, None] = {}
        for text, number in pool:
            given = number.quantity
            if number.is_count or not given.value or number.is_left_out(named):
                continue
            if self._serves(text, number, kind, words):
                found[abs(given.value * given.factor / wanted.factor if given.dimension else given.value)] = (
                    None
                )
        return list(found)[:MOST_OPERANDS]

    def _serves(self, text: Text, number: Number, kind: str | None, words: frozenset[str]) -> bool:
        """Return whether a number is of the wanted kind; one that is a whole result may be of any."""
        its = _kind_of(number.quantity, number.keys)
        if its is not None or (kind is not None and number.keys):
            return its == kind
        return text.kind is PlaceKind.RESULT if not number.keys else are_akin(words, number.key)

    def _text(self, value: str, argument: Argument, call: Call) -> Place | None:
        days, minutes = the_dates(value), the_time(value)
        if days:
            return next(filter(None, map(self._day, days)), None) or self._stands(value)
        if (month := the_month(value)) is not None:
            return self._part_of_day(lambda found: found[:2] == month) or self._stands(value)
        if minutes is not None:
            return self._time(minutes) or self._stands(value)
        found = self._stands(value) or self._written_otherwise(value)
        if found is not None or " " not in value.strip():
            return found
        specifics = _specifics(value)
        words = normal(value).split()
        if len(words) <= FEW_WORDS and not any(map(_has_digit, words)):
            specifics = words
        if not specifics:
            words = normal(value).split()
            if len(words) > 2:
                return Place(PlaceKind.PROMPT, "a text without numbers, dates and names")
            specifics = words
        places = [self._specific(one, argument, call) for one in specifics]
        if None in places:
            return None
        known = [place for place in places if place is not None]
        return next((one for one in known if one.kind is PlaceKind.DERIVED), known[0]) if known else None

    def _specific(self, words: str, argument: Argument, call: Call) -> Place | None:
        """Return where a part of a text stands: a number with its unit, a date, a time, or a name."""
        words = _COMPOUND.sub(r"\1 \2", words)
        numbers = list(quantities(words))
        # An id with a number in it is none.
        letters = re.sub(r"[\d.,\s$€%°+-]", "", words)
        if len(numbers) == 1 and (not letters or numbers[0].dimension is not None):
            number = numbers[0]
            if number.value.is_integer() and abs(number.value) <= SMALL:
                return Place(PlaceKind.PROMPT, "a small number")
            for text in self._newest_first():
                for given in text.numbers:
                    plain = Quantity(
                        abs(given.quantity.value), given.quantity.dimension, given.quantity.factor
                    )
                    wanted = Quantity(abs(number.value), number.dimension, number.factor)
                    if plain.is_meant_by(wanted):
                        return Place(text.kind, text.excerpt(f"{plain.value:g}"), text.step)
            if number.dimension is None:
                hour = self._time(int(number.value) * 60) if number.value < HOURS else None
                return hour or self._derived(number, argument.words | _MONEY, call)
            return self._derived(number, argument.words, call)
        days, minutes = the_dates(words), the_time(words)
        if days:
            return next(filter(None, map(self._day, days)), None)
        for found in dates(words):
            return self._part_of_day(lambda given, wanted=found[1:]: given[1:] == wanted)  # type: ignore[misc]
        if minutes is not None:
            return self._time(minutes)
        return self._stands(words) or self._written_otherwise(words)

    def _written_otherwise(self, value: str) -> Place | None:
        """Return where a value stands in other pieces: an id without its hyphen, a name inside an address."""
        whole = normal(_SCHEME.sub("", value)).replace(" ", "")
        forms = [whole] if _is_long(whole) else []
        if value.startswith("+") and whole.isdigit():
            forms += [whole[code:] for code in (1, 2, 3) if len(whole) - code >= PHONE]
        said = re.fullmatch(r"\W*[A-Za-z]{0,2}(\d{6,})", value)
        for text in self._newest_first():
            if text.repeats(normal(value)):
                continue
            if any(map(text.has_in_pieces, forms)):
                return Place(text.kind, text.excerpt(value[:4]), text.step)
            if not self._is_said(text):
                continue
            if said and f" {said[1]} " in text.words:
                return Place(text.kind, said[1], text.step)
            for address in _ADDRESS.finditer(text.raw) if len(whole) > 2 and whole.isalpha() else ():
                letters = re.sub(r"[\W\d_]", "", address[1].casefold())
                if letters.startswith(whole) or letters.endswith(whole):
                    return Place(text.kind, address[0], text.step)
        return None

    def _stands(self, value: str) -> Place | None:
        wanted = normal(value)
        digits = re.sub(r"[\s()./-]", "", value)
        is_phone = re.fullmatch(r"\+?\d{7,}", digits) is not None
        plural = f" {stem(wanted.strip())}s "
        for text in self._newest_first():
            if text.repeats(wanted):
                continue
            if wanted.strip() and (wanted in text.words or plural in text.words):
                return Place(text.kind, text.excerpt(value), text.step)
            if is_phone and digits.strip("+") in re.sub(r"(?<=\d)[\s()./-]+(?=\d)", "", text.raw):
                return Place(text.kind, text.excerpt(value[:4]), text.step)
        return None

    def _day(self, day: date) -> Place | None:
        years = {year for text in self.texts for year, _, _ in dates(text.raw) if year is not None}
        for text in self._newest_first():
            for year, month, number in dates(text.raw):
                if (month, number) == (day.month, day.day) and (
                    year == day.year or (year is None and day.year in years)
                ):
                    return Place(text.kind, f"{number}/{month}", text.step)
        given = {
            date(year, month, number)
            for text in self.texts
            for year, month, number in dates(text.raw)
            if year is not None and _is_day(year, month, number)
        }
        for text in self._newest_first():
            for word, fits in _moves(text.words, day) if self._is_said(text) else ():
                if any(map(fits, given)):
                    return Place(PlaceKind.DERIVED, f"{word}, by a given day")
        return None

    def _part_of_day(self, fits: Callable[[tuple[int | None, int, int]], bool]) -> Place | None:
        for text in self._newest_first():
            for found in filter(fits, dates(text.raw)):
                return Place(text.kind, "/".join(map(str, reversed(found))), text.step)
        return None

    def _time(self, minutes: int) -> Place | None:
        for text in self._newest_first():
            if minutes in times(text.raw):
                return Place(text.kind, f"{minutes // 60:02}:{minutes % 60:02}", text.step)
            if minutes % 60 == 0 and self._is_said(text):
                hour = Quantity(minutes / 60)
                if any(
                    one.quantity.dimension is None and one.quantity.is_meant_by(hour) for one in text.numbers
                ):
                    return Place(text.kind, f"{minutes // 60}", text.step)
        return None


def _has_digit(words: str) -> bool:
    return any(character.isdigit() for character in words)


def _is_long(word: str) -> bool:
    """Return whether a word is too long to be made of pieces by chance."""
    if word.isdigit():
        return len(word) > 6
    return len(word) > 4 or (len(word) > 2 and _has_digit(word))


def _specifics(text: str) -> list[str]:
    """Return the parts of a text that must stand somewhere: numbers with units, dates, times, ids, names."""
    found = []
    rest = without_day_ranges(text)
    for pattern in MOMENTS:
        found += [match[0] for match in pattern.finditer(rest)]
        rest = pattern.sub(" ; ", rest)
    for match in _SPECIFIC.finditer(rest):
        after = re.match(r"\s?(%|°?[A-Za-z]+)", rest[match.end() :])
        unit = after[1] if after and unit_of(after[1])[0] else ""
        found.append(f"{match[0]} {unit}".strip())
    found += [match[0] for match in _NAME.finditer(rest) if unit_of(match[0])[0] is None]
    return found


def _moves(said: str, day: date) -> Iterator[tuple[str, Callable[[date], bool]]]:
    """Yield the words that move a day, and whether they lead from another day to this one."""
    for word in ("today", "tomorrow", "yesterday", "next day", "day after", "following day", "day before"):
        if f" {word} " in said:
            days = {"today": 0, "yesterday": -1, "day before": -1}.get(word, 1)
            yield word, partial(_is_moved, day, (days,))
    for word, weeks in (("this week", 0), ("next week", 1)):
        if f" {word} " in said:
            yield word, lambda given, weeks=weeks: given < day and _weeks_between(given, day) == weeks  # type: ignore[misc]
    for found in re.finditer(rf" (\d+|a|{'|'.join(SMALL_NUMBERS)}) (day|week)s? ", said):
        word = found[1]
        count = 1 if word == "a" else int(word) if word.isdigit() else SMALL_NUMBERS.index(word)
        days = count * (7 if found[2] == "week" else 1)
        if days <= MOST_DAYS:
            yield found[0].strip(), partial(_is_moved, day, (days, -days))
    weekday = WEEKDAYS[day.weekday()]
    if f" {weekday} " in said:
        yield weekday, lambda given: 0 < (day - given).days <= 14


def _weeks_between(earlier: date, later: date) -> int:
    """Return how many Mondays lie between two days."""
    return ((later - earlier).days + earlier.weekday()) // 7


def _is_moved(day: date, moves: Sequence[int], given: date) -> bool:
    return (day - given).days in moves


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _spans(call: Call) -> list[tuple[float, str]]:
    """Return the durations between the times that a call's arguments are, in minutes."""
    moments = [
        (found, str(one)) for one in call.arguments.values() if (found := the_time(str(one))) is not None
    ]
    return [
        (abs(a - b) / 1.0, f"{later} - {earlier}") for (a, earlier), (b, later) in combinations(moments, 2)
    ]


def _sums(operands: Sequence[float], multiples: Iterable[int]) -> Iterator[tuple[float, str]]:
    """Yield the sums and differences of two operands, and of three of few.

    Args:
        operands: the numbers.
        multiples: how many of something the call has: that often each of few operands may count.
    """
    few = len(operands) <= FEW_OPERANDS
    for one, count in product(operands, multiples if few else ()):
        yield count * one, f"{count} x {one:g}"
        for other in operands:
            yield abs(count * one - other), f"{count} x {one:g} - {other:g}"
    for one in operands:
        yield 2 * one, f"2 x {one:g}"
    for one, other in combinations(operands, 2):
        yield one + other, f"{one:g} + {other:g}"
        yield abs(one - other), f"{max(one, other):g} - {min(one, other):g}"
    if few:
        pairs = [(a, b) for place, a in enumerate(operands) for b in operands[place:]]
        for (a, b), c in ((pair, third) for pair in pairs for third in operands):
            yield a + b + c, f"{a:g} + {b:g} + {c:g}"
            if c not in (a, b):
                yield abs(a + b - c), f"{a:g} + {b:g} - {c:g}"
