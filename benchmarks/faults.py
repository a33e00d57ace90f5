"""Faults of every kind on loopback, seeded and bounded, and the number of wrong executions: none.

    python benchmarks/faults.py [--scale 1.0] [--seed 0] [--only NAME ...]

`serial`: 100,000 frames of calls to a device on a pseudo terminal, half of them with flipped, lost or
inserted bytes. `broker`: a mosquitto killed and restarted 50 times while calls run. `disorder`: each message
of 2,000 calls may come twice, later than the next ones, or after its deadline. `kill9`: a host process killed
at 100 random moments of a call in flight, and the time until the device is in its safe state. `simulated`:
500 calls to the farm rover's simulator on a pseudo terminal, whose own world loses a fifth of the messages
and delays the rest by 2 ms, both ways; each call takes 0.2 s of device time, so its clock counts them too.

Each line gives the numbers of calls made, executed and answered, and of ids executed more than once or with
arguments that were never sent. The exit status is 1 if any of these two is not 0.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.fault_runs.broker_restarts import broker_restarts
from benchmarks.fault_runs.disorder import disorder
from benchmarks.fault_runs.killed_hosts import kill_hosts
from benchmarks.fault_runs.ledger import Counts
from benchmarks.fault_runs.serial_noise import serial_noise
from benchmarks.fault_runs.simulated_link import simulated_link

FULL = {"serial": 100_000, "broker": 50, "disorder": 2_000, "kill9": 100, "simulated": 500}
"""Frames, restarts, calls, kills and calls at scale 1."""

RUNS: Mapping[str, Callable[[int, int], Counts]] = {
    "serial": serial_noise,
    "broker": broker_restarts,
    "disorder": disorder,
    "kill9": kill_hosts,
    "simulated": simulated_link,
}


def run(name: str, scale: float, seed: int) -> Counts:
    """Run one kind of fault at a scale."""
    return RUNS[name](max(2, round(FULL[name] * scale)), seed)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=RUNS, default=list(RUNS))
    options = parser.parse_args()
    bad: int | float = 0
    for name in options.only:
        began = time.monotonic()
        counts = run(name, options.scale, options.seed)
        bad += counts["twice"] + counts["wrong"] + counts.get("late", 0)
        told = "  ".join(f"{key} {value}" for key, value in counts.items())
        print(f"{name:9} {told}  ({time.monotonic() - began:.0f} s)", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
