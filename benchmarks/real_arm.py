"""Labelled events of a real cobot under coarse sensors: `python benchmarks/real_arm.py FILE`.

FILE is the UR3 CobotOps recording as CSV (docs/results/2026-11-22-real-arm.md says where to get it). Its
signals are made as coarse as those of a cheap arm; for each set of sensors the table has the share of
protective stops and lost grips that is told from harmless work at 5 % false alarms, and how many the fine
signals show and it does not.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.real_data.coarse_arm import sensor_sets
from benchmarks.real_data.cobot import LABELS, read_cobot
from benchmarks.real_data.event_detection import judge, unobserved, windows
from benchmarks.real_data.station import DataError
from core_eval.statistics.intervals import wilson

FINE = "fine"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    found = []
    try:
        recording = read_cobot(options.file)
        sets = sensor_sets(recording)
        print(f"{len(recording.number)} complete rows, {recording.dropped} left out")
        for label in LABELS:
            chosen = windows(recording, label)
            verdicts = {name: judge(columns, chosen) for name, columns in sets.items()}
            missed = unobserved(verdicts, FINE)
            print(f"\n{label}: {len(chosen.events)} events, {len(chosen.null)} harmless windows")
            print(f"{'sensors':16}{'AUC':>6}{'detected':>10}{'95 % interval':>16}{'fine alone':>12}")
            for name, verdict in verdicts.items():
                low, high = wilson(verdict.detected, len(chosen.events), 0.95)
                print(
                    f"{name:16}{verdict.area:>6.2f}{verdict.detected:>10.0%}"
                    f"{f'{low:.0%} to {high:.0%}':>16}{missed[name]:>12}"
                )
                found.append(
                    {
                        "event": label,
                        "sensors": name,
                        "events": len(chosen.events),
                        "harmless": len(chosen.null),
                        "auc": verdict.area,
                        "detected": verdict.detected,
                        "fine_alone": missed[name],
                    }
                )
    except (DataError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
