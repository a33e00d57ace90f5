"""Where the values of a call's arguments come from: prompt, conversation, earlier results, schema."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import lru_cache, partial
from itertools import combinations, product
from typing import Any

from core_eval.path.calls import Call, CallStatus
from core_eval.text.notation import (
    MOMENTS,
    SMALL_NUMBERS,
    WEEKDAYS,
    Quantity,
    dates,
    normal,
    quantities,
    the_dates,
    the_month,
    the_time,
    times,
    unit_of,
)
from core_eval.text.values import ROUNDING, as_float, is_number, same_value

SMALL = 12
"""An integer up to this stands in many texts by chance: it needs the argument's noun or key beside it."""
MOST_DAYS = 3660
"""A day is moved by so many days at most."""
MOST_OPERANDS, FEW_OPERANDS = 14, 8
"""A value is derived from so many numbers at most; by three of them, from few."""
FEW_WORDS, PHONE = 3, 9
"""A text of so many words is a name, each of which stands somewhere; so many digits are a telephone."""
MOST_REFERENCES = 4
"""References of a schema inside one another that are followed."""
HOURS = 24
EXCERPT = 60
"""Characters of a text that are shown around what was found."""
_MONEY = frozenset(
    ("amount", "balance", "charge", "cost", "deposit", "discount", "fee", "paid", "payment", "price")
) | {"refund", "shipping", "tax"}
_VAGUE = frozenset(("and", "for", "from", "its", "name", "number", "that", "the", "this", "value", "with"))
_SPECIFIC = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|[\w@+.-]*\d[\w@+.:-]*\w|\d")
_COMPOUND = re.compile(r"^(\d+(?:\.\d+)?)-([A-Za-z-]+)$")
_NAME = re.compile(r"(?<=[^.!?:\n] )(?<!\d\) )[^\W\d_a-z]\w*[^\W\d_A-Z]\w*")
_NONE_OF = re.compile(r"(?:\b(?:no|not|none|without)|n[\u2019']t)\b([^.!?;\n]{1,60})", re.I)
_LISTS = re.compile(r"\b(?:one of|either|defaults?)\b", re.I)
_QUOTED = re.compile(r"(?<!\w)['\"`]([^'\"`]+)['\"`](?!\w)")
_DAY_PARTS = ("year", "month", "day")
_SCHEME = re.compile(r"^https?://(?:www\.)?", re.I)
_ADDRESS = re.compile(r"(?<![\w.+-])([\w.+-]+)@[\w.-]+")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


class PlaceKind(StrEnum):
    """Where a value stands."""

    PROMPT = "prompt"
    CONVERSATION = "conversation"
    RESULT = "result"
    SCHEMA = "schema"
    """A default, or one of the values that the schema lists."""
    DERIVED = "derived"
    """A sum, difference or count of given numbers, or a day or duration by given ones."""
    NOWHERE = "nowhere"


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


@dataclass(frozen=True, slots=True)
class _Number:
    """A number of a text or a result.

    Attributes:
        key: the words of the key that it stands under, or of the word after it.
        keys: the words of all keys that it stands under.
        is_count: whether it is the length of a list.
        beside: the keys of its object, in normal form; its own is `at`.
    """

    quantity: Quantity
    key: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    is_count: bool = False
    at: str = ""
    beside: frozenset[str] = frozenset()

    def is_left_out(self, named: Collection[str]) -> bool:
        """Return whether a call names another entry of its object."""
        return self.at not in named and not self.beside.isdisjoint(named)


@dataclass
class Text:
    """A text that an agent was given, or a result of one of its calls.

    Attributes:
        raw: its words; of a result, its keys and values.
        call: whose result it is.
        asked: the normal form of the arguments of its call.
        failed: whether its call failed, so that it may repeat them without knowing them.
    """

    kind: PlaceKind
    raw: str
    step: int | None = None
    call: Call | None = None
    words: str = ""
    numbers: list[_Number] = field(default_factory=list)
    records: list[tuple[frozenset[str], list[_Number]]] = field(default_factory=list)
    asked: frozenset[str] = frozenset()
    failed: bool = False
    _pieces: tuple[str, Collection[int]] = ("", ())

    def repeats(self, value: str) -> bool:
        """Return whether it is an error that may only repeat a value of its call."""
        return self.failed and value in self.asked

    def has_in_pieces(self, value: str) -> bool:
        """Return whether words in a row, written as one, are the value."""
        if not self._pieces[0]:
            self._pieces = _in_one(self.words)
        joined, edges = self._pieces
        at = joined.find(value)
        while at >= 0:
            if at in edges and at + len(value) in edges:
                return True
            at = joined.find(value, at + 1)
        return False

    def excerpt(self, found: str) -> str:
        """Return some of the text around a word."""
        at = self.raw.casefold().find(found.casefold())
        start = self.raw.rfind(" ", 0, max(0, at - EXCERPT // 2)) + 1
        return " ".join(self.raw[start : start + EXCERPT].split())


@dataclass(frozen=True)
class Argument:
    """One plain value of a call: its path, and what its schema says of it."""

    path: str
    value: Any
    schema: Mapping[str, Any]

    @property
    def quantity(self) -> Quantity:
        """The value with the unit of its name, or else of its description."""
        parts = _PART.findall(self.path.rpartition(".")[2]) or [""]
        dimension, factor = unit_of(parts[-1], short=len(parts) > 1)
        for word in (
            () if dimension else re.findall(r"%|per cent|[A-Za-z]+", str(self.schema.get("description", "")))
        ):
            dimension, factor = unit_of(word, short=False)
            if dimension:
                break
        return Quantity(as_float(self.value), dimension, factor)

    @property
    def words(self) -> frozenset[str]:
        """The words of its name."""
        return _words(self.path.rpartition(".")[2])

    @property
    def counted(self) -> frozenset[str]:
        """The words of what it may be the number of."""
        described = re.search(r"number of (\w+)", str(self.schema.get("description", "")))
        return self.words | (_words(described[1]) if described else frozenset())


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(
        _stem(part.casefold())
        for part in _PART.findall(text)
        if len(part) > 2 and part.casefold() not in _VAGUE
    )


def _stem(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 else word


def _akin(some: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether each word of the shorter is, or begins, or is begun by a word of the longer."""
    few, many = sorted((some, others), key=len)
    return bool(few) and all(any(a.startswith(b) or b.startswith(a) for b in many) for a in few)


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
        without_schema: the tools of calls whose schema a rule asked for, and that have none.
    """

    def __init__(self, prompt: str = "", tools: Iterable[Mapping[str, Any]] = ()) -> None:
        self.texts: list[Text] = []
        self.heard_last = ""
        self._schemas: dict[str, Mapping[str, Any]] = {}
        for tool in tools:
            function = tool.get("function", tool)
            self._schemas[str(function.get("name"))] = _mapping(function.get("parameters"))
        self._resolved: dict[str, Mapping[str, Any]] = {}
        self._is_dialogue = False
        self._looked_up: tuple[str, Mapping[str, Any], list[tuple[Argument, Place]]] | None = None
        self._k = 0
        self.places_found: Counter[PlaceKind] = Counter()
        self.without_schema: set[str] = set()
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
            asked = frozenset(normal(str(one.value)) for one in self.arguments(call))
            failed = call.status is not CallStatus.OK
            text = Text(PlaceKind.RESULT, "", self._k, call, asked=asked, failed=failed)
            pieces: list[str] = []
            _read_result(call.result, (), text, pieces)
            text.raw = "; ".join(pieces)
            text.words = "|".join(map(normal, pieces))
            self.texts.append(text)
        if self._looked_up is not None:
            self.places_found.update(place.kind for _, place in self._looked_up[2])
        self._k += 1
        self._looked_up = None

    def _read(self, kind: PlaceKind, raw: str) -> None:
        self.texts.append(Text(kind, raw, words=normal(raw), numbers=[*_numbers(raw)]))

    def schema(self, tool: str) -> Mapping[str, Any] | None:
        """Return the JSON schema of a tool's arguments; None where it is not known."""
        return self._schemas.get(tool)

    def arguments(self, call: Call) -> Iterator[Argument]:
        """Yield the plain values of a call's arguments."""
        if call.name not in self._resolved:
            root = _mapping(self.schema(call.name))
            self._resolved[call.name] = _mapping(_resolved(root.get("properties"), root))
        properties = self._resolved[call.name]
        for name, value in call.arguments.items():
            yield from _plain(str(name), value, _mapping(properties.get(name)))

    def places(self, call: Call) -> list[tuple[Argument, Place]]:
        """Return the values of the next call's arguments with their places."""
        if self._looked_up is None or self._looked_up[:2] != (call.name, call.arguments):
            found = [(one, self.place(one, call)) for one in self.arguments(call)]
            self._looked_up = call.name, call.arguments, found
        return self._looked_up[2]

    def place(self, argument: Argument, call: Call) -> Place:
        """Return where an argument's value stands.

        Args:
            argument: of `arguments`.
            call: its call; what its other arguments name is looked at for sums.
        """
        value = argument.value
        if value is None or value == "" or isinstance(value, bool):
            return Place(PlaceKind.SCHEMA)
        found = self._number(argument, call) if is_number(value) else self._text(str(value), argument, call)
        if found is None and _in_schema(value, argument.schema):
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
                if not is_small or same_unit or self._is_said(text) or _akin(words, number.key):
                    return Place(text.kind, text.excerpt(f"{given.value:g}"), text.step)
            if wanted.value == 0 and self._is_said(text):
                for none in _NONE_OF.finditer(text.raw):
                    if any(_akin(frozenset({one}), words) for one in _words(none[1])):
                        return Place(text.kind, none[0], text.step)
        last = (_PART.findall(argument.path) or [""])[-1].casefold()
        if last in _DAY_PARTS:
            part = _DAY_PARTS.index(last)
            if (place := self._part_of_day(lambda found: found[part] == wanted.value)) is not None:
                return place
        if _in_schema(argument.value, argument.schema):
            return Place(PlaceKind.SCHEMA)
        for text in self._newest_first():
            for number in text.numbers:
                is_counted = number.is_count and number.quantity.value == wanted.value
                if is_counted and _akin(argument.counted, number.key):
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
        named = {normal(str(one.value)) for one in self.arguments(call) if isinstance(one.value, str)}
        pool: list[tuple[Text, _Number]] = []
        results = [text for text in self._newest_first() if text.kind is PlaceKind.RESULT]
        for text in results:
            if text is results[0] or (not text.failed and any(_is_id(one) for one in text.asked & named)):
                pool += ((text, number) for number in text.numbers)
            for names, numbers in text.records:
                if names & named:
                    pool += ((text, number) for number in numbers)
        for text in self.texts:
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

    def _serves(self, text: Text, number: _Number, kind: str | None, words: frozenset[str]) -> bool:
        """Return whether a number is of the wanted kind; one that is a whole result may be of any."""
        its = _kind_of(number.quantity, number.keys)
        if its is not None or (kind is not None and number.keys):
            return its == kind
        return text.kind is PlaceKind.RESULT if not number.keys else _akin(words, number.key)

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
        if len(words) <= FEW_WORDS and not any(map(_is_id, words)):
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
        if len(numbers) == 1 and not _has_letters(words, numbers[0]):
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
        plural = f" {_stem(wanted.strip())}s "
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


def _read_result(
    value: Any,
    keys: tuple[str, ...],
    text: Text,
    pieces: list[str],
    beside: frozenset[str] = frozenset(),
) -> None:
    """Collect the keys, texts, numbers and records of a result."""
    if isinstance(value, Mapping):
        siblings, first = frozenset(normal(str(key)) for key in value), len(text.numbers)
        names = set(siblings)
        for key, entry in value.items():
            pieces.append(str(key))
            if isinstance(entry, str):
                names.add(normal(entry))
            _read_result(entry, (*keys, str(key)), text, pieces, siblings)
        text.records.append((frozenset(names), text.numbers[first:]))
        return
    key, path = _words(keys[-1]) if keys else frozenset[str](), _words(" ".join(keys))
    if isinstance(value, list | tuple):
        text.numbers.append(_Number(Quantity(float(len(value))), key, path, is_count=True))
        for entry in value:
            _read_result(entry, keys, text, pieces)
    elif is_number(value):
        parts = _PART.findall(keys[-1]) if keys else []
        unit = unit_of(parts[-1], short=len(parts) > 1) if parts else unit_of("")
        at = normal(keys[-1]) if keys else ""
        text.numbers.append(_Number(Quantity(as_float(value), *unit), key, path, at=at, beside=beside))
        pieces.append(str(value))
    elif isinstance(value, str):
        pieces.append(value)
        text.numbers += _numbers(value)


def _numbers(text: str) -> Iterator[_Number]:
    for quantity in quantities(text):
        noun = _words(quantity.noun)
        yield _Number(quantity, noun, noun)


def _is_id(words: str) -> bool:
    return any(character.isdigit() for character in words)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _plain(path: str, value: Any, schema: Mapping[str, Any]) -> Iterator[Argument]:
    if isinstance(value, Mapping):
        for name, entry in value.items():
            inner = _mapping(_mapping(schema.get("properties")).get(name))
            yield from _plain(f"{path}.{name}", entry, inner)
    elif isinstance(value, list | tuple):
        for place, entry in enumerate(value):
            yield from _plain(f"{path}[{place}]", entry, _mapping(schema.get("items")))
    else:
        yield Argument(path, value, schema)


def _in_schema(value: Any, schema: Mapping[str, Any]) -> bool:
    listed = [one for key in ("enum", "examples") for one in _list(schema.get(key))]
    described = str(schema.get("description", ""))
    if _LISTS.search(described):
        listed += _QUOTED.findall(described)
    if any(same_value(value, one) for one in (*listed, schema.get("default"), schema.get("const"))):
        return True
    parts = (one for key in ("anyOf", "oneOf", "allOf") for one in _list(schema.get(key)))
    return any(_in_schema(value, _mapping(one)) for one in parts)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _resolved(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a schema with what its references mean in their place, some levels deep."""
    if isinstance(schema, Mapping):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            target: Any = root
            for key in reference[2:].split("/"):
                target = _mapping(target).get(key)
            return _resolved(_mapping(target), root, depth + 1) if depth < MOST_REFERENCES else {}
        return {key: _resolved(one, root, depth) for key, one in schema.items()}
    return [_resolved(one, root, depth) for one in schema] if isinstance(schema, list) else schema


def _is_long(word: str) -> bool:
    """Return whether a word is too long to be made of pieces by chance."""
    if word.isdigit():
        return len(word) > 6
    return len(word) > 4 or (len(word) > 2 and _is_id(word))


def _in_one(words: str) -> tuple[str, Collection[int]]:
    """Return words written as one, and where they begin and end; a bar parts those of two values."""
    edges, length, pieces = {0}, 0, []
    for value in words.split("|"):
        for word in (*value.split(), "|"):
            pieces.append(word)
            length += len(word)
            edges.add(length)
    return "".join(pieces), edges


def _has_letters(words: str, number: Quantity) -> bool:
    """Return whether a token is an id with a number in it."""
    rest = re.sub(r"[\d.,\s$€%°+-]", "", words)
    return bool(rest) and number.dimension is None


def _specifics(text: str) -> list[str]:
    """Return the parts of a text that must stand somewhere: numbers with units, dates, times, ids, names."""
    found = []
    rest = text
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
    for found in re.finditer(rf" (\d+|a|{'|'.join(SMALL_NUMBERS)}) (day|week)s? ", said):
        word = found[1]
        count = 1 if word == "a" else int(word) if word.isdigit() else SMALL_NUMBERS.index(word)
        days = count * (7 if found[2] == "week" else 1)
        if days <= MOST_DAYS:
            yield found[0].strip(), partial(_is_moved, day, (days, -days))
    weekday = WEEKDAYS[day.weekday()]
    if f" {weekday} " in said:
        yield weekday, lambda given: 0 < (day - given).days <= 14


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
