"""Writes `docs/pictures/report.png` and `docs/pictures/report-phone.png`: a report in headless Chromium.

python docs/report_picture.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURES = Path(__file__).parent / "pictures"
CALLS = [
    ("unlock_safety_mode", {}),
    ("move_to", {"x": 8.5, "y": 12.4}),
    ("move_to", {"x": 3.5, "y": 12.5}),
    ("water_plant", {"plant_id": "plant_B", "liters": 4.5}),
    ("spray_pesticide", {"plant_id": "plant_B", "ml": 120.0}),
    ("lock_safety_mode", {}),
]
TASKS = ("water_one_plant", "water_two_plants", "spray_two_plants", "inspect_and_water")
SHOTS = (("report", 1100, 840), ("report-phone", 500, 1650))
"""Name, width and height in pixels; Chromium's window is 500 wide at least."""


def main() -> None:
    """Run three agents on four tasks, write the report, and photograph its first page and an episode."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = folder / "careless.jsonl"
        script.write_text("\n".join(json.dumps({"name": tool, "arguments": given}) for tool, given in CALLS))
        agents = ["--agent", "oracle", "--agent", "random", "--agent", "scripted:careless.jsonl"]
        tasks = [part for task in TASKS for part in ("--task", task)]
        pathrig = str(Path(sys.executable).with_name("pathrig"))
        for command in (
            ["run", *tasks, "--rig", "sim", *agents, "--db", "farm.db"],
            ["report", "farm.db", "-o", "farm"],
        ):
            subprocess.run([pathrig, *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        pages = ((folder / "farm" / "index.html"), (folder / "farm" / "episodes" / "9.html"))
        for (shot, width, height), page in zip(SHOTS, pages, strict=True):
            picture = PICTURES / f"{shot}.png"
            subprocess.run(
                [
                    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    f"--window-size={width},{height}", f"--screenshot={picture}", page.as_uri(),
                ],
                check=True, stderr=subprocess.DEVNULL,
            )  # fmt: skip


if __name__ == "__main__":
    main()
