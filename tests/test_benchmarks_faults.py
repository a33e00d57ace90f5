"""The fault run at a small scale: nothing is executed twice, nothing that nobody sent."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def faults() -> ModuleType:
    path = Path(__file__).parents[1] / "benchmarks" / "faults.py"
    spec = importlib.util.spec_from_file_location("faults", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("kind", "scale"), [("serial", 0.03), ("broker", 0.06), ("disorder", 0.05)])
def test_no_id_is_executed_twice_and_nothing_wrong(faults: ModuleType, kind: str, scale: float) -> None:
    counts = faults.run(kind, scale, seed=3)
    assert counts["executed"] > 0 and counts["answered"] > 0
    assert (counts["twice"], counts["wrong"]) == (0, 0)
    assert counts.get("dropped", 1) > 0 and counts.get("doubled", 1) > 0


def test_a_killed_host_leaves_the_device_safe(faults: ModuleType) -> None:
    counts = faults.run("kill9", 0.03, seed=3)
    assert counts["safe"] == counts["kills"] == counts["executed"] == 3
    assert (counts["twice"], counts["wrong"]) == (0, 0)


def test_a_simulated_link_loses_messages_and_no_call(faults: ModuleType) -> None:
    counts = faults.run("simulated", 0.05, seed=3)
    assert counts["executed"] == counts["answered"] == counts["calls"] == 25
    assert (counts["twice"], counts["wrong"], counts["unanswered"]) == (0, 0, 0)
    assert counts["lost"] > 5 and counts["delayed"] > 50


def test_the_account_would_show_what_is_wrong(faults: ModuleType) -> None:
    ledger = faults.Ledger()
    stop = faults.threading.Event()
    for _ in range(2):
        ledger.execute("work", faults.work(7), stop)
    ledger.execute("work", {"n": 8, "check": 9}, stop)
    ledger.execute("move", faults.work(9), stop)
    assert (ledger.twice, ledger.wrong) == (1, 2)
