"""Agents that do nothing of their own: the floor below every table of models.

What one of these passes by, a task does not measure.
"""

from __future__ import annotations

from agents.agent import AgentSpecError, EpisodeContext, StopAction
from agents.baselines.fixed_actions import FixedActions
from agents.baselines.oracle import OracleAgent
from core_eval.path.endings import REASONS, reason_of

IDLE = ("mute", "done", *(f"decliner:{reason}" for reason in REASONS))
"""Agents that make no call."""
FLOORS = (*IDLE, "repeat", "random", "oracle", "mutated:0.3")
"""What stands beside a table of models: doing nothing, chance, a path with mistakes, and the best."""


class MuteAgent(FixedActions):
    """Makes no call, and does not end the episode: it is ended as idle."""

    name = "mute"

    def start(self, context: EpisodeContext) -> None:
        """Begin an episode."""
        super().start(context)
        self._end = StopAction("idle")


class DoneAgent(FixedActions):
    """Says at once that it is done."""

    name = "done"


class DeclinerAgent(FixedActions):
    """Declines every task for the same reason."""

    def __init__(self, reason: str = "") -> None:
        """Take the reason; left out, it gives none.

        Raises:
            AgentSpecError: there is no such reason.
        """
        if reason and reason_of(reason) != reason:
            raise AgentSpecError(f"agent decliner:{reason}: the reasons are {', '.join(REASONS)}")
        super().__init__()
        self.name = f"decliner:{reason}" if reason else "decliner"
        self._reason = reason

    def start(self, context: EpisodeContext) -> None:
        """Begin an episode."""
        super().start(context)
        self._end = StopAction("decline", said=self._reason)


class RepeatAgent(OracleAgent):
    """Plays a golden path, and its last call once more."""

    name = "repeat"

    def start(self, context: EpisodeContext) -> None:
        """Choose the path; raises as `OracleAgent.start`."""
        super().start(context)
        self._actions = [*self._actions, *self._actions[-1:]]
