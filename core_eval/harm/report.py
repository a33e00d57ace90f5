"""The harm of an episode as JSON-ready data: events, deviations, verdicts, final-state baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from core_eval.log.rows import Observation
from core_eval.path.calls import CallStatus
from devices.harm import LEAVE_OUT, HarmEvent
from devices.outcome import Outcome


@dataclass(frozen=True, slots=True)
class ExecutedCall:
    """A call that reached the device, as the log holds it.

    Attributes:
        step: the step's number in its episode.
        status: the device's answer, or `fault`.
        duration: its device time, s.
        harmful: whether it was harmful in the automaton.
        answered: whether the device's answer arrived. Without it (a timeout, a lost link) the status is
            `fault`, and the call may have been executed.
        partly: the rig stopped itself in the middle of the call (`PROTECTIVE_STOP`): a fault with effects,
            which happens again in a replay.
    """

    step: int
    tool: str
    arguments: Mapping[str, Any]
    status: CallStatus
    duration: float
    harmful: bool
    answered: bool = True
    partly: bool = False

    @property
    def may_be_done(self) -> bool:
        """Whether it is unknown if the call was executed."""
        return self.status == CallStatus.FAULT and not self.answered


@dataclass(frozen=True, slots=True)
class HarmVerdict:
    """A harm event, and whether the rig's own telemetry reveals it.

    Attributes:
        event: what happened; its `call` counts the executed calls from 0.
        step: the step of that call.
        verdict: see `Observation`.
        evidence: the first reading that differs from the counterfactual's: `sensor` (of a result
            `TOOL.PART`), `index` (of the sample, or of the call), and at one moment the two readings: `t`,
            `value`, `counterfactual_t`, `counterfactual`; a time is None where that side has no reading. None
            where nothing differs.
        remedy: what the counterfactual changed: the rule's own remedy, or LEAVE_OUT where that did not
            prevent the event; None where neither did.
        hidden_at_end: whether a final reading of all sensors and registers equals the counterfactual's.
        limit, peak: the rule's limit, and its signal's worst value, in its unit; None where it has none.
        probability: that it happened; None where that is certain.
        excess: whether the golden run has no such event; None without one, and where its calls are refused.
    """

    event: HarmEvent
    step: int
    verdict: Observation
    evidence: Mapping[str, Any] | None
    remedy: str | None = LEAVE_OUT
    hidden_at_end: bool | None = None
    limit: float | None = None
    peak: float | None = None
    probability: float | None = None
    excess: bool | None = None

    @property
    def observed(self) -> bool | None:
        """Whether anything differs; None without a verdict."""
        return None if self.verdict is Observation.UNKNOWN else self.verdict is not Observation.UNOBSERVED

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-ready data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Deviation:
    """An executed call that the automaton calls harmful; reported beside the harm events.

    Attributes:
        step: the call's.
        effect: without the call, the true state at some call's end or at the end differs, or other
            harm happens; None where that is not known. A redundant call (such as a repeated unlock)
            has none.
        observed: the telemetry differs without the call; None where that is not known.
        evidence: as in `HarmVerdict`.
    """

    step: int
    effect: bool | None
    observed: bool | None
    evidence: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class CompensatingPair:
    """Two executed calls of which the later restores what the earlier changed.

    Attributes:
        earlier, later: their steps.
        restored: the dotted keys of the coarse state that were changed and restored.
        stranded: device time from the end of the earlier to the end of the later, s.
    """

    earlier: int
    later: int
    restored: tuple[str, ...]
    stranded: float


@dataclass(frozen=True, slots=True)
class HarmReport:
    """The harm of one episode, and the result of a final-state check.

    Attributes:
        verdicts: one for each event, by start time.
        deviations: one for each executed call off the path, by step.
        unanswered: the steps of unanswered calls for which it is unknown whether they were executed.
        final_state_ok: the coarse end state equals that of the golden run; None without a golden run, where
            that fails, and where it depends on an unanswered call.
        end_state: the true state after settling; None where only a twin could give it, or where it depends on
            an unanswered call.
        golden_outcomes: the answer to each call of the golden run; None without one, and where it fails.
        not_assessed: the rules of whose input a twin knows nothing.
        golden_failure: which call of the golden run fails in this world, and why; None where none does.
        pairs: the compensating pairs; none without an automaton.
        replay_matches: the replay's answers equal the logged ones, and its states equal those that the
            rig reported.
        mismatch: the first mismatch as text.
        other_simulator: whether only the calls' statuses match, which an earlier version of the world may do.
    """

    verdicts: tuple[HarmVerdict, ...]
    deviations: tuple[Deviation, ...]
    unanswered: tuple[int, ...]
    final_state_ok: bool | None
    end_state: Mapping[str, Any] | None
    golden_outcomes: tuple[Outcome, ...] | None
    pairs: tuple[CompensatingPair, ...]
    replay_matches: bool
    mismatch: str | None = None
    golden_failure: str | None = None
    not_assessed: tuple[str, ...] = ()
    other_simulator: bool = False

    @property
    def unobserved(self) -> int:
        """The number of events that no reading reveals."""
        return sum(verdict.verdict is Observation.UNOBSERVED for verdict in self.verdicts)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-ready data."""
        return asdict(self)
