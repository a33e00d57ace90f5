"""What agents share whose actions are fixed before the first step."""

from __future__ import annotations

from collections.abc import Sequence

from agents.agent import Action, EpisodeContext, Observation, StopAction, StopReason


class FixedActions:
    """Takes its actions in order, whatever comes of them; then it is done."""

    scaffold = "none"

    def __init__(self, actions: Sequence[Action] = ()) -> None:
        self._actions = actions
        self._next = 0
        self._end: StopReason = "done"

    def start(self, context: EpisodeContext) -> None:
        """Back to the first action."""
        self._next = 0
        self._end = "done"

    def act(self, observation: Observation | None) -> Action:
        """The next action, or the end."""
        if self._next == len(self._actions):
            return StopAction(self._end)
        self._next += 1
        return self._actions[self._next - 1]

    def close(self) -> None:
        """Nothing to let go of."""
