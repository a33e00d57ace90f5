"""Drafts rules from a prompt by a model, and holds each draft against what code can check.

A draft is kept where its sentence stands in the prompt, word for word, its keys are a rule's, its tools are
known, and no golden path of a task breaks it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from pydantic import ValidationError

from agents.agent import Agent, AgentSpecError, BackendError
from agents.backends.backend import ChatBackend, Message
from agents.baselines.example_arguments import example_call
from agents.deadline import Deadline
from agents.registry import make_agent
from agents.scaffolds.native import NativeScaffold
from configs.task import Task
from configs.yaml_text import YamlError, parse_yaml
from core_eval.path.calls import Call
from core_eval.rules.calls import in_groups
from core_eval.rules.monitor import violations
from core_eval.rules.rule_file import DEMANDS, Rule
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.text.json_text import json_text

DRAFTS = 2
"""So often the model is asked, each time with another seed."""
PATHS = 16
"""Golden paths of a task that a rule is held against."""
_FENCED = re.compile(r"```\w*\n(.*?)```", re.S)
_ASKED = """\
You read the instructions that an agent works by, and write down the rules on its tool calls that a program \
can check.

Answer with one JSON object and nothing else:
{"rules": [{"id": "short-name", "sentence": "...", "severity": "major", KEY: ...}], "judgement": ["..."]}

- "sentence" is copied from the instructions, word for word: the one that the rule comes from.
- "severity" is "critical", "major" or "minor".
- KEY is exactly one of these:
KEYS
  A and B are the name of a tool, {tool: {argument: pattern}}, "*" for any call, or a list of these. A \
pattern is a value, {"min": a, "max": b}, {"in": [..]} or {"not": [..]}.
- "judgement" has the sentences of the instructions that only a person can judge, word for word.
- Write no rule that the instructions do not state."""


@dataclass
class Draft:
    """A rule that a model wrote.

    Attributes:
        written: as it was written.
        rule: None where it is none.
        faults: why it is dropped, a line each.
        times: in how many of the drafts it is.
    """

    written: Mapping[str, Any]
    rule: Rule | None = None
    faults: list[str] = field(default_factory=list)
    times: int = 1

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against it."""
        return self.rule is not None and not self.faults


@dataclass
class Drafts:
    """What the model's answers have.

    Attributes:
        found: the distinct rules of all answers.
        counts: how many rules that hold each answer has.
        judgement: sentences of the prompt that only judgement can check.
        unread: answers that hold no rules, and why.
    """

    found: list[Draft] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    judgement: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    @property
    def kept(self) -> list[Draft]:
        """The rules that hold, those of all answers first."""
        return sorted((one for one in self.found if one.holds), key=lambda one: -one.times)

    @property
    def overlap(self) -> tuple[int, int]:
        """How many of the rules that hold are in all answers, and how many there are."""
        kept = self.kept
        return sum(one.times == DRAFTS for one in kept), len(kept)


class Checks:
    """What a draft is held against.

    Args:
        prompt: the instructions; None: where a rule's sentence stands is not checked.
        tasks: whose tools it may name, and whose golden paths it must allow; none: any tools.

    Attributes:
        tools: those of the tasks, by name.
    """

    def __init__(self, prompt: str | None, tasks: Sequence[Task]) -> None:
        self._prompt = None if prompt is None else _plain(prompt)
        self.tools = {tool.name: tool for task in tasks for tool in task.offered.tools}
        self._golden = [(task.id, calls) for task in tasks for calls in golden_calls(task)]

    def states(self, sentence: Any) -> bool:
        """Return whether a sentence stands in the prompt, word for word."""
        if self._prompt is None:
            return True
        return isinstance(sentence, str) and bool(sentence.strip()) and _plain(sentence) in self._prompt

    def draft(self, written: Mapping[str, Any]) -> Draft:
        """Return a rule that was written, with what speaks against it."""
        draft = Draft(written)
        try:
            draft.rule = Rule.model_validate(written)
        except ValidationError as error:
            fault = error.errors()[0]
            at = ".".join(map(str, fault["loc"]))
            draft.faults.append(f"{at + ': ' if at else ''}{fault['msg'].removeprefix('Value error, ')}")
        except ValueError as error:
            draft.faults.append(str(error))
        if not self.states(written.get("sentence")):
            draft.faults.append("its sentence does not stand in the prompt")
        if draft.rule is not None:
            draft.faults += self.faults(draft.rule)
        return draft

    def faults(self, rule: Rule) -> Iterator[str]:
        """Yield what tools and golden paths say against a rule."""
        unknown = [name for name in rule.tools if self.tools and name not in self.tools]
        if unknown:
            yield f"no task has the tool {unknown[0]}"
        for task, calls in self._golden:
            if broken := violations([rule], in_groups(calls)):
                at = (
                    "as it ends"
                    if broken[0].k is None
                    else f"at call {broken[0].k}, {calls[broken[0].k].name}"
                )
                yield f"the golden path of {task} breaks it, {at}"
                return


def golden_calls(task: Task) -> Iterator[list[Call]]:
    """Yield the calls of a task's golden paths, the first `PATHS`."""
    tools, symbols = task.offered.by_name, task.automaton.symbols
    for path in task.automaton.golden_paths(limit=PATHS):
        yield [example_call(symbols[name], tools.get(symbols[name].tool)) for name in path]


def backend_of(spec: str) -> ChatBackend:
    """Return the model of a specification.

    Raises:
        AgentSpecError: it is no model's, or its files are not right.
    """
    agent: Agent = make_agent(spec)
    if not isinstance(agent, NativeScaffold):
        raise AgentSpecError(
            f"agent {spec!r} is no model: rules are drafted by llama, hf, llama-server or openai"
        )
    return agent.backend


def draft_rules(
    backend: ChatBackend, prompt: str, checks: Checks, *, seed: int, tokens: int, seconds: float
) -> Drafts:
    """Ask a model `DRAFTS` times for the rules of a prompt, and check them.

    Args:
        backend: the model.
        prompt: the instructions.
        checks: what each rule is held against.
        seed: of the first draft; then the next.
        tokens: of an answer, at most.
        seconds: for an answer, at most.

    Raises:
        BackendError: the model cannot be reached or run.
    """
    drafts = Drafts()
    by_demand: dict[str, Draft] = {}
    for number in range(DRAFTS):
        backend.start(seed + number, [])
        reply = backend.answer(_messages(prompt, checks), tokens=tokens, deadline=Deadline(seconds))
        if reply.stop in ("time", "context"):
            raise BackendError(f"no whole answer: the model ended by its limit of {reply.stop}")
        rules, judgement, fault = read_answer(str(reply.message.get("content") or ""))
        if fault:
            drafts.unread.append(fault)
        here = {_key(written): written for written in rules}
        for key, written in here.items():
            if key in by_demand:
                by_demand[key].times += 1
            else:
                by_demand[key] = checks.draft(written)
        drafts.counts.append(sum(by_demand[key].holds for key in here))
        new = (one for one in judgement if checks.states(one) and one not in drafts.judgement)
        drafts.judgement += dict.fromkeys(new)
    drafts.found = list(by_demand.values())
    _name_apart(drafts.found)
    return drafts


def read_answer(text: str) -> tuple[list[Mapping[str, Any]], list[str], str | None]:
    """Return the rules and the sentences for judgement of a model's answer, and why it has none.

    JSON or YAML is found in a fenced block, or between the first and the last brace.
    """
    blocks = _FENCED.findall(text)
    begin, end = text.find("{"), text.rfind("}")
    for block in (*blocks, text[begin : end + 1] if begin >= 0 else "", text):
        value = _value(block)
        if isinstance(value, list):
            value = {"rules": value}
        if isinstance(value, Mapping) and isinstance(value.get("rules"), list):
            rules: list[Mapping[str, Any]] = [one for one in value["rules"] if isinstance(one, Mapping)]
            others = value.get("judgement")
            judgement = [one for one in others if isinstance(one, str)] if isinstance(others, list) else []
            return rules, judgement, None
    begins = " ".join(text.split())[:60]
    return [], [], f"an answer holds no rules: {begins!r}" if begins else "an answer is empty"


def _value(block: str) -> Any:
    if not block.strip():
        return None
    try:
        return parse_json(block)
    except ForeignJsonError:
        pass
    try:
        return parse_yaml(block).value
    except YamlError:
        return None


def as_yaml(*rules: Rule) -> str:
    """Return a rule file of these rules."""
    return yaml.safe_dump(
        {"rules": [rule.model_dump(mode="json", exclude_defaults=True, by_alias=True) for rule in rules]},
        sort_keys=False,
        allow_unicode=True,
        width=100,
    )


def read_edited(text: str) -> Mapping[str, Any]:
    """Return the one rule of a text that a person has edited.

    Raises:
        ValueError: it is no YAML with one rule.
    """
    try:
        value = parse_yaml(text).value
    except YamlError as error:
        raise ValueError(str(error)) from None
    rules = value.get("rules") if isinstance(value, Mapping) else None
    if not isinstance(rules, list) or len(rules) != 1 or not isinstance(rules[0], Mapping):
        raise ValueError("it must be a rule file with one rule")
    return rules[0]


def _messages(prompt: str, checks: Checks) -> list[Message]:
    fields = Rule.model_fields
    tools = "".join(
        f"\n- {name}({', '.join(tool.parameters()['properties'])})" for name, tool in checks.tools.items()
    )
    keys = "\n".join(f'  "{name}": {fields[name].description}' for name in DEMANDS)
    return [
        {"role": "system", "content": _ASKED.replace("KEYS", keys)},
        {
            "role": "user",
            "content": f"The instructions:\n\n{prompt}" + (f"\n\nThe tools:{tools}" if tools else ""),
        },
    ]


def _plain(text: str) -> str:
    return " ".join(text.split())


def _key(written: Mapping[str, Any]) -> str:
    """Return what two drafts share just where they demand the same."""
    return json_text(
        {key: written[key] for key in sorted(written) if key not in ("id", "sentence", "severity")}
    )


def _name_apart(drafts: Sequence[Draft]) -> None:
    """Give rules of the same id their own."""
    seen: dict[str, int] = {}
    for draft in drafts:
        if draft.rule is None:
            continue
        count = seen[draft.rule.id] = seen.get(draft.rule.id, 0) + 1
        if count > 1:
            draft.rule = draft.rule.model_copy(update={"id": f"{draft.rule.id}-{count}"})
