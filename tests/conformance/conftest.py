"""What the day can do without: vectors on a device whose code another device of the day runs too."""

from __future__ import annotations

from pathlib import Path

import pytest

FILE = Path(__file__).with_name("test_devices.py")
BY_DAY = {
    # The endpoint and the port of `endpoint-serial`.
    "physical_endpoint_on_serial": ("init_of_a_physical_device", "host_messages"),
    # The sources of `firmware-native`, which has no watchdog, and no line that overflows or breaks.
    "emulated_board": (
        *("watchdog", "watchdog_in_a_call", "watchdog_of_no_message", "guard_on_the_chip", "guard_frames"),
        *("stop_of_the_link", "stop_byte_in_noise", "stop_byte_inside_a_frame", "stop_after_resets"),
        *("estop_in_any_form", "estop_of_a_running_call", "reset_while_a_stopped_call_ends", "late_calls"),
        *("the_longest_frame", "overlong_line_is_dropped_whole", "last_32_results_kept", "frames"),
        *("init_of_a_physical_device", "id_text_and_number"),
    ),
    # The rig of `micropython-serial`.
    "micropython_on_mosquitto": (
        *("watchdog_in_a_call", "anything_on_the_stop_topic", "stop_of_the_link", "estop_of_a_running_call"),
        *("id_runs_once", "calls_of_another_boot", "payloads_that_are_no_json_object"),
    ),
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path == FILE and isinstance(item, pytest.Function):
            played = item.callspec.params
            name = played.get("name") or item.originalname.removeprefix("test_")
            if name not in BY_DAY.get(played["peer"].__name__, (name,)):
                item.add_marker(pytest.mark.nightly)
