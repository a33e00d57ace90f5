"""Agents' names as tables show them: short, and never two alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from core_eval.text.visible_text import visible

LONGEST = 16
"""Characters; longer names are shortened."""


def short_names(agents: Iterable[str]) -> dict[str, str]:
    """Return each agent's name for a table: a long one without its options.

    Names that would then be alike are numbered, in order; `legend` says what stands behind those.
    """
    names = list(dict.fromkeys(agents))
    short = {name: visible(_short(name)) for name in names}
    times = Counter(short.values())
    seen: Counter[str] = Counter()
    for name in names:
        own = short[name]
        if times[own] > 1:
            seen[own] += 1
            short[name] = f"{own} ({seen[own]})"
    return short


def legend(names: Mapping[str, str]) -> list[str]:
    """Return a line for each name that had to be numbered, and for each model with options."""
    plain = {name: visible(_short(name)) for name in names}
    return [
        f"{short}: {visible(name)}"
        for name, short in names.items()
        if short != plain[name] or ("?" in name and "?" not in short)
    ]


def _short(name: str) -> str:
    return name if len(name) <= LONGEST or name.startswith("command:") else name.partition("?")[0]
