"""The rover's firmware on an emulated board, with the farm's physics at its pins: a rig on a serial line.

`python -m sims.farm_rover.emulated_board [--link PATH]` runs it until SIGTERM or SIGINT, and prints the path
that a host opens. SIGUSR1 presses its stop input, SIGUSR2 releases it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from core_eval.text.foreign_json import parse_json
from devices.farm_rover.world import FarmWorld
from firmware_bridge.firmware.build import BuildError, build
from firmware_bridge.serve import end_signals, press_signals
from sims.farm_rover.board_pins import STEP_S, Outputs
from sims.farm_rover.field_at_pins import FieldAtPins
from sims.farm_rover.firmware_tables import shipped_world
from sims.overrides import WorldError, merge_world

END_SECONDS = 5.0


class EmulatedBoard:
    """Emulator process, physics thread, and the pty between the board and a host. A context manager.

    Args:
        world: the field at the pins; the firmware's map is that of the shipped world.
        world_speed: device seconds in a second of the wire's clock. Wheels, pumps and field are that much
            faster, while baud rate, watchdog and deadlines are those of the real board.
        test_hooks: the firmware hangs on a host's request.
        bootloader: clears the chip's reset flags before the firmware reads them, as Arduino's does.
        on_outputs: takes every line of pins, in the physics thread.
    """

    def __init__(
        self,
        world: FarmWorld | None = None,
        *,
        world_speed: int = 1,
        test_hooks: bool = False,
        bootloader: bool = False,
        on_outputs: Callable[[Outputs], None] | None = None,
    ) -> None:
        self.field = FieldAtPins(shipped_world() if world is None else world)
        self.world_speed = world_speed
        self._test_hooks = test_hooks
        self._bootloader = bootloader
        self.path = ""
        self.stack_bytes: int | None = None
        """Maximum depth of the firmware's stack; known once the board was stopped."""
        self._on_outputs = on_outputs
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._ending = threading.Event()

    def start(self) -> None:
        """Build what is missing and power the board up; `path` is then the port that a host opens.

        Raises:
            BuildError: firmware or emulator cannot be built or started.
        """
        command = [*build(self.world_speed, test_hooks=self._test_hooks)]
        if self._bootloader:
            command.append("bootloader")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("pty "):
                self.path = line.split(maxsplit=1)[1].strip()
                break
        else:
            self.stop()
            raise BuildError(f"the emulator {command[0]} did not start")
        self._thread = threading.Thread(target=self._exchange, name=f"field at {self.path}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Cut the board's power."""
        process, self._process = self._process, None
        if process is None:
            return
        self._ending.set()
        if self._thread is not None:
            self._thread.join(END_SECONDS)
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()

    def __enter__(self) -> EmulatedBoard:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def press(self) -> None:
        """Open the contact at the stop input."""
        self.field.stop_pressed = True

    def release(self) -> None:
        """Close it."""
        self.field.stop_pressed = False

    @property
    def outputs(self) -> Outputs:
        """The pins as the board last drove them."""
        return self.field.outputs

    def wait_until(self, condition: Callable[[Outputs], bool], timeout: float = 10.0) -> bool:
        """Wait until the pins meet the condition; return whether they did within `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: condition(self.field.outputs), timeout)

    def _exchange(self) -> None:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        for line in process.stdout:
            word, *rest = line.split()
            if word == "stack":
                self.stack_bytes = int(rest[0])
            elif self._ending.is_set():
                process.stdin.close()
            else:
                answer = self._step(Outputs.parse(line))
                # The emulator may have ended meanwhile; its last output says why.
                with suppress(BrokenPipeError):
                    process.stdin.write(answer)
                    process.stdin.flush()

    def _step(self, outputs: Outputs) -> str:
        with self._changed:
            inputs = self.field.step(outputs, STEP_S * self.world_speed)
            self._changed.notify_all()
        if self._on_outputs is not None:
            self._on_outputs(outputs)
        return inputs.line()


def initial_world(overrides: Any) -> FarmWorld:
    """Return the shipped world with these overrides, in the form of a simulator's `--init`.

    Raises:
        WorldError: a key is unknown, or a value does not fit.
    """
    if not isinstance(overrides, dict):
        raise WorldError('the initial state must be an object, like {"battery": 0.5}')
    return merge_world(shipped_world(), overrides)


def main() -> int:
    """Run a board until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m sims.farm_rover.emulated_board", description=__doc__)
    parser.add_argument("--link", type=Path, help="make this symbolic link to the port")
    parser.add_argument("--world-speed", type=int, default=1, help="how much faster the field is, 1 to 20")
    parser.add_argument("--init", type=Path, help="JSON file that overrides the field's initial state")
    arguments = parser.parse_args()
    if not 1 <= arguments.world_speed <= 20:
        parser.error("--world-speed must be from 1 to 20")
    try:
        overrides = {} if arguments.init is None else parse_json(arguments.init.read_bytes())
        world = initial_world(overrides)
    except (OSError, ValueError, WorldError) as error:
        print(f"--init: {error}", file=sys.stderr)
        return 2
    try:
        board = EmulatedBoard(world, world_speed=arguments.world_speed)
        with end_signals() as wait_for_end, press_signals(board), board:
            if arguments.link is not None:
                arguments.link.unlink(missing_ok=True)
                arguments.link.symlink_to(board.path)
            print(arguments.link or board.path, flush=True)
            wait_for_end()
    except BuildError as error:
        print(error, file=sys.stderr)
        return 3
    finally:
        if arguments.link is not None:
            arguments.link.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
