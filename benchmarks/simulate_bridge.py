"""The whole bridge on a virtual clock: host, rig process, broker or line, and board, with faults by a seed.

    python benchmarks/simulate_bridge.py [--seeds 0:1000] [--jobs 1] [--kept FILE]
    python benchmarks/simulate_bridge.py --replay 4711
    python benchmarks/simulate_bridge.py --bugs [--seeds 0:1000] [--bug WORDS] [--plans targeted]

The code of the bridge and of a run's episode is the product's own, paho-mqtt included. Threads, clocks,
sockets, processes, the serial line and the broker are simulated (tests/support/simulated_bridge). Of a world
that fails the smallest plan that still fails is printed; `--replay` prints what happened in it. With `--kept`
a search that was cut short goes on: the file has a line for each piece that is done. `--bugs` puts back bugs
of the project's past and takes out safeguards, one at a time, and prints the first seed that finds each.
With `--plans targeted` the seeds draw other worlds, of which each meets what one safeguard alone stands
against.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from simulated_bridge.bugs import BUGS, Planted
from simulated_bridge.scenario import Simulations, explained, smallest
from simulated_bridge.targets import PLANS

DEFAULT = "drawn"
CHUNK = 125
"""Worlds of one piece."""


@dataclass(frozen=True)
class Piece:
    """What became of some worlds.

    Attributes:
        first, end: the first seed, and the one after the last.
        found: of each that failed what to print.
        kinds: how many faults of each kind struck.
        cpu_seconds: what it cost.
        plans: the family of worlds.
    """

    first: int
    end: int
    found: list[str]
    kinds: dict[str, int]
    cpu_seconds: float
    plans: str = DEFAULT


def failing(seeds: range, plans: str) -> Piece:
    """Run worlds, and return what became of them."""
    found, kinds, began = [], Counter[str](), time.process_time()
    with Simulations() as simulations:
        for seed in seeds:
            plan = PLANS[plans](seed)
            kinds.update(f"{plan.link}: {fault.kind}" for fault in plan.faults)
            kinds[f"{plan.link} worlds"] += 1
            broken, _ = simulations.run(plan)
            if broken:
                more = "" if plans == DEFAULT else f" --plans {plans}"
                found.append(explained(simulations, plan, broken) + more)
    return Piece(seeds.start, seeds.stop, found, dict(kinds), round(time.process_time() - began, 2), plans)


def first_failing(
    number: int, seeds: range, plans: str
) -> tuple[int, int | None, dict[str, str], Planted, float]:
    """Return a bug's number, the first seed that finds it, what did not hold, what its patches did, and the
    CPU time, s."""
    began = time.process_time()
    with Simulations() as simulations, BUGS[number].put_back() as planted:
        for seed in seeds:
            broken, _ = simulations.run(PLANS[plans](seed))
            if broken or planted.error:
                return number, seed, dict(broken), planted, time.process_time() - began
    return number, None, {}, planted, time.process_time() - began


def replay(seed: int, plans: str) -> int:
    """Print what happened in one world, and the smallest plan that still fails; return the exit status."""
    plan = PLANS[plans](seed)
    with Simulations() as simulations:
        broken, trace = simulations.run(plan, traced=True)
        print(*plan.lines(), *trace, sep="\n")
        if not broken:
            print("all invariants hold")
            return 0
        small = smallest(simulations, plan, broken)
        if small != plan:
            _, trace = simulations.run(small, traced=True)
            print("\nthe smallest plan that still fails:", *small.lines(), *trace, sep="\n")
    return 1


def chunks(seeds: range) -> Iterator[range]:
    for start in range(seeds.start, seeds.stop, CHUNK):
        yield range(start, min(start + CHUNK, seeds.stop))


def search(seeds: range, plans: str, jobs: int, kept: Path | None) -> int:
    """Run worlds and print what did not hold; return the exit status."""
    lines = kept.read_text().splitlines() if kept is not None and kept.exists() else []
    read = (Piece(**json.loads(line)) for line in lines)
    done = {(one.first, one.end): one for one in read if one.plans == plans}
    pieces = [done[key] for one in chunks(seeds) if (key := (one.start, one.stop)) in done]
    for piece in pieces:
        print(*piece.found, sep="\n", end="\n" if piece.found else "")
    with ProcessPoolExecutor(jobs) as pool:
        left = [one for one in chunks(seeds) if (one.start, one.stop) not in done]
        for piece in pool.map(failing, left, [plans] * len(left)):
            pieces.append(piece)
            if kept is not None:
                with kept.open("a") as file:
                    file.write(json.dumps(asdict(piece)) + "\n")
            print(*piece.found, sep="\n", end="\n" if piece.found else "", flush=True)
            print(f"{piece.end - seeds.start} of {len(seeds)}", file=sys.stderr, flush=True)
    kinds = sum((Counter(piece.kinds) for piece in pieces), Counter[str]())
    failed = sum(len(piece.found) for piece in pieces)
    cost = 1000 * sum(piece.cpu_seconds for piece in pieces) / len(seeds)
    print(f"{len(seeds)} worlds, {failed} failed, {cost:.0f} ms of CPU time each")
    for kind, count in sorted(kinds.items()):
        print(f"  {kind}: {count}")
    return 1 if failed else 0


def hunt(numbers: Sequence[int], seeds: range, plans: str, jobs: int) -> int:
    """Print the first seed that finds each bug; return the exit status."""
    missed = 0
    print("| bug | mended by | first seed | what did not hold | CPU time, s |\n|---|---|---|---|---|")
    with ProcessPoolExecutor(jobs) as pool:
        hunts = [pool.submit(first_failing, number, seeds, plans) for number in numbers]
        for done in as_completed(hunts):
            number, seed, broken, planted, cost = done.result()
            one = BUGS[number]
            missed += seed is None or bool(planted.error)
            what = ", ".join(broken) or ("-" if planted.reached else "its code was never reached")
            shown = f"none of {len(seeds)}" if seed is None else seed
            if planted.error:
                shown, what = "the patch itself fails", planted.error
            print(f"| {one.name} | {one.origin or '-'} | {shown} | {what} | {cost:.1f} |", flush=True)
    return 1 if missed else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", default="0:1000", help="first and last but one, as 0:1000")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kept", type=Path, metavar="FILE", help="goes on where this file ends")
    parser.add_argument("--replay", type=int, metavar="SEED")
    parser.add_argument("--bugs", action="store_true")
    parser.add_argument(
        "--bug", default="", metavar="WORDS", help="only bugs with these words in their names"
    )
    parser.add_argument("--plans", choices=PLANS, default=DEFAULT, help="the family of worlds")
    options = parser.parse_args()
    if options.replay is not None:
        return replay(options.replay, options.plans)
    first, _, last = options.seeds.partition(":")
    seeds = range(int(first), int(last))
    if options.bugs:
        numbers = [number for number, one in enumerate(BUGS) if options.bug in one.name]
        return hunt(numbers, seeds, options.plans, options.jobs)
    return search(seeds, options.plans, options.jobs, options.kept)


if __name__ == "__main__":
    sys.exit(main())
