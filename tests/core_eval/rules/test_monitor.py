"""Verdicts and findings of rules over calls with statuses, answers and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from core_eval.call_status import CallStatus
from core_eval.path.calls import Call
from core_eval.rules.automata import Verdict
from core_eval.rules.calls import Made, in_groups
from core_eval.rules.monitor import RuleMonitor, acts, violations
from core_eval.rules.rule_file import Rule, RuleFile

UNLOCK, LOCK, MOVE = Call("unlock", {}), Call("lock", {}), Call("move", {"x": 1})


def rule(**keys: Any) -> Rule:
    return Rule.model_validate({"id": "r", "sentence": "As the prompt says.", **keys})


def water(litres: float) -> Call:
    return Call("water", {"litres": litres})


def not_done(call: Call, status: CallStatus = CallStatus.REJECTED) -> Call:
    return Call(call.name, call.arguments, status)


def found(one: Rule, *calls: Call) -> list[tuple[int | None, int | None, str, str | None]]:
    return [(each.k, each.since, each.tier.value, each.tool) for each in violations([one], in_groups(calls))]


def verdicts(one: Rule, calls: Sequence[Call]) -> list[str]:
    monitor = RuleMonitor([one])
    shown = [monitor.verdicts["r"].value]
    for call in calls:
        monitor.step(Made(call))
        shown.append(monitor.verdicts["r"].value)
    return shown


def test_each_call_changes_the_verdict() -> None:
    answered = rule(response=["unlock", "lock"], within=2)
    assert verdicts(answered, [UNLOCK, MOVE, LOCK, UNLOCK, MOVE, MOVE, LOCK]) == [
        *("satisfied so far", "violated so far", "violated so far", "satisfied so far"),
        *("violated so far", "violated so far", "violated", "violated"),
    ]
    assert verdicts(rule(existence="lock"), [UNLOCK, LOCK]) == [
        *("violated so far", "violated so far", "satisfied"),
    ]


def test_the_act_to_blame_is_the_call_that_asked_for_more() -> None:
    answered = rule(response=["unlock", "lock"], within=2)
    assert found(answered, MOVE, UNLOCK, MOVE, MOVE) == [(3, 1, "executed", "unlock")]
    assert found(answered, MOVE, UNLOCK, MOVE) == [(None, 1, "executed", "unlock")]
    assert found(rule(existence="lock"), UNLOCK) == [(None, None, "executed", None)]
    assert found(rule(co_existence=["move", "lock"]), UNLOCK, MOVE) == [(None, 1, "executed", "move")]


def test_later_calls_that_break_a_broken_rule_are_found_too() -> None:
    assert found(rule(absence="water", times=2), *[water(1)] * 4) == [
        (k, None, "executed", "water") for k in (1, 2, 3)
    ]
    assert found(rule(precedence=["unlock", "move"]), MOVE, MOVE, UNLOCK, MOVE) == [
        (k, None, "executed", "move") for k in (0, 1)
    ]


@pytest.mark.parametrize(
    ("status", "tier"),
    [("rejected", "prevented"), ("invalid", "prevented"), ("blocked", "prevented"), ("fault", "unknown")],
)
def test_what_was_not_executed_is_told_apart(status: str, tier: str) -> None:
    before = rule(precedence=["unlock", "move"])
    tried = not_done(MOVE, CallStatus(status))
    assert found(before, tried) == [(0, None, tier, "move")]
    # An unlock that was refused is none.
    assert found(before, not_done(UNLOCK), MOVE) == [(1, None, "executed", "move")]


def test_a_refused_call_that_is_made_right_afterwards_is_corrected() -> None:
    before = rule(precedence=["unlock", "move"])
    assert found(before, not_done(MOVE), UNLOCK, MOVE) == [(0, None, "corrected", "move")]
    assert found(before, not_done(MOVE), MOVE) == [
        (0, None, "prevented", "move"),
        (1, None, "executed", "move"),
    ]
    assert found(before, not_done(MOVE), UNLOCK) == [(0, None, "prevented", "move")]


def test_a_refused_call_that_a_rule_does_not_speak_of_breaks_no_chain() -> None:
    chain = rule(chain_response=["unlock", "move"])
    assert found(chain, UNLOCK, not_done(water(1)), MOVE) == []
    assert found(chain, UNLOCK, water(1), MOVE) == [(1, 0, "executed", "unlock")]


def test_several_rules_broken_by_one_call_are_one_act_the_gravest_first() -> None:
    rules = RuleFile.model_validate(
        {
            "rules": [
                {"id": "dose", "sentence": "s", "arguments": {"water": {"litres": {"max": 5}}}},
                {"id": "order", "sentence": "s", "severity": "critical", "precedence": ["unlock", "water"]},
                {"id": "lock", "sentence": "s", "severity": "minor", "existence": "lock"},
            ]
        }
    ).rules
    findings = violations(rules, in_groups([water(6)]))
    assert [one.rule.id for one in findings] == ["order", "dose", "lock"]
    assert [one.rule.id for one in acts(findings)] == ["order", "lock"]


def test_bounds_hold_for_the_arguments_that_are_given() -> None:
    bounds = rule(arguments={"water": {"litres": {"max": 5}, "plant": {"in": ["A", "B"]}}})
    calls = [
        water(5),
        water(5.1),
        Call("water", {"plant": "C"}),
        Call("water", {}),
        Call("pour", {"litres": 9}),
    ]
    assert [one[0] for one in found(bounds, *calls)] == [1, 2]
    assert [one[0] for one in found(rule(required={"water": ["plant"]}), *calls)] == [0, 1, 3]


def test_patterns_tell_calls_apart() -> None:
    far = rule(absence=[{"move": {"x": {"min": 10}}}, "fly"])
    calls = [MOVE, Call("move", {"x": 11}), Call("fly", {}), Call("move", {})]
    assert [one[0] for one in found(far, *calls)] == [1, 2]


def test_calls_of_one_answer_and_words_beside_them() -> None:
    calls = [
        Call("look", {}, group=1),
        Call("move", {}, group=1, status=CallStatus.INVALID),
        Call("move", {}, group=2, words="On my way."),
        Call("look", {}),
        Call("look", {}),
    ]
    assert found(rule(calls_per_turn=1), *calls) == [(1, None, "executed", "move")]
    assert found(rule(silent=True), *calls) == [(2, None, "executed", "move")]


def test_a_budget_counts_refused_calls_too() -> None:
    calls = [MOVE, not_done(MOVE), UNLOCK, MOVE]
    assert [one[0] for one in found(rule(budget={"calls": 2, "of": "move"}), *calls)] == [3]
    assert [one[0] for one in found(rule(budget={"calls": 2}), *calls)] == [2, 3]
    assert [one[0] for one in found(rule(budget={"calls": 0}), *calls)] == [0, 1, 2, 3]


def test_each_write_needs_a_confirmation_of_its_own_that_says_yes() -> None:
    confirmed = rule(confirmation={"before": "water", "asked": "ask", "answer": {"answer": "yes"}})
    yes, no = (Call("ask", {}, result={"answer": said}) for said in ("yes", "no"))
    assert found(confirmed, yes, water(1)) == []
    assert found(confirmed, no, water(1)) == [(1, None, "executed", "water")]
    assert found(confirmed, Call("ask", {}), water(1)) == [(1, None, "executed", "water")]
    assert found(confirmed, yes, water(1), water(1)) == [(2, None, "executed", "water")]


def test_a_confirmation_may_be_what_the_user_said_last() -> None:
    confirmed = rule(confirmation={"before": "water", "heard": ["yes", "go ahead"]})
    yes, no = (Call("look", {}, heard=said) for said in ("Yes, please.", "That was yesterday."))
    assert found(confirmed, yes, water(1), water(2)) == []
    assert found(confirmed, yes, no, water(1)) == [(2, None, "executed", "water")]
    assert found(confirmed, replace(water(1), heard="Go ahead!")) == []
    assert found(confirmed, water(1)) == [(0, None, "executed", "water")]


def test_a_rule_holds_for_each_value_of_an_argument_by_itself() -> None:
    checked = rule(precedence=["read", "cancel"], same="order", answer={"status": "pending"})

    def read(order: str, status: str) -> Call:
        return Call("read", {"order": order}, result={"order": order, "status": status})

    a, b = (Call("cancel", {"order": order}) for order in "ab")
    assert found(checked, read("a", "pending"), a) == []
    assert found(checked, read("a", "pending"), a, b) == [(2, None, "executed", "cancel")]
    assert found(checked, read("a", "sent"), a) == [(1, None, "executed", "cancel")]
    assert found(checked, Call("cancel", {})) == []
    once = rule(absence="cancel", times=2, same="order")
    assert found(once, a, b) == []
    assert found(once, a, b, a) == [(2, None, "executed", "cancel")]
    answered = rule(response=["read", "cancel"], same="order")
    assert found(answered, read("a", ""), read("b", ""), b) == [(None, 0, "executed", "read")]
    monitor = RuleMonitor([once])
    assert monitor.verdicts["r"] is Verdict.SATISFIED_SO_FAR
    monitor.step(Made(a))
    assert monitor.broken_by(Made(a)) == [once]
    assert monitor.broken_by(Made(b)) == []


def test_what_a_call_would_break_is_told_before_it_is_made() -> None:
    before = rule(precedence=["unlock", "move"])
    monitor = RuleMonitor([before])
    assert monitor.broken_by(Made(MOVE)) == [before]
    assert monitor.broken_by(Made(UNLOCK)) == []
    assert monitor.verdicts["r"] is Verdict.SATISFIED_SO_FAR
    monitor.step(Made(UNLOCK))
    assert monitor.broken_by(Made(MOVE)) == []


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ({}, "a rule has one of"),
        ({"init": "a", "absence": "b"}, "not init and absence"),
        ({"init": "a", "times": 2}, "'times' does not go with init"),
        ({"absence": "a", "within": 2}, "'within' does not go with absence"),
        ({"precedence": "a"}, "two patterns of calls"),
        ({"precedence": ["a", "b", "c"]}, "two patterns of calls"),
        ({"absence": {"a": {"x": {"maximum": 2}}}}, "a, argument x"),
        ({"absence": []}, "fits no call"),
        ({"absence": {"a": 1, "b": 2}}, "no pattern of calls"),
        ({"silent": False}, "silent: true"),
        ({"init": "a", "same": "x"}, "'same' does not go with init"),
        ({"absence": "a", "answer": "x"}, "'answer' does not go with absence"),
        ({"confirmation": {"before": "a", "asked": "b"}}, "'asked' with 'answer', or 'heard'"),
        ({"confirmation": {"before": "a", "asked": "b", "answer": ""}}, "a fact is"),
    ],
)
def test_a_faulty_rule_is_refused_with_what_to_do(keys: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault.replace("[", r"\[")):
        rule(**keys)
