"""Each shipped driver with a stand-in on a disturbed line, as `pathrig rigs check --faults` tests it.

    python -m benchmarks.driver_faults [DRIVER...]

Prints a row per driver and disturbance; exits with 1 if one failed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "sims" / "so101_arm")]


def _stand_ins() -> dict[str, Any]:
    from standins.farmbot import FarmBot
    from standins.feetech_bus import FeetechBus
    from standins.grbl import Grbl
    from standins.marlin import Marlin
    from standins.modbus_board import ModbusBoard
    from standins.ros_base import RosBase

    return {
        "farmbot-serial": FarmBot,
        "grbl-serial": Grbl,
        "lerobot": FeetechBus,
        "marlin-serial": Marlin,
        "modbus": ModbusBoard,
        "ros2": RosBase,
        "so101-feetech": FeetechBus,
    }


def main(wanted: list[str]) -> int:
    """Check the wanted drivers, or all."""
    from driver_rig import rig_file
    from test_bus_driver import arm_file

    from configs.rigs_loader import load_rig
    from core_eval.rig.fault_check import check_faults

    failed = 0
    print("| driver | line | verdict | finding |\n| --- | --- | --- | --- |")
    for driver, stand_in in _stand_ins().items():
        if wanted and driver not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder, stand_in() as machine:
            of_arm = driver == "so101-feetech"
            path = arm_file(Path(folder), machine) if of_arm else rig_file(Path(folder), driver, machine.url)
            report = check_faults(load_rig(str(path)))
        failed += len(report.failed)
        for finding in report.findings:
            print(f"| {driver} | {finding.check} | {finding.verdict} | {finding.text} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
