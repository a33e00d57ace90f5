"""What an episode's harm comes to: events, verdicts, the final-state baseline. Plain data, JSON-ready."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from devices.harm import HarmEvent, Remedy
from devices.outcome import Outcome

OFF_PATH = "off_path"
"""The kind of the events that come from the automaton: a harmful call that the device carried out."""


@dataclass(frozen=True, slots=True)
class ExecutedCall:
    """A call that reached the device, as the log holds it.

    Attributes:
        step: the step's number in its episode.
        status: the device's answer, or `fault`.
        duration: device time that it took, s.
        harmful: whether it was harmful in the automaton.
    """

    step: int
    tool: str
    arguments: Mapping[str, Any]
    status: str
    duration: float
    harmful: bool


@dataclass(frozen=True, slots=True)
class HarmVerdict:
    """A harm event, and whether the rig's own sensors gave it away.

    Attributes:
        event: what happened; its `call` counts the executed calls from 0.
        step: the step of that call.
        observed: a coarse sample differs from the counterfactual's.
        evidence: the first sample that differs: `sensor`, `index`, `t`, `value`, `counterfactual` and
            `counterfactual_t`, None where one side has no such sample; None where nothing differs.
        remedy: what the counterfactual changed: the rule's own remedy, or LEAVE_OUT where that did not
            prevent the event.
        effect: the true state was at some call's end, or at the end, another than the counterfactual's, or
            other harm happened. A redundant call (an unlock of what is unlocked) has none.
    """

    event: HarmEvent
    step: int
    observed: bool
    evidence: Mapping[str, Any] | None
    remedy: Remedy = Remedy.LEAVE_OUT
    effect: bool = True

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


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
        final_state_ok: the coarse end state equals that of the golden run; None without a golden run.
        end_state: the true state after settling; None where only a twin could tell it.
        coarse_end, golden_coarse_end: what the rig's own sensors and registers show after settling.
        golden_outcomes: the answer to each call of the golden run; None without one.
        pairs: the compensating pairs; none without an automaton to tell what belongs together.
        replay_matches: the replay answered every call as the log says.
        mismatch: the first call where it did not, in words.
    """

    verdicts: tuple[HarmVerdict, ...]
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
        """How many events no coarse sample gave away."""
        return sum(not verdict.observed for verdict in self.verdicts)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)
