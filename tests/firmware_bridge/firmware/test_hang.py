"""A main loop that hangs, on an emulated board: what still stops the machine, and what the board says then.

The firmware is built with test hooks, by which a host hangs it: `hang` with interrupts, `hang deaf` without.
"""

import json
import threading

import pytest
from farm_rig import at
from firmware_rig import RawHost, Seen, board, crc_line, is_safe

from firmware_bridge.client import RigClient
from firmware_bridge.links import open_link
from sims.farm_rover import board_pins as pins

pytestmark = [pytest.mark.firmware, pytest.mark.stops]

HANG_MS = 250
WATCHDOG_RESET_MS = 500
SLACK_MS = 50
"""For the order on the wire, the step in which the pins are looked at, and what the loop did before."""
GOAL = at("plant_B")


def hang(host: RawHost, how: str, behind: bytes = b"") -> int:
    """Hang the main loop while it works; the board's milliseconds of just before, by a ping in front."""
    # So long a frame that the pong is out before it acts.
    order = json.dumps({"v": 1, "op": how, "fill": "x" * 100}).encode()
    host.catch_up()
    host.raw(crc_line(b'{"op":"ping"}') + crc_line(order) + behind)
    return int(host.op("pong")["m"])


def check_that_it_started_anew(host: RawHost, hung_at: int) -> None:
    """By its watchdog, with nothing done and nothing known."""
    status = host.op("status")
    assert (status["state"], status["reset"]) == ("online", "watchdog")
    assert host.ping() < hung_at
    assert host.call("after", "move_home")["error"]["code"] == "safety_locked"


def test_the_timer_stops_a_rover_whose_main_loop_hangs_and_the_watchdog_resets_it() -> None:
    seen = Seen()
    with (
        board(world_speed=1, test_hooks=True, on_outputs=seen.lines.append) as emulated,
        RawHost(emulated.path) as host,
    ):
        assert host.ready()["reset"] == "power"
        assert host.call("u", "unlock_safety_mode")["status"] == "ok"
        host.send(op="call", id="drive", tool="move_to", args=GOAL)
        assert emulated.wait_until(lambda out: out.moving)
        hung_at = hang(host, "hang")
        check_that_it_started_anew(host, hung_at)
        assert HANG_MS <= seen.took(hung_at, is_safe) <= HANG_MS + SLACK_MS
        # Between the two, the board stood still by the timer's interrupt alone.
        assert all(is_safe(line) for line in seen.lines if line.ms > hung_at + HANG_MS + SLACK_MS)


def test_the_stop_byte_stops_a_rover_whose_main_loop_hangs() -> None:
    seen = Seen()
    with (
        board(world_speed=1, test_hooks=True, on_outputs=seen.lines.append) as emulated,
        RawHost(emulated.path) as host,
    ):
        host.ready()
        assert host.call("u", "unlock_safety_mode")["status"] == "ok"
        host.send(op="call", id="drive", tool="move_to", args=GOAL)
        assert emulated.wait_until(lambda out: out.moving)
        hung_at = hang(host, "hang", behind=b"\x18")
        check_that_it_started_anew(host, hung_at)
        assert seen.took(hung_at, is_safe) <= HANG_MS / 5


def test_a_board_that_hangs_without_interrupts_is_reset_while_it_pumps() -> None:
    seen = Seen()
    with (
        board(test_hooks=True, on_outputs=seen.lines.append) as emulated,
        RawHost(emulated.path) as host,
    ):
        host.ready()
        assert host.call("u", "unlock_safety_mode")["status"] == "ok"
        assert host.call("go", "move_to", **GOAL)["status"] == "ok"
        host.send(op="call", id="water", tool="water_plant", args={"plant_id": "plant_B", "liters": 4.5})
        assert emulated.wait_until(lambda out: bool(out.port_a & pins.PUMP))
        hung_at = hang(host, "hang deaf")
        check_that_it_started_anew(host, hung_at)
        took = seen.took(hung_at, is_safe)
        assert HANG_MS + SLACK_MS < took <= 1.1 * WATCHDOG_RESET_MS


def test_the_shipped_firmware_knows_no_such_op() -> None:
    with board() as emulated, RawHost(emulated.path) as host:
        host.ready()
        for how in ("hang", "hang deaf"):
            host.send(op=how)
        assert host.status()["reset"] == "power"
        now = host.ping()
        host.send(op="hang")
        assert host.ping() >= now


def test_a_host_is_told_that_its_call_was_cut_by_a_reset() -> None:
    with board(world_speed=1, test_hooks=True) as emulated:
        client = RigClient(open_link(f"serial://{emulated.path}"))
        with client:
            client.open()
            client.reset()
            assert client.call("unlock_safety_mode", {}).status == "ok"
            outcomes = []
            thread = threading.Thread(target=lambda: outcomes.append(client.call("move_to", GOAL)))
            thread.start()
            assert emulated.wait_until(lambda out: out.moving)
            client._link.send(b'{"v":1,"op":"hang"}')
            thread.join()
            assert (outcomes[0].status, outcomes[0].code) == ("fault", "device_reset")
            assert client.status is not None and client.status.reset == "watchdog"
            assert not emulated.outputs.moving


def test_behind_a_bootloader_a_watchdog_s_reset_is_told_and_others_are_unknown() -> None:
    with board(test_hooks=True, bootloader=True) as emulated, RawHost(emulated.path) as host:
        assert "reset" not in host.ready()
        hang(host, "hang")
        assert host.op("status")["reset"] == "watchdog"
        assert host.ready()["reset"] == "watchdog"
        hang(host, "hang deaf")
        assert "reset" not in host.op("status")
