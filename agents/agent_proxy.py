"""Base of agents that stand for another agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

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


class _HasAgent(Protocol):
    @property
    def _agent(self) -> Agent: ...


class AgentProxy:
    """Forwards every member to `_agent`, an attribute or a property of the subclass; it overrides some."""

    @property
    def name(self: _HasAgent) -> str:
        """The agent's name."""
        return self._agent.name

    @property
    def scaffold(self: _HasAgent) -> str:
        """The agent's scaffold."""
        return self._agent.scaffold

    @property
    def options(self: _HasAgent) -> Mapping[str, Any]:
        """The agent's options."""
        return options_of(self._agent)

    @property
    def model_info(self: _HasAgent) -> ModelInfo:
        """The facts about the agent's model."""
        return model_info_of(self._agent)

    def check(self: _HasAgent, context: EpisodeContext) -> Any:
        """Let the agent check that a first answer is possible."""
        return check_agent(self._agent, context)

    def start(self: _HasAgent, context: EpisodeContext) -> None:
        """Begin an episode."""
        self._agent.start(context)

    def act(self: _HasAgent, observation: Observation | None) -> Action:
        """Return the agent's next action."""
        return self._agent.act(observation)

    def close(self: _HasAgent) -> None:
        """Close the agent."""
        self._agent.close()
