"""A model that is loaded when it is needed, so that not all models of a run are in memory at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from agents.agent import (
    Action,
    Agent,
    EpisodeContext,
    ModelInfo,
    Observation,
    check_agent,
    model_info_of,
    options_of,
)


class LateAgent:
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
    def name(self) -> str:
        """The agent's name."""
        return self._agent.name

    @property
    def scaffold(self) -> str:
        """The agent's scaffold."""
        return self._agent.scaffold

    @property
    def options(self) -> Mapping[str, Any]:
        """The agent's options."""
        return options_of(self._agent)

    @property
    def model_info(self) -> ModelInfo:
        """What the agent tells of its model, and how long it took to make it."""
        info = model_info_of(self._agent)
        return replace(info, load_seconds=info.load_seconds or self._load_seconds)

    def check(self, context: EpisodeContext) -> object:
        """Check that a first answer is possible."""
        return check_agent(self._agent, context)

    def start(self, context: EpisodeContext) -> None:
        """Begin an episode."""
        self._agent.start(context)

    def act(self, observation: Observation | None) -> Action:
        """Return the agent's next action."""
        return self._agent.act(observation)

    def close(self) -> None:
        """Close the agent, if it was made."""
        made, self._made = self._made, None
        if made is not None:
            made.close()
