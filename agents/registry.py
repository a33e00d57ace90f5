"""Agents by their specification, `NAME[:REST]`. Packages register forms of it, the kit's own among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agents.errors import AgentSpecError
from devices.registry import Registry

if TYPE_CHECKING:
    from agents.agent import Agent
    from agents.baselines.replay import ReadCalls


def _no_file(_rest: str | None) -> Path | None:
    return None


@dataclass(frozen=True)
class AgentForm:
    """A kind of agent. A package registers it under the entry-point group `pathrig.agents`, by its NAME.

    Attributes:
        forms: the specifications that it takes, as help and messages show them: "oracle" has no REST,
            "scripted:FILE.jsonl" needs one, and in "mutated[:RATE]" it is optional.
        make: makes the agent from REST, None without one; `read_calls` reads the calls of a log. It imports
            what it needs when it is called. Raises AgentSpecError for a REST that is invalid.
        model_file: the model's file, whose hash the log keeps; None if the agent has none.
    """

    forms: tuple[str, ...]
    make: Callable[[str | None, ReadCalls], Agent]
    model_file: Callable[[str | None], Path | None] = _no_file

    def takes(self, rest: str | None) -> bool:
        """Return whether one of the forms has such a REST."""
        if rest is None:
            return any(":" not in form or "[:" in form for form in self.forms)
        return bool(rest) and any(":" in form for form in self.forms)


AGENT_FORMS: Registry[AgentForm] = Registry("pathrig.agents", AgentForm)
"""Every form that an installed package registers, by NAME."""


def make_agent(spec: str, read_calls: ReadCalls | None = None) -> Agent:
    """Return the agent of a specification, ready for `start`; `read_calls` reads the log of `replay`.

    Raises:
        AgentSpecError: no form takes the specification, or its file or model is invalid.
        PluginError: a registered form cannot be imported.
    """
    form, rest = find_form(spec)
    if form is None:
        from agents.backends.openai_backend import without_credentials

        known = ", ".join(text for one in AGENT_FORMS.values() for text in one.forms)
        raise AgentSpecError(
            f"unknown agent {without_credentials(spec)!r}; "
            f"the agents are {known or 'not registered: install pathrig again'}"
        )
    from agents.baselines.replay import no_log

    return form.make(rest, read_calls or no_log)


def find_form(spec: str) -> tuple[AgentForm | None, str | None]:
    """Return the form that takes a specification, None if there is none, and the specification's REST."""
    name, colon, rest = spec.partition(":")
    given = rest if colon else None
    form = AGENT_FORMS.get(name)
    return (form if form is not None and form.takes(given) else None), given
