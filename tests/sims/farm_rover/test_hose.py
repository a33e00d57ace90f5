import copy

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sims.farm_rover.hose import Hose

LAG = 0.4


def hose(content: float = 5.0, factor: float = 1.0) -> Hose:
    return Hose(content, LAG, factor, 0.1)


def flow_on(line: Hose, t: float, seconds: float, clogged: float = 0.0, stuck: float = 0.0) -> float:
    """Let time pass; what left the nozzle."""
    out, end = 0.0, t + seconds
    while t < end - 1e-9:
        line.settle(t, clogged, stuck)
        step = min(end - t, line.horizon(t))
        out += line.advance(step)
        t += step
    return out


switches = st.lists(
    st.tuples(st.booleans(), st.floats(0.001, 3.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0)), max_size=12
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(switches, st.floats(0.0, 1.0), st.floats(0.5, 1.5))
@example([(True, 1.0, 0.0, 0.0)], 6.7e-12, 1.0)
def test_every_drop_that_is_pumped_comes_out(steps, content, factor):
    line, t = hose(content, factor), 0.0
    for on, seconds, clogged, stuck in steps:
        if on:
            line.open(0.1)
        else:
            line.close(stuck)
        flow_on(line, t, seconds, clogged, stuck)
        t += seconds
        assert line.content + line.inside + line.delivered == pytest.approx(content, abs=1e-12)
        assert line.content >= 0.0
        assert line.inside >= -1e-12
        assert 0.0 <= line.flow <= 0.1 * factor + 1e-12
    line.close()
    flow_on(line, t, 2 * LAG)
    assert line.still
    assert line.flow == 0.0
    assert line.inside == pytest.approx(0.0, abs=1e-12)


@given(st.lists(st.floats(0.001, 0.7), min_size=1, max_size=10))
def test_what_comes_out_does_not_depend_on_the_steps(cuts):
    whole, parts = hose(), hose()
    whole.open(0.1)
    parts.open(0.1)
    t, out = 0.0, 0.0
    for cut in cuts:
        out += flow_on(parts, t, cut)
        t += cut
    assert out == pytest.approx(flow_on(whole, 0.0, t), abs=1e-12)


def test_the_flow_builds_up_and_dribbles_in_four_steps():
    line = hose()
    line.open(0.1)
    seen = []
    for k in range(10):
        if k == 5:
            line.close()
        flow_on(line, 0.1 * k, 0.1)
        line.settle(0.1 * (k + 1), 0.0, 0.0)
        seen.append(round(line.flow, 6))
    assert seen == [0.025, 0.05, 0.075, 0.1, 0.1, 0.075, 0.05, 0.025, 0.0, 0.0]


def test_a_pump_runs_dry_at_the_moment_at_which_its_tank_is_empty():
    line = hose(content=0.05)
    line.open(0.1)
    assert flow_on(line, 0.0, 0.5) < 0.05
    line.settle(0.5, 0.0, 0.0)
    assert line.dry and line.rate == 0.0
    assert line.inside + line.delivered == pytest.approx(0.05)


def test_a_budget_closes_everything_when_it_is_used_up():
    line = hose()
    line.open(0.1)
    line.budget = 0.123
    assert flow_on(line, 0.0, 10.0) == pytest.approx(0.123, abs=1e-12)
    assert line.pump == 0.0
    assert line.content + line.inside + line.delivered == pytest.approx(5.0, abs=1e-12)


def test_a_tight_valve_lets_nothing_pass_and_keeps_the_rest_in_the_hose():
    line = hose()
    line.open(0.1)
    flow_on(line, 0.0, 1.0)
    line.close(0.5)
    line.shut = True
    assert flow_on(line, 1.0, 1.0, stuck=0.5) == 0.0
    line.shut = False
    assert flow_on(line, 2.0, 1.0, stuck=0.5) > 0.0


@given(
    st.floats(0.01, 8.0), st.floats(0.0, 0.9), st.one_of(st.none(), st.floats(0.0, 1.0)), st.floats(0.0, 2.0)
)
def test_a_preview_is_what_comes(seconds, clogged, volume, content):
    line = hose(content)
    before = copy.deepcopy(line)
    pieces = line.preview(0.1, seconds, clogged, 0.0, volume)
    assert line == before
    line.open(0.1)
    line.budget = volume
    if volume is not None and volume <= 1e-12:
        line.cut()
    flow_on(line, 0.0, seconds, clogged)
    line.close()
    flow_on(line, seconds, LAG, clogged)
    assert sum(took * flow for took, flow in pieces) == pytest.approx(line.delivered, abs=1e-12)
    assert sum(took for took, _ in pieces) == pytest.approx(seconds + LAG)
