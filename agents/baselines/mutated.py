"""An oracle with errors: a golden path with seeded mistakes, as models make them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from agents.agent import AgentSpecError, EpisodeContext, ToolCallAction
from agents.baselines.example_arguments import fitting_value
from agents.baselines.oracle import OracleAgent
from devices.tool import Tool

DEFAULT_RATE = 0.3
SCALES = (0.25, 0.5, 0.8, 0.9, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0)
"""Factors on a dose: near misses, and gross mistakes."""
NEAR, FAR = 0.3, 5.0
"""A wrong pose is off by so much in each number, as a near miss and as a gross mistake."""

Calls = list[ToolCallAction]
Mistake = Callable[[ToolCallAction, Sequence[Tool], Sequence[str], Random], Calls]


class MutatedAgent(OracleAgent):
    """Plays a golden path in which each call is mutated with a probability, by the episode's seed.

    A call's dose is scaled, its pose is shifted, it is made on another entity, twice or thrice, not at all or
    after the next one, or another tool's call comes before it.
    """

    def __init__(self, rate: float = DEFAULT_RATE, kind: str | None = None) -> None:
        """Take the probability that a call is mutated, and the kind of the mistakes; None: all kinds.

        Raises:
            AgentSpecError: the rate is no probability, or there is no such kind.
        """
        if not 0.0 <= rate <= 1.0:
            raise AgentSpecError(f"agent mutated:{rate:g}: the rate must be from 0 to 1")
        if kind is not None and kind not in KINDS:
            raise AgentSpecError(f"agent mutated:{rate:g}:{kind}: the kinds are {', '.join(KINDS)}")
        super().__init__()
        self.name = f"mutated:{rate:g}" + (f":{kind}" if kind else "")
        self._rate = rate
        self._kind = kind

    @classmethod
    def parse(cls, text: str) -> MutatedAgent:
        """Return the agent of a specification without its `mutated:`: nothing, `RATE` or `RATE:KIND`.

        Raises:
            AgentSpecError: the rate is no probability, or there is no such kind.
        """
        if not text:
            return cls()
        rate, colon, kind = text.partition(":")
        try:
            share = float(rate)
        except ValueError:
            raise AgentSpecError(
                f"agent 'mutated:{text}': the rate is no number: write mutated:0.3 or mutated:0.3:skip"
            ) from None
        return cls(share, kind if colon else None)

    def start(self, context: EpisodeContext) -> None:
        """Choose the path as the oracle does, and mutate it; raises as `OracleAgent.start`."""
        super().start(context)
        rng = Random(f"mutated/{context.seed}")
        path = [action for action in self._actions if isinstance(action, ToolCallAction)]
        self._actions = mutate(path, context.tools, self._rate, rng, self._kind)


def mutate(
    path: Sequence[ToolCallAction], tools: Sequence[Tool], rate: float, rng: Random, kind: str | None = None
) -> Calls:
    """Return the calls with mistakes of one kind, or of all.

    A mistake that does not fit a call becomes a repetition; where one kind is asked for, it is left out.
    """
    names = _names(path)
    mistakes = MISTAKES if kind is None else KINDS[kind]
    mutated: Calls = []
    held: ToolCallAction | None = None
    for call in path:
        made = [call]
        if rng.random() < rate:
            mistake = rng.choice(mistakes)
            if mistake is _swapped and held is None:
                held = call
                continue
            made = (
                mistake(call, tools, names, rng) if kind is None else _of_kind(kind, call, tools, names, rng)
            )
        mutated += made
        if held is not None:
            mutated.append(held)
            held = None
    return mutated if held is None else [*mutated, held]


def _of_kind(
    kind: str, call: ToolCallAction, tools: Sequence[Tool], names: Sequence[str], rng: Random
) -> Calls:
    for mistake in rng.sample(KINDS[kind], len(KINDS[kind])):
        made = mistake(call, tools, names, rng)
        # Mistakes that do not fit a call repeat it.
        if kind == "repeat" or not made or any(one != call for one in made):
            return made
    return [call]


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


MISTAKES: tuple[Mistake, ...] = (
    _scaled,
    _misplaced,
    _renamed,
    _repeated,
    _dropped,
    _swapped,
    _preceded,
)

KINDS: dict[str, tuple[Mistake, ...]] = {
    "skip": (_dropped,),
    "swap": (_swapped,),
    "argument": (_scaled, _misplaced, _renamed),
    "repeat": (_repeated,),
    "insert": (_preceded,),
}
"""Mistakes by kind: a call left out, two calls swapped, a wrong argument, a call repeated, one inserted."""


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
