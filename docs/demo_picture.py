"""Writes `docs/demo.svg`: the end of `pathrig demo` as a terminal shows it.

python docs/demo_picture.py [ARGUMENTS OF pathrig demo]
"""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS, ROWS, SHOWN = 110, 50, 30
PICTURE = Path(__file__).parent / "demo.svg"


def terminal_output(command: list[str], columns: int = COLUMNS, folder: str | None = None) -> str:
    """What a command prints on a terminal of so many columns, when it is run in this folder."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns)}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=folder
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            # A terminal whose other end is closed reads as an error on Linux.
            break
        parts.append(part)
    if process.wait() != 0:
        sys.exit(b"".join(parts).decode(errors="replace"))
    return b"".join(parts).decode(errors="replace").replace("\r\n", "\n")


def draw(output: str, title: str, columns: int, picture: Path) -> None:
    """Draw what a terminal showed as SVG."""
    console = Console(record=True, width=columns, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115, PTH123
    console.print(Text.from_ansi(output), soft_wrap=False)
    console.save_svg(str(picture), title=title)


def main() -> None:
    """Run the demo on a terminal and draw its last lines."""
    with tempfile.TemporaryDirectory() as folder:
        pathrig = str(Path(sys.executable).with_name("pathrig"))
        output = terminal_output([pathrig, "demo", "--db", f"{folder}/pathrig-demo.db", *sys.argv[1:]])
        output = output.replace(f"{folder}/", "")
    lines = output.rstrip().split("\n")[-SHOWN:]
    draw("\n".join(lines), "pathrig demo", COLUMNS, PICTURE)


if __name__ == "__main__":
    main()
