"""A robot with the interface of LeRobot's class `Robot`, on the bus of the emulated servos.

LeRobot itself needs torch and is not installed for the tests. Interface and behaviour are those of
src/lerobot/robots/robot.py and so_follower.py, version 0.4.4: observations and actions are flat dictionaries
of `NAME.pos`; a lost bus, and a robot that is not connected, raise a ConnectionError.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from firmware_bridge.drivers.feetech import GOAL_POSITION, STEPS, TORQUE_ENABLE, FeetechBus

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
MIDDLE, DEGREES = 2048, 360.0 / STEPS


@dataclass
class ArmConfig:
    port: str
    id: str | None = None
    disable_torque_on_disconnect: bool = True
    cameras: dict[str, Any] = field(default_factory=dict)
    calibrated: bool = True


class Arm:
    config_class = ArmConfig
    name = "standin_follower"

    def __init__(self, config: ArmConfig) -> None:
        self.config = config
        self._bus: FeetechBus | None = None

    @property
    def observation_features(self) -> dict[str, Any]:
        return {**self.action_features, "front": (480, 640, 3)}

    @property
    def action_features(self) -> dict[str, type]:
        return {f"{name}.pos": float for name in JOINTS}

    @property
    def is_connected(self) -> bool:
        return self._bus is not None

    @property
    def is_calibrated(self) -> bool:
        return self.config.calibrated

    def connect(self, calibrate: bool = True) -> None:
        assert not calibrate, "a calibration waits for a person"
        self._bus = FeetechBus(f"serial://{self.config.port}", 0.2)

    def _open(self) -> FeetechBus:
        if self._bus is None:
            raise ConnectionError(f"{self.name} is not connected. Run `.connect()` first.")
        return self._bus

    def get_observation(self) -> dict[str, Any]:
        bus = self._open()
        seen = {f"{name}.pos": (bus.state(n).position - MIDDLE) * DEGREES for n, name in enumerate(JOINTS, 1)}
        return {**seen, "front": [[0]]}

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        steps = {n: round(action[f"{name}.pos"] / DEGREES) + MIDDLE for n, name in enumerate(JOINTS, 1)}
        self._open().write_all(GOAL_POSITION, steps)
        return action

    def disconnect(self) -> None:
        bus, self._bus = self._open(), None
        try:
            if self.config.disable_torque_on_disconnect:
                for number in range(1, len(JOINTS) + 1):
                    bus.write(number, TORQUE_ENABLE, b"\0")
        finally:
            bus.close()
