"""Guard mode `twin`: what the rig's twin says of the next call, as breaches for the guard."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any

from configs.rig_config import RigConfig
from configs.task import Task
from core_eval.harm.report import ExecutedCall
from core_eval.harm.twin.foresight import Foresight
from core_eval.harm.twin.logged_episode import LoggedCall
from core_eval.log import Emit, EpisodeRow
from core_eval.path.calls import Call
from core_eval.rig.known_rig import model_of
from devices.outcome import PROTECTIVE_STOP, Outcome
from devices.sensors import Sample
from firmware_bridge.guard import Breach, RuleAction


class TwinAhead:
    """Hears the rig's telemetry from the episode's begin, and goes on with its twin from call to call.

    Args:
        emit: gets all that is heard.
    """

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._heard: SimpleQueue[Sample] = SimpleQueue()
        self._begin: float | None = None
        self._end = 0.0

    def hear(self, event: Any) -> None:
        """Take what the session emits; from any thread."""
        if isinstance(event, Sample):
            self._heard.put(event)
        self._emit(event)

    def begin(self, rig: RigConfig, task: Task, row: EpisodeRow, seed: int) -> None:
        """Make the twin of an episode that begins."""
        twin = model_of(rig, task)
        assert twin is not None, "checked as the run was loaded"
        self._limits = twin.guard
        self._foresight = Foresight.of_episode(twin, row, seed)
        # A simulator's clock starts with the episode; a physical rig's episode begins with its first call.
        self._begin = 0.0 if row.simulated else None

    def breaches(self, call: Call) -> list[Breach]:
        """Return the harm that a call would do with a probability worth telling, or that nobody can tell."""
        found = self._foresight.ahead(call.name, call.arguments)
        if not str(found):
            return []
        action = RuleAction.OBSERVE
        if found.probability >= self._limits.asks_from:
            blocks = found.probability >= self._limits.blocks_from
            action = RuleAction.BLOCK if blocks else RuleAction.CONFIRM
        return [Breach("harm", str(found), action, "twin")]

    def take(self, k: int, call: Call, outcome: Outcome) -> None:
        """Go on over a call that was sent."""
        lost = outcome.lost
        if self._begin is None and not lost:
            self._begin = outcome.t - outcome.duration
        begin = self._begin or 0.0
        start = self._end if lost else max(self._end, outcome.t - outcome.duration - begin)
        made = ExecutedCall(
            k,
            call.name,
            call.arguments,
            outcome.status,
            outcome.duration,
            False,
            not lost,
            partly=outcome.code == PROTECTIVE_STOP,
        )
        samples = []
        while not self._heard.empty():
            one = self._heard.get()
            samples.append(Sample(one.sensor, one.value, max(0.0, one.t - begin)))
        self._foresight.take(LoggedCall(made, start, outcome.value), samples)
        self._end = start + outcome.duration
