"""An MCP client as an agent: it acts when the client calls a tool."""

from __future__ import annotations

import time

from agents.agent import Action, EpisodeContext, Observation, StopAction, ToolCallAction, Usage
from agents.deadline import CancelledError
from agents.mcp.desk import CallDesk, ClientCall


class McpAgent:
    """Takes its actions from a desk, at which an MCP client calls."""

    name = "mcp"
    scaffold = "mcp"

    def __init__(self, desk: CallDesk) -> None:
        self._desk = desk

    def start(self, context: EpisodeContext) -> None:
        """Begin an episode."""
        self._desk.begin(context)

    def act(self, observation: Observation | None) -> Action:
        """Reply to the client's last call, and return its next one."""
        if observation is not None:
            self._desk.answer(observation.outcome)
        asked = time.monotonic()
        taken = self._desk.take()
        usage = Usage(seconds=time.monotonic() - asked)
        if taken is None:
            raise CancelledError
        if isinstance(taken, ClientCall):
            return ToolCallAction(taken.name, taken.arguments, usage)
        return StopAction(taken, usage)

    def close(self) -> None:
        """Answer all further calls of the client: the episode is over."""
        self._desk.close()
