"""Bytes that a run writes to its disk: `python benchmarks/log_wear.py [--episodes N]`, Linux only.

Runs episodes on an embedded simulator in a process of its own, and reports how many bytes that process caused
to be written (`write_bytes` of `/proc/self/io`: whole pages of the page cache, 4,096 bytes each, counted when
they become dirty), and how many bytes the log then holds.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

CASES = (
    ("sim:farm_rover", "random", ("inspect_and_water", "water_two_plants")),
    ("sim:farm_rover", "oracle", ("inspect_and_water", "water_two_plants")),
    ("sim:robotic_arm", "oracle", ("sort_two_boxes",)),
)


def main() -> None:
    """Measure each case, and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--rig", choices=sorted({rig for rig, _, _ in CASES}), help="only this rig")
    parser.add_argument("--agent", choices=sorted({agent for _, agent, _ in CASES}), help="only this agent")
    parser.add_argument("--durable", action="store_true", help="as `pathrig run --durable`")
    parser.add_argument("--page-size", type=int, help="of SQLite, bytes; left out: the log's own choice")
    parser.add_argument("--folder", type=Path, help="where the log is written; left out: a temporary folder")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(json.dumps(measure(json.loads(given.one))))
        return
    print("rig              agent    calls  written a call  log a call  page")
    for rig, agent, tasks in CASES:
        if given.rig not in (None, rig) or given.agent not in (None, agent):
            continue
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            what = {
                "rig": rig,
                "agent": agent,
                "tasks": tasks,
                "episodes": given.episodes,
                "durable": given.durable,
                "page_size": given.page_size,
                "db": str(Path(folder) / "log.db"),
            }
            # A process of its own, so that earlier writes of this one do not count.
            told = subprocess.run(
                [sys.executable, __file__, "--one", json.dumps(what)],
                check=True, stdout=subprocess.PIPE, text=True,
            ).stdout  # fmt: skip
        figures = json.loads(told)
        calls = figures["calls"]
        print(
            f"{rig:16} {agent:8} {calls:5}  {figures['written'] / calls:11,.0f} B"
            f"  {figures['log'] / calls:8,.0f} B  {figures['page']:4}"
        )


def measure(what: dict[str, Any]) -> dict[str, int]:
    """Run the episodes, and return the counts."""
    from core_eval.log import RunLog
    from core_eval.log.events import ignore
    from core_eval.run.config import Cell, RunConfig
    from core_eval.run.parts import load_parts
    from core_eval.run.plan import Run

    tasks = what["tasks"]
    config = RunConfig(
        cells=tuple(Cell(task=task, rig=what["rig"], agent=what["agent"]) for task in tasks),
        episodes=max(1, what["episodes"] // len(tasks)),
    )
    parts = load_parts(config)
    db = Path(what["db"])
    if what["page_size"] is not None:
        with sqlite3.connect(db) as connection:
            connection.execute(f"PRAGMA page_size = {what['page_size']}")
            connection.execute("VACUUM")
    before = written_bytes()
    with RunLog(db, durable=what["durable"]) as log:
        Run(config, parts, log, ignore).start()
    written = written_bytes() - before
    connection = sqlite3.connect(db)
    (calls,) = connection.execute("SELECT count(*) FROM step").fetchone()
    (page,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    return {"calls": calls, "written": written, "log": db.stat().st_size, "page": page}


def written_bytes() -> int:
    """Return the bytes that this process caused to be sent to a disk, by the kernel's count."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["write_bytes"])


if __name__ == "__main__":
    main()
