"""Tells of a write whether it changes nothing, by running a task's world."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from threading import Event
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.path.calls import Call
from core_eval.text.values import alike
from devices.tool import Effect
from sims.simulator import Simulator

MOST_KNOWN = 10_000
"""Maximum number of answers that are kept."""


class IdleWrites:
    """Whether a call changes nothing, after the calls that were executed so far.

    Such a call is a self-loop (CORE, section 2: reads or state-preserving writes). A motion never is: where
    a machine stands is not certain. The simulator is made when it is first asked, and follows the executed
    calls.

    Args:
        make: makes a simulator of the task's world.
        init: the overrides of its initial state.
        seed: of the world.
    """

    def __init__(self, make: Callable[[], Simulator[Any]], init: Mapping[str, Any], seed: int = 0) -> None:
        self._make, self._init, self._seed = make, init, seed
        self._played: list[Call] = []
        self._known: dict[str, bool] = {}
        self._begun = False

    @cached_property
    def _simulator(self) -> Simulator[Any]:
        return self._make()

    def __call__(self, executed: Sequence[Call], call: Call) -> bool:
        """Return whether the call, made now, would be executed and change nothing; nor do harm."""
        # Many traces of a file begin alike.
        path = "\n".join(f"{one.name} {one.arguments}" for one in (*executed, call))
        key = hashlib.sha256(path.encode(errors="surrogatepass")).hexdigest()
        if key not in self._known:
            if len(self._known) == MOST_KNOWN:
                self._known.clear()
            self._known[key] = self._changes_nothing(executed, call)
        return self._known[key]

    def _changes_nothing(self, executed: Sequence[Call], call: Call) -> bool:
        simulator = self._simulator
        tool = simulator.device_type.by_name.get(call.name)
        if tool is None or tool.effect is Effect.MOTION or not self._follow(executed):
            return False
        here, before, events = simulator.snapshot(), simulator.state_dict(), len(simulator.events)
        outcome = simulator.execute(call.name, call.arguments, Event())
        after, harmless = simulator.state_dict(), len(simulator.events) == events
        simulator.restore(here)
        if outcome.status is not CallStatus.OK or not harmless:
            return False
        if alike(before, after):
            return True
        # Time passes in the world by itself: without the call it passes alike.
        simulator.pass_time(outcome.duration or 0.0)
        same = alike(simulator.state_dict(), after)
        simulator.restore(here)
        return same

    def _follow(self, executed: Sequence[Call]) -> bool:
        """Bring the simulator to where the executed calls lead; return whether the world could be begun."""
        count = len(self._played)
        if not self._begun or self._played != list(executed[:count]):
            self._played, count = [], 0
            self._begun = self._simulator.init(self._init, self._seed).status is CallStatus.OK
        for call in executed[count:]:
            self._simulator.execute(call.name, call.arguments, Event())
            self._played.append(call)
        return self._begun
