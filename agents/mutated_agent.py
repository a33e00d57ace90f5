"""An oracle with errors: a golden path with seeded mistakes, as models make them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from agents.agent import EpisodeContext, ToolCallAction
from agents.errors import AgentSpecError
from agents.example_arguments import fitting_value
from agents.oracle import OracleAgent
from devices.tool import Tool

DEFAULT_RATE = 0.3
SCALES = (0.25, 0.5, 0.8, 0.9, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0)
"""Factors on a dose: near misses, and gross mistakes."""
NEAR, FAR = 0.3, 5.0
"""A wrong pose is off by so much in each number, as a near miss and as a gross mistake."""

Calls = list[ToolCallAction]


class MutatedAgent(OracleAgent):
    """Plays a golden path in which each call is mutated with a probability, by the episode's seed.

    A call's dose is scaled, its pose is shifted, it is made on another entity, twice or thrice, not at all or
    after the next one, or another tool's call comes before it.
    """

    def __init__(self, rate: float = DEFAULT_RATE) -> None:
        """Take the probability that a call is mutated.

        Raises:
            AgentSpecError: the rate is no probability.
        """
        if not 0.0 <= rate <= 1.0:
            raise AgentSpecError(f"agent mutated:{rate:g}: the rate must be from 0 to 1")
        super().__init__()
        self.name = f"mutated:{rate:g}"
        self._rate = rate

    def start(self, context: EpisodeContext) -> None:
        """Choose the path as the oracle does, and mutate it.

        Raises:
            BackendError: the context has no automaton, or the automaton no golden path.
        """
        super().start(context)
        rng = Random(f"mutated/{context.seed}")
        path = [action for action in self._actions if isinstance(action, ToolCallAction)]
        self._actions = mutate(path, context.tools, self._rate, rng)


def mutate(path: Sequence[ToolCallAction], tools: Sequence[Tool], rate: float, rng: Random) -> Calls:
    """Return the calls with mistakes; a mistake that does not fit a call becomes a repetition."""
    names = _names(path)
    mutated: Calls = []
    held: ToolCallAction | None = None
    for call in path:
        made = [call]
        if rng.random() < rate:
            mistake = rng.choice(MISTAKES)
            if mistake is _swapped and held is None:
                held = call
                continue
            made = mistake(call, tools, names, rng)
        mutated += made
        if held is not None:
            mutated.append(held)
            held = None
    return mutated if held is None else [*mutated, held]


def _scaled(call: ToolCallAction, tools: Sequence[Tool], names: Sequence[str], rng: Random) -> Calls:
    """Multiply one number of the call by a factor; poses have their own mistakes."""
    numbers = [key for key in _numbers(call) if not _is_pose(call)]
    if not numbers:
        return _repeated(call, tools, names, rng)
    key = rng.choice(numbers)
    return [_with(call, key, round(call.arguments[key] * rng.choice(SCALES), 4))]


def _misplaced(call: ToolCallAction, tools: Sequence[Tool], names: Sequence[str], rng: Random) -> Calls:
    """Return a pose near the right one, or far from it."""
    if not _is_pose(call):
        return _scaled(call, tools, names, rng)
    far = NEAR if rng.random() < 0.5 else FAR
    moved = call
    for key in _numbers(call):
        if key in ("x", "y", "z"):
            reach = min(far, NEAR) if key == "z" else far
            moved = _with(moved, key, round(call.arguments[key] + rng.uniform(-reach, reach), 3))
    return [moved]


def _renamed(call: ToolCallAction, tools: Sequence[Tool], names: Sequence[str], rng: Random) -> Calls:
    """Return the same call on another entity that the path names."""
    words = [key for key, value in call.arguments.items() if isinstance(value, str)]
    others = [name for name in names if name not in call.arguments.values()]
    if not words or not others:
        return _repeated(call, tools, names, rng)
    return [_with(call, rng.choice(words), rng.choice(others))]


def _repeated(call: ToolCallAction, tools: Sequence[Tool], names: Sequence[str], rng: Random) -> Calls:
    return [call] * rng.randint(2, 3)


def _dropped(call: ToolCallAction, tools: Sequence[Tool], names: Sequence[str], rng: Random) -> Calls:
    return []


def _swapped(call: ToolCallAction, tools: Sequence[Tool], names: Sequence[str], rng: Random) -> Calls:
    # The path's own loop holds the call back; here another one is held already.
    return [call]


def _preceded(call: ToolCallAction, tools: Sequence[Tool], names: Sequence[str], rng: Random) -> Calls:
    """Insert another tool's call before it, with arguments that fit its schema."""
    if not tools:
        return [call]
    tool = rng.choice(tools)
    parameters = tool.parameters()
    arguments: dict[str, Any] = {}
    for name in parameters["required"]:
        field = parameters["properties"][name]
        if name in call.arguments:
            arguments[name] = call.arguments[name]
        elif field.get("type") == "string" and names:
            arguments[name] = rng.choice(names)
        else:
            arguments[name] = fitting_value(field)
    return [ToolCallAction(tool.name, arguments), call]


MISTAKES: tuple[Callable[[ToolCallAction, Sequence[Tool], Sequence[str], Random], Calls], ...] = (
    _scaled,
    _misplaced,
    _renamed,
    _repeated,
    _dropped,
    _swapped,
    _preceded,
)


def _numbers(call: ToolCallAction) -> list[str]:
    return [
        key
        for key, value in call.arguments.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]


def _is_pose(call: ToolCallAction) -> bool:
    return {"x", "y"} <= call.arguments.keys()


def _names(path: Sequence[ToolCallAction]) -> list[str]:
    found = (value for call in path for value in call.arguments.values() if isinstance(value, str))
    return list(dict.fromkeys(found))


def _with(call: ToolCallAction, key: str, value: Any) -> ToolCallAction:
    return ToolCallAction(call.name, {**call.arguments, key: value})
