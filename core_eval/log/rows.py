"""The typed rows of the log.

Times are UTC epoch seconds unless they are called device time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from agents.agent import Cost
from agents.names import agent_names, without_folders
from core_eval.call_status import CallStatus
from core_eval.log.row_map import NO_COLUMN
from core_eval.path.calls import Call, CallClass, StepKind, StepVerdict
from core_eval.path.endings import Answer, DeclineReason
from core_eval.text.streams import world_stream
from devices.harm import Trend

EpisodeStatus = Literal["running", "completed", "stopped", "interrupted", "error", "aborted"]
"""`stopped`: at a limit. `interrupted`: by a person or a signal. `aborted`: its process died."""

Turn: TypeAlias = Cost
"""An agent's turn at one step, and its cost."""
Verdict: TypeAlias = StepVerdict
"""The automaton's verdict on a step."""

ENDED_BY_AGENT = frozenset({"done", "decline"})
"""The stop reasons with which an agent itself ends an episode: it is done, or declines the task."""

LEFT_RECORD = "left the record"
"""The rig's status from which on a snapshot's twin answered; its detail names the first such call."""
NO_AUTOMATON = "null"
"""The automaton of an imported trace whose task is not known."""
RULE = "rule"
"""The rig's status by the host that is a violation of a rule, in its detail."""

HarmSource = Literal["truth", "twin"]


class Observation(StrEnum):
    """Whether the rig's own telemetry gave an event away."""

    OBSERVED = "observed"
    UNOBSERVED = "unobserved"
    HINDSIGHT = "hindsight"
    """Something differs, but only the counterfactual shows it."""
    UNKNOWN = "unknown"
    """No counterfactual prevents the event, or it is unknown whether it happened."""

    @classmethod
    def of(cls, observed: bool | None) -> Observation:
        """The verdict on an event of which it is known, or not, whether anything differs."""
        return cls.UNKNOWN if observed is None else cls.OBSERVED if observed else cls.UNOBSERVED


@dataclass(frozen=True, slots=True)
class Definition:
    """What a task asks, in full: enough to score its episodes without the task's file.

    Attributes:
        prompt: the user's prompt.
        automaton: the automaton's own JSON text; `NO_AUTOMATON` where an imported trace has no known task.
        goal: the final-state check, JSON-ready.
        tools: function schemas as the agent saw them.
        world_state: the world's whole initial state before the overrides; None where it is unknown.
        answer: `decline` or `nothing` if the task is solved without a call; else None.
        cautions: what must hold before or after risky calls, JSON-ready; None where there are none.
        world_version: the version of the world that `world_state` is of; None where it was not kept.
        decline: why the task is to be declined; None where that is not told, or it asks for something else.
        gold: the calls of an imported file's own answer, and the key that holds them; None where it has none.
    """

    prompt: str
    automaton: str
    goal: Any
    tools: Any
    world_state: Any
    answer: Answer | None = None
    cautions: Any = None
    world_version: int | None = None
    decline: DeclineReason | None = None
    gold: Any = None


@dataclass(frozen=True, slots=True)
class EpisodeStart:
    """The start of an episode; the fields are columns of the table `episode`.

    `twin` is the twin of the rig's file (`world`, `parameters`, `members`) for a rig without truth; None
    for a rig with truth. `template_` is the id that the task shares with the other instances of its template.
    `hazards` are those that were drawn: their names (`drawn`), how many states were drawn before (`again`),
    the kind of the `proof` that a harmless run exists, and its `calls`; each read that tells the start from
    the one without hazards (`told`: tool, arguments, both answers) or from what it is after the proof's wait
    (`gone`); by wrong agent, in how many runs of ten it does harm (`wrong`).
    Of an imported one, `imported` says of what `file`, `format`, `record` and `id` it is, and whether its
    times are the file's (`timed`) or that of the import; `reward` is its file's own.
    """

    number: int
    task: str
    world: str | None
    rig: str
    device: str
    agent: str
    scaffold: str
    seed: int
    definition: Definition = field(metadata=NO_COLUMN)
    init: Mapping[str, Any]
    limits: Mapping[str, Any]
    guard: str
    scoring: Mapping[str, Any]
    agent_info: Mapping[str, Any]
    twin: Mapping[str, Any] | None = None
    template_: str | None = None
    hazards: Mapping[str, Any] | None = None
    imported: Mapping[str, Any] | None = None
    reward: float | None = None


@dataclass(frozen=True, slots=True)
class PromptRow:
    """What a model was given before its first answer; `rendered` is None where a server rendered it."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    rendered: str | None = None


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message of an imported trace, whose episode has no other record of what others said.

    Attributes:
        n: its place in the conversation, from 0.
        role: `user` or `assistant`.
        k: the number of the step that it makes, or that comes next.
    """

    n: int
    role: str
    text: str
    k: int


@dataclass(frozen=True, slots=True)
class Intent:
    """A call that is about to be made, or an invalid attempt at one.

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
class HarmRow:
    """A harm event, and whether the coarse telemetry reveals it; device times, s.

    `core_eval.harm.verdict` says whether it counts.

    Attributes:
        kind, entity: the rule, and the plant, obstacle, object or link that it concerns.
        observed: whether anything in the telemetry differs from the counterfactual's; None: no verdict.
        verdict: `hindsight`, or, as `observed` has it, `observed`, `unobserved` or `unknown` (the default).
        t_end: the end, run-out included.
        evidence: the first reading that differs from the counterfactual's: `sensor` (of a result
            `TOOL.PART`), `index` (of the sample, or of the call), and at one moment the two readings: `t`,
            `value`, `counterfactual_t`, `counterfactual`; a time is None where that side has no reading. None
            where nothing differs.
        step_id, k: the step of the call that caused it: its id, once it is in the log, and its number.
        severity: by how much `peak` is beyond `limit_value`, in the rule's unit.
        source: the simulator's own `truth`, or the `twin` of a rig that has none.
        probability: that it happened, by the twin or if it depends on an unanswered call; None
            where it is certain.
        probability_error: its standard error by the finite ensemble of the twin; None where nothing is drawn.
        observed_probability: that the telemetry shows it, given that it happened, by the twin.
        remedy: what the counterfactual changed: an intervention of the world, or `leave_out`; None where
            none prevents the event.
        hidden_at_end: whether a final reading of all sensors and registers equals the counterfactual's.
        peak, limit_value: the worst value of the rule's signal, and its limit; None if the rule has none.
        t_record: the end of the record, where the event outlasts it; None where it was over.
        trend: the signal's trend then: `rising`, `falling` or `steady`.
        excess: whether it is charged to the agent: by rule and entity its cost exceeds, by more than a
            trifle, that of the least harmful golden run in the same world and seed; None: not known.
        unit: of the costs, for people; empty for acts. None in logs that did not keep it, as all below.
        cost: its exposure or its severity in that unit, as its rule says.
        excess_cost: what of it is beyond that golden run's.
        forecast: whether it begins after the record's end only: it is never charged.
        unavoidable: whether the golden runs, and doing nothing for as long, do such harm as well.
        blame: the share of each step in it, by number; the shares sum to 1.
        detection: the probability that its telemetry is distinguished from that of harmless rigs, at 5 %
            false alarms; None: not computed.
        roc: its ROC curves by sensor set, pairs of false-alarm rate and detected share; None: not computed.
    """

    kind: str
    entity: str
    observed: bool | None
    t_start: float
    t_end: float
    severity: float
    exposure: float
    evidence: Mapping[str, Any] | None
    step_id: int | None = None
    k: int | None = field(default=None, metadata=NO_COLUMN)
    source: HarmSource = "truth"
    probability: float | None = None
    observed_probability: float | None = None
    remedy: str | None = None
    verdict: Observation | None = None
    hidden_at_end: bool | None = None
    peak: float | None = None
    limit_value: float | None = None
    t_record: float | None = None
    trend: Trend | None = None
    excess: bool | None = None
    unit: str | None = None
    cost: float | None = None
    excess_cost: float | None = None
    forecast: bool | None = None
    unavoidable: bool | None = None
    probability_error: float | None = None
    blame: Mapping[int, float] = field(default_factory=dict, metadata=NO_COLUMN)
    detection: float | None = None
    roc: Mapping[str, Sequence[Sequence[float]]] | None = None

    def __post_init__(self) -> None:
        if self.verdict is None:
            object.__setattr__(self, "verdict", Observation.of(self.observed))


@dataclass(frozen=True, slots=True)
class DeviationRow:
    """An executed call off the path; reported beside the harm events.

    Attributes:
        effect: whether without the call the true state at some call's end or at the end differs, or other
            harm happens; None: not known. A redundant call (such as a repeated unlock) has none.
        observed: whether the telemetry differs without the call; None: not known.
        hidden_at_end: whether a final reading of all sensors and registers does not differ; None: not known.
        evidence, step_id, k: as in `HarmRow`.
    """

    effect: bool | None
    observed: bool | None
    evidence: Mapping[str, Any] | None
    step_id: int | None = None
    k: int | None = field(default=None, metadata=NO_COLUMN)
    hidden_at_end: bool | None = None


@dataclass(frozen=True, slots=True)
class PairRow:
    """A compensating pair: step `later` restored what step `earlier` changed.

    `restored` are the dotted keys of the coarse state that were changed and restored, `stranded` is the
    device time from the end of the earlier to the end of the later, s.
    """

    earlier: int = field(metadata=NO_COLUMN)
    later: int = field(metadata=NO_COLUMN)
    restored: tuple[str, ...]
    stranded: float


@dataclass(frozen=True, slots=True)
class FailureRow:
    """A label of why an episode failed, and its level: `decision`, `execution` or `rig`."""

    label: str
    level: str


@dataclass(frozen=True, slots=True)
class ScoringRow:
    """A scoring of an episode; its `id` is None until it is in the log.

    Attributes:
        version: of the pathrig that scored.
        reading: of the definition of the metrics.
        created: UTC epoch, s; None in logs of versions that did not keep it.
        judged: whether the harm could be judged; if not, it has scores of the path only.
        note: what is not known of the harm, and why.
    """

    id: int | None
    version: str
    reading: int
    created: float | None
    judged: bool
    note: str | None


@dataclass(frozen=True, slots=True)
class MachineCost:
    """The resource usage of an episode on the agent's machine; None where it cannot be measured.

    Attributes:
        peak_memory: peak memory of the process that computed the agent, bytes.
        energy: of the whole machine or board while the episode lasted, J.
        meter: the source of the energy value.
        load_seconds: loading the model before the first of its episodes, s.
    """

    peak_memory: int | None = None
    energy: float | None = None
    meter: str | None = None
    load_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run; `ended` is None while it goes on, and after a crash."""

    id: int
    created: float
    ended: float | None
    config: Mapping[str, Any]
    packages: Mapping[str, Any]
    host: Mapping[str, Any]

    @property
    def suites(self) -> list[str]:
        """The suites that it measured, each with version and digest; none where tasks were named each."""
        return [f"{one['name']} {one['version']} {one['digest']}" for one in self.config.get("suites", ())]

    @property
    def shown_config(self) -> dict[str, Any]:
        """The configuration as it is handed on: with agents' names, and without folders of files."""
        config = dict(self.config)
        if cells := config.get("cells"):
            names = agent_names(cell.get("agent", "") for cell in cells)
            config["cells"] = [
                {key: names[text] if key == "agent" else without_folders(text) for key, text in cell.items()}
                for cell in cells
            ]
        return config


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A step with its turn, before or after its result; `t_device` and `duration` are device time, s.

    Logs of before have no class. `status_from` tells of an imported step what its status was read from, and
    the calls of one message share their `call_group`.
    """

    id: int
    k: int
    tool: str | None
    arguments: Mapping[str, Any] | None
    status: CallStatus | None = None
    kind: StepKind | None = None
    symbol: str | None = None
    state_before: str | None = None
    state_after: str | None = None
    t_intent: float
    t_result: float | None = None
    result: Any = None
    error_code: str | None = None
    error_message: str | None = None
    call_id: str | None = None
    t_device: float | None = None
    duration: float | None = None
    guard_action: str | None = None
    guard_reason: str | None = None
    turn: Turn | None = field(default=None, metadata=NO_COLUMN)
    class_: CallClass | None = None
    status_from: str | None = None
    call_group: int | None = None


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
class RigStatusRow:
    """What `device`, `link` or `host` said of the rig at time `t`; `id` is None until it is in the log."""

    t: float
    source: str
    state: str
    detail: Mapping[str, Any] | None
    id: int | None = None


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A call that a person must approve, refuse or answer with a stop.

    Attributes:
        id: None until it is in the log.
        asked, answered: times; `answered`, `answer` and `by` are None while it waits.
        until: when it is refused without an answer; None: it waits.
        text, reason: the call, and why a person must say.
        step_id: of the call; None until it is answered.
        by: who answered, or `timeout`.
    """

    id: int | None
    asked: float
    until: float | None
    text: str
    reason: str
    step_id: int | None = None
    answered: float | None = None
    answer: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """An episode, its task's definition and its scores.

    Attributes:
        seconds: duration by a monotonic clock; None in older logs.
        stop: the result of stopping its rig at its end: `confirmed`, `sent` or `not sent`; None before that.
        scores: metric to value, each of the latest scoring that has the metric.
        scorings: all, oldest first.
        calls_made: the steps with a readable call, whatever its result; None: it runs.
        fingerprint: equal for identical episodes: same task, agent and its options, initial state, and
            sequence of tool, arguments, status and result. None where no two are identical, as on a physical
            rig, whose initial state is not set.
        left_record: the number of the first step that the twin of a snapshot answered; None without one.
        streams: the version of the run's random streams.
        said: the answer with which its agent was done, or why it declined; None where it did not say.
        template_: the id that the task shares with the other instances of its template; None in a log that
            did not keep it.
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
    definition: Definition = field(metadata=NO_COLUMN)
    init: Mapping[str, Any]
    simulated: bool | None
    limits: Mapping[str, Any]
    guard: str
    scoring: Mapping[str, Any]
    agent_info: Mapping[str, Any]
    twin: Mapping[str, Any] | None = None
    seconds: float | None = None
    stop: str | None = None
    said: str | None = None
    template_: str | None = None
    hazards: Mapping[str, Any] | None = None
    imported: Mapping[str, Any] | None = None
    reward: float | None = None
    scores: Mapping[str, float | None] = field(default_factory=dict, metadata=NO_COLUMN)
    scorings: tuple[ScoringRow, ...] = field(default=(), metadata=NO_COLUMN)
    failures: tuple[FailureRow, ...] = field(default=(), metadata=NO_COLUMN)
    pairs: tuple[PairRow, ...] = field(default=(), metadata=NO_COLUMN)
    calls_made: int | None = None
    fingerprint: str | None = None
    left_record: int | None = None
    streams: int = field(default=1, metadata=NO_COLUMN)

    @property
    def template(self) -> str:
        """The unit of statistics over tasks, as the instances of a template are correlated."""
        return self.template_ or self.task

    @property
    def world_seed(self) -> int:
        """The seed with which a simulator began the episode, and a replay of it begins."""
        return world_stream(self.streams, self.seed, self.task)

    @property
    def wall_seconds(self) -> float | None:
        """The duration on the host, s; None if it did not end.

        Logs without `seconds` only have wall-clock times, and that clock may have been set meanwhile.
        """
        if self.seconds is not None or self.ended is None:
            return self.seconds
        return max(0.0, self.ended - self.started)


def logged_calls(steps: Sequence[StepRow]) -> list[Call]:
    """Return the calls of an episode; a step whose result never came is left out."""
    return [
        Call(
            step.tool or "",
            step.arguments or {},
            step.status,
            step.result,
            idle=_was_idle(step),
            group=step.call_group,
        )
        for step in steps
        if step.status is not None
    ]


def _was_idle(step: StepRow) -> bool:
    """Return whether the step was found to be a write that changed nothing: a self-loop without a symbol."""
    return step.status == CallStatus.OK and step.kind == StepKind.LOOP and step.symbol is None
