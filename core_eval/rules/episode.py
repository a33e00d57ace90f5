"""Rules over the calls of an episode: of one that goes on, and of one in a log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.agent import Cost
from core_eval.log import EpisodeRow, LogReader, RunRow
from core_eval.path.calls import Call
from core_eval.rules.automata import Verdict
from core_eval.rules.calls import Made, Turns
from core_eval.rules.grounds import Told
from core_eval.rules.monitor import Finding, RuleMonitor, Tier
from core_eval.rules.rule_file import Rule
from firmware_bridge.guard import ACTION_OF, Breach, GuardMode


class EpisodeRules:
    """The rules of an episode that goes on.

    Args:
        rules: the rules.
        tools: the schemas of the tools that the agent is offered.
        prompt: its task, and the device's advice.
    """

    def __init__(self, rules: Sequence[Rule], tools: Sequence[Mapping[str, Any]], prompt: str) -> None:
        asks = any(rule.compiled.asks_what_was_told for rule in rules)
        self._monitor = RuleMonitor(rules, Told(prompt, tools) if asks else None)
        self._turns = _turns(rules, tools)
        self._made = Made(Call("", {}))

    def breaches(self, call: Call, turn: Cost) -> list[Breach]:
        """Return the rules that the next call of the agent would violate for good, if it were executed."""
        self._made = self._turns.made(call, turn)
        broken = self._monitor.broken_by(self._made)
        return [Breach(rule.id, rule.sentence, rule.action) for rule in broken]

    def take(self, call: Call) -> list[Finding]:
        """Take that call as it ended; return its violations."""
        return self._monitor.step(replace(self._made, call=call))

    def end(self) -> list[Finding]:
        """Return what is violated as the episode ends."""
        return self._monitor.end()


def logged_finding(finding: Finding, mode: GuardMode) -> dict[str, Any]:
    """Return a violation as the log keeps it."""
    rule = finding.rule
    return {
        "rule": rule.id,
        "severity": rule.severity,
        "sentence": rule.sentence,
        "k": finding.k,
        "since": finding.since,
        "tier": finding.tier.value,
        "action": rule.action or ACTION_OF[mode],
        **({"evidence": finding.evidence} if finding.evidence else {}),
    }


@dataclass(frozen=True)
class RuleAtEnd:
    """How a rule stands after the last call of an episode; `steps` violated it for good."""

    rule: Rule
    verdict: Verdict
    steps: Sequence[int]


def rules_at_end(reader: LogReader, episode: EpisodeRow, run: RunRow) -> list[RuleAtEnd]:
    """Return how each rule that an episode of a run was run with stands at its end.

    Empty where it had no rules, goes on, or has rules of another version.

    Raises:
        LogError: its rows cannot be read.
    """
    given = run.config.get("rules") or ()
    if episode.status == "running":
        return []
    try:
        rules = [Rule.model_validate(one) for one in given]
    except ValueError:
        return []
    monitor = RuleMonitor(rules, told_at_first(reader, episode) if rules else None)
    steps: dict[str, list[int]] = {rule.id: [] for rule in rules}
    for made in logged_calls(reader, episode, rules) if rules else ():
        for found in monitor.step(made):
            if found.k is not None and found.tier is Tier.EXECUTED:
                steps[found.rule.id].append(found.k)
    verdicts = monitor.verdicts
    return [RuleAtEnd(rule, verdicts[rule.id], steps[rule.id]) for rule in rules]


def told_at_first(reader: LogReader, episode: EpisodeRow) -> Told:
    """Return what the agent of an episode was told before its first call.

    The task of an imported episode may be its simulated user's, which the agent does not see; what that user
    said are messages.

    Raises:
        LogError: its rows cannot be read.
    """
    given = reader.prompt(episode.id)
    texts = [str(one.get("content") or "") for one in (given.messages if given else ())]
    if episode.imported is None:
        texts.append(episode.definition.prompt or "")
    return Told("\n".join(texts), episode.definition.tools or ())


def logged_calls(reader: LogReader, episode: EpisodeRow, rules: Sequence[Rule]) -> Iterator[Made]:
    """Yield the answered calls of an episode, in order; one that could not be read has no tool.

    Raises:
        LogError: its rows cannot be read.
    """
    turns = _turns(rules, episode.definition.tools or ())
    said: dict[int, list[str]] = {}
    beside: dict[int, list[str]] = {}
    messages = reader.messages(episode.id)
    for message in messages:
        if message.role == "user":
            said.setdefault(message.k, []).append(message.text)
            # The turn of an imported step has also what the agent said before the user's answer.
            beside.pop(message.k, None)
        else:
            beside.setdefault(message.k, []).append(message.text)
    heard: list[str] = []
    group, place = None, 0
    for step in reader.steps(episode.id):
        heard += said.get(step.k, ())
        if step.status is None:
            continue
        answer = step.error_message if step.result is None else step.result
        call = Call(
            step.tool or "",
            step.arguments or {},
            step.status,
            answer,
            group=step.call_group,
            heard="\n".join(heard),
        )
        made = turns.made(call, step.turn)
        if call.group is not None:
            # An imported message without words has no costs that tell where it begins.
            place = place + 1 if call.group == group else 0
            made = replace(made, place=place)
        if messages:
            made = replace(made, words="\n\n".join(beside.get(step.k, ())))
        group, heard = call.group, []
        yield made


def _turns(rules: Iterable[Rule], tools: Sequence[Mapping[str, Any]]) -> Turns:
    return Turns(tools if any(rule.silent for rule in rules) else None)
