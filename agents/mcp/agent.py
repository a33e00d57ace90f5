"""MCP clients as an agent: it acts when a client calls a tool."""

from __future__ import annotations

import time
from dataclasses import replace

from agents.agent import Action, Agent, EpisodeContext, Observation, ToolCallAction, Usage
from agents.deadline import CancelledError
from agents.mcp.desk import CallDesk, ClientCall


class McpAgent(Agent):
    """Takes its actions from a desk, at which MCP clients call."""

    name = "mcp"
    scaffold = "mcp"

    def __init__(self, desk: CallDesk) -> None:
        self._desk = desk

    def start(self, context: EpisodeContext) -> None:
        """Begin an episode."""
        self._desk.begin(context)

    def act(self, observation: Observation | None) -> Action:
        """Reply to the last call, and return the next one."""
        if observation is not None:
            self._desk.answer(observation.outcome)
        asked = time.monotonic()
        taken = self._desk.take()
        usage = Usage(seconds=time.monotonic() - asked)
        if taken is None:
            raise CancelledError
        if isinstance(taken, ClientCall):
            return ToolCallAction(taken.name, taken.arguments, usage)
        return replace(taken, usage=usage)

    def close(self) -> None:
        """Answer all further calls: the episode is over."""
        self._desk.close()


def refusals(desk: CallDesk) -> str:
    """Return a line on the calls that came after the end of an episode; empty if none did."""
    if not desk.refused:
        return ""
    calls = "1 call" if desk.refused == 1 else f"{desk.refused} calls"
    return f"{calls} came after the end of the episode: refused"
