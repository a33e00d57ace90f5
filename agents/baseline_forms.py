"""The agents without a model that ship with the kit. Each is imported when it is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from agents.agent import AgentSpecError
from agents.registry import AgentForm

if TYPE_CHECKING:
    from agents.agent import Agent
    from agents.baselines.replay import ReadCalls


def _baseline(made: str) -> Callable[[str | None, ReadCalls], Agent]:
    """Return what makes a baseline without a REST; `made` is its class, as `module:name`."""
    return lambda _rest, _read_calls: cast("Agent", resolve_name(f"agents.baselines.{made}")())


def _baseline_of(made: str) -> Callable[[str | None, ReadCalls], Agent]:
    """Return what makes a baseline of its REST; `made` makes it of a text, as `module:name`."""
    return lambda rest, _read_calls: cast("Agent", resolve_name(f"agents.baselines.{made}")(rest or ""))


def _scripted(rest: str | None, _read_calls: ReadCalls) -> Agent:
    from agents.baselines.scripted import ScriptedAgent

    return ScriptedAgent(Path(rest or ""))


def _replay(rest: str | None, read_calls: ReadCalls) -> Agent:
    from agents.baselines.replay import ReplayAgent

    path, _, number = (rest or "").rpartition("#")
    if not path or not number.isdecimal():
        raise AgentSpecError(
            f"agent 'replay:{rest}' names no episode: write replay:DB#EPISODE, as in replay:runs.db#3"
        )
    return ReplayAgent(f"{Path(path).name}#{number}", read_calls(Path(path), int(number)))


def _command(rest: str | None, _read_calls: ReadCalls) -> Agent:
    try:
        from agents.mcp.command_agent import CommandAgent
    except ImportError as error:
        raise AgentSpecError(f"the command agent needs {error.name}: pip install 'pathrig[mcp]'") from None
    return CommandAgent(rest or "")


MUTE = AgentForm(("mute",), _baseline("floors:MuteAgent"))


DONE = AgentForm(("done",), _baseline("floors:DoneAgent"))


DECLINER = AgentForm(("decliner[:REASON]",), _baseline_of("floors:DeclinerAgent"))


REPEAT = AgentForm(("repeat",), _baseline("floors:RepeatAgent"))


ORACLE = AgentForm(("oracle",), _baseline("oracle:OracleAgent"))


MUTATED = AgentForm(("mutated[:RATE[:KIND]]",), _baseline_of("mutated:MutatedAgent.parse"))


RANDOM = AgentForm(("random",), _baseline("random:RandomAgent"))


SCRIPTED = AgentForm(("scripted:FILE.jsonl",), _scripted)


REPLAY = AgentForm(("replay:DB#EPISODE",), _replay)


COMMAND = AgentForm(("command:PROGRAM ARGS",), _command, runs_rest=True)
