"""The scorer, online and offline: one call at a time, and all scores of the calls so far."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from core_eval.call_status import CallStatus
from core_eval.path.alignment import Golden, align, golden_of, make_row
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call, CallClass, StepKind, StepVerdict
from core_eval.path.edit_row import GraphRow, TreeRow
from core_eval.path.endings import AskedEnding
from core_eval.path.metrics import harmful_call_rate, prefix_criticality
from core_eval.path.staged_alignment import StagedRow

Idle: TypeAlias = Callable[[Sequence[Call], Call], bool]
"""Tells whether a call would change nothing after those that were executed."""
OK, FAULT = CallStatus.OK, CallStatus.FAULT
EXECUTED_OR_REFUSED = frozenset({CallStatus.OK, CallStatus.REJECTED, CallStatus.BLOCKED})


_ENDED = {status: place for place, status in enumerate(CallStatus)}
"""Numbers, which no symbol is."""
MOST_VERDICTS = 100_000
"""When so many verdicts of a task are kept, all are dropped: a set of steps has states without end."""
HARM_CLASSES = (CallClass.OFF_PATH, CallClass.REFUSED_WRITE, CallClass.INVALID)


@dataclass(frozen=True)
class ScoredTask:
    """What a path is scored by.

    Attributes:
        automaton: the task's.
        ending: how it is to be ended; None where its file cannot say.
        idle: tells which writes change nothing; None without a world.
    """

    automaton: TaskAutomaton
    ending: AskedEnding | None = None
    idle: Idle | None = None


@dataclass(frozen=True)
class Scores:
    """The scores of one path.

    Attributes:
        path_correctness: PC (eqs 3, 4).
        pc_ktc: PC-KTC (eq 5).
        prefix_criticality: eq 6.
        harmful_calls: how many calls of the condensed path were harmful.
        off_path, refused_writes, invalid_calls: of them, those that were executed, prevented, and not
            understood.
        harmful_call_rate: eq 7.
        efficiency: eq 8; None where the path is shorter than every golden one.
        path_correctness_hlr: PC with harm-local refinement (section 4 of the paper).
        accepted: whether the automaton ended in an accepting state.
        exact: False where a score is only a lower bound; see `bounds`.
        calls: the calls that count (faults are left out unless they count as harm).
        condensed: the calls left when self-loops are dropped.
        faults: the calls that failed by the rig's fault.
        loops: the self-loops.
        reading: the reading of what is harmful.
        bounds: of every score that is not exact its lower and upper bound.
    """

    path_correctness: float
    pc_ktc: float
    prefix_criticality: float
    harmful_calls: int
    harmful_call_rate: float
    efficiency: float | None
    path_correctness_hlr: float
    accepted: bool
    exact: bool
    calls: int
    condensed: int
    faults: int
    off_path: int = 0
    refused_writes: int = 0
    invalid_calls: int = 0
    loops: int = 0
    reading: int = 1
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return all fields under their names."""
        return asdict(self)


def tokens_of(automaton: TaskAutomaton, calls: Sequence[Call]) -> tuple[Hashable, ...] | None:
    """Return what the scores of some calls follow from: of each its symbol, or how it ended.

    None where more decides: what was answered, the best order of a group, or what a world knows of a call.
    """
    if automaton.asks_facts:
        return None
    symbol_of = automaton.symbol_of
    tokens: list[Hashable] = []
    for call in calls:
        if call.group is not None or call.idle:
            return None
        tokens.append(symbol_of(call) if call.status == OK else _ENDED[call.status])
    if automaton.reading > 1:
        tokens += map(automaton.is_free, calls)
    return tuple(tokens)


class OnlineScorer:
    """Follows one path call by call.

    `beta` (0 to 1) weighs early harm in prefix criticality, `lam` (0 to 1) weighs PC against order in
    PC-KTC; `faults_are_harm` counts a rig's faults as harmful calls instead of leaving them out; `reading`
    says what is harmful, by default as the automaton has it; `idle` tells of writes off the path that they
    change nothing. Raises ValueError for a parameter out of its range.
    """

    def __init__(
        self,
        automaton: TaskAutomaton,
        *,
        beta: float = 0.5,
        lam: float = 0.5,
        faults_are_harm: bool = False,
        reading: int | None = None,
        idle: Idle | None = None,
    ) -> None:
        if not 0.0 <= beta <= 1.0:
            raise ValueError(f"beta must be from 0 to 1, not {beta}")
        if not 0.0 <= lam <= 1.0:
            raise ValueError(f"lam must be from 0 to 1, not {lam}")
        automaton = automaton.for_reading(reading)
        self.automaton = automaton
        self.state = automaton.start
        self._beta, self._lam, self._faults_are_harm = beta, lam, faults_are_harm
        self._path: list[int] = []
        self._repairs: list[tuple[int, ...] | None] = []
        self._idle = idle if automaton.reading > 1 else None
        self._executed: list[Call] = []
        self._harm: dict[CallClass, int] = {}
        self._calls = self._faults = self._harmful = 0
        self._weight, self._weighted_harm = 1.0, 0.0
        self._rowed = 0

    @cached_property
    def _golden(self) -> Golden:
        return golden_of(self.automaton)

    @cached_property
    def _row(self) -> TreeRow | GraphRow | StagedRow:
        return make_row(self._golden)

    def peek(self, call: Call) -> StepVerdict:
        """Return the verdict on a call without advancing; without its result, a fact is taken as told."""
        state = self.state
        done = call.status == OK
        symbol = self.automaton.symbol_of(call, state) if done else None
        if symbol is not None:
            verdicts = self.automaton.verdicts
            verdict = verdicts.get((state, symbol))
            if verdict is not None:
                return verdict
            target = self.automaton.delta.get((state, symbol))
            if target is not None:
                kind = StepKind.LOOP if target == state else StepKind.PROGRESS
                verdict = StepVerdict(kind, symbol, state, target, CallClass.of(kind, OK))
                if len(verdicts) >= MOST_VERDICTS:
                    verdicts.clear()
                verdicts[state, symbol] = verdict
                return verdict
        elif call.status == FAULT and not self._faults_are_harm:
            return StepVerdict(StepKind.FAULT, None, state, state, CallClass.FAULT)
        kind = StepKind.HARMFUL
        if call.status in EXECUTED_OR_REFUSED and (self.automaton.is_free(call) or self._is_idle(call)):
            # Without a symbol, which tells it in the log from the loops of the automaton.
            kind, symbol = StepKind.LOOP, None
        return StepVerdict(kind, symbol, state, state, CallClass.of(kind, call.status))

    def _is_idle(self, call: Call) -> bool:
        if self.automaton.reading == 1 or call.status != CallStatus.OK:
            return False
        return call.idle or (self._idle is not None and self._idle(self._executed, call))

    def step(self, call: Call, peeked: StepVerdict | None = None) -> StepVerdict:
        """Advance by one call and return the verdict on it.

        Args:
            call: the call with its status.
            peeked: the verdict of `peek` on the same call before it ran, which holds if it succeeded and no
                fact is asked of its answer.
        """
        holds = peeked is not None and call.status == OK and not self.automaton.asks_facts
        verdict = peeked if holds and peeked is not None else self.peek(call)
        kind = verdict.kind
        if call.status == FAULT:
            self._faults += 1
            if kind is StepKind.FAULT:
                return verdict
        self._calls += 1
        if self._idle is not None and call.status == OK:
            # Self-loops too: time passes while they are made.
            self._executed.append(call)
        if kind is StepKind.LOOP:
            return verdict
        self._path.append(-1 if verdict.symbol is None else self._golden.tokens[verdict.symbol])
        if kind is StepKind.HARMFUL:
            self._harmful += 1
            self._harm[verdict.class_] = self._harm.get(verdict.class_, 0) + 1
            self._weighted_harm += self._weight
            self._repairs.append(self._golden.legal(self.state))
        else:
            self._repairs.append(None)
            self.state = verdict.state_after
        self._weight *= self._beta
        return verdict

    @property
    def seen(self) -> tuple[Hashable, ...]:
        """What the scores depend on: the condensed path, and how many calls there were of which kind."""
        # The harm, and what could repair it, follow from the path: the automaton is deterministic.
        return tuple(self._path), self._calls, self._faults, *map(self._harm.get, HARM_CLASSES)

    def scores(self) -> Scores:
        """Return the scores of the calls so far."""
        condensed = len(self._path)
        off_path, refused_writes, invalid_calls = (self._harm.get(one, 0) for one in HARM_CLASSES)
        aligned = align(
            self._golden,
            self._path,
            self._repairs,
            self.state,
            calls=self._calls,
            is_golden=self.is_golden,
            lam=self._lam,
        )
        return Scores(
            path_correctness=aligned.path_correctness,
            pc_ktc=aligned.pc_ktc,
            prefix_criticality=prefix_criticality(condensed, self._weighted_harm, self._harmful, self._beta),
            harmful_calls=self._harmful,
            harmful_call_rate=harmful_call_rate(condensed, self._harmful),
            efficiency=aligned.efficiency,
            path_correctness_hlr=aligned.path_correctness_hlr,
            accepted=self.state in self.automaton.accepting,
            exact=not aligned.bounds,
            calls=self._calls,
            condensed=condensed,
            faults=self._faults,
            off_path=off_path,
            refused_writes=refused_writes,
            invalid_calls=invalid_calls,
            loops=self._calls - condensed,
            reading=self.automaton.reading,
            bounds=aligned.bounds,
        )

    @property
    def is_golden(self) -> bool:
        """Whether the calls so far do no harm and end in an accepting state: some golden path, and loops."""
        return not self._harmful and self.state in self.automaton.accepting

    @property
    def path_correctness(self) -> float:
        """PC of the calls so far, or its lower bound, at the cost of one row for each new call."""
        for token in self._path[self._rowed :]:
            self._row.advance(token)
        self._rowed = len(self._path)
        return self._row.best()


def score_path(
    automaton: TaskAutomaton,
    calls: Iterable[Call],
    *,
    beta: float = 0.5,
    lam: float = 0.5,
    faults_are_harm: bool = False,
    reading: int | None = None,
    idle: Idle | None = None,
) -> Scores:
    """Score a whole path; the parameters are those of OnlineScorer."""
    scorer = OnlineScorer(
        automaton, beta=beta, lam=lam, faults_are_harm=faults_are_harm, reading=reading, idle=idle
    )
    for call in calls:
        scorer.step(call)
    return scorer.scores()


def accepts(automaton: TaskAutomaton, calls: Iterable[Call], *, idle: Idle | None = None) -> bool:
    """Return whether a path is accepted without harm; its scores are not computed."""
    scorer = OnlineScorer(automaton, idle=idle)
    for call in calls:
        if scorer.step(call).kind == StepKind.HARMFUL:
            return False
    return scorer.is_golden
