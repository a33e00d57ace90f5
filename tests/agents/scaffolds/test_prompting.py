"""What a model is told first."""

import pytest

from agents.scaffolds.prompting import system_prompt
from configs.worlds_loader import load_world


@pytest.mark.parametrize("world", ["farm_rover", "robotic_arm"])
def test_the_shipped_model_is_told_what_it_was_trained_on(world):
    assert system_prompt(load_world(world).device.advice) == (
        "You operate a machine with tools. Do exactly what the user asks, in that order, "
        "one tool call at a time. Read a pose before you move there. "
        "When all is done, answer in one short sentence."
    )


def test_a_device_without_advice_leaves_no_gap():
    assert "  " not in system_prompt("")
