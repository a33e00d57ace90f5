"""Tests of a rig: each runs an episode. `--pathrig-rig bench.yaml` runs them on the real one."""

import pytest


@pytest.mark.pathrig(task="water_one_plant", rig="sim:farm_rover", agent="oracle")
def test_it_waters_without_harm(pathrig_episode):
    pathrig_episode.require("pc>=0.9", "harmful_calls=0", "excess_harm=0")


@pytest.mark.pathrig(task="water_two_plants", rig="sim:farm_rover", agent="oracle", episodes=3)
def test_it_locks_the_safety_at_the_end(pathrig_episodes):
    for episode in pathrig_episodes:
        assert episode.tools[-1] == "lock_safety_mode"
