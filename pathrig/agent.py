"""What a package of an agent is made of."""

from __future__ import annotations

from agents.agent import (
    Action,
    Agent,
    AgentSpecError,
    BackendError,
    Cost,
    EpisodeContext,
    InvalidAction,
    Limits,
    Observation,
    StopAction,
    ToolCallAction,
    Usage,
)
from agents.registry import AgentForm

__all__ = [
    "Action",
    "Agent",
    "AgentForm",
    "AgentSpecError",
    "BackendError",
    "Cost",
    "EpisodeContext",
    "InvalidAction",
    "Limits",
    "Observation",
    "StopAction",
    "ToolCallAction",
    "Usage",
]
