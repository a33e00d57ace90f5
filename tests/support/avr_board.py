"""Any AVR firmware on an emulated board: `standins/avr_board.c`, built here with libsimavr."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paths import STANDINS

SOURCE = STANDINS / "avr_board.c"


def lacks() -> str:
    """What is missing to build the emulator; empty if nothing is."""
    if shutil.which("cc") is None or not Path("/usr/include/simavr").is_dir():
        return "needs a C compiler and libsimavr-dev"
    return ""


class Board:
    """An emulated board; `path` is its serial port."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert process.stdout is not None
        self.path = next(line for line in process.stdout if line.startswith("pty")).split()[1]
        self.url = f"serial://{self.path}?baud=115200"

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def outputs(self, port: str) -> int:
        """The levels of a port's outputs."""
        return int(self._ask(f"?{port}")[1], 16)

    def changes(self, port: str) -> tuple[int, int, int]:
        """How often a port's outputs have changed, when they last did, and now, in the board's own ms."""
        _, count, last, now = self._ask(f"!{port}")
        return int(count), int(last), int(now)

    def _ask(self, line: str) -> list[str]:
        self.tell(line)
        assert self._process.stdout is not None
        return self._process.stdout.readline().split()


@contextmanager
def emulated(folder: Path, mcu: str, firmware: str) -> Iterator[Board]:
    """The board while it has power."""
    program = folder / "avr_board"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-isystem", "/usr/include/simavr"]
    subprocess.run(["cc", *flags, "-o", program, SOURCE, "-lsimavr", "-lelf"], check=True)
    with subprocess.Popen(
        [program, mcu, firmware], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        try:
            yield Board(process)
        finally:
            process.kill()
