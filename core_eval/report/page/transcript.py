"""The transcript of an episode: what the agent was offered, wrote and got back, what it cost, and was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from core_eval.log import Definition, EpisodeRow, LogReader, MachineCost, PromptRow, RunRow, Turn
from core_eval.report.tables.values import cell
from core_eval.text.foreign_json import parse_json
from core_eval.text.json_text import json_text

SHORT = 140
"""Characters of a text that is shown without folding it."""
DIGEST = 12


@dataclass(frozen=True, slots=True)
class Folded:
    """A text, and whether it is so long that it is folded."""

    text: str
    long: bool


@dataclass(frozen=True, slots=True)
class Digests:
    """The beginnings of the SHA-256 of a task's automaton, tools and initial state."""

    automaton: str
    tools: str
    world_state: str


@dataclass(frozen=True, slots=True)
class ToolSet:
    """The function schemas that an agent was offered: an id in the page, and each tool's JSON."""

    id: str
    tools: tuple[tuple[str, str, str], ...]


def folded(text: str) -> Folded:
    """Return a text, folded where it is long or has many lines."""
    return Folded(text, len(text) > SHORT or text.count("\n") > 3)


def result_text(result: Any) -> Folded | None:
    """Return a tool's result as JSON; None where there is none."""
    return None if result is None else folded(json_text(result))


def cost_text(turn: Turn | None) -> str:
    """Return the tokens and seconds of a turn; empty for an agent that is no model."""
    if turn is None or not (turn.input_tokens or turn.cached_tokens or turn.output_tokens or turn.seconds):
        return ""
    cached = f" + {turn.cached_tokens} cached" if turn.cached_tokens else ""
    parts = [
        f"{name} {value:.2f} s"
        for name, value in (
            ("prompt", turn.prompt_seconds),
            ("first token", turn.first_token_seconds),
            ("output", turn.writing_seconds),
        )
        if value is not None
    ]
    told = f" ({', '.join(parts)})" if parts else ""
    return f"{turn.input_tokens}{cached} tokens in, {turn.output_tokens} out, {turn.seconds:.2f} s{told}"


def thoughts(turn: Turn | None) -> Folded | None:
    """Return the thoughts that are not among the words of a turn; None where there are none."""
    if turn is None or not turn.reasoning or turn.reasoning in turn.text:
        return None
    return folded(turn.reasoning)


def first_prompt(prompt: PromptRow | None) -> list[tuple[str, str]]:
    """Return the messages that the model was given first, by role, and the text that its template made."""
    if prompt is None:
        return []
    said = [(str(one.get("role", "message")), _content(one)) for one in prompt.messages]
    return [*said, *([("as the chat template renders it", prompt.rendered)] if prompt.rendered else [])]


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    rest = {key: value for key, value in message.items() if key not in ("role", "content")}
    parts = [content if isinstance(content, str) else json_text(content)] if content else []
    return "\n".join([*parts, *([json_text(rest)] if rest else [])])


_last: list[tuple[Definition, ToolSet | None, Digests]] = []
"""What was told of the last definition: pages are written by task."""


def told_of(definition: Definition) -> tuple[ToolSet | None, Digests]:
    """Return the schemas of a task's tools, None where the log has none, and the digests of the task."""
    if not _last or _last[0][0] is not definition:
        tools = definition.tools
        text = None if tools is None else json_text(tools)
        has_tools = isinstance(tools, Sequence) and not isinstance(tools, str) and tools
        state = None if definition.world_state is None else json_text(definition.world_state)
        digests = Digests(_digest(definition.automaton), _digest(text), _digest(state))
        _last[:] = [(definition, _tool_set(text) if text and has_tools else None, digests)]
    return _last[0][1:]


@lru_cache(64)
def _tool_set(text: str) -> ToolSet:
    """Return the schemas of these tools, JSON; many episodes share them."""
    named = []
    for tool in parse_json(text):
        inside = tool.get("function", tool) if isinstance(tool, Mapping) else {}
        inside = inside if isinstance(inside, Mapping) else {}
        told = str(inside.get("description", ""))
        named.append((str(inside.get("name", "?")), told, json_text(tool, indent=2)))
    return ToolSet("tools-" + sha256(text.encode()).hexdigest()[:DIGEST], tuple(named))


Facts = tuple[tuple[str, str], ...]
FACT_DIGEST = 16


def episode_facts(reader: LogReader, row: EpisodeRow, run: RunRow | None) -> list[tuple[str, Facts]]:
    """Return groups of facts by heading; empty ones are left out."""
    digests = told_of(row.definition)[1]
    groups: list[tuple[str, list[tuple[str, str]]]] = [
        ("Agent", [("agent", row.agent), ("scaffold", row.scaffold), *_flat(row.agent_info)]),
        ("Limits and scoring", [*_flat(row.limits), *_flat(row.scoring)]),
        (
            "Rig",
            [
                ("rig", row.rig),
                ("device", row.device),
                ("guard", row.guard),
                ("stop at the end", row.stop or "-"),
                *_flat(row.twin or {}, "twin"),
            ],
        ),
        (
            "World",
            [
                ("world", row.world or "-"),
                ("sha256 of its initial state", digests.world_state),
                *_flat(row.init, "changed"),
            ],
        ),
        (
            "Task",
            [
                ("task", row.task),
                ("sha256 of its automaton", digests.automaton),
                ("sha256 of its tools", digests.tools),
                ("fingerprint", (row.fingerprint or "-")[:FACT_DIGEST]),
            ],
        ),
        ("Machine", _machine(reader.machine_cost(row.id))),
    ]
    if run is not None:
        groups.append((f"Run {run.id}", [*_flat(run.packages), *_flat(run.host)]))
    return [(heading, tuple(facts)) for heading, facts in groups if facts]


def _machine(cost: MachineCost) -> list[tuple[str, str]]:
    facts = []
    if cost.peak_memory is not None:
        facts.append(("peak memory", cell("peak_memory", cost.peak_memory)))
    if cost.energy is not None:
        facts.append(("energy", f"{cost.energy:.3g} J by {cost.meter}"))
    if cost.load_seconds is not None:
        facts.append(("loading the model", f"{cost.load_seconds:.3g} s"))
    return facts


def _flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        name = f"{above}.{key}" if above else str(key)
        if isinstance(value, Mapping):
            yield from _flat(value, name)
        else:
            yield name, value if isinstance(value, str) else json_text(value)


def _digest(text: str | None) -> str:
    return "-" if text is None else sha256(text.encode()).hexdigest()[:FACT_DIGEST]
