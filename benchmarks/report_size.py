"""Measures the report of a long log: the tasks of the suite `core` with five agents that need no model.

    python benchmarks/report_size.py [--db big.db] [--keep FOLDER]

Without `--db` the log is made first, which takes minutes. Printed are the size of
the first page and of the whole report, the time that writing it took, by the clock and of all processes, and
how long Chromium takes to the first paint of the first page, where it is installed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AGENTS = ("oracle", "random", "mutated:0.2", "mutated:0.5", "mutated:0.8")
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
PATHRIG = [sys.executable, "-m", "core_eval.cli.main"]


def fill(db: Path) -> None:
    """Run the suite `core` with every agent."""
    agents = [part for agent in AGENTS for part in ("--agent", agent)]
    command = [*PATHRIG, "run", "--suite", "core", *agents, "--db", str(db)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def write(db: Path, folder: Path) -> tuple[float, float]:
    """Write the report; return seconds by the clock, and of all processes."""
    before, began = os.times(), time.monotonic()
    subprocess.run([*PATHRIG, "report", str(db), "-o", str(folder)], check=True)
    after = os.times()
    used = sum(after[k] - before[k] for k in (2, 3))
    return time.monotonic() - began, used


def first_paint(page: Path) -> float | None:
    """Return the time from the start of loading to the first paint, ms; None without Chromium."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    from real_browser import CHROMIUM, chromium

    if CHROMIUM is None:
        return None
    with chromium(page.as_uri()) as tab:
        return float(tab.wait(PAINT))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--db", type=Path)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        db = options.db or Path(name) / "big.db"
        if options.db is None:
            fill(db)
        folder = options.keep or Path(name) / "report"
        clock, used = write(db, folder)
        files = [file for file in folder.rglob("*") if file.is_file()]
        whole = sum(file.stat().st_size for file in files)
        print(f"first page {(folder / 'index.html').stat().st_size / 1e3:.0f} kB")
        print(f"{len(files)} files, {whole / 1e6:.0f} MB")
        print(f"written in {clock:.1f} s, {used:.1f} s of processor time, load {os.getloadavg()[0]:.1f}")
        paint = first_paint(folder / "index.html")
        print("no Chromium" if paint is None else f"first paint after {paint:.0f} ms")


if __name__ == "__main__":
    main()
