"""The fault run at a small scale: nothing is executed twice, nothing that was not sent."""

from __future__ import annotations

import threading

import pytest

from benchmarks.fault_runs.ledger import Ledger, work
from benchmarks.faults import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("kind", "scale"), [("serial", 0.03), ("broker", 0.06), ("disorder", 0.05)])
def test_no_id_is_executed_twice_and_nothing_wrong(kind: str, scale: float) -> None:
    counts = run(kind, scale, seed=3)
    assert counts["executed"] > 0 and counts["answered"] > 0
    assert (counts["twice"], counts["wrong"]) == (0, 0)
    assert counts.get("dropped", 1) > 0 and counts.get("doubled", 1) > 0


def test_a_killed_host_leaves_the_device_safe() -> None:
    counts = run("kill9", 0.03, seed=3)
    assert counts["safe"] == counts["kills"] == counts["executed"] == 3
    assert (counts["twice"], counts["wrong"]) == (0, 0)


def test_a_simulated_link_loses_messages_and_no_call() -> None:
    counts = run("simulated", 0.05, seed=3)
    assert counts["executed"] == counts["answered"] == counts["calls"] == 25
    assert (counts["twice"], counts["wrong"], counts["unanswered"]) == (0, 0, 0)
    assert counts["lost"] > 5 and counts["delayed"] > 50


def test_the_account_would_show_what_is_wrong() -> None:
    ledger = Ledger()
    stop = threading.Event()
    for _ in range(2):
        ledger.execute("work", work(7), stop)
    ledger.execute("work", {"n": 8, "check": 9}, stop)
    ledger.execute("move", work(9), stop)
    assert (ledger.twice, ledger.wrong) == (1, 2)
