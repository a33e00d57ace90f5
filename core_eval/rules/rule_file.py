"""The keys of a rule file, its reading, and the automaton of each rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from configs.errors import ConfigError
from configs.yaml_file import load_yaml
from core_eval.path.facts import Fact
from core_eval.rules.automata import (
    BINARY,
    MOST,
    UNARY,
    RuleAutomaton,
    absence,
    alternate_precedence,
    response,
)
from core_eval.rules.calls import ANY_TOOL, CallPattern, Made, argument_patterns
from core_eval.rules.flow import flows
from core_eval.rules.given_text import PlaceKind
from core_eval.rules.schemas import checked_schemas, schema_faults
from devices.models import FrozenModel
from firmware_bridge.guard import RuleAction

Review = Literal["drafted", "approved", "rejected"]
Severity = Literal["critical", "major", "minor"]
SEVERITIES: tuple[Severity, ...] = ("critical", "major", "minor")


def _calls(written: Any) -> Any:
    if written is not None:
        CallPattern.parse(written)
    return written


def _pair(written: Any) -> Any:
    if not isinstance(written, list | tuple) or len(written) != 2:
        raise ValueError(f"needs a list of two patterns of calls, [A, B], not {written!r}")
    for one in written:
        CallPattern.parse(one)
    return written


def _bounds(written: dict[str, Any] | None) -> dict[str, Any] | None:
    for tool, arguments in (written or {}).items():
        argument_patterns(arguments, tool)
    return written


def _fact(written: Any) -> Any:
    if written is not None:
        Fact.parse(written)
    return written


Calls = Annotated[Any, AfterValidator(_calls)]
Pair = Annotated[Any, AfterValidator(_pair)]
Answer = Annotated[Any, AfterValidator(_fact)]


class Confirmation(FrozenModel):
    """A confirmation that each of some calls needs: by a call that asks for it, or by the user's words."""

    before: Calls = Field(description="the calls that need one each")
    asked: Calls = Field(default=None, description="the call that asks for it")
    answer: Answer = Field(
        default=None,
        description="the fact that its result must hold, as in a plan: a text in it, or {key: pattern}",
    )
    heard: tuple[str, ...] = Field(
        default=(), description="in place of `asked`: words, one of which the user said last"
    )

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Confirmation:
        asks = self.asked is not None and self.answer is not None
        if asks == bool(self.heard) or (self.heard and (self.asked or self.answer)):
            raise ValueError("needs 'asked' with 'answer', or 'heard'")
        return self


class Budget(FrozenModel):
    """A number of calls, refused ones included."""

    calls: int = Field(ge=0, lt=MOST, description="at most so many")
    of: Calls = Field(default="*", description="of these; left out: of all")


def _grounded(written: Any) -> Any:
    if written is None:
        return None
    names = list(written.values()) if isinstance(written, Mapping) else None
    if written != ANY_TOOL and not (names and all(isinstance(one, list) and one for one in names)):
        raise ValueError(
            f"needs '*' for all arguments of all tools, or {{tool: [argument, ..]}}, not {written!r}"
        )
    return written


class Flow(FrozenModel):
    """A way that the text of results must not take."""

    source: Calls = Field(alias="from", description="calls whose results are meant")
    into: Calls = Field(description="calls whose arguments must not hold what only those results hold")
    words: int = Field(default=5, ge=2, lt=MOST, description="so many words in a row are a quotation")


class Rule(FrozenModel):
    """A rule: its id, the sentence that it comes from, and one of the keys that say what it demands."""

    id: str = Field(min_length=1, description="what findings call it")
    sentence: str = Field(min_length=1, description="the sentence of the prompt or policy that it comes from")
    severity: Severity = Field(default="major", description="how grave a violation is")
    action: RuleAction | None = Field(
        default=None,
        description="what a run does with a call that would violate it for good; left out: what the guard's "
        "mode does with harmful calls",
    )
    review: Review | None = Field(
        default=None,
        description="where its review stands; a `drafted` or `rejected` rule is not checked, and one without "
        "this key is",
    )
    init: Calls = Field(default=None, description="the first call is one of these")
    existence: Calls = Field(default=None, description="at least `times` of these calls (1)")
    absence: Calls = Field(default=None, description="fewer than `times` of these calls (1)")
    exactly: Calls = Field(default=None, description="`times` of these calls (1)")
    precedence: Pair = Field(default=None, description="no B before the first A")
    alternate_precedence: Pair = Field(default=None, description="before each B an A of its own")
    response: Pair = Field(default=None, description="after each A a B, as one of the next `within` calls")
    succession: Pair = Field(default=None, description="precedence and response")
    chain_response: Pair = Field(default=None, description="right after each A a B")
    chain_precedence: Pair = Field(default=None, description="right before each B an A")
    chain_succession: Pair = Field(default=None, description="chain_precedence and chain_response")
    co_existence: Pair = Field(default=None, description="both A and B, or neither")
    not_co_existence: Pair = Field(default=None, description="not both A and B (exclusion)")
    not_succession: Pair = Field(
        default=None, description="after an A never a B (a forbidden edge, however late)"
    )
    not_chain_succession: Pair = Field(
        default=None, description="right after an A no B (a forbidden edge between consecutive calls)"
    )
    arguments: Annotated[dict[str, dict[str, Any]] | None, AfterValidator(_bounds)] = Field(
        default=None, min_length=1, description="by tool, patterns that those arguments fit that a call gives"
    )
    required: dict[str, list[str]] | None = Field(
        default=None, min_length=1, description="by tool, arguments that each call gives"
    )
    schemas: Annotated[Any, AfterValidator(checked_schemas)] = Field(
        default=None,
        description="the arguments of each call fit a JSON schema: `'*'` for each tool's own, or, by tool, "
        "a schema or `own`",
    )
    calls_per_turn: int | None = Field(
        default=None, ge=1, description="at most so many calls in one answer of the model"
    )
    silent: bool | None = Field(default=None, description="`true`: no words of the model beside a call")
    confirmation: Confirmation | None = Field(
        default=None, description="each of some calls needs a confirmation of its own before it"
    )
    budget: Budget | None = Field(default=None, description="at most so many calls")
    grounded: Annotated[Any, AfterValidator(_grounded)] = Field(
        default=None, description="arguments whose values the agent was given: `'*'` or, by tool, their names"
    )
    flow: Flow | None = Field(default=None, description="no text of some results in the arguments of others")
    times: int | None = Field(
        default=None, ge=1, le=MOST, description="with existence, absence and exactly: how many"
    )
    within: int | None = Field(default=None, ge=1, le=MOST, description="with response: so many calls")
    answer: Answer = Field(
        default=None, description="with two patterns: only an A counts whose result holds this fact"
    )
    same: str | None = Field(
        default=None,
        min_length=1,
        description="with one pattern or two: an argument; the rule holds for each value of it by itself",
    )

    @model_validator(mode="after")
    def _is_whole(self) -> Rule:
        given = [key for key in DEMANDS if getattr(self, key) is not None]
        if len(given) != 1:
            named = f"not {' and '.join(given)}" if given else "none is given"
            raise ValueError(f"a rule has one of {', '.join(DEMANDS)}; {named}")
        if self.times is not None and given[0] not in (*UNARY,)[1:]:
            raise ValueError(f"'times' does not go with {given[0]}")
        if self.within is not None and given[0] != "response":
            raise ValueError(f"'within' does not go with {given[0]}")
        if self.answer is not None and given[0] not in BINARY:
            raise ValueError(f"'answer' does not go with {given[0]}")
        if self.same is not None and given[0] not in (*UNARY, *BINARY)[1:]:
            raise ValueError(f"'same' does not go with {given[0]}")
        if self.silent is False:
            raise ValueError("write silent: true, or leave it out")
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # What is compiled stays in its process.
        return Rule.model_validate, (self.model_dump(by_alias=True, exclude_unset=True),)

    @property
    def demand(self) -> str:
        """The key that says what it demands."""
        return next(key for key in DEMANDS if getattr(self, key) is not None)

    @cached_property
    def tools(self) -> list[str]:
        """The tools that it names."""
        written = getattr(self, self.demand)
        if self.demand in ("arguments", "required") or isinstance(written, dict):
            return list(written)
        if self.demand in UNARY:
            parts = [written]
        elif self.demand in BINARY:
            parts = list(written)
        else:
            parts = [getattr(written, key, []) for key in ("asked", "before", "of", "source", "into")]
        named = (CallPattern.parse(part) for part in parts if part)
        return list(dict.fromkeys(symbol.tool for one in named for symbol in one.symbols if not one.any_tool))

    @cached_property
    def compiled(self) -> CompiledRule:
        """The rule as it is checked."""
        return CompiledRule.of(self)


DEMANDS = (
    *UNARY,
    *BINARY,
    "arguments",
    "required",
    "schemas",
    "calls_per_turn",
    "silent",
    "confirmation",
    "budget",
    "grounded",
    "flow",
)
"""The keys of which a rule has one."""


class RuleFile(FrozenModel):
    """The keys of a rule file."""

    rules: tuple[Rule, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_each_once(self) -> RuleFile:
        seen = set()
        for place, rule in enumerate(self.rules):
            if rule.id in seen:
                raise ConfigError("another rule has this id; each needs its own", at=("rules", place, "id"))
            seen.add(rule.id)
        return self

    @property
    def checked(self) -> tuple[Rule, ...]:
        """The rules that traces and runs are held to: neither drafts nor rejected ones."""
        return tuple(rule for rule in self.rules if rule.review in (None, "approved"))


def load_rules(path: Path) -> RuleFile:
    """Return the rules of a file.

    Raises:
        ConfigError: the file cannot be read, or a key of it is wrong.
    """
    return load_yaml(path).validate(RuleFile)


@dataclass(frozen=True)
class CompiledRule:
    """A rule's automaton, and how a call is read for it.

    Attributes:
        letter: 1 for a call that matches the first pattern, plus 2 for the second.
        of_answers: whether the rule is about the model's answers, whatever became of the calls in them; else
            it is about executed calls.
        evidence: what in a call violates the rule, in words.
        asks_what_was_told: whether `letter` needs what the agent was told.
    """

    rule: Rule
    automaton: RuleAutomaton
    letter: Callable[[Made], int]
    of_answers: bool = False
    evidence: Callable[[Made], str] = lambda _: ""
    asks_what_was_told: bool = False

    @classmethod
    def of(cls, rule: Rule) -> CompiledRule:
        """Return the automaton of a rule."""
        demand = rule.demand
        written = getattr(rule, demand)
        never = RuleAutomaton.of(absence())
        if demand in UNARY:
            make: Any = UNARY[demand]
            machine = make() if demand == "init" else make(rule.times or 1)
            return cls(rule, RuleAutomaton.of(machine), _matching(written))
        if demand in BINARY:
            machine = response(rule.within) if demand == "response" else BINARY[demand]()
            return cls(rule, RuleAutomaton.of(machine), _letter(written[0], written[1], rule.answer))
        if (asked := rule.confirmation) is not None and asked.heard:
            said, before = _one_of(asked.heard), _matching(asked.before)
            return cls(
                rule,
                never,
                lambda made: int(bool(before(made)) and not said(made)),
                evidence=lambda made: f"heard last: {made.told.heard_last!r}" if made.told else "",
                asks_what_was_told=True,
            )
        if asked is not None:
            machine = alternate_precedence()
            return cls(rule, RuleAutomaton.of(machine), _letter(asked.asked, asked.before, asked.answer))
        if rule.budget is not None:
            machine = absence(rule.budget.calls + 1)
            return cls(rule, RuleAutomaton.of(machine), _matching(rule.budget.of), of_answers=True)
        if demand in _IN_ARGUMENTS:
            why = _IN_ARGUMENTS[demand](written)
            return cls(rule, never, lambda made: int(bool(why(made))), evidence=why, asks_what_was_told=True)
        is_broken, of_answers = _fault_of(rule)
        return cls(rule, never, lambda made: int(is_broken(made)), of_answers=of_answers)


def _matching(written: Any) -> Callable[[Made], int]:
    pattern = CallPattern.parse(written)
    return lambda made: int(pattern.matches(made.call))


def _letter(first: Any, second: Any, answer: Any = None) -> Callable[[Made], int]:
    """Return what tells which of two patterns a call fits, the first only with that answer."""
    a, b = _matching(first), _matching(second)
    if answer is None:
        return lambda made: a(made) + 2 * b(made)
    fact = Fact.parse(answer)

    def letter(made: Made) -> int:
        told = made.call.result is not None and fact.holds(made.call.result)
        return (a(made) if told else 0) + 2 * b(made)

    return letter


def _one_of(words: Sequence[str]) -> Callable[[Made], bool]:
    """Return what tells that the user said one of these last, as whole words."""
    said = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)
    return lambda made: made.told is not None and said.search(made.told.heard_last) is not None


def _ungrounded(asked: Any) -> Callable[[Made], str]:
    def evidence(made: Made) -> str:
        names = None if asked == ANY_TOOL else asked.get(made.call.name, ())
        found = [
            f"{one.path}={one.value!r}"
            for one, place in (made.told.places(made.call) if made.told and names != () else ())
            if place.kind is PlaceKind.NOWHERE and (names is None or re.split(r"[.\[]", one.path)[0] in names)
        ]
        return f"given nowhere: {', '.join(found)}" if found else ""

    return evidence


def _flowing(flow: Flow) -> Callable[[Made], str]:
    source, into = CallPattern.parse(flow.source), CallPattern.parse(flow.into)

    def evidence(made: Made) -> str:
        if made.told is None or not into.matches(made.call):
            return ""
        return "; ".join(flows(made.told, made.call, source, flow.words))

    return evidence


_IN_ARGUMENTS: Mapping[str, Callable[[Any], Callable[[Made], str]]] = {
    "grounded": _ungrounded,
    "flow": _flowing,
    "schemas": schema_faults,
}
"""What returns the evidence in a call's arguments, by the key that demands it."""


def _fault_of(rule: Rule) -> tuple[Callable[[Made], bool], bool]:
    """Return what tells that one call by itself violates a rule, and whether the rule is about answers."""
    if rule.arguments is not None:
        bounds = {tool: argument_patterns(patterns, tool) for tool, patterns in rule.arguments.items()}
        return (
            lambda made: any(
                name in made.call.arguments and not pattern.holds(made.call.arguments[name])
                for name, pattern in bounds.get(made.call.name, {}).items()
            )
        ), False
    if rule.required is not None:
        needed: Mapping[str, list[str]] = rule.required
        return (
            lambda made: any(name not in made.call.arguments for name in needed.get(made.call.name, ()))
        ), False
    if rule.calls_per_turn is not None:
        most = rule.calls_per_turn
        return lambda made: made.place >= most, True
    return lambda made: bool(made.words.strip()), True
