"""The options, hashes and costs behind an episode: its agent, rig, world and machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from core_eval.log import EpisodeRow, LogReader, MachineCost, RunRow
from core_eval.report.tables.agents import cell
from core_eval.text.json_text import json_text

Facts = list[tuple[str, str]]
DIGEST = 16


def episode_facts(reader: LogReader, row: EpisodeRow, run: RunRow | None) -> list[tuple[str, Facts]]:
    """Return groups of facts by heading; empty ones are left out."""
    definition = row.definition
    groups: list[tuple[str, Facts]] = [
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
                ("sha256 of its initial state", _digest(definition.world_state)),
                *_flat(row.init, "changed"),
            ],
        ),
        (
            "Task",
            [
                ("task", row.task),
                ("sha256 of its automaton", sha256(definition.automaton.encode()).hexdigest()[:DIGEST]),
                ("sha256 of its tools", _digest(definition.tools)),
                ("fingerprint", (row.fingerprint or "-")[:DIGEST]),
            ],
        ),
        ("Machine", _machine(reader.machine_cost(row.id))),
    ]
    if run is not None:
        groups.append((f"Run {run.id}", [*_flat(run.packages), *_flat(run.host)]))
    return [(heading, facts) for heading, facts in groups if facts]


def _machine(cost: MachineCost) -> Facts:
    facts: Facts = []
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


def _digest(value: Any) -> str:
    return "-" if value is None else sha256(json_text(value).encode()).hexdigest()[:DIGEST]
