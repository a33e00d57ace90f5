"""A model that is loaded when it is needed, so that not all models of a run are in memory at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from agents.agent import Agent, ModelInfo, model_info_of
from agents.agent_proxy import AgentProxy


class LateAgent(AgentProxy):
    """Another agent, which is made when it is first used, and again after `close`."""

    def __init__(self, make: Callable[[], Agent]) -> None:
        self._make = make
        self._made: Agent | None = None
        self._load_seconds = 0.0

    @property
    def _agent(self) -> Agent:
        if self._made is None:
            begun = time.monotonic()
            self._made = self._make()
            self._load_seconds = time.monotonic() - begun
        return self._made

    @property
    def model_info(self) -> ModelInfo:
        """The facts about the agent's model, with the time that it took to make it."""
        info = model_info_of(self._agent)
        return replace(info, load_seconds=info.load_seconds or self._load_seconds)

    def close(self) -> None:
        """Close the agent, if it was made."""
        made, self._made = self._made, None
        if made is not None:
            made.close()
