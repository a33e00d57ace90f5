"""What a sweep tells: what a change of the model, of one factor, and of two together did to its episodes.

Episodes are paired by model, task, seed and start. The effect of two together is what their change does
beyond the sum of each alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from core_eval.log import CHARGED, EpisodeRow, charged
from core_eval.score.comparison import by_start, corrected, difference_json, pair_identity
from core_eval.score.episodes import counted
from core_eval.score.repeated import passed
from core_eval.statistics.estimates import ALPHA, Estimate, summarize
from core_eval.statistics.intervals import Key

MODEL = "model"
"""The factor that comes first."""
RIGHT = "right"
Factors = Mapping[str, Sequence[str]]
"""Each factor's levels; the first one is its base."""
Setting = tuple[str, ...]
"""A level of each factor, in their order."""
Signed = list[tuple[int, Setting]]


def _right(row: EpisodeRow) -> float | None:
    good = passed(row)
    return None if good is None else float(good)


MEASURES: Mapping[str, Callable[[EpisodeRow], float | None]] = {
    RIGHT: _right,
    CHARGED: lambda row: charged(row.scores),
}


@dataclass(frozen=True)
class Effect:
    """What a change did.

    Attributes:
        factors: that changed, one or two.
        what: the change, in words.
        pairs: starts of which all its episodes are there.
        differences: of each measure, with its p-value among all of the sweep.
    """

    factors: tuple[str, ...]
    what: str
    pairs: int
    differences: Mapping[str, Estimate]

    def told(self, measure: str) -> bool:
        """Whether chance alone seldom gives such a difference."""
        p = self.differences[measure].p
        return p is not None and p <= ALPHA

    def as_json(self) -> dict[str, Any]:
        """Return it, JSON-ready."""
        told = {
            name: {**difference_json(one), "p_corrected": one.p, "told": self.told(name)}
            for name, one in self.differences.items()
        }
        return {"factors": list(self.factors), "what": self.what, "pairs": self.pairs, **told}


def settings(factors: Factors) -> list[Setting]:
    """Return the settings that the effects need: the base, each level alone, each two together."""
    bases = [levels[0] for levels in factors.values()]
    places = range(len(bases))
    found = {tuple(bases): None}
    for changed in [(), *((i,) for i in places), *combinations(places, 2)]:
        chosen = [[base] for base in bases]
        for i in changed:
            chosen[i] = list([*factors.values()][i])
        found |= dict.fromkeys(_products(chosen))
    return list(found)


def _products(chosen: Sequence[Sequence[str]]) -> Iterable[Setting]:
    heads: list[Setting] = [()]
    for levels in chosen:
        heads = [(*head, level) for head in heads for level in levels]
    return heads


def effects(factors: Factors, rows: Mapping[tuple[str, Setting], Sequence[EpisodeRow]]) -> list[Effect]:
    """Return the effects of a sweep: of the model, of each factor, and of each two of all of them.

    Args:
        factors: those beside the model.
        rows: the episodes of each model at each setting. All models have the effects of the factors.
    """
    models = list(dict.fromkeys(model for model, _ in rows))
    whole = {MODEL: models, **factors}
    names, bases = list(whole), [levels[0] for levels in whole.values()]
    starts = {(model, *setting): by_start(counted(own)) for (model, setting), own in rows.items()}
    changes = [(k, level) for k, name in enumerate(names) for level in whole[name][1:]]
    asked = [(one,) for one in changes] + [
        (one, other) for one, other in combinations(changes, 2) if one[0] != other[0]
    ]
    found = []
    for change in asked:
        fixed = [[bases[0]]] if change[0][0] == 0 else [[model] for model in models]
        groups = [_signed([*model, *bases[1:]], change) for model in fixed]
        what = " and ".join(f"{names[k]} {bases[k]} to {level}" for k, level in change)
        found.append(_effect(tuple(names[k] for k, _ in change), what, groups, starts))
    judged = corrected([one.differences for one in found])
    return [replace(one, differences=own) for one, own in zip(found, judged, strict=True)]


def _signed(base: Sequence[str], change: Sequence[tuple[int, str]]) -> Signed:
    """Return the settings whose sum, so signed, is the effect of a change of one level or of two."""
    found: Signed = [(1, tuple(base))]
    for k, level in change:
        found = [
            part
            for sign, setting in found
            for part in ((-sign, setting), (sign, (*setting[:k], level, *setting[k + 1 :])))
        ]
    return found


def _effect(
    factors: tuple[str, ...],
    what: str,
    groups: Iterable[Signed],
    starts: Mapping[Setting, Mapping[Any, Sequence[EpisodeRow]]],
) -> Effect:
    values: dict[str, list[float | None]] = {name: [] for name in MEASURES}
    keys: list[Key] = []
    for signed in groups:
        own = [(sign, starts.get(setting, {})) for sign, setting in signed]
        for start in own[0][1]:
            if not all(start in rows for _, rows in own):
                continue
            parts = [(sign, rows[start]) for sign, rows in own]
            keys.append((parts[0][1][0].template, pair_identity(*(rows for _, rows in parts))))
            for name, measure in MEASURES.items():
                values[name].append(_sum(parts, measure))
    most = float(len(factors))
    limits = {RIGHT: (-most, most)}
    differences = {
        name: summarize(own, keys, limits=limits.get(name, (None, None)), quantiles=())
        for name, own in values.items()
    }
    return Effect(factors, what, len(keys), differences)


def _sum(
    parts: Iterable[tuple[int, Sequence[EpisodeRow]]], measure: Callable[[EpisodeRow], float | None]
) -> float | None:
    total = 0.0
    for sign, rows in parts:
        known = [value for row in rows if (value := measure(row)) is not None]
        if not known:
            return None
        total += sign * sum(known) / len(known)
    return total


def sentence(found: Sequence[Effect]) -> str:
    """Return how much of what is right is the model, and how much the harness, as far as it is told apart."""
    model = [one for one in found if one.factors == (MODEL,)]
    harness = [one for one in found if len(one.factors) == 1 and one.factors != (MODEL,)]
    parts = [f"the harness: {_largest(harness)}"]
    if model:
        parts.insert(0, f"the model: {_largest(model)}")
    together = [one for one in found if len(one.factors) == 2]
    if together:
        parts.append(f"beyond their sum: {_largest(together)}")
    return f"What moves the share that is right: {'; '.join(parts)}."


def _largest(found: Sequence[Effect]) -> str:
    told = [one for one in found if one.told(RIGHT)]
    if not told:
        return "nothing that is told from chance"
    one = max(told, key=lambda one: abs(one.differences[RIGHT].mean or 0.0))
    return f"{one.differences[RIGHT].mean or 0.0:+.0%} by {one.what}"
