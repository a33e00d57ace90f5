"""Writes the tutorial's pictures to `docs/pictures/tutorial-*`: terminals as SVG, pages by Chromium as PNG.

python docs/tutorial_pictures.py
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from demo_picture import draw, terminal_output

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
PATHRIG = [sys.executable, "-m", "core_eval.cli.main"]
COLUMNS = 80
RUN = ["run", "--task", "inspect_and_water", "--rig", "sim-farm-mqtt"]
EAGER = [*RUN, "--agent", "scripted:eager.jsonl"]
TASKS = ["--task", "inspect_and_water", "--task", "water_one_plant", "--task", "water_two_plants"]
SIZES = {
    "report": (1100, 700),
    "episode": (1000, 860),
    "time-line": (1000, 620),
    "compare": (1100, 760),
    "live": (900, 1080),
}
"""Width and height of the pages' pictures, pixels."""
ASKED = (
    "document.querySelector('#question:not([hidden]) button:enabled') !== null"
    " && document.body.innerText.includes('4: water_plant')"
)
"""The live page asks, its buttons can be pressed, and its drawings hold the calls before."""

sys.path.insert(0, str(DOCS.parent / "tests" / "support"))


def terminal(name: str, arguments: list[str], folder: str) -> None:
    """Run a command and draw the terminal, as the reader would see it."""
    output = terminal_output([*PATHRIG, *arguments], COLUMNS, folder).replace("\r", "").rstrip()
    draw(output, f"pathrig {arguments[0]}", COLUMNS, PICTURES / f"tutorial-{name}.svg")


def quiet(arguments: list[str], folder: str) -> None:
    """Run a command of which no picture is wanted."""
    subprocess.run([*PATHRIG, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def page(name: str, url: str, *, ready: str = "true", part: str | None = None) -> None:
    """Photograph a page from its top, or from this element on, once the JavaScript expression is true."""
    from real_browser import chromium

    width, height = SIZES[name]
    with chromium(url) as tab:
        tab.emulate(width=width, height=height)
        tab.wait(ready)
        if part is not None:
            tab.run(f"document.querySelector({part!r}).scrollIntoView()")
        (PICTURES / f"tutorial-{name}.png").write_bytes(tab.picture())


def live(folder: str) -> None:
    """Photograph the live page while it asks whether the eighth call may be made; then refuse all."""
    command = [*EAGER, "--guard", "confirm", "--live", "--db", "live.db"]
    run = subprocess.Popen(
        [*PATHRIG, *command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert run.stderr is not None
    try:
        (url,) = re.findall(r"http://\S+", run.stderr.readline())
        page("live", url, ready=ASKED)
    finally:
        run.terminate()
        run.wait(30)


def main() -> None:
    """Take the tutorial's steps in a folder of their own, and a picture of each."""
    with tempfile.TemporaryDirectory() as folder:
        tutorial = (DOCS / "tutorial.md").read_text(encoding="utf-8")
        script = re.findall(r"<!-- file: eager.jsonl -->\n```\n(.*?)```", tutorial, re.DOTALL)[0]
        (Path(folder) / "eager.jsonl").write_text(script)
        terminal("run", [*RUN, "--agent", "oracle", "--db", "mine.db"], folder)
        quiet([*EAGER, "--db", "mine.db"], folder)
        terminal("show", ["show", "mine.db", "--episode", "2"], folder)
        live(folder)
        quiet([*RUN, "--agent", "llama", "--episodes", "3", "--db", "mine.db"], folder)
        quiet(["report", "mine.db", "-o", "mine"], folder)
        index = Path(folder) / "mine" / "index.html"
        page("report", index.as_uri())
        episode = (index.parent / "episodes" / "2.html").as_uri()
        page("episode", episode)
        page("time-line", episode, part="figure.time")
        for agent, log in (("llama", "first.db"), ("mutated:0.8", "second.db")):
            quiet(["run", *TASKS, "--rig", "sim:farm_rover", "--agent", agent, "--db", log], folder)
        quiet(["compare", "first.db", "second.db", "-o", "compared.html"], folder)
        page("compare", (Path(folder) / "compared.html").as_uri())


if __name__ == "__main__":
    main()
