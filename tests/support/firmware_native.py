"""The rover's firmware compiled for this machine: parts of it, and a whole rover without its board."""

import ctypes
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paths import STANDINS

from firmware_bridge.firmware.build import FIRMWARE_FOLDER
from firmware_bridge.lines import LineDecoder, to_line
from sims.farm_rover.firmware_tables import HEADER

STANDIN = STANDINS / "rover_native.c"
HEADERS = {
    "avr/pgmspace.h": """
#include <stdint.h>
#include <string.h>
#define PROGMEM
#define PSTR(text) (text)
#define PGM_P const char *
#define pgm_read_byte(at) (*(const uint8_t *)(at))
#define pgm_read_dword(at) (*(const uint32_t *)(at))
#define pgm_read_float(at) (*(const float *)(at))
#define memcpy_P memcpy
#define strcmp_P strcmp
#define strncmp_P strncmp
#define strchr_P strchr
""",
    "avr/interrupt.h": "#define sei()\n",
    "util/atomic.h": "#define ATOMIC_BLOCK(kind)\n",
}
"""Stand-ins for headers of avr-libc."""
BOARD_SOURCES = {"board.c", "uart.c", "main.c"}
"""What a stand-in takes the place of."""


def compile_library(folder: Path, sources: Sequence[Path], *more: str) -> Path:
    """The library of this machine that is made of these sources of the firmware."""
    for name, text in HEADERS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    command = ["cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fshort-enums", "-shared", "-fPIC"]
    library = folder / "rover.so"
    command += [f"-I{folder}", f"-I{HEADER.parent}", f"-I{FIRMWARE_FOLDER / 'guard'}", *more]
    command += ["-o", str(library), *map(str, sources), "-lm"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return library


def compile_rover(folder: Path, *more: str) -> Path:
    """The library of a whole rover without its board."""
    guard = FIRMWARE_FOLDER / "guard"
    sources = [*sorted(HEADER.parent.glob("*.c")), *sorted(guard.glob("*.c"))]
    sources = [path for path in sources if path.name not in BOARD_SOURCES]
    return compile_library(folder, [*sources, STANDIN], *more)


class NativeRover:
    """A rover that has just been powered up at the base; its time passes only while it is called.

    `folder` takes its own copy of the compiled rover, and so its own variables.
    """

    def __init__(self, compiled: Path, folder: Path) -> None:
        self._library = ctypes.CDLL(str(shutil.copy(compiled, folder / "own.so")))
        self._decoder = LineDecoder()
        self._read = 0
        self._ids = 0
        self.acks = 0

    def __getitem__(self, name: str) -> float:
        """A number of the world at its pins: true_x, true_y, pumped_liters, pump_seconds."""
        return ctypes.c_double.in_dll(self._library, name).value

    def set_wheels(self, left: float, right: float) -> None:
        """How far each wheel turns of what it is driven."""
        (ctypes.c_double * 2).in_dll(self._library, "wheel_share")[:] = [left, right]

    def set_meter(self, share: float) -> None:
        """How many of its pulses the flow meter gives."""
        ctypes.c_double.in_dll(self._library, "meter_share").value = share

    def set_turn_ms(self, milliseconds: int) -> None:
        """How long one turn of the main loop takes."""
        ctypes.c_uint32.in_dll(self._library, "turn_ms").value = milliseconds

    def set_boot(self, boot: int) -> None:
        """Which start of the board this is."""
        ctypes.c_uint32.in_dll(self._library, "native_boot").value = boot

    @property
    def eeprom(self) -> Any:
        """Its bytes, which may be set before time passes."""
        return (ctypes.c_uint8 * 4096).in_dll(self._library, "eeprom")

    @property
    def writes(self) -> list[tuple[int, int]]:
        """The places and bytes that were written to the EEPROM, of which 65,536 are kept."""
        count = ctypes.c_uint32.in_dll(self._library, "eeprom_write_count").value
        kept = (ctypes.c_uint32 * 65536).in_dll(self._library, "eeprom_writes")[:count]
        return [(one >> 8, one & 0xFF) for one in kept]

    @property
    def switched(self) -> int:
        """The actuators of port A that are on."""
        return ctypes.c_uint8.in_dll(self._library, "port_a").value

    @property
    def duty(self) -> tuple[int, int]:
        """Of the left and the right wheel."""
        left, right = (ctypes.c_int16 * 2).in_dll(self._library, "duty")
        return left, right

    def call(self, tool: str, longest: float = 600.0, **arguments: Any) -> dict[str, Any]:
        """The result of a call; an AssertionError where none comes within `longest` rover's seconds."""
        self._ids += 1
        message = {"v": 1, "op": "call", "id": self._ids, "tool": tool, "args": arguments}
        self.hear(to_line(json.dumps(message).encode()))
        return self.result(self._ids, longest)

    def result(self, call_id: object, longest: float = 600.0) -> dict[str, Any]:
        """The result of the call that runs; an AssertionError as above."""
        until = self.seconds + longest
        while self.seconds < until:
            self.pass_time(until - self.seconds)
            for frame in map(json.loads, self._decoder.feed(self.said())):
                self.acks += frame["op"] == "ack"
                if frame["op"] == "result":
                    assert frame["id"] == call_id
                    return frame
        raise AssertionError(f"{call_id}: no result within {longest:g} s")

    def hear(self, data: bytes) -> None:
        """Bytes come over the line; they are taken as time passes."""
        self._library.native_hear(data, len(data))

    @property
    def seconds(self) -> float:
        """The rover's time since power-up."""
        return self._library.board_ms() / 1000

    def pass_time(self, seconds: float) -> None:
        """Let so much of the rover's time pass, 1 ms at least, or less once it says something."""
        self._library.native_run(max(1, round(seconds * 1000)))

    def said(self) -> bytes:
        """What it has said over the line since it was last asked."""
        count = ctypes.c_uint32.in_dll(self._library, "said_count").value
        ring = (ctypes.c_char * 65536).in_dll(self._library, "said").raw
        said = bytes(ring[place % len(ring)] for place in range(self._read, count))
        self._read = count
        return said
