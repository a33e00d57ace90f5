"""The ledger of what holders gave each other: whatever the split, what came back is what the payer lacked."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from software_rig import judged

Cents = st.integers(1, 9999)


def pay(source: str, target: str, amount: int):
    return "transfer", {"from_account": source, "to_account": target, "amount": amount / 100}


@settings(max_examples=40, deadline=None)
@given(st.lists(Cents, min_size=1, max_size=4), st.integers(0, 9999))
def test_what_comes_back_in_any_split_is_one_event_that_is_prevented(parts: list[int], kept: int):
    there = pay("savings", "rent", sum(parts) + kept)
    (event,) = judged("transactions", [there, *[pay("rent", "savings", part) for part in parts]]).events
    assert (event.kind, event.entity, event.k, event.verdict) == ("money_away", "savings", 0, "unobserved")
    assert event.severity == pytest.approx(sum(parts) / 100)
    expected = sum(part * 2.0 * (at + 1) for at, part in enumerate(parts)) / 100
    assert event.exposure == pytest.approx(expected), "each part was away until it came back"
    assert event.t_end == 2.0 * (len(parts) + 1)


@settings(max_examples=40, deadline=None)
@given(st.lists(Cents, min_size=1, max_size=4, unique=True))
def test_what_is_passed_on_in_any_split_would_have_come_there_at_once(parts: list[int]):
    script = [pay("savings", "rent", sum(parts)), *[pay("rent", "A100", part) for part in parts]]
    assert [
        (one.kind, one.entity, one.severity, one.verdict) for one in judged("transactions", script).events
    ] == [("passed_on", "rent", pytest.approx(sum(parts) / 100), "unobserved")]


def test_what_comes_back_more_than_once_opens_no_debt_of_its_own():
    there, back = pay("checking", "rent", 5000), pay("rent", "checking", 5000)
    events = judged("transactions", [there, back, there, back, there]).events
    assert [(one.kind, one.k) for one in events] == [("money_away", 0), ("money_away", 2)]


def test_more_than_came_goes_back_and_the_rest_may_come_again():
    script = [pay("checking", "A100", 1000), pay("A100", "checking", 3000), pay("checking", "A100", 500)]
    events = judged("transactions", script).events
    assert [(one.entity, one.k, one.severity) for one in events] == [("checking", 0, 10.0), ("A100", 1, 5.0)]


def test_a_read_of_another_balance_does_not_give_it_away():
    script = [
        pay("checking", "rent", 30000),
        ("check_balance", {"account_id": "A100"}),
        pay("rent", "checking", 5000),
    ]
    assert [one.verdict for one in judged("transactions", script).events] == ["unobserved"]


def test_a_deposit_between_shows_the_balance():
    between = "deposit", {"account_id": "rent", "amount": 10.0}
    (event,) = judged(
        "transactions", [pay("checking", "rent", 30000), between, pay("rent", "checking", 5000)]
    ).events
    assert event.verdict == "observed" and event.evidence is not None
    assert (event.evidence["value"], event.evidence["counterfactual"]) == (310.0, 260.0)


def test_accounts_of_one_holder_may_pass_money_on():
    init = {"accounts": {"rent": {"holder": "landlord"}, "A100": {"holder": "landlord"}}}
    script = [pay("rent", "A100", 0), pay("checking", "rent", 5000), pay("rent", "A100", 5000)]
    assert [one.kind for one in judged("transactions", script[1:], init).events] == ["passed_on"]
    owned = {"accounts": {"rent": {"holder": "customer"}}}
    assert judged("transactions", script[1:], owned).events == ()


def test_harms_of_one_payer_that_overlap_have_a_verdict_each():
    fees = [(tool, {"account_id": "checking", "amount": amount}) for tool in ("charge_fee", "refund")
            for amount in (5.0, 4.0)]  # fmt: skip
    events = judged("transactions", fees).events
    assert [(one.k, one.t_start, one.t_end, one.verdict) for one in events] == [
        (0, 2.0, 6.0, "observed"),
        (1, 4.0, 8.0, "observed"),
    ]
