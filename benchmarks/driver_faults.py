"""Each shipped driver with a stand-in on a disturbed line, as `pathrig rigs check --faults` tests it.

    python -m benchmarks.driver_faults [DRIVER...]

Prints a row per driver and disturbance; exits with 1 if one failed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "sims" / "so101_arm")]


@contextmanager
def _on_a_broker(node: Any, *has: Any) -> Iterator[Any]:
    from own_broker import Mosquitto

    with Mosquitto() as broker, node(broker.url, "garden", *has) as machine:
        yield machine


def _stand_ins() -> dict[str, Callable[[], Any]]:
    """Each line of the table: a driver, and where it has two kinds of line a word for this one."""
    from standins.farmbot import FarmBot
    from standins.feetech_bus import FeetechBus
    from standins.grbl import Grbl
    from standins.marlin import Marlin
    from standins.modbus_board import ModbusBoard
    from standins.mqtt_nodes import EspHome, HomeAssistant, Tasmota, Zigbee2Mqtt
    from standins.ros_base import RosBase

    switches = ("valve_a", "valve_b", "sprayer_a")
    return {
        "farmbot-serial": FarmBot,
        "grbl-serial": Grbl,
        "lerobot": FeetechBus,
        "marlin-serial": Marlin,
        "modbus": ModbusBoard,
        "modbus RTU": partial(ModbusBoard, rtu=True),
        "ros2": RosBase,
        "so101-feetech": FeetechBus,
        "tasmota-mqtt": partial(_on_a_broker, Tasmota),
        "esphome-mqtt": partial(_on_a_broker, EspHome, switches),
        "homeassistant-mqtt": partial(_on_a_broker, HomeAssistant, switches),
        "zigbee2mqtt": partial(_on_a_broker, Zigbee2Mqtt, switches),
    }


def main(wanted: list[str]) -> int:
    """Check the wanted drivers, or all."""
    from driver_rig import rig_file
    from test_bus_driver import arm_file

    from configs.rigs_loader import load_rig
    from core_eval.rig.fault_check import check_faults

    failed = 0
    print("| driver | line | verdict | finding |\n| --- | --- | --- | --- |")
    for line, stand_in in _stand_ins().items():
        if wanted and line not in wanted:
            continue
        driver = line.split()[0]
        with tempfile.TemporaryDirectory() as folder, stand_in() as machine:
            of_arm = driver == "so101-feetech"
            more = {"status_topic": "garden-status/status"} if driver.startswith("homeassistant") else {}
            at = Path(folder)
            path = arm_file(at, machine) if of_arm else rig_file(at, driver, machine.url, **more)
            report = check_faults(load_rig(str(path)))
        failed += len(report.failed)
        for finding in report.findings:
            print(f"| {line} | {finding.check} | {finding.verdict} | {finding.text} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
