"""How one value is written: numbers with units, dates, times of day, and words without case and accents."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from core_eval.text.values import ROUNDING, as_float, is_number

_UNITS: Mapping[str, Mapping[str, float]] = {
    "length": {
        **dict.fromkeys(("m", "metre", "meter"), 1.0),
        **dict.fromkeys(("mm", "millimetre", "millimeter"), 1e-3),
        **dict.fromkeys(("cm", "centimetre", "centimeter"), 1e-2),
        **dict.fromkeys(("km", "kilometre", "kilometer"), 1e3),
    },
    "volume": {
        **dict.fromkeys(("l", "litre", "liter"), 1.0),
        **dict.fromkeys(("ml", "millilitre", "milliliter"), 1e-3),
    },
    "mass": {
        **dict.fromkeys(("g", "gram", "gramme"), 1.0),
        **dict.fromkeys(("mg", "milligram"), 1e-3),
        **dict.fromkeys(("kg", "kilogram"), 1e3),
    },
    "time": {
        **dict.fromkeys(("s", "sec", "second"), 1.0),
        **dict.fromkeys(("ms", "millisecond"), 1e-3),
        **dict.fromkeys(("min", "minute"), 60.0),
        **dict.fromkeys(("h", "hour"), 3600.0),
        "day": 86400.0,
        "week": 604800.0,
    },
    "ratio": {**dict.fromkeys(("%", "percent", "per cent"), 0.01), "fraction": 1.0},
    "angle": {**dict.fromkeys(("rad", "radian"), 1.0), "deg": 0.017453292519943295},
    "Celsius": dict.fromkeys(("c", "°c", "celsius"), 1.0),
    "Fahrenheit": dict.fromkeys(("f", "°f", "fahrenheit"), 1.0),
    "kelvin": {"k": 1.0, "kelvin": 1.0},
    "EUR": {"eur": 1.0, "€": 1.0, "euro": 1.0},
    "USD": {"usd": 1.0, "$": 1.0, "dollar": 1.0},
}
_UNIT_OF = {
    name: (dimension, factor) for dimension, names in _UNITS.items() for name, factor in names.items()
}
_DEGREES: Mapping[str, tuple[float, float]] = {
    "Celsius": (1.0, 0.0),
    "Fahrenheit": (5 / 9, -32 * 5 / 9),
    "kelvin": (1.0, -273.15),
}
SMALL_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?"
_NUMBER = re.compile(
    r"(?<![\w.,])(?P<money>[$€])?\s?(?P<number>[-+]?\d+(?:,\d{3})*(?:\.\d+)?)(?![\w-]*\d)\s?"
    rf"(?:(?P<scale>{'|'.join(_SCALES)})\b\s?)?"
    r"(?P<unit>%|per cent|°?[A-Za-z]+|€)?(?!\w)"
)
_BELOW_100 = (
    rf"(?:(?:{'|'.join(_TENS)})(?:[\s-](?:{'|'.join(SMALL_NUMBERS[1:10])})\b)?|(?:{'|'.join(SMALL_NUMBERS)})"
    rf"|a(?=\s(?:{'|'.join(_SCALES)})\b))"
)
_BELOW_1000 = rf"{_BELOW_100}(?:\s(?:dozen|hundred)\b(?:\s(?:and\s)?{_BELOW_100}\b)?)?"
_WORD_NUMBER = re.compile(
    rf"(?<![\w-])(?P<number>{_BELOW_1000}(?:\s(?:thousand|million|billion)\b(?:\s(?:and\s)?{_BELOW_1000}\b)?)*)"
    r"(?![\w-])(?:\s(?P<unit>[A-Za-z]+))?",
    re.I,
)
_ISO_DATE = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_NUMERIC_DATE = re.compile(r"(?<![\d./-])(\d{1,2})([./])(\d{1,2})\2(\d{4})(?![\d./])")
_COMPACT = re.compile(r"(?<!\d)(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(?:\d{2})?(?!\d)")
_DAY_FIRST = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? (?P<year>\d{{4}}))?\b", re.I
)
_MONTH_FIRST = re.compile(
    rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|:)(?:,? (?P<year>\d{{4}}))?\b", re.I
)
_ISO_MONTH = re.compile(r"(\d{4})-(\d{2})")
_SPOKEN_MONTH = re.compile(rf"{_MONTH},? (?P<year>\d{{4}})", re.I)
_CLOCK = re.compile(r"(?<![\d:.-])(\d{1,2}):(\d{2})(?::\d{2})?(?!\d)(?: ?([ap])\.?m\b)?", re.I)
_HOUR = re.compile(r"(?<![\d:.-])(\d{1,2}) ?([ap])\.?m\b", re.I)
_SPOKEN = re.compile(
    rf"\b(quarter past|half past|quarter to) (\d{{1,2}}|{'|'.join(SMALL_NUMBERS[:13])})\b"
    r"(?=(?P<rest>.{0,25}))",
    re.I,
)
MOMENTS = (_ISO_DATE, _NUMERIC_DATE, _COMPACT, _DAY_FIRST, _MONTH_FIRST, _CLOCK, _HOUR)
"""How dates and times of day are written."""
_DAY_RANGES = (
    (re.compile(r"\b(\d{4}-\d\d-)(\d\d)\s?[/\u2013-]\s?(\d\d)\b(?![-/\d])"), r"\1\2 ; \1\3"),
    (
        re.compile(rf"\b({_MONTH}) (\d{{1,2}})\s?[/\u2013-]\s?(\d{{1,2}})\b(?![-/\d])(,? \d{{4}}\b)?", re.I),
        r"\1 \3\5 ; \1 \4\5",
    ),
)
_WORD = re.compile(r"[^\W_]+")
NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_VAGUE_NAMES = frozenset(
    ("and", "for", "from", "its", "name", "number", "that", "the", "this", "value", "with")
)
_LIST_NUMBER = re.compile(r"^\s*\d+[.)]\s", re.M)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and its unit: dimension and factor; both None where no known unit stands by it.

    Attributes:
        noun: the word after it that is no unit.
    """

    value: float
    dimension: str | None = None
    factor: float = 1.0
    noun: str = ""

    def is_meant_by(self, other: Quantity) -> bool:
        """Return whether another writes the same: converted, or rounded to three digits or more."""
        if (
            self.dimension == "ratio"
            and other.dimension is None
            and _near(self.value * self.factor, other.value)
        ):
            return True
        if self.dimension is None or other.dimension is None:
            given, wanted = self.value, other.value
        elif self.dimension in _DEGREES and other.dimension in _DEGREES:
            (scale, zero), (back, shift) = _DEGREES[self.dimension], _DEGREES[other.dimension]
            given, wanted = (self.value * scale + zero - shift) / back, other.value
        elif self.dimension != other.dimension:
            return False
        else:
            given, wanted = self.value * self.factor / other.factor, other.value
        if abs(given - wanted) <= ROUNDING * max(1.0, abs(given), abs(wanted)):
            return True
        digits = str(wanted).rstrip("0").rstrip(".")
        places = len(digits.partition(".")[2])
        return places > 0 and len(digits.strip("-").replace(".", "")) > 2 and round(given, places) == wanted


def unit_of(text: str, *, short: bool = True) -> tuple[str | None, float]:
    """Return the dimension and factor of a unit's name; (None, 1.0) for another word.

    Args:
        text: a word.
        short: whether abbreviations of one letter count.
    """
    word = text.casefold().strip()
    if len(word) == 1 and word.isalpha() and not short:
        return None, 1.0
    return _UNIT_OF.get(word) or _UNIT_OF.get(word.removesuffix("s")) or (None, 1.0)


@lru_cache(maxsize=4096)
def normal(text: str) -> str:
    """Return the words of a text without case, accents and marks, a space around each."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    words = _WORD.findall(plain.casefold())
    return f" {' '.join(words)} "


def the_quantity(value: object) -> Quantity | None:
    """Return the number that a value is, or that its whole text is, with its unit; None for anything else."""
    if is_number(value):
        return Quantity(as_float(value))  # type: ignore[arg-type]
    found = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return None
    word = found["unit"] or found["money"] or ""
    dimension, factor = unit_of(word)
    if word and dimension is None:
        return None
    return Quantity(_digits(found), dimension, factor)


def same_amount(one: object, other: object) -> bool:
    """Return whether two values are the same number, by value and unit: `500 ml` is `0.5 l`, and 14 is `14`.

    Two texts without a unit are compared as texts, since they may be names: `007` is not `7`.
    """
    left, right = the_quantity(one), the_quantity(other)
    if left is None or right is None:
        return False
    if left.dimension is None and right.dimension is None:
        plain = is_number(one) or is_number(other)
        return plain and _near(left.value, right.value)
    if None in (left.dimension, right.dimension):
        return _near(left.value, right.value)
    return left.dimension == right.dimension and _near(left.value * left.factor, right.value * right.factor)


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= ROUNDING * max(1.0, abs(one), abs(other))


def quantities(text: str) -> Iterator[Quantity]:
    """Yield the numbers of a text with their units; those of dates, times, ids and lists are none."""
    rest = text
    for pattern in (_LIST_NUMBER, *MOMENTS, _SPOKEN):
        rest = pattern.sub(" ; ", rest)
    for found in _NUMBER.finditer(rest):
        word = found["unit"] or found["money"] or ""
        dimension, factor = unit_of(word)
        yield Quantity(_digits(found), dimension, factor, "" if dimension else word)
    for found in _WORD_NUMBER.finditer(rest):
        word = found["unit"] or ""
        dimension, factor = unit_of(word, short=False)
        yield Quantity(_spoken(found["number"]), dimension, factor, "" if dimension else word)


def _digits(found: re.Match[str]) -> float:
    return float(found["number"].replace(",", "")) * _SCALES.get(found["scale"] or "", 1)


def _spoken(words: str) -> float:
    """Return the number that these words are."""
    total = below = 0
    for word in re.findall(r"[a-z]+", words.casefold()):
        if word in SMALL_NUMBERS:
            below += SMALL_NUMBERS.index(word)
        elif word in _TENS:
            below += 20 + 10 * _TENS.index(word)
        elif word in ("dozen", "hundred"):
            below = (below or 1) * _SCALES[word]
        elif word in _SCALES:
            total, below = total + (below or 1) * _SCALES[word], 0
    return float(total + below)


def dates(text: str) -> Iterator[tuple[int | None, int, int]]:
    """Yield the dates of a text as year (None where it has none), month and day; 3/4/2026 is two of them."""
    for pattern in (_ISO_DATE, _COMPACT):
        for found in pattern.finditer(text):
            yield int(found[1]), int(found[2]), int(found[3])
    for found in _NUMERIC_DATE.finditer(text):
        first, second, in_year = int(found[1]), int(found[3]), int(found[4])
        if second <= 12:
            yield in_year, second, first
        if found[2] == "/" and first <= 12 and first != second:
            yield in_year, first, second
    for pattern in (_DAY_FIRST, _MONTH_FIRST):
        for found in pattern.finditer(text):
            year, month = found["year"], _MONTHS.index(found["month"].casefold()) + 1
            yield None if year is None else int(year), month, int(found["day"])


def without_day_ranges(text: str) -> str:
    """Return a text in which two days of a month are two dates: `May 16-17`, `2024-05-20/30`."""
    for pattern, dates_of in _DAY_RANGES:
        text = pattern.sub(dates_of, text)
    return text


def the_dates(text: str) -> list[date]:
    """Return the day that a text is, with its year, in each reading; none where it is something else."""
    found: list[date] = []
    if len(text) > 30 or re.search(r"[A-Za-z]{4,}", re.sub(_MONTH, "", text, flags=re.I)):
        return found
    for year, month, day in dates(text):
        if year is not None:
            with suppress(ValueError):
                found.append(date(year, month, day))
    return found


def the_month(text: str) -> tuple[int, int] | None:
    """Return the year and month that a text is, without a day; None where it is something else."""
    if found := _ISO_MONTH.fullmatch(text.strip()):
        return int(found[1]), int(found[2])
    if found := _SPOKEN_MONTH.fullmatch(text.strip()):
        return int(found["year"]), _MONTHS.index(found["month"].casefold()) + 1
    return None


def times(text: str) -> Iterator[int]:
    """Yield the times of day of a text, in minutes after midnight."""
    for found in _CLOCK.finditer(text):
        yield _minutes(int(found[1]), int(found[2]), found[3])
    for found in _COMPACT.finditer(text):
        yield _minutes(int(found[4]), int(found[5]), None)
    for found in _HOUR.finditer(text):
        yield _minutes(int(found[1]), 0, found[2])
    for found in _SPOKEN.finditer(text):
        spoken = found[2].casefold()
        hour = SMALL_NUMBERS.index(spoken) if spoken in SMALL_NUMBERS else int(spoken)
        past = {"quarter past": 15, "half past": 30, "quarter to": -15}[found[1].casefold()]
        late = re.search(r"\b(afternoon|evening|p\.?m)\b", found["rest"], re.I) is not None
        yield (hour % 12 + 12 * late) * 60 + past
        if not late:
            yield (hour % 12 + 12) * 60 + past


def the_time(text: str) -> int | None:
    """Return the time of day that a text is, in minutes after midnight; None where it is something else."""
    found = _CLOCK.fullmatch(text.strip()) or _HOUR.fullmatch(text.strip())
    return None if found is None else next(times(text))


def _minutes(hour: int, minute: int, half: str | None) -> int:
    if half:
        hour = hour % 12 + 12 * (half.casefold() == "p")
    return hour * 60 + minute


@lru_cache(maxsize=4096)
def name_words(text: str) -> frozenset[str]:
    """Return the telling words of a name, such as that of a key, without case and plural."""
    return frozenset(
        stem(part.casefold())
        for part in NAME_PART.findall(text)
        if len(part) > 2 and part.casefold() not in _VAGUE_NAMES
    )


def stem(word: str) -> str:
    """Return a word without its plural."""
    return word.removesuffix("s") if len(word) > 3 else word


def are_akin(some: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether each word of the shorter is, or begins, or is begun by a word of the longer."""
    few, many = sorted((some, others), key=len)
    return bool(few) and all(any(a.startswith(b) or b.startswith(a) for b in many) for a in few)
