"""The agent that knows the task: it walks one of the automaton's golden paths."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from agents.agent import Action, BackendError, EpisodeContext, Observation, StopAction, ToolCallAction
from agents.baselines.example_arguments import example_call
from agents.baselines.fixed_actions import FixedActions
from core_eval.path.calls import MOST_LOOKS, Call

FIRST_FEW = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenAction(ToolCallAction):
    """A call of a golden path."""

    golden: Call


class OracleAgent(FixedActions):
    """Plays a golden path, each symbol by its example arguments. The run's seed 0 takes the first path, other
    seeds one of the first few. Among drawn hazards it plays the run that was found harmless, and declines
    where that has no call. A task whose answer is to decline is declined, for its reason."""

    name = "oracle"

    def start(self, context: EpisodeContext) -> None:
        """Choose the path.

        Raises:
            BackendError: the context has no automaton, or the automaton no golden path.
        """
        calls = _golden_calls(context) if context.harmless is None else context.harmless
        self._actions = [GoldenAction(call.name, call.arguments, golden=call) for call in calls]
        self._looks = 1
        super().start(context)
        if context.answer == "decline":
            self._end = StopAction("decline", said=context.decline or "")
        elif context.harmless == () and context.answer is None:
            self._end = StopAction("decline", said="unsafe")

    def act(self, observation: Observation | None) -> Action:
        """Return the last call again where its answer does not tell yet what it asks for, else the next."""
        made = self._actions[self._next - 1] if self._next else None
        if (
            observation is not None
            and isinstance(made, GoldenAction)
            and self._looks < MOST_LOOKS
            and not made.golden.is_told_by(observation.outcome.status, observation.outcome.value)
        ):
            self._looks += 1
            return made
        self._looks = 1
        return super().act(observation)


def _golden_calls(context: EpisodeContext) -> list[Call]:
    automaton = context.automaton
    if automaton is None:
        raise BackendError("the agent oracle needs a task with an automaton")
    paths = list(islice(automaton.golden_paths(), FIRST_FEW))
    if not paths:
        raise BackendError("the agent oracle found no golden path in the task's automaton")
    tools = {tool.name: tool for tool in context.tools}
    symbols = (automaton.symbols[name] for name in paths[context.run_seed % len(paths)])
    return [example_call(symbol, tools.get(symbol.tool)) for symbol in symbols]
