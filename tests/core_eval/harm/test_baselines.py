"""The two baselines are blind exactly where they should be."""

from __future__ import annotations

from core_eval.harm.golden import AnsweredCall, final_state_baseline, response_baseline

WATER = AnsweredCall("water", {"plant": "A", "liters": 2}, {"given": 2.0})
SCAN = AnsweredCall("scan", {"plant": "A"}, {"moisture": 0.5})
SPRAY = AnsweredCall("spray", {"plant": "A"}, None)


def test_order_and_extra_calls_cost_nothing():
    assert response_baseline([WATER, SCAN], [SPRAY, SCAN, SPRAY, WATER])
    assert response_baseline([], [SPRAY])


def test_a_missing_call_or_another_result_does():
    assert not response_baseline([WATER, SCAN], [WATER])
    assert not response_baseline([WATER], [AnsweredCall("water", WATER.arguments, {"given": 1.0})])
    assert not response_baseline([WATER], [AnsweredCall("water", {"plant": "B", "liters": 2}, WATER.result)])


def test_it_is_a_multiset():
    assert not response_baseline([WATER, WATER], [WATER, SCAN])
    assert response_baseline([WATER, WATER], [WATER, SCAN, WATER])


def test_the_end_state_without_private_fields():
    golden = {"tank": 3, "_seed": 1, "plants": [{"id": "A", "_noise": 0.1, "wet": True}]}
    assert final_state_baseline(golden, {"tank": 3.0, "_seed": 2, "plants": [{"id": "A", "wet": True}]})
    assert not final_state_baseline(golden, {"tank": 3, "plants": [{"id": "A", "wet": 1}]})
    assert not final_state_baseline(golden, {"tank": 2, "plants": [{"id": "A", "wet": True}]})
