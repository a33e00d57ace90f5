"""Base of agents whose actions are fixed before the first step."""

from __future__ import annotations

from collections.abc import Sequence

from agents.agent import Action, Agent, EpisodeContext, Observation, StopAction


class FixedActions(Agent):
    """Issues its actions in order, whatever their results; then it is done."""

    def __init__(self, actions: Sequence[Action] = ()) -> None:
        self._actions = actions
        self._next = 0
        self._end = StopAction("done")

    def start(self, context: EpisodeContext) -> None:
        """Return to the first action."""
        self._next = 0
        self._end = StopAction("done")

    def act(self, observation: Observation | None) -> Action:
        """Return the next action, or the end."""
        if self._next == len(self._actions):
            return self._end
        self._next += 1
        return self._actions[self._next - 1]
