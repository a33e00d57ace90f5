"""The MicroPython example against the real client."""

import shutil
import threading
from pathlib import Path

import pytest
from bridge_rig import wait_until
from micropython_rig import DRY, EXAMPLE, WET, missing, on_mqtt, on_serial

from firmware_bridge import messages as wire

CARELESS_TOOLS = """
def hang():
    valve.value(1)
    while True:
        pass

def drag():
    valve.value(1)
    while True:
        yield

def fail():
    valve.value(1)
    raise OSError("no such probe")

TOOLS.update(hang=(hang, {}), drag=(drag, {}), fail=(fail, {}))

def make_rig(send, **limits):
    return Rig("garden_valve", TOOLS, safe, send, longest_ms=300, **limits)
"""
"""Appended to the example's own: tools that never end, in one step and in many, and one that raises."""

pytestmark = [pytest.mark.skipif(missing() is not None, reason=missing() or ""), pytest.mark.firmware]


@pytest.mark.parametrize("link", [on_serial, on_mqtt])
def test_the_example_keeps_the_rules_of_the_wire(link: object) -> None:
    assert callable(link)
    with link(DRY) as (client, pins):
        assert client.status.device == "garden_valve"
        assert client.call("read_soil", {}).value == {"soil": "dry"}
        first = client.call("open_valve", {"seconds": 0.2}, call_id="once")
        assert (first.status, first.value) == ("ok", {"seconds": 0.2})
        assert pins.wait_for(0)
        assert client.call("open_valve", {"seconds": 0.2}, call_id="once") == first
        assert client.call("open_valve", {"seconds": 99}).message == "seconds must be from 0.1 to 60"
        assert client.call("open_valve", {"seconds": True}).message == "seconds has the wrong type"
        assert client.call("open_valve", {}).code == "bad_arguments"
        assert client.call("dig", {}).code == "unknown_tool"
        assert client.init({}, 0).status == "invalid"
        before = wire.Call(id="b", tool="read_soil", not_after=10**9, boot="before")
        assert client._requests.run(before, 5.0).code == "late"
        own = before.model_copy(update={"id": "o", "boot": client.status.boot})
        assert client._requests.run(own, 5.0).status == "ok" and client.status.m > 0

        outcomes = []
        thread = threading.Thread(target=lambda: outcomes.append(client.call("open_valve", {"seconds": 50})))
        thread.start()
        assert pins.wait_for(1)
        assert client.ping() > 0.0
        assert client.estop(5.0)
        thread.join()
        assert pins.wait_for(0)
        assert (outcomes[0].status, outcomes[0].code) == ("fault", "stopped")
        assert client.call("read_soil", {}).code == "estop"
        assert client.reset(5.0)
        assert client.call("read_soil", {}).status == "ok"
        assert pins.said == []


@pytest.fixture
def careless(tmp_path: Path) -> Path:
    """The example with tools that were written without care."""
    folder = tmp_path / "careless"
    shutil.copytree(EXAMPLE, folder)
    with (folder / "garden.py").open("a") as garden:
        garden.write(CARELESS_TOOLS)
    return folder


def test_it_says_what_reset_it_and_when_it_stops_by_itself() -> None:
    with on_serial(DRY) as (client, _pins):
        assert client.status is not None
        assert (client.status.watchdog_ms, client.status.reset) == (2000, "power")


def test_a_tool_that_goes_on_for_too_long_is_ended(careless: Path) -> None:
    with on_serial(DRY, careless) as (client, pins):
        outcome = client.call("drag", {})
        assert (outcome.status, outcome.code) == ("fault", "overdue")
        assert pins.wait_for_shut_again()
        assert client.call("read_soil", {}).status == "ok"


def test_a_tool_that_raises_leaves_the_valve_shut(careless: Path) -> None:
    with on_serial(DRY, careless) as (client, pins):
        outcome = client.call("fail", {})
        assert (outcome.status, outcome.code) == ("fault", "internal")
        assert pins.wait_for_shut_again()
        assert client.call("read_soil", {}).status == "ok"


def test_a_step_that_never_ends_resets_the_chip(careless: Path) -> None:
    with on_serial(DRY, careless) as (client, pins):
        client.call("hang", {}, timeout=4.0)
        assert pins.wait_for_word("reset by the watchdog\n")
        assert pins.opened


def test_its_stop_button_stops_a_call_and_holds_until_it_is_released_and_reset() -> None:
    with on_serial(DRY) as (client, pins):
        assert client.status is not None and client.status.stop_input == "released"
        outcomes = []
        thread = threading.Thread(target=lambda: outcomes.append(client.call("open_valve", {"seconds": 50})))
        thread.start()
        assert pins.wait_for(1)
        assert pins.lamp == [1]
        pins.press()
        assert pins.wait_for(0)
        thread.join()
        assert (outcomes[0].status, outcomes[0].code) == ("fault", "stopped")
        assert pins.wait_for_lamp(4)
        assert pins.lamp[:4] == [1, 0, 1, 0]
        refused = client.call("read_soil", {})
        assert refused.code == "estop" and "stop input was pressed" in (refused.message or "")
        assert not client.reset(stop_input=True)
        pins.release()
        assert wait_until(lambda: client.status is not None and client.status.stop_input == "latched")
        assert not client.reset()
        assert client.reset(stop_input=True)
        assert client.call("read_soil", {}).status == "ok"


def test_a_press_that_was_not_reset_holds_over_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "pressed"
    shutil.copytree(EXAMPLE, folder)
    (folder / "stop_input.pressed").touch()
    with on_serial(DRY, folder) as (client, pins):
        assert client.status is not None and client.status.state == "estop"
        # Right after its start the contact has not been at rest for long enough to be said to be released.
        assert client.status.stop_input in ("pressed", "latched")
        assert wait_until(lambda: client.status is not None and client.status.stop_input == "latched")
        assert client.status.state == "estop"
        assert client.call("open_valve", {"seconds": 1}).code == "estop"
        assert client.reset(stop_input=True)
        assert not pins.opened


def test_its_interlock_refuses_wet_soil() -> None:
    with on_serial(WET) as (client, pins):
        outcome = client.call("open_valve", {"seconds": 1})
        assert (outcome.status, outcome.code) == ("rejected", "soil_wet")
        assert pins.valve == 0
