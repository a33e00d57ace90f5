"""The whole bridge on a virtual clock: host, rig process, broker or line, and board, with faults by a seed.

    python benchmarks/simulate_bridge.py [--seeds 0:1000] [--jobs 1]
    python benchmarks/simulate_bridge.py --replay 4711
    python benchmarks/simulate_bridge.py --bugs [--seeds 0:1000] [--bug WORDS]

The code of the bridge and of a run's episode is the product's own, paho-mqtt included. Threads, clocks,
sockets, processes, the serial line and the broker are simulated (tests/support/simulated_bridge). `--replay`
prints what happened in one world, and the smallest plan that still fails. `--bugs` puts back bugs of the
project's past and takes out safeguards, one at a time, and prints the first seed that finds each.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from simulated_bridge.bugs import BUGS, Planted
from simulated_bridge.scenario import Simulations, drawn, shrunk

CHUNK = 125


def failing(seeds: range) -> tuple[range, dict[int, dict[str, str]], Counter[str]]:
    """Return what did not hold, by seed, and how many faults of each kind struck."""
    found, kinds = {}, Counter[str]()
    with Simulations() as simulations:
        for seed in seeds:
            plan = drawn(seed)
            kinds.update(f"{plan.link}: {fault.kind}" for fault in plan.faults)
            kinds[f"{plan.link} worlds"] += 1
            broken, _ = simulations.run(plan)
            if broken:
                found[seed] = dict(broken)
    return seeds, found, kinds


def first_failing(number: int, seeds: range) -> tuple[int, int | None, dict[str, str], Planted]:
    """Return a bug's number, the first seed that finds it, what did not hold, and what its patches did."""
    with Simulations() as simulations, BUGS[number].put_back() as planted:
        for seed in seeds:
            broken, _ = simulations.run(drawn(seed))
            if broken or planted.error:
                return number, seed, dict(broken), planted
    return number, None, {}, planted


def replay(seed: int) -> int:
    """Print what happened in one world, and the smallest plan that still fails; return the exit status."""
    plan = drawn(seed)
    with Simulations() as simulations:
        broken, trace = simulations.run(plan, traced=True)
        print(*plan.lines(), *trace, sep="\n")
        if not broken:
            print("all invariants hold")
            return 0
        small = shrunk(plan, lambda smaller: simulations.run(smaller)[0].keys() & broken.keys())
        if small != plan:
            _, trace = simulations.run(small, traced=True)
            print("\nthe smallest plan that still fails:", *small.lines(), *trace, sep="\n")
    return 1


def chunks(seeds: range) -> Iterator[range]:
    for start in range(seeds.start, seeds.stop, CHUNK):
        yield range(start, min(start + CHUNK, seeds.stop))


def search(seeds: range, jobs: int) -> int:
    """Run worlds and print what did not hold; return the exit status."""
    began, failed, kinds = time.monotonic(), 0, Counter[str]()
    with ProcessPoolExecutor(jobs) as pool:
        for done, found, struck in pool.map(failing, chunks(seeds)):
            kinds += struck
            failed += len(found)
            for seed, broken in found.items():
                for name, text in broken.items():
                    print(f"seed {seed}: {name}: {text}", flush=True)
            print(f"{done.stop - seeds.start} of {len(seeds)}", file=sys.stderr, flush=True)
    seconds = time.monotonic() - began
    print(f"{len(seeds)} worlds, {failed} failed, {len(seeds) / seconds:.1f} a second with {jobs} processes")
    for kind, count in sorted(kinds.items()):
        print(f"  {kind}: {count}")
    return 1 if failed else 0


def hunt(numbers: Sequence[int], seeds: range, jobs: int) -> int:
    """Print the first seed that finds each bug; return the exit status."""
    missed = 0
    print("| bug | mended by | first seed | what did not hold |\n|---|---|---|---|")
    with ProcessPoolExecutor(jobs) as pool:
        hunts = [pool.submit(first_failing, number, seeds) for number in numbers]
        for done in as_completed(hunts):
            number, seed, broken, planted = done.result()
            one = BUGS[number]
            missed += seed is None or bool(planted.error)
            what = ", ".join(broken) or ("-" if planted.reached else "its code was never reached")
            shown = f"none of {len(seeds)}" if seed is None else seed
            if planted.error:
                shown, what = "the patch itself fails", planted.error
            print(f"| {one.name} | {one.origin or '-'} | {shown} | {what} |", flush=True)
    return 1 if missed else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", default="0:1000", help="first and last but one, as 0:1000")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--replay", type=int, metavar="SEED")
    parser.add_argument("--bugs", action="store_true")
    parser.add_argument(
        "--bug", default="", metavar="WORDS", help="only bugs with these words in their names"
    )
    options = parser.parse_args()
    if options.replay is not None:
        return replay(options.replay)
    first, _, last = options.seeds.partition(":")
    seeds = range(int(first), int(last))
    if options.bugs:
        return hunt([k for k, one in enumerate(BUGS) if options.bug in one.name], seeds, options.jobs)
    return search(seeds, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
