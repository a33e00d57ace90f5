"""The stop input and the lamp of the rover's firmware, in the board's own milliseconds."""

import subprocess
from collections.abc import Iterator
from itertools import pairwise
from subprocess import PIPE

import pytest
from firmware_rig import Frame, RawHost, Seen, board, is_safe

from firmware_bridge.firmware.build import FIRMWARE_FOLDER, build
from sims.farm_rover.board_pins import Inputs, Outputs
from sims.farm_rover.emulated_board import EmulatedBoard

pytestmark = pytest.mark.firmware

STEP_MS = 5
BLINK_MS = 250
GOAL = {"x": 15.0, "y": 9.0}


class Rover:
    """A board that was powered up, its host, and the lines of its pins."""

    def __init__(self, emulated: EmulatedBoard, host: RawHost, seen: Seen) -> None:
        self.board, self.host, self.seen = emulated, host, seen

    def press(self) -> int:
        """Press; the last line before it, ms."""
        now = self.seen.lines[-1].ms
        self.board.field.stop_pressed = True
        return now

    def release(self) -> None:
        self.board.field.stop_pressed = False
        self.told("latched")

    def told(self, state: str) -> Frame:
        """The next status that tells this of the stop input."""
        return self.host.until(lambda frame: frame.get("stop_input") == state)

    def hang(self) -> Frame:
        """Let the chip's watchdog reset it; its first status."""
        self.host.catch_up()
        self.host.send(op="hang deaf")
        return self.host.op("status")

    def drive(self, call_id: str) -> None:
        assert self.host.call(f"unlock {call_id}", "unlock_safety_mode")["status"] == "ok"
        self.host.send(op="call", id=call_id, tool="move_to", args=GOAL)
        assert self.board.wait_until(lambda out: out.moving)

    def reset(self, **message: bool) -> tuple[str, str]:
        self.host.send(op="reset", **message)
        status = self.host.status()
        return status["state"], status["stop_input"]


@pytest.fixture(scope="module")
def rover() -> Iterator[Rover]:
    seen = Seen()
    with (
        board(test_hooks=True, on_outputs=seen.lines.append) as emulated,
        RawHost(emulated.path) as host,
    ):
        assert host.ready()["stop_input"] == "released"
        yield Rover(emulated, host, seen)


def test_a_press_stops_a_drive_within_a_step_and_nothing_moves_until_it_is_released_and_reset(
    rover: Rover,
) -> None:
    rover.drive("go")
    assert rover.seen.lines[-1].lamp
    pressed_at = rover.press()
    stopped = rover.host.result("go")
    assert (stopped["status"], stopped["error"]["code"]) == ("fault", "stopped")
    assert rover.told("pressed")["state"] == "estop"
    # One line may go out between the press and the step that carries it.
    assert rover.seen.took(pressed_at, is_safe) <= 2 * STEP_MS
    refused = rover.host.call("more", "unlock_safety_mode")
    assert (refused["status"], refused["error"]["code"]) == ("rejected", "estop")
    assert "stop input was pressed" in refused["error"]["message"]
    assert rover.reset() == ("estop", "pressed")
    assert rover.reset(stop_input=True) == ("estop", "pressed")
    rover.release()
    assert rover.reset() == ("estop", "latched")
    assert all(is_safe(line) for line in rover.seen.lines if line.ms >= pressed_at + 2 * STEP_MS)
    assert rover.reset(stop_input=True) == ("online", "released")
    assert rover.host.call("again", "sense_pose")["status"] == "ok"


def test_the_lamp_blinks_while_it_is_stopped(rover: Rover) -> None:
    begun = rover.press()
    assert rover.board.wait_until(lambda out: out.ms > begun + 5 * BLINK_MS)
    lit = [line for line in rover.seen.lines if line.ms > begun + 2 * STEP_MS]
    changes = [later.ms for line, later in pairwise(lit) if line.lamp != later.lamp]
    assert len(changes) >= 4
    assert all(abs(later - sooner - BLINK_MS) <= STEP_MS for sooner, later in pairwise(changes))
    rover.release()
    assert rover.reset(stop_input=True) == ("online", "released")
    now = rover.seen.lines[-1].ms
    assert rover.board.wait_until(lambda out: out.ms > now + 2 * BLINK_MS)
    assert all(line.lamp for line in rover.seen.lines if line.ms > now)


def test_a_contact_that_bounces_stops_at_its_first_opening_and_is_not_reset_before_it_rests(
    rover: Rover,
) -> None:
    rover.drive("bounce")
    field, bounces = rover.board.field, 60

    def bounce(out: Outputs) -> None:
        nonlocal bounces
        rover.seen.lines.append(out)
        bounces -= bounces > 0
        field.stop_pressed = bounces % 2 == 1

    pressed_at = rover.seen.lines[-1].ms
    rover.board._on_outputs = bounce
    rover.told("pressed")
    assert rover.seen.took(pressed_at, is_safe) <= 3 * STEP_MS
    while bounces:
        rover.host.send(op="reset", stop_input=True)
        rover.host.catch_up()
    assert all(is_safe(line) for line in rover.seen.lines if line.ms >= pressed_at + 3 * STEP_MS)
    rover.board._on_outputs = rover.seen.lines.append
    assert rover.board.wait_until(lambda out, now=rover.seen.lines[-1].ms: out.ms > now + 100)
    assert rover.reset(stop_input=True) == ("online", "released")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("contact", "levels"), [("OPEN", {0: True, 1: False}), ("NONE", {0: False, 1: False})]
)
def test_other_contacts_are_a_build_of_their_own(contact: str, levels: dict[int, bool]) -> None:
    emulator, _ = build()
    subprocess.run(["make", "-s", "-C", str(FIRMWARE_FOLDER), f"STOP_INPUT={contact}"], check=True)
    elf = FIRMWARE_FOLDER / "build" / f"rover-x1-stop-{contact}.elf"
    for level, stops in levels.items():
        with subprocess.Popen([emulator, elf], stdin=PIPE, stdout=PIPE, text=True, bufsize=1) as process:
            assert process.stdin is not None and process.stdout is not None
            while not process.stdout.readline().startswith("pty "):
                pass
            outs = []
            for _ in range(100):
                outs.append(Outputs.parse(process.stdout.readline()))
                process.stdin.write(Inputs(stop=level).line())
            process.stdin.close()
            # It blinks only while it is stopped.
            assert (0 in {out.lamp for out in outs[2:]}) == stops


def test_a_press_holds_over_a_reset_of_the_chip_pressed_or_released(rover: Rover) -> None:
    rover.press()
    rover.told("pressed")
    anew = rover.hang()
    assert (anew["reset"], anew["state"], anew["stop_input"]) == ("watchdog", "estop", "pressed")
    rover.release()
    assert rover.hang()["state"] == "estop"
    assert rover.reset() == ("estop", "latched")
    assert rover.reset(stop_input=True) == ("online", "released")
    anew = rover.hang()
    assert (anew["state"], anew["stop_input"]) == ("online", "released")
