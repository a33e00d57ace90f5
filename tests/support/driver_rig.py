"""Rigs behind drivers, for tests: a rig file over a stand-in, opened as `pathrig run` opens it."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import yaml

from configs.rigs_loader import load_rig
from core_eval.rig.check import Finding
from core_eval.rig.fault_check import check_faults
from core_eval.rig.opening import open_rig
from core_eval.rig.session import RigSession
from devices.outcome import Outcome
from firmware_bridge.fault_proxy import Disturbance

RELAYS = {"flow": 30.0, "spray_flow": 400.0}
FAST: dict[str, dict[str, Any]] = {
    "farmbot-serial": {**RELAYS, "boot_seconds": 0.5},
    "grbl-serial": {"grip_seconds": 0.01, "boot_seconds": 0.1, "stop_seconds": 0.3},
    "lerobot": {"robot": "lerobot_robot_standin:Arm", "speed": 180.0, "arrival_seconds": 0.5},
    "marlin-serial": {"grip_seconds": 0.01, "answer_seconds": 1.0, "boot_seconds": 5.0},
    "modbus": {"flow": 30.0},
    "ros2": {"answer_seconds": 1.0},
    "so101-feetech": {"speed": 0.6, "grip_seconds": 0.02, "answer_seconds": 0.4},
    "tasmota-mqtt": RELAYS,
    "esphome-mqtt": RELAYS,
    "homeassistant-mqtt": RELAYS,
    "zigbee2mqtt": RELAYS,
}
"""Options of quick machines. The time for an answer is the driver's: a busy machine holds up a stand-in."""
SHORT_WAIT = {"answer_seconds": 1.0}
"""Of tests in which a machine falls silent."""


def rig_file(folder: Path, base: str, url: str, **options: Any) -> Path:
    """A rig file of one's own over a shipped one."""
    path = folder / f"my-{base}.yaml"
    text = {"base": base, "name": f"my-{base}", "url": url, "driver_options": {**FAST[base], **options}}
    path.write_text(yaml.safe_dump(text, sort_keys=False))
    return path


@contextmanager
def driven(path: Path, device: str) -> Iterator[RigSession]:
    """The rig, at the start of an episode."""
    with open_rig(load_rig(str(path))) as session:
        assert session.initialise(device, {}, 0, required=False) is False
        yield session


SIDE_BY_SIDE = (
    (Disturbance.MUTE,),
    (Disturbance.CUT, Disturbance.DELAY, Disturbance.MASTER),
    (Disturbance.GARBAGE,),
)
"""All disturbances, such that their waits are of about the same length."""


def faults_found(
    serve: Callable[[], AbstractContextManager[Any]], rig: Callable[[Path, Any], Path], folder: Path
) -> list[Finding]:
    """What `check_faults` finds, at three machines side by side: most of its time is waiting."""

    def check(number: int) -> list[Finding]:
        own = folder / str(number)
        own.mkdir()
        with serve() as machine:
            return list(check_faults(load_rig(str(rig(own, machine))), SIDE_BY_SIDE[number]).findings)

    with ThreadPoolExecutor(len(SIDE_BY_SIDE)) as pool:
        found = [one for some in pool.map(check, range(len(SIDE_BY_SIDE))) for one in some]
    assert {one.check for one in found} == {"undisturbed", *Disturbance} - {Disturbance.NONE}
    return found


class Calling:
    """A call in a thread of its own."""

    def __init__(self, session: RigSession, tool: str, arguments: Mapping[str, Any]) -> None:
        self.outcome: Outcome | None = None
        self._thread = threading.Thread(target=self._call, args=(session, tool, arguments))
        self._thread.start()

    def _call(self, session: RigSession, tool: str, arguments: Mapping[str, Any]) -> None:
        self.outcome = session.call(tool, arguments, None)

    def result(self) -> Outcome:
        """Its outcome."""
        self._thread.join(60)
        assert self.outcome is not None, "the call did not end"
        return self.outcome


def said(outcome: Outcome) -> tuple[str, str | None]:
    """Status and code."""
    return outcome.status, outcome.code


def new_name(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex[:6]}"
