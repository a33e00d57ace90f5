"""Peak memory and, where it can be read, energy that an episode uses on the agent's machine.

Energy comes from the first of these sources that exists:

- RAPL (Linux powercap, `intel-rapl:*/energy_uj`; AMD's counters appear there too): processor packages and
  their memory, by counters that wrap at `max_energy_range_uj`; with NVIDIA's cards, where NVML tells their
  power.
- an INA3221 under hwmon, as Jetson boards have it: the board's input rail (mV times mA), or all its rails.
- a power sensor under hwmon (`power1_input`, microwatts), such as an INA2xx on a Raspberry Pi's bus.
- the power management chip of a Raspberry Pi 5, by `vcgencmd pmic_read_adc`: the rails on the board, not USB.
- NVML alone: the cards without the rest of the machine.

A rig's file may name another one (`core_eval.run.rig_meter`), which then takes their place.

Powers are read by a thread, and integrated by the trapezoidal rule. What the machine takes while it idles is
measured before the first run of models.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import Any, Protocol

from core_eval.log import MachineCost

INPUT_RAILS = frozenset({"VDD_IN", "POM_5V_IN", "VIN", "SYS_VIN_HV"})
"""Names that the boards give to the rail that feeds all others."""
READ_EVERY_S = 0.5
IDLE_S = 4.0
"""How long the power of the idle machine is measured."""
UNREADABLE = (OSError, ValueError, subprocess.SubprocessError)
_RAIL = re.compile(r"(\w+)_([AV])\s+(?:current|volt)\(\d+\)=([\d.]+)[AV]")


class Meter(Protocol):
    """An energy meter."""

    name: str

    def read(self) -> None:
        """Take a reading; raise one of UNREADABLE if that fails."""

    @property
    def joules(self) -> float:
        """The energy between the first and the last reading, J."""


class CounterMeter:
    """Sums counters of microjoules that wrap."""

    def __init__(self, name: str, counters: list[Path]) -> None:
        self.name = name
        self._counters = [
            (folder / "energy_uj", _number(folder / "max_energy_range_uj")) for folder in counters
        ]
        self._last: list[float] | None = None
        self._micro = 0.0

    def read(self) -> None:
        """Add the energy since the last reading."""
        now = [_number(file) for file, _ in self._counters]
        if self._last is not None:
            for (_, wrap), old, new in zip(self._counters, self._last, now, strict=True):
                self._micro += new - old if new >= old else new - old + wrap
        self._last = now

    @property
    def joules(self) -> float:
        """The energy between the first and the last reading, J."""
        return self._micro / 1e6


class SumMeter:
    """Adds meters of different parts of a machine."""

    def __init__(self, *meters: Meter) -> None:
        self.name = " + ".join(one.name for one in meters)
        self._meters = meters

    def read(self) -> None:
        """Read all of them."""
        for one in self._meters:
            one.read()

    @property
    def joules(self) -> float:
        """The energy between the first and the last reading, J."""
        return sum(one.joules for one in self._meters)


class PowerMeter:
    """Integrates a power, W, over time."""

    def __init__(self, name: str, watts: Callable[[], float], clock: Callable[[], float]) -> None:
        self.name = name
        self._watts = watts
        self._clock = clock
        self._last: tuple[float, float] | None = None
        self._joules = 0.0

    def read(self) -> None:
        """Add the trapezoid since the last reading."""
        watts, now = self._watts(), self._clock()
        if self._last is not None:
            self._joules += (watts + self._last[0]) / 2 * (now - self._last[1])
        self._last = (watts, now)

    @property
    def joules(self) -> float:
        """The energy between the first and the last reading, J."""
        return self._joules


def find_meter(sys_root: Path = Path("/sys"), clock: Callable[[], float] = time.monotonic) -> Meter | None:
    """Return the first meter that this user can read; None if there is none."""
    for make in (_rapl_with_cards, _rapl, _ina3221, _hwmon_power, _pmic, _nvml):
        try:
            meter = make(sys_root, clock)
            if meter is not None:
                meter.read()
                return make(sys_root, clock)
        except UNREADABLE:
            continue
    return None


@cache
def idle_power(
    find: Callable[[], Meter | None] = find_meter,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Mapping[str, Any] | None:
    """Return the mean power of the idle machine, W, with the seconds and the meter; None without a meter.

    It takes IDLE_S, once a process and meter.
    """
    meter = find()
    if meter is None:
        return None
    begun = clock()
    try:
        meter.read()
        while clock() - begun < IDLE_S:
            sleep(READ_EVERY_S)
            meter.read()
    except UNREADABLE:
        return None
    seconds = clock() - begun
    return {"watts": meter.joules / seconds, "seconds": seconds, "meter": meter.name}


class UsageMonitor:
    """Context that measures its block.

    Attributes:
        cost: the result, afterwards.
        failure: why a meter could not tell the energy; empty where it could.
    """

    def __init__(self, meter: Meter | None, process: int | None = None) -> None:
        """Measure the memory of the process of that id, None: of none, and the energy by the meter."""
        self.cost = MachineCost()
        self._process = process
        self._meter = meter
        self._over = Event()
        self._thread = Thread(target=self._keep_reading, name="energy", daemon=True)
        self.failure = ""

    def __enter__(self) -> UsageMonitor:
        if self._process is not None:
            _reset_peak(self._process)
        if self._meter is not None:
            self._read()
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        energy = name = None
        if self._meter is not None:
            self._over.set()
            self._thread.join()
            self._read()
            if not self.failure:
                energy, name = self._meter.joules, self._meter.name
        memory = None if self._process is None else peak_memory(self._process)
        self.cost = MachineCost(memory, energy, name)

    def _keep_reading(self) -> None:
        while not self._over.wait(READ_EVERY_S):
            self._read()

    def _read(self) -> None:
        try:
            if self._meter is not None and not self.failure:
                self._meter.read()
        except UNREADABLE as error:
            # A sum with a missing interval is no measurement.
            self.failure = str(error) or type(error).__name__


def peak_memory(process: int) -> int | None:
    """Return the peak resident memory of a process since its start or the last reset, bytes.

    None where it cannot be read: only Linux reports that of another process.
    """
    try:
        status = Path(f"/proc/{process}/status").read_text()
        return int(re.findall(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)[0]) * 1024
    except (OSError, IndexError):
        if process != os.getpid():
            return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _reset_peak(process: int) -> None:
    # Only Linux can reset it; elsewhere the peak counts from the start of the process.
    with contextlib.suppress(OSError):
        Path(f"/proc/{process}/clear_refs").write_text("5")


def _rapl(sys_root: Path, clock: Callable[[], float]) -> Meter | None:
    # `psys` includes the packages, and `core` and `uncore` are parts of them.
    zones = sorted((sys_root / "class" / "powercap").glob("intel-rapl:*"))
    wanted = [zone for zone in zones if re.match(r"package|dram", _text(zone / "name"))]
    return CounterMeter("rapl", wanted) if wanted else None


def _rapl_with_cards(sys_root: Path, clock: Callable[[], float]) -> Meter | None:
    processor, cards = _rapl(sys_root, clock), _nvml(sys_root, clock)
    return None if processor is None or cards is None else SumMeter(processor, cards)


def _nvml(_sys_root: Path, clock: Callable[[], float]) -> Meter | None:
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        cards = [pynvml.nvmlDeviceGetHandleByIndex(k) for k in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError:
        return None

    def watts() -> float:
        try:
            return sum(float(pynvml.nvmlDeviceGetPowerUsage(card)) for card in cards) / 1000
        except pynvml.NVMLError as error:
            raise ValueError(f"NVML: {error}") from None

    return PowerMeter(f"nvml {len(cards)}", watts, clock) if cards else None


def _ina3221(sys_root: Path, clock: Callable[[], float]) -> Meter | None:
    rails: dict[str, tuple[Path, Path]] = {}
    for chip in _chips(sys_root, "ina3221"):
        for label in sorted(chip.glob("in*_label")):
            number = label.name.removeprefix("in").removesuffix("_label")
            volt, ampere = chip / f"in{number}_input", chip / f"curr{number}_input"
            if volt.exists() and ampere.exists():
                rails[_text(label)] = (volt, ampere)
    fed = {name: files for name, files in rails.items() if name in INPUT_RAILS} or rails
    if not fed:
        return None

    def watts() -> float:
        return sum(_number(volt) * _number(ampere) for volt, ampere in fed.values()) / 1e6

    return PowerMeter("ina3221 " + " ".join(fed), watts, clock)


def _hwmon_power(sys_root: Path, clock: Callable[[], float]) -> Meter | None:
    chip = next((chip for chip in _chips(sys_root, "ina2") if (chip / "power1_input").exists()), None)
    if chip is None:
        return None
    file = chip / "power1_input"
    return PowerMeter(_text(chip / "name"), lambda: _number(file) / 1e6, clock)


def _pmic(sys_root: Path, clock: Callable[[], float]) -> Meter | None:
    program = shutil.which("vcgencmd")
    if program is None:
        return None

    def watts() -> float:
        done = subprocess.run(
            [program, "pmic_read_adc"], capture_output=True, text=True, timeout=5, check=False
        )
        return pmic_watts(done.stdout)

    return PowerMeter("pmic", watts, clock)


def pmic_watts(text: str) -> float:
    """Return the power of all rails for which `vcgencmd pmic_read_adc` prints current and voltage, W.

    Raises:
        ValueError: no rail has both.
    """
    values: dict[str, dict[str, float]] = {}
    for rail, unit, value in _RAIL.findall(text):
        values.setdefault(rail, {})[unit] = float(value)
    both = [rail["A"] * rail["V"] for rail in values.values() if len(rail) == 2]
    if not both:
        raise ValueError("no rail has both a current and a voltage")
    return sum(both)


def _chips(sys_root: Path, prefix: str) -> list[Path]:
    folder = sys_root / "class" / "hwmon"
    names = sorted(folder.iterdir()) if folder.is_dir() else []
    return [chip for chip in names if (chip / "name").exists() and _text(chip / "name").startswith(prefix)]


def _text(file: Path) -> str:
    return file.read_text().strip()


def _number(file: Path) -> float:
    return float(_text(file))
