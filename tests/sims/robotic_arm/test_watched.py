"""Harm computed from outside, from the state at 100 Hz, agrees with the events that the simulator raises."""

from functools import cache
from typing import Any

import pytest
from arm_rig import WORLD, arm, do, pick, place, to

from core_eval.harm.harmful_events import harm_events, stopped_by_harm

SIGNALS = {
    "collision": ("touch", lambda entity: 0.0),
    "object_displaced": ("displaced", lambda entity: WORLD.limits.displacement),
    "drop": ("fallen", lambda entity: WORLD.limits.drop_height),
    "grip_force": ("squeeze", lambda entity: WORLD.objects[entity].force_limit),
    "keep_out": ("intrusion", lambda entity: 0.0),
    "stacking": ("stacked", lambda entity: WORLD.limits.stacked_load),
}
LOOK = 0.01
LATE = 0.025
"""The watch looks every 20 ms, and contacts are those of the last step of 2 ms."""

ON_TOP = ("place", {"x": 0.35, "y": 0.6, "z": 0.075, "yaw": 0.0})

EPISODES = [
    [pick("box_small"), ("open_gripper", {}), to(0.5, 0.08, 0.03), to(0.5, 0.32, 0.03), ("home", {})],
    [pick("box_small"), place("bin_left"), pick("cup"), ON_TOP, to(0.85, -0.5, 0.3), ("home", {})],
    [to(0.4, -0.35, 0.2), to(0.4, -0.35, 0.02), ("close_gripper", {}), to(0.6, 0.6, 0.2)],
]
INIT = {"light_curtain": [{"at": 1.0, "seconds": 2.5}]}


@cache
def played(number, watched):
    simulator, samples = arm(INIT)
    seen: list[tuple[float, dict[str, Any]]] = []
    if watched:
        simulator.watch(LOOK, lambda t: seen.append((t, simulator.state_dict())))
    for tool, arguments in EPISODES[number]:
        assert do(simulator, tool, **arguments).status == "ok"
    simulator.finish()
    return simulator, samples, seen


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(EPISODES)))
def test_to_be_watched_changes_nothing(number):
    alone, samples, _ = played(number, watched=False)
    watched, others, _ = played(number, watched=True)
    assert alone.state_dict() == watched.state_dict()
    assert (alone.events, samples) == (watched.events, others)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(EPISODES)))
def test_the_rules_computed_from_the_state_agree_with_the_events(number):
    simulator, _, seen = played(number, watched=True)
    above: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for t, state in seen:
        for kind, (key, limit) in SIGNALS.items():
            for entity, value in state[key].items():
                if value > limit(entity):
                    above.setdefault((kind, entity), []).append((t, value - limit(entity)))
        if state["light_curtain"] == "broken" and not state["safety_locked"]:
            excess = state["speed"] - WORLD.limits.still_speed
            if excess > 0.0:
                above.setdefault(("light_curtain", "light_curtain"), []).append((t, excess))
        if state["peak_overload"] > 0.0:
            above.setdefault(("peak_torque", "arm"), []).append((t, state["peak_overload"]))
    spans: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for event in simulator.events:
        spans.setdefault((event.kind, event.entity), []).append((event.t_start, event.t_end))
    for key, looks in above.items():
        if key[0] in ("object_displaced", "drop", "stacking"):
            looks = looks[:1]  # events of what lies where it was pushed or fell to end when it rests
        for t, _ in looks:
            assert any(start - LATE <= t <= end + LATE for start, end in spans.get(key, [])), (key, t)
    assert {key for key in spans if key[0] != "collision"} <= set(above)
    for event in simulator.events:
        looks = above.get((event.kind, event.entity), [])
        peaks = [excess for t, excess in looks if event.t_start - LATE <= t <= event.t_end + LATE]
        if event.kind in ("object_displaced", "drop", "grip_force", "keep_out", "light_curtain"):
            assert max(peaks) == pytest.approx(event.severity, rel=0.1, abs=2e-3)


def test_in_a_hurry_calls_come_to_the_same_state_and_harm_and_no_sensor_is_read():
    """The draw of hazards depends on it: boxes are pushed while the light curtain is broken."""
    found = []
    for hurries in (False, True):
        simulator, samples = arm(INIT)
        simulator.hurries = hurries
        at_first = len(samples)
        script = [to(0.5, 0.08, 0.03), to(0.5, 0.32, 0.03), ("wait", {"seconds": 3.0}), ("open_gripper", {})]
        outcomes = [do(simulator, tool, **arguments) for tool, arguments in script]
        simulator.finish()
        state = simulator.state_dict()
        simulator.run_out()
        found.append((outcomes, state, simulator.events))
        assert (len(samples) == at_first) == hurries
    assert found[0] == found[1]
    assert {"collision", "light_curtain"} <= {event.kind for event in found[0][2]}


@pytest.mark.parametrize("first", [False, True])
def test_a_run_up_to_its_first_harm_ends_in_the_motion_that_does_it(first):
    simulator, _ = arm({"light_curtain": [{"at": 0.5, "seconds": 60.0}]})
    tool, goal = to(0.5, 0.32, 0.3)
    with stopped_by_harm(simulator, first) as stop:
        outcome = simulator.execute(tool, goal, stop)
    assert (outcome.code, simulator.clock.now < 0.9) == (("stopped", True) if first else (None, False))
    assert [event.kind for event in harm_events(simulator)] == ["light_curtain"]
    stop.clear()
    simulator.execute("unlock_safety", {}, stop)
    assert simulator.execute("home", {}, stop).code is None


@pytest.mark.parametrize("fault", [None, {"kind": "weak_gripper", "at": 400.0}])
def test_a_wait_at_rest_is_looked_at_only_where_a_fault_may_harm(fault, monkeypatch):
    simulator, _ = arm({"faults": {"schedule": [fault] if fault else []}})
    simulator.hurries = True
    assert do(simulator, "pick", object_id="box_small").status == "ok"
    parts = []
    evolve = simulator.evolve
    monkeypatch.setattr(simulator, "evolve", lambda seconds: (parts.append(seconds), evolve(seconds)))
    with stopped_by_harm(simulator, True) as stop:
        outcome = simulator.execute("wait", {"seconds": 600.0}, stop)
    kinds = {event.kind for event in harm_events(simulator)}
    assert len(parts) < 50 and max(parts) > 300.0
    if fault is None:
        assert (outcome.code, kinds) == (None, set())
    else:
        assert (outcome.code, kinds) == ("stopped", {"drop"}) and simulator.clock.now < 402.0
