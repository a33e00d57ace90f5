"""An arm behind LeRobot's class `Robot` (huggingface/lerobot, src/lerobot/robots/robot.py, version 0.4).

Its observations and actions are flat dictionaries: `NAME.pos` is a joint's position in the units of its
configuration, `NAME.vel` a velocity, and an array a camera's picture, which is left out here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import urlsplit

from devices.drivers.tool_driver import LockedDriver
from devices.outcome import Refusal
from firmware_bridge.link import LinkError
from firmware_bridge.serial.address import parse_serial_url

T = TypeVar("T")
POSITION = ".pos"
PACKAGES = "lerobot", "lerobot_robot_"
"""LeRobot itself, and how the names of packages with more robots begin."""
PERIOD, QUIET_SECONDS = 0.02, 0.1
KEEPS_TORQUE = {"disable_torque_on_disconnect": False}


class LerobotArm(LockedDriver):
    """Joints have the names and units of the robot's class."""

    def connect(self) -> None:
        """Connect without calibration, and read the joints."""
        robot = _robot_class(self.options["robot"])
        self._robot = self._tried(lambda: robot(self._config(robot.config_class)))
        self._goal: dict[str, float] = {}
        self.firmware = f"LeRobot {self._robot.name}"
        self._tried(lambda: self._robot.connect(calibrate=False))
        try:
            if not self._tried(lambda: self._robot.is_calibrated):
                raise OSError(f"{self.options['id']} is not calibrated: run lerobot-calibrate")
            self._here = self._read()
        except OSError:
            self.close()
            raise

    def _config(self, kind: Any) -> Any:
        parts = urlsplit(self.url)
        try:
            address = parts.hostname or parse_serial_url(self.url).resolve()
            given = json.loads(self.options["config"])
        except (LinkError, ValueError) as error:
            raise OSError(f"{error} (the url, or the option config)") from None
        known = {field.name for field in dataclasses.fields(kind)}
        kept = {key: value for key, value in KEEPS_TORQUE.items() if key in known}
        return kind(**{"id": self.options["id"], self.options["address"]: address} | kept | given)

    def _tried(self, action: Callable[[], T]) -> T:
        """Run what the robot's class does: whatever it raises is a lost robot."""
        with self.talking:
            try:
                return action()
            except OSError:
                raise
            except Exception as error:
                raise OSError(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Disconnect; LeRobot's own default would let the arm fall."""
        with contextlib.suppress(OSError):
            self._tried(self._robot.disconnect)

    def _read(self) -> dict[str, float]:
        seen = self._tried(self._robot.get_observation)
        self._here = {
            key.removesuffix(POSITION): float(value) for key, value in seen.items() if key.endswith(POSITION)
        }
        for name, value in self._here.items():
            self.sample(f"joint.{name}", round(value))
        return self._here

    def _send(self, joints: Mapping[str, float]) -> None:
        keys = self._robot.action_features
        # What is no position is a velocity, and rests at zero.
        action = {key: joints.get(key.removesuffix(POSITION), 0.0) for key in keys}
        self._tried(lambda: self._robot.send_action(action))

    def stop(self) -> None:
        """Hold: each joint's goal becomes where it is, or was last seen; a gripper presses on."""
        with self.talking:
            self.locked = True
            try:
                here = self._read()
            except OSError:
                here = self._here
            keep = self.options["keep"]
            self._send(here | {name: goal for name, goal in self._goal.items() if name == keep})

    def standing(self) -> bool:
        """Whether two observations, 0.1 s apart, are the same."""
        before = self._read()
        time.sleep(QUIET_SECONDS)
        now = self._read()
        return all(abs(now[name] - before[name]) <= self.options["still"] for name in before)

    def poll(self) -> None:
        """Read the joints."""
        self._read()

    def move_joints(self, joints: Mapping[str, Any]) -> Mapping[str, float]:
        """Send goals on the way, evenly, and wait until the joints are near the last."""
        self.unlocked()
        here = self._read()
        for name, value in joints.items():
            if name not in here or f"{name}{POSITION}" not in self._robot.action_features:
                raise Refusal("unknown_name", f"there is no joint {name!r}; there are {', '.join(here)}.")
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise Refusal("bad_value", f"{name} must be a number.")
        goals = {name: float(value) for name, value in joints.items()}
        # A joint that is not named keeps its goal, so that a load does not push it on, call by call.
        start = here | {name: goal for name, goal in self._goal.items() if name not in goals}
        farthest = max((abs(goal - here[name]) for name, goal in goals.items()), default=0.0)
        steps = max(1, round(farthest / self.options["speed"] / PERIOD))
        for step in range(1, steps + 1):
            share = step / steps
            way = start | {name: here[name] + (goal - here[name]) * share for name, goal in goals.items()}
            with self.acting():
                self._send(way)
                self._goal = way
            self.pause(PERIOD)

        def near() -> bool:
            now = self._read()
            return all(abs(now[name] - goal) <= self.options["near"] for name, goal in goals.items())

        self.until(near, self.options["arrival_seconds"], "the goal")
        return self.sense_joints()

    def reset(self) -> None:
        """Leave the stop; joints hold where they are."""
        super().reset()
        self._goal = {}

    def sense_joints(self) -> Mapping[str, float]:
        """Return every joint's position."""
        return {name: round(value, 2) for name, value in self._read().items()}

    def list_joints(self) -> Mapping[str, list[str]]:
        """Return the names of the joints that can be moved."""
        keys = self._robot.action_features
        return {"joints": [key.removesuffix(POSITION) for key in keys if key.endswith(POSITION)]}


def _robot_class(reference: str) -> Any:
    """Import the class; of LeRobot alone, as a rig's file may come from others. Raises OSError."""
    module, _, name = reference.partition(":")
    package = module.split(".")[0]
    if package != PACKAGES[0] and not package.startswith(PACKAGES[1]):
        raise OSError(f"{reference}: robots are of lerobot, or of a package {PACKAGES[1]}NAME")
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        raise OSError(f"{reference} needs {error.name}: pip install 'pathrig[lerobot]'") from None
    except AttributeError:
        raise OSError(f"{module} has no class {name!r}") from None
