import random
from typing import Any

import pytest

from benchmarks.soak import LIMITS, pooled, report, slope


def points(rise: float, seed: int) -> list[tuple[float, float]]:
    noise = random.Random(seed)
    return [(10.0 * n, 5e7 + rise * 10.0 * n + noise.gauss(0, 20_000)) for n in range(240)]


def test_the_bound_lies_above_the_slope_nineteen_times_of_twenty() -> None:
    legs = [[slope(points(50.0, 2 * seed + leg)) for leg in (0, 1)] for seed in range(200)]
    bounds = [pooled([one for one in leg if one is not None]) for leg in legs]
    assert 0.90 < sum(bound > 50.0 for _, bound in bounds) / len(bounds) < 0.99
    # Two legs tell more than one.
    alone = [pooled([leg[0]]) for leg in legs if leg[0] is not None]
    assert sum(bound for _, bound in bounds) < sum(bound for _, bound in alone)


def test_too_few_points_and_calls_that_stand_still_tell_nothing() -> None:
    assert slope(points(1.0, 0)[:23]) is None
    assert slope([(5.0, y) for _, y in points(1.0, 0)]) is None


def test_a_leg_without_change_does_not_hide_another() -> None:
    assert pooled([(0.0, 0.0), (2.0, 0.5)])[1] > 2.5
    assert pooled([(0.0, 0.0), (0.0, 0.0)]) == (0.0, 0.0)


def samples(leak: float, legs: int = 2) -> list[dict[str, Any]]:
    rows = []
    for leg in range(1, legs + 1):
        for n in range(100):
            taken = {"rss": 5e7 + leak * n * 20, "descriptors": 9, "threads": 4}
            counts = {
                f"{who}_{what}": n * 20 for who in ("steady", "service") for what in ("calls", "episodes")
            }
            more = {"steady_bytes": n * 40_000, "beats": n, "missed": 0, "longest_beat": 5.0}
            more["failures"] = {"idle": 0, "begun": 1, "driven": 1}
            row = {"leg": leg, "t": 10.0 * n, "steady": taken, "service": taken, **counts, **more}
            rows.append(row | {"status": {"runs": n}, "alive": True, "load": 1.0})
    return rows


@pytest.mark.parametrize(("leak", "status"), [(0.0, 0), (50.0, 0), (150.0, 1)])
def test_a_leak_above_its_limit_fails(leak: float, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert LIMITS["steady rss"][1] == 100.0
    assert report(samples(leak), warm_up=100.0) == status
    told = capsys.readouterr().out
    assert "0.55 h in 2 legs" in told and "2 times while driven" in told
    assert ("a limit is missed" in told) == bool(status)


def test_what_cannot_be_told_has_not_passed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = samples(0.0)
    assert report(rows, warm_up=1e6) == 1 and "too few after the warm-up" in capsys.readouterr().out
    for change in ({"missed": 1}, {"alive": False}, {"steady_bytes": 1e9}):
        assert report([*rows[:-1], rows[-1] | change], warm_up=100.0) == 1
