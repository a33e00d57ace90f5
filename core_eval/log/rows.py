"""What goes into the log and comes out of it, typed.

Times are UTC epoch seconds unless they are called device time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from core_eval.path.calls import CallStatus, StepKind

EpisodeStatus = Literal["running", "completed", "stopped", "interrupted", "error", "aborted"]
"""`stopped`: at a limit. `interrupted`: by a person or a signal. `aborted`: its process died."""

ENDED_BY_AGENT = frozenset({"done", "decline"})
"""The stop reasons with which an agent itself ends an episode: it is done, or declines the task."""

HarmSource = Literal["truth", "twin"]


class Observation(StrEnum):
    """Whether the rig's own telemetry gave an event away."""

    OBSERVED = "observed"
    UNOBSERVED = "unobserved"
    HINDSIGHT = "hindsight"
    """Something differs, but nobody who lacks the counterfactual could tell."""
    UNKNOWN = "unknown"
    """No counterfactual prevents the event, or nobody knows whether it happened."""

    @classmethod
    def of(cls, observed: bool | None) -> Observation:
        """The verdict on an event of which it is known, or not, whether anything differs."""
        return cls.UNKNOWN if observed is None else cls.OBSERVED if observed else cls.UNOBSERVED


COUNTED = 0.5
"""Events of a twin count from this probability on."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What a task asks, in full: enough to score its episodes without the task's file.

    Attributes:
        prompt: the user's words.
        automaton: the automaton's own JSON text.
        goal: the final-state check, JSON-ready.
        tools: function schemas as the agent saw them.
        world_state: the world's whole initial state before the overrides; None where it is unknown.
        answer: `decline` or `nothing` where the task is done by making no call; None elsewhere.
    """

    prompt: str
    automaton: str
    goal: Any
    tools: Any
    world_state: Any
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class EpisodeStart:
    """An episode as it begins; the columns of the table `episode` of the same names.

    `twin` is the twin as the rig's file gave it (`world`, `parameters`, `members`), of a rig that tells no
    truth; None of one that does.
    """

    number: int
    task: str
    world: str | None
    rig: str
    device: str
    agent: str
    scaffold: str
    seed: int
    definition: Definition
    init: Mapping[str, Any]
    limits: Mapping[str, Any]
    guard: str
    scoring: Mapping[str, Any]
    agent_info: Mapping[str, Any]
    twin: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """What an agent said at one step, and what that cost."""

    text: str = ""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Intent:
    """A call that is about to be made, or an attempt at one.

    `tool` is None where no call could be read from the agent's text; `call_id` is None where the call
    does not leave the host.
    """

    k: int
    tool: str | None
    arguments: Mapping[str, Any] | None
    call_id: str | None = None
    guard_action: str | None = None
    guard_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the automaton made of a step."""

    kind: StepKind
    symbol: str | None
    state_before: str
    state_after: str


@dataclass(frozen=True, slots=True)
class HarmRow:
    """An event of the world's rules, and whether the coarse telemetry gave it away; device times, s.

    Attributes:
        observed: whether anything in the telemetry differs from the counterfactual's; None: no verdict.
        verdict: `hindsight`, or, as `observed` has it, `observed`, `unobserved` or `unknown` (the default).
        t_end: the end, run-out included.
        severity: by how much `peak` is beyond `limit_value`, in the rule's unit.
        source: who tells of it: the simulator's own `truth`, or the `twin` of a rig that has none.
        probability: that it happened, as the twin tells, or where it hangs on a call without an answer; None
            where it is certain.
        observed_probability: that the telemetry shows it, given that it happened, as the twin tells.
        remedy: what the counterfactual changed: a world's intervention, or `leave_out`; None where none
            prevents the event.
        hidden_at_end: whether a last reading of all sensors and registers is that of the counterfactual.
        peak, limit_value: what the rule watches at its worst, and its limit; None where the rule has none.
        t_record: the end of the record, where the event outlasts it; None where it was over.
        trend: which way it went then: `rising`, `falling` or `steady`.
    """

    kind: str
    entity: str
    observed: bool | None
    t_start: float
    t_end: float
    severity: float
    exposure: float
    evidence: Mapping[str, Any] | None
    step_id: int | None
    k: int | None = None
    source: HarmSource = "truth"
    probability: float | None = None
    observed_probability: float | None = None
    remedy: str | None = None
    verdict: Observation | None = None
    hidden_at_end: bool | None = None
    peak: float | None = None
    limit_value: float | None = None
    t_record: float | None = None
    trend: str | None = None

    def __post_init__(self) -> None:
        if self.verdict is None:
            object.__setattr__(self, "verdict", Observation.of(self.observed))

    @property
    def counts(self) -> bool:
        """Whether it enters sums and shares: a twin also tells of what is less likely than not."""
        return self.probability is None or self.probability >= COUNTED


@dataclass(frozen=True, slots=True)
class DeviationRow:
    """An executed call off the path: no harm event, and told beside them.

    Attributes:
        effect: whether the true state was ever another than without the call; None where not told.
        observed: whether the telemetry was; None where not told.
        evidence: the first reading that differs.
    """

    effect: bool | None
    observed: bool | None
    evidence: Mapping[str, Any] | None
    step_id: int | None
    k: int | None = None


@dataclass(frozen=True, slots=True)
class PairRow:
    """A compensating pair: steps `earlier` and `later` of which the second restored what the first changed.

    `restored` are dotted keys of the coarse state, `stranded` the device time between the two, s.
    """

    earlier: int
    later: int
    restored: tuple[str, ...]
    stranded: float


@dataclass(frozen=True, slots=True)
class FailureRow:
    """A label that says why an episode failed, and its level: `decision`, `execution` or `rig`."""

    label: str
    level: str


@dataclass(frozen=True, slots=True)
class MachineCost:
    """What an episode cost the machine that the agent ran on; None where the machine cannot tell.

    Attributes:
        peak_memory: the most that this process held in memory, bytes.
        energy: of the whole machine or board while the episode lasted, J.
        meter: what told the energy.
    """

    peak_memory: int | None = None
    energy: float | None = None
    meter: str | None = None


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run; `ended` is None while it goes on, and after a crash."""

    id: int
    created: float
    ended: float | None
    config: Mapping[str, Any]
    packages: Mapping[str, Any]
    host: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step with its turn; `t_device` and `duration` are device time, s."""

    id: int
    k: int
    tool: str | None
    arguments: Mapping[str, Any] | None
    status: CallStatus | None
    kind: StepKind | None
    symbol: str | None
    state_before: str | None
    state_after: str | None
    t_intent: float
    t_result: float | None
    result: Any
    error_code: str | None
    error_message: str | None
    call_id: str | None
    t_device: float | None
    duration: float | None
    guard_action: str | None
    guard_reason: str | None
    turn: Turn | None


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A coarse reading at device time `t`, s; truth values are 0 and 1."""

    sensor: str
    value: int | float | str
    t: float


@dataclass(frozen=True, slots=True)
class TruthRow:
    """A snapshot of the simulator's own state at device time `t`, s; `call_id` is None after init."""

    call_id: str | None
    t: float
    state: Mapping[str, Any]
    events: Any


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """An episode, its task's definition and its scores.

    Attributes:
        seconds: what it took by a monotonic clock; None in logs of before there was one.
        stop: how the stop of its rig went at its end: `confirmed`, `sent` or `not sent`; None before that.
        calls_made: the steps in which a call could be read, whatever became of it; None where not known.
        fingerprint: equal for identical episodes: same task, agent and its options, initial state, and
            sequence of tool, arguments, status and result. None where no two are identical, as on a physical
            rig, whose initial state nobody sets.
    """

    id: int
    run_id: int
    number: int
    task: str
    world: str | None
    rig: str
    device: str
    agent: str
    scaffold: str
    seed: int
    status: str
    started: float
    ended: float | None
    stop_reason: str | None
    error: str | None
    definition: Definition
    init: Mapping[str, Any]
    simulated: bool | None
    limits: Mapping[str, Any]
    guard: str
    scoring: Mapping[str, Any]
    agent_info: Mapping[str, Any]
    twin: Mapping[str, Any] | None = None
    seconds: float | None = None
    stop: str | None = None
    scores: Mapping[str, float | None] = field(default_factory=dict)
    failures: tuple[FailureRow, ...] = ()
    pairs: tuple[PairRow, ...] = ()
    calls_made: int | None = None
    fingerprint: str | None = None

    @property
    def wall_seconds(self) -> float | None:
        """How long it took on the host, s; None where it did not end.

        A log of before there was `seconds` holds only the times of a clock that may have been set meanwhile.
        """
        if self.seconds is not None or self.ended is None:
            return self.seconds
        return max(0.0, self.ended - self.started)
