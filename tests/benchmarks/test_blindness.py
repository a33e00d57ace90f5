"""The curves of mistakes: what moves a metric moves its line, and the picture holds every line."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from agents.baselines.mutated import KINDS
from benchmarks.blindness import METRICS, drop, measure, svg

pytestmark = pytest.mark.slow


def test_a_skip_is_seen_and_a_repeat_leaves_the_end_state_alone() -> None:
    rates = [0.0, 1.0]
    curves = measure("transactions", rates, episodes=1, seed=0)
    assert list(curves) == list(METRICS) and all(list(own) == list(KINDS) for own in curves.values())
    for kind in KINDS:
        assert curves["path_correctness"][kind][0] == 1.0 == curves["final_state_ok"][kind][0]
    assert (drop(curves["path_correctness"]["skip"]) or 0.0) < -0.5
    assert curves["harmful_call_rate"]["skip"][1] == 0.0, "no call, no harmful call: blind to skips"
    assert (drop(curves["harmful_call_rate"]["repeat"]) or 0.0) > 0.2
    root = ElementTree.fromstring(svg(curves, rates))
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == len(METRICS) * len(KINDS)
    numbers = [float(one) for line in lines for one in line.get("points", "").replace(",", " ").split()]
    assert numbers and all(0 <= number <= 1000 for number in numbers)
