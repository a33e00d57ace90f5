"""Agents by their specification, `NAME[:REST]`. Packages register forms of it, the kit's own among them.

Those that are models take options after REST: `NAME[:REST]?key=value&key=value`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agents.agent import AgentSpecError
from devices.registry import Registry

if TYPE_CHECKING:
    from agents.agent import Agent
    from agents.baselines.replay import ReadCalls
    from agents.options import ModelOptions


@dataclass(frozen=True)
class ModelForm:
    """What a form of model agents has beside its texts.

    Attributes:
        make: makes the agent from REST, None without one, and its options. It imports what it needs when it
            is called. Raises AgentSpecError for a REST or an option that is invalid.
        options: the keys of `ModelOptions` that it takes.
        verify: raises AgentSpecError where the files of REST or of the options are not right, without loading
            the model.
        is_file: whether REST is the path of a file, which a model's YAML file may give relative to itself.
    """

    make: Callable[[str | None, ModelOptions], Agent]
    options: frozenset[str]
    verify: Callable[[str | None, ModelOptions], None] = lambda _rest, _options: None
    is_file: bool = False


@dataclass(frozen=True)
class AgentForm:
    """A kind of agent. A package registers it under the entry-point group `pathrig.agents`, by its NAME.

    Exactly one of `make`, `model` and `stands_for` is given.

    Attributes:
        forms: the specifications that it takes, as help and messages show them: "oracle" has no REST,
            "scripted:FILE.jsonl" needs one, and in "mutated[:RATE]" it is optional.
        make: makes the agent from REST, None without one; `read_calls` reads the calls of a log. It imports
            what it needs when it is called. Raises AgentSpecError for a REST that is invalid.
        model_file: the model's file, whose hash the log keeps; None if the agent has none.
        model: of an agent that is a model, and takes options.
        stands_for: returns the specification of a model agent, with its options, that a REST stands for.
        runs_rest: whether REST is the command line of a program, which the agent starts.
    """

    forms: tuple[str, ...]
    make: Callable[[str | None, ReadCalls], Agent] | None = None
    model_file: Callable[[str | None], Path | None] = lambda _rest: None
    model: ModelForm | None = None
    stands_for: Callable[[str | None], str] | None = None
    runs_rest: bool = False

    def takes(self, rest: str | None) -> bool:
        """Return whether one of the forms has such a REST."""
        if rest is None:
            return any(":" not in form or "[:" in form for form in self.forms)
        return bool(rest) and any(":" in form for form in self.forms)


AGENT_FORMS: Registry[AgentForm] = Registry("pathrig.agents", AgentForm)
"""Every form that an installed package registers, by NAME."""


@dataclass(frozen=True)
class ParsedSpec:
    """A specification taken apart.

    Attributes:
        name: the kind of agent.
        form: the form that takes it.
        rest: what stands after the colon, without the options; None without a colon.
        options: of a model; None for other agents.
    """

    name: str
    form: AgentForm
    rest: str | None
    options: ModelOptions | None

    def text(self, *, named: bool = True) -> str:
        """Return the specification in canonical form: options that are the default are left out.

        Args:
            named: whether with the name that a model was given.
        """
        from agents.options import query_of

        options = self.options
        if options is not None and not named:
            options = options.model_copy(update={"name": None})
        colon = "" if self.rest is None else f":{self.rest}"
        return f"{self.name}{colon}{'' if options is None else query_of(options)}"


def parse_spec(spec: str) -> ParsedSpec:
    """Take a specification apart; one that stands for another is that other.

    Raises:
        AgentSpecError: no form takes the specification, or an option is invalid.
        ConfigError: it names a model's YAML file that is invalid.
        PluginError: a registered form cannot be imported.
    """
    head, _, query = spec.partition("?")
    kind = head.partition(":")[0]
    form = AGENT_FORMS.get(kind)
    if form is None or not (form.model or form.stands_for):
        head = spec
    name, colon, text = head.partition(":")
    rest = text if colon else None
    if form is None or not form.takes(rest):
        from agents.backends.server_address import without_credentials

        known = ", ".join(text for one in AGENT_FORMS.values() for text in one.forms)
        raise AgentSpecError(
            f"unknown agent {without_credentials(spec)!r}; "
            f"the agents are {known or 'not registered: install pathrig again'}"
        )
    if not (form.model or form.stands_for):
        return ParsedSpec(name, form, rest, None)
    from agents.options import merged, parse_options

    if form.stands_for is None:
        assert form.model is not None
        return ParsedSpec(name, form, rest, parse_options(name, query, form.model.options))
    found = parse_spec(form.stands_for(rest))
    assert found.options is not None and found.form.model is not None
    options = merged(found.options, parse_options(name, query, found.form.model.options))
    return ParsedSpec(found.name, found.form, found.rest, options)


def make_agent(spec: str, read_calls: ReadCalls | None = None) -> Agent:
    """Return the agent of a specification, ready for `start`; raises as `agent_maker`."""
    return agent_maker(spec, read_calls)()


def agent_maker(spec: str, read_calls: ReadCalls | None = None) -> Callable[[], Agent]:
    """Return what makes the agent of a specification; a model is loaded by each call of it.

    Args:
        spec: the specification.
        read_calls: reads the log of `replay`.

    Raises:
        AgentSpecError: no form takes the specification, or its file or model is invalid.
        ConfigError: it names a model's YAML file that is invalid.
        PluginError: a registered form cannot be imported.
    """
    found = parse_spec(spec)
    if found.options is not None:
        assert found.form.model is not None
        rest, options, make = found.rest, found.options, found.form.model.make
        found.form.model.verify(rest, options)
        return lambda: make(rest, options)
    from agents.baselines.replay import no_log

    assert found.form.make is not None
    agent = found.form.make(found.rest, read_calls or no_log)
    return lambda: agent


def model_file(spec: str) -> Path | None:
    """Return the model's file of a specification; None where there is none, or no form takes it."""
    found = _found(spec)
    return None if found is None else found.form.model_file(found.rest)


def model_options(spec: str) -> ModelOptions | None:
    """Return the options of a model's specification; None for other agents, or where no form takes it."""
    found = _found(spec)
    return None if found is None else found.options


def named_uses(spec: str) -> list[str]:
    """Return what a specification itself runs or sends, as sentences without a subject.

    Raises:
        AgentSpecError: an option is invalid.
    """
    name, _, rest = spec.partition(":")
    form = AGENT_FORMS.get(name)
    if form is None or not (form.model or form.stands_for):
        return [f"runs the program {rest!r}"] if form is not None and form.runs_rest else []
    from agents.options import ModelOptions, parse_options

    address, _, query = rest.partition("?")
    options = parse_options(name, query, frozenset(ModelOptions.model_fields))
    uses = [] if options.server is None else [f"runs the program {str(options.server)!r}"]
    place = address.partition("#")[0]
    return uses + [f"sends the environment variable {one} to {place}" for _, one in options.variables]


def _found(spec: str) -> ParsedSpec | None:
    try:
        return parse_spec(spec)
    except AgentSpecError:
        # An agent that was made without a specification has no form.
        return None
