"""The agent that knows the task: it walks one of the automaton's golden paths."""

from __future__ import annotations

from itertools import islice
from typing import Any

from agents.agent import Action, EpisodeContext, Observation, StopAction, ToolCallAction
from agents.errors import BackendError
from agents.example_arguments import with_required

FIRST_FEW = 8


class OracleAgent:
    """Plays a golden path, each symbol by its example arguments. Seed 0 takes the first path, other seeds one
    of the first few."""

    name = "oracle"
    scaffold = "none"

    def __init__(self) -> None:
        self._calls: list[tuple[str, dict[str, Any]]] = []
        self._next = 0

    def start(self, context: EpisodeContext) -> None:
        """Choose the path.

        Raises:
            BackendError: the context has no automaton, or the automaton no golden path.
        """
        automaton = context.automaton
        if automaton is None:
            raise BackendError("the agent oracle needs a task with an automaton")
        paths = list(islice(automaton.golden_paths(), FIRST_FEW))
        if not paths:
            raise BackendError("the agent oracle found no golden path in the task's automaton")
        tools = {tool.name: tool for tool in context.tools}
        self._calls = []
        for name in paths[context.seed % len(paths)]:
            symbol = automaton.symbols[name]
            arguments = symbol.example()
            tool = tools.get(symbol.tool)
            self._calls.append((symbol.tool, with_required(tool, arguments) if tool else arguments))
        self._next = 0

    def act(self, observation: Observation | None) -> Action:
        """The next call of the path; then `done`."""
        if self._next == len(self._calls):
            return StopAction("done")
        name, arguments = self._calls[self._next]
        self._next += 1
        return ToolCallAction(name, arguments)

    def close(self) -> None:
        """Nothing to let go of."""
