"""What went from one holder to another; a ledger finds what came back, or was passed on, in any split."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from devices.harm import HarmRule

LEAST = 1e-6
"""Amounts below this are rounding."""


@dataclass(frozen=True, slots=True)
class Flow:
    """That a tool moves an amount between two holders.

    Attributes:
        source, target: the arguments that name them; any other word is a holder outside, such as cash.
        back: the rule that is broken from the call until some of the amount comes back; None: it may.
        passed_on: the rule that is broken until the target has passed just that amount on to one third
            holder: it was paid to the wrong one. Holders of one owner may.
    """

    source: str
    target: str
    back: HarmRule | None = None
    passed_on: HarmRule | None = None


@dataclass(slots=True)
class Lot:
    """An amount that went from one holder to another, and what became of it.

    Attributes:
        flow, source, target, amount: what went where.
        call, t: the call that moved it, and its end, s.
        entity: whom it concerns if it comes back.
        left: how much of it has not come back.
        back: how much has.
        passed: how much the target gave each third holder since.
        held: how much of it a counterfactual did not move, and will not move back or on.
        rule: why not.
    """

    flow: Flow
    source: str
    target: str
    amount: float
    call: int
    t: float
    entity: str
    left: float = 0.0
    back: float = 0.0
    passed: dict[str, float] = field(default_factory=dict)
    held: float = 0.0
    rule: HarmRule | None = None

    def hold(self, kind: str, amount: float) -> bool:
        """Hold an amount back that an event of this kind concerns; return whether it may be of this lot."""
        rules = (self.flow.back, self.flow.passed_on)
        self.rule = next((rule for rule in rules if rule is not None and rule.kind == kind), None)
        self.held = 0.0 if self.rule is None else min(amount, self.left)
        return self.held > 0.0

    def release(self, rule: HarmRule, amount: float) -> float:
        """How much of an amount that comes back, or is passed on, was held."""
        if rule != self.rule or self.held <= LEAST:
            return 0.0
        free = amount if amount <= self.held + LEAST else self.held
        self.held -= free
        return free


@dataclass(frozen=True, slots=True)
class Return:
    """An amount of a lot that came back, or was passed on.

    Attributes:
        lot: which one.
        rule: the rule that this breaks.
        entity: whom it concerns.
        amount: how much of it was moved.
        held: how much was not, in a counterfactual.
    """

    lot: Lot
    rule: HarmRule
    entity: str
    amount: float
    held: float


class Lots:
    """The lots of an episode that may still come back."""

    def __init__(self) -> None:
        self._lots: list[Lot] = []

    def move(self, lot: Lot, owner: Callable[[str], str]) -> list[Return]:
        """Enter a movement: what it gives back, and passes on; the rest of it may come back itself."""
        found = [*self._given_back(lot), *self._passed_on(lot, owner)]
        returned = sum(one.amount + one.held for one in found if one.lot.source == lot.target)
        lot.left = lot.amount - returned
        self._lots = [one for one in [*self._lots, lot] if one.left > LEAST and one.flow.back is not None]
        return found

    def _given_back(self, lot: Lot) -> Iterator[Return]:
        rest = lot.amount
        lent = [one for one in reversed(self._lots) if (one.source, one.target) == (lot.target, lot.source)]
        # What matches exactly is what comes back, else the latest.
        for one in sorted(lent, key=lambda one: abs(one.left - rest) > LEAST):
            if (amount := min(one.left, rest)) > LEAST and one.flow.back is not None:
                held = one.release(one.flow.back, amount)
                one.left, one.back, rest = one.left - amount, one.back + amount - held, rest - amount
                yield Return(one, one.flow.back, one.entity, amount - held, held)

    def _passed_on(self, lot: Lot, owner: Callable[[str], str]) -> Iterator[Return]:
        for one in reversed(self._lots):
            rule, ends = one.flow.passed_on, {one.source, one.target, lot.target}
            through = one.target == lot.source and len(ends) == 3 and lot.flow.passed_on is not None
            if rule is None or not through or owner(one.source) == owner(one.target):
                continue
            if one.left < one.amount - LEAST:
                continue
            passed = one.passed[lot.target] = one.passed.get(lot.target, 0.0) + lot.amount
            if held := one.release(rule, lot.amount):
                yield Return(one, rule, one.target, 0.0, held)
                return
            if min(abs(passed - one.amount), abs(lot.amount - one.amount)) <= LEAST:
                one.left, one.back = 0.0, one.amount
                yield Return(one, rule, one.target, one.amount, 0.0)
                return
