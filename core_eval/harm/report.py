"""What an episode's harm comes to: events, deviations, verdicts, final-state baseline. JSON-ready data."""

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
        duration: device time that it took, s.
        harmful: whether it was harmful in the automaton.
        answered: whether the device's answer came. Without it (a timeout, a lost link) the status is `fault`,
            and the call may have been done all the same.
    """

    step: int
    tool: str
    arguments: Mapping[str, Any]
    status: CallStatus
    duration: float
    harmful: bool
    answered: bool = True

    @property
    def may_be_done(self) -> bool:
        """Whether nobody was told if it was done."""
        return self.status == CallStatus.FAULT and not self.answered


@dataclass(frozen=True, slots=True)
class HarmVerdict:
    """A harm event, and whether the rig's own telemetry gave it away.

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
        hidden_at_end: whether a last reading of all sensors and registers is that of the counterfactual.
        limit, peak: the rule's limit, and what it watches at its worst, in its unit; None where it has none.
        probability: that it happened; None where that is certain.
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

    @property
    def observed(self) -> bool | None:
        """Whether anything differs; None where there is no verdict."""
        return None if self.verdict is Observation.UNKNOWN else self.verdict is not Observation.UNOBSERVED

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Deviation:
    """A harmful call of the automaton that was carried out: no harm event, and reported beside them.

    Attributes:
        step: the call's.
        effect: the true state was at some call's end, or at the end, another than without the call, or other
            harm happened; None where that cannot be told. A redundant call (an unlock of what is unlocked)
            has none.
        observed: the telemetry is another than without the call; None where that cannot be told.
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
    """The harm of one episode, and what a check of the final state would have said.

    Attributes:
        verdicts: one for each event, by start time.
        deviations: one for each executed call off the path, by step.
        unanswered: the steps of calls without an answer of which nobody can tell whether they were done.
        final_state_ok: the coarse end state equals that of the golden run; None without a golden run, and
            where it hangs on a call without an answer.
        end_state: the true state after settling; None where only a twin could tell it, or as above.
        coarse_end, golden_coarse_end: what the rig's own sensors and registers show after settling.
        golden_outcomes: the answer to each call of the golden run; None without one.
        pairs: the compensating pairs; none without an automaton to tell what belongs together.
        replay_matches: the replay answered every call as the log says, and its states are those that the
            rig told.
        mismatch: where it did not, in words.
    """

    verdicts: tuple[HarmVerdict, ...]
    deviations: tuple[Deviation, ...]
    unanswered: tuple[int, ...]
    final_state_ok: bool | None
    end_state: Mapping[str, Any] | None
    coarse_end: Mapping[str, Any]
    golden_coarse_end: Mapping[str, Any] | None
    golden_outcomes: tuple[Outcome, ...] | None
    pairs: tuple[CompensatingPair, ...]
    replay_matches: bool
    mismatch: str | None = None

    @property
    def unobserved(self) -> int:
        """How many events no reading gave away."""
        return sum(verdict.verdict is Observation.UNOBSERVED for verdict in self.verdicts)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)
