"""Contact forces of the bench are physics: they do not depend on the time step."""

import pytest

from benchmarks.contacts import SCRIPTS, severities, time_step
from sims.arm import scene_parts


@pytest.mark.parametrize("name", SCRIPTS)
def test_severities_agree_at_the_shipped_step_and_at_half_of_it(name):
    script, init = SCRIPTS[name]
    shipped = severities(script, init, scene_parts.TIMESTEP, 150.0)
    finer = severities(script, init, scene_parts.TIMESTEP / 2, 150.0)
    assert shipped and shipped == pytest.approx(finer, rel=0.1)


def test_a_cup_is_not_shot_away_by_fingers_that_come_down_into_it():
    script, init = SCRIPTS["fingers down into the cup"]
    found = severities(script, init, scene_parts.TIMESTEP, 1e6)
    assert found.get(("object_displaced", "cup"), 0.0) < 0.05


def test_the_time_step_is_that_of_the_kit_afterwards():
    shipped = scene_parts.TIMESTEP
    with pytest.raises(ZeroDivisionError), time_step(0.001):
        assert scene_parts.TIMESTEP == 0.001
        raise ZeroDivisionError
    assert shipped == scene_parts.TIMESTEP
