"""The agent that makes the calls of a logged episode again.

It opens no log: the caller passes the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from agents.agent import AgentSpecError, InvalidAction, ToolCallAction
from agents.baselines.fixed_actions import FixedActions


class LoggedCall(Protocol):
    """A step of a logged episode; `tool` is None where no call could be read."""

    @property
    def tool(self) -> str | None:
        """Name of the tool."""

    @property
    def arguments(self) -> Mapping[str, Any] | None:
        """Arguments as they were logged."""


ReadCalls = Callable[[Path, int], Iterable[LoggedCall]]
"""Reads the steps of an episode from a log, in order. Raises for a file that is no log."""


class ReplayAgent(FixedActions):
    """Makes logged calls in order, whatever comes of them; then it is done.

    A step in which no call could be read is an invalid step again.
    """

    def __init__(self, name: str, calls: Iterable[LoggedCall]) -> None:
        self.name = f"replay:{name}"
        super().__init__([_action(call) for call in calls])


def no_log(path: Path, episode: int) -> Iterable[LoggedCall]:
    """Stand in where there is no log to read.

    Raises:
        AgentSpecError: always.
    """
    raise AgentSpecError(f"replay:{path}#{episode} needs a reader of logs, as `pathrig run` has one")


def _action(call: LoggedCall) -> ToolCallAction | InvalidAction:
    if call.tool is None:
        return InvalidAction("", "no call could be read in the logged step", "unreadable")
    return ToolCallAction(call.tool, call.arguments or {})
