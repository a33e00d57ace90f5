"""Amounts as people write them: digits or words, and units by several names."""

from __future__ import annotations

from random import Random

ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
QUARTERS = {25: "a quarter", 50: "a half", 75: "three quarters"}
LITERS = ("liters", "liters", "litres", "l", "L")
MILLILITERS = ("ml", "ml", "milliliters", "millilitres", "mL")
IN_WORDS = 0.3


def in_words(value: float) -> str:
    """Return a number below 1000 with at most two decimals in English words."""
    hundredths = round(value * 100)
    whole, rest = divmod(hundredths, 100)
    if rest in QUARTERS:
        part = QUARTERS[rest]
        return f"{_whole(whole)} and {part}" if whole else part.removeprefix("a ")
    if rest:
        digits = f"{rest:02d}".rstrip("0")
        return f"{_whole(whole)} point " + " ".join(ONES[int(digit)] for digit in digits)
    return _whole(whole)


def water(rng: Random, liters: float) -> str:
    """Return an amount of water, sometimes with the word "water"."""
    return _amount(rng, liters, LITERS, "liter") + rng.choice(("", "", " of water"))


def pesticide(rng: Random, ml: float) -> str:
    """Return an amount of pesticide, sometimes with the word "pesticide"."""
    return _amount(rng, ml, MILLILITERS, "ml") + rng.choice(
        ("", " of pesticide", " of pesticide", " of the pesticide")
    )


def fraction(rng: Random, value: float) -> str:
    """Return a share between 0 and 1 as a number, in per cent, or in words."""
    style, percent = rng.random(), round(100 * value)
    if style < 0.45:
        return f"{value:g}"
    if style < 0.65:
        return f"{percent}{rng.choice((' %', '%', ' percent', ' per cent'))}"
    if percent in QUARTERS:
        return {25: "a quarter", 50: "half", 75: "three quarters"}[percent]
    if percent % 10 == 0:
        return f"{ONES[percent // 10]} tenth{'' if percent == 10 else 's'}"
    return f"{value:g}"


def duration(rng: Random) -> str:
    """Return some seconds or minutes in words."""
    count = rng.choice((2, 3, 5, 8, 12, 15, 18, 25, 35, 40, 45, 70, 80, 90))
    unit = "minutes" if count < 20 and rng.random() < 0.4 else "seconds"
    if rng.random() < 0.15:
        return rng.choice(("half a minute", "two minutes", "a quarter of a minute", "a minute and a half"))
    return f"{count if rng.random() < 0.6 else _whole(count)} {unit}"


def _amount(rng: Random, value: float, units: tuple[str, ...], single: str) -> str:
    unit = rng.choice(units)
    if rng.random() >= IN_WORDS:
        if value == 1:
            unit = single
        return f"{value}{'' if len(unit) < 3 and rng.random() < 0.2 else ' '}{unit}"
    if len(unit) < 3:
        unit = units[2]
    words = in_words(value)
    if value == 0.5:
        return f"half a {unit.removesuffix('s')}"
    if value < 1 and round(value * 100) in QUARTERS:
        return f"{'a ' if value == 0.25 else ''}{words} of a {unit.removesuffix('s')}"
    return f"{words} {unit.removesuffix('s') if value == 1 else unit}"


def _whole(value: int) -> str:
    if value < 20:
        return ONES[value]
    if value < 100:
        tens, ones = divmod(value, 10)
        return TENS[tens - 2] + (f"-{ONES[ones]}" if ones else "")
    hundreds, rest = divmod(value, 100)
    return f"{ONES[hundreds]} hundred" + (f" and {_whole(rest)}" if rest else "")
