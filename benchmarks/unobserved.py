"""How well the twin detects unobserved harm: `python benchmarks/unobserved.py [--world WORLD]`.

Rigs are simulators whose hidden parameters are drawn at random and unknown to the scorer: the twin
gets calls and coarse telemetry alone. Each rig is calibrated on probing episodes of its own, which are not
evaluated. Then a twin with the parameters' ranges only and a calibrated one infer its episodes
(`benchmarks/hidden_rigs.py`), and both are compared with the truth.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from multiprocessing import Pool, TimeoutError
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from rich.console import Console

from benchmarks.hidden_rigs import Plan, one_rig
from benchmarks.reliability import Record, curves, report
from benchmarks.reliability_diagram import reliability_svg


def main() -> None:
    """Run it, print the tables, and write JSON and a picture where asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="farm_rover", choices=["farm_rover", "robotic_arm"])
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--rigs", type=int, default=40)
    parser.add_argument("--probes", type=int, default=1, help="probing episodes for calibration, each rig")
    parser.add_argument("--members", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, help="report on the rigs that are done after so long")
    parser.add_argument("--calibrated-only", action="store_true", help="leave the uncalibrated twin out")
    parser.add_argument("--json", type=Path, help="write rigs and records to this file")
    parser.add_argument("--svg", type=Path, help="write the reliability diagram to this file")
    given = parser.parse_args()
    rigs = min(given.rigs, given.episodes)
    bounds = np.linspace(0, given.episodes, rigs + 1).astype(int)
    plans = [
        Plan(
            given.world, rig, int(bounds[rig]), int(bounds[rig + 1] - bounds[rig]), given.seed, given.members,
            given.probes, not given.calibrated_only,
        )
        for rig in range(rigs)
    ]  # fmt: skip
    # The workers are also ended on SIGTERM, by the `finally` below.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started = perf_counter()
    results = []
    failed: list[str] = []
    limit = None if given.minutes is None else given.minutes * 60.0
    pool = Pool(given.processes)
    try:
        told = pool.imap_unordered(one_rig, plans)
        for _ in plans:
            left = None if limit is None else max(0.0, limit - (perf_counter() - started))
            try:
                results.append(told.next(left))
            except ArithmeticError as error:
                failed.append(f"{type(error).__name__}: {error}")
                continue
            seconds = perf_counter() - started
            print(f"rig {results[-1]['rig']}: {len(results)}/{rigs} done, {seconds:.0f} s", file=sys.stderr)
    except TimeoutError:
        print(f"{given.minutes:g} minutes are over with {len(results)} rigs done", file=sys.stderr)
    finally:
        pool.terminate()
    for error in failed:
        print(f"a rig failed and is left out of the figures: {error}", file=sys.stderr)
    if not results:
        sys.exit("no rig was done in that time")
    rigs, told_episodes = len(results), sum(result["episodes"] for result in results)
    results.sort(key=lambda result: result["rig"])
    records = [Record(**record) for result in results for record in result["records"]]
    summary = {
        "world": given.world,
        "episodes": told_episodes,
        "rigs": rigs,
        "members": given.members,
        "seed": given.seed,
        "wall_s": perf_counter() - started,
        "calibration_s_per_rig": sum(r["calibration_s"] for r in results) / rigs,
        "telling_s_per_episode": sum(r["told_s"] for r in results) / told_episodes,
        "errors": sum(r["errors"] for r in results),
        "undecidable": sum(r["undecidable"] for r in results),
    }
    if given.json is not None:
        given.json.write_text(json.dumps({"summary": summary, "rigs": results}))
    report(Console(width=None if sys.stdout.isatty() else 150), summary, results, records)
    if given.svg is not None:
        given.svg.write_text(reliability_svg(curves(records)))


if __name__ == "__main__":
    main()
