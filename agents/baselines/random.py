"""The agent that knows nothing: valid calls drawn at random, a seed at a time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import inf
from random import Random
from typing import Any

from agents.agent import Action, Agent, EpisodeContext, Observation, StopAction, ToolCallAction
from agents.baselines.example_arguments import fitting_value

NAME = re.compile(r"\b[A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]+\b")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?!\w)")
FEWEST, MOST = 4, 20
FAR = 20.0


class RandomAgent(Agent):
    """Draws a tool and arguments that fit its schema, for 4 to 20 steps.

    A name is one that it has read (in the prompt, a description or a result); a number is one that it has
    read under the same key, one of the prompt, or any within the schema's bounds and 20 from zero; where
    these exclude each other, 20 from the bound.
    """

    name = "random"

    def __init__(self) -> None:
        self._rng = Random(0)
        self._left = 0
        self._schemas: list[dict[str, Any]] = []
        self._names: list[str] = []
        self._numbers: list[float] = []
        self._seen: dict[str, Any] = {}

    def start(self, context: EpisodeContext) -> None:
        """Begin an episode; its seed decides all that follows, together with what is observed."""
        self._rng = Random(context.seed)
        self._left = min(context.limits.steps, self._rng.randint(FEWEST, MOST))
        self._schemas = [tool.schema()["function"] for tool in context.tools]
        own = {schema["name"] for schema in self._schemas}
        texts = [context.prompt]
        for schema in self._schemas:
            texts.append(schema["description"])
            texts += [str(p.get("description", "")) for p in schema["parameters"]["properties"].values()]
        found = dict.fromkeys(name for text in texts for name in NAME.findall(text) if name not in own)
        self._names = list(found)
        self._numbers = [float(number) for number in NUMBER.findall(context.prompt)]
        self._seen = {}

    def act(self, observation: Observation | None) -> Action:
        """Return the next call, or `done` after the number of steps drawn at the start."""
        if observation is not None and observation.outcome.value:
            self._remember(observation.outcome.value)
        if self._left == 0 or not self._schemas:
            return StopAction("done")
        self._left -= 1
        schema = self._rng.choice(self._schemas)
        parameters = schema["parameters"]
        arguments = {
            name: self._value(name, field)
            for name, field in parameters["properties"].items()
            if name in parameters["required"] or self._rng.random() < 0.5
        }
        return ToolCallAction(schema["name"], arguments)

    def _remember(self, value: Mapping[str, Any]) -> None:
        for key, entry in value.items():
            self._seen[key] = entry
            for name in entry if isinstance(entry, list) else [entry]:
                if isinstance(name, str) and name not in self._names:
                    self._names.append(name)

    def _value(self, name: str, schema: Mapping[str, Any]) -> Any:
        rng = self._rng
        if schema.get("enum"):
            return rng.choice(schema["enum"])
        kind = schema.get("type")
        if kind in ("number", "integer"):
            return self._number(name, schema, whole=kind == "integer")
        if kind == "string":
            return rng.choice(self._names) if self._names else fitting_value(schema)
        if kind == "boolean":
            return rng.random() < 0.5
        return fitting_value(schema)

    def _number(self, name: str, schema: Mapping[str, Any], *, whole: bool) -> float:
        rng = self._rng
        least = schema.get("minimum", schema.get("exclusiveMinimum", -inf))
        most = schema.get("maximum", schema.get("exclusiveMaximum", inf))
        low = max(least, -FAR if most > -FAR else most - FAR)
        high = min(most, FAR if least < FAR else least + FAR)
        known = [*self._numbers]
        seen = self._seen.get(name)
        if isinstance(seen, int | float) and not isinstance(seen, bool):
            known = [seen] * 3 + known
        fitting = [number for number in known if low < number < high]
        if fitting and rng.random() < 0.6:
            value = rng.choice(fitting)
            return round(value) if whole else value
        if whole:
            return rng.randint(int(low), int(high))
        drawn = round(rng.uniform(low, high), 1)
        return drawn if low < drawn < high else (low + high) / 2
