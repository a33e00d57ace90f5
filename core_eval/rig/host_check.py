"""Whether a machine is fit to drive rigs: ports, clock, disk, supply, sleep, memory. Nothing is changed.

What the system says is read from files below `Host.root`; all else that is asked stands in `Host`, too.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from firmware_bridge.serial.ports import PortInfo, describe_process, list_ports, port_holder

Weight = Literal["ok", "warning", "fault"]
LEAST_DISK, SCANT_DISK = 200 * 2**20, 2 * 2**30
"""Free bytes below which logs are in danger, and below which they soon are."""
MOST_LATENCY_MS = 1
NEAR_LIMIT = 5.0
"""K below the temperature at which a machine slows down."""
UNSYNCHRONISED = 0x40
"""STA_UNSYNC of adjtimex(2)."""
MEMBERS_OF_TIMEX = 64
NOW_BITS = {0: "under-voltage", 1: "clock capped", 2: "throttled", 3: "soft temperature limit"}
"""Bits of a Raspberry Pi's `get_throttled`; the same, since the boot, are 16 higher."""
GPU_FILES = ("dev/nvidia0", "dev/nvhost-gpu", "dev/nvgpu/igpu0", "dev/kfd")
"""What is there where NVIDIA's, Jetson's or AMD's driver runs a GPU."""
INTERFERING = {
    "ModemManager": "sends modem commands to each new port",
    "brltty": "takes ports with CH340 adapters",
}
"""Services that open serial ports by themselves, and what they do."""
SLEEP_TARGETS = ("sleep.target", "suspend.target", "hibernate.target", "hybrid-sleep.target")


@dataclass(frozen=True)
class HostFinding:
    """The result of one check, in one line that says what to do."""

    check: str
    weight: Weight
    text: str


def _kernel_is_synchronised() -> bool | None:
    """Return whether a time service keeps the kernel's clock; None where it cannot be asked."""
    try:
        # With `modes` 0 adjtimex(2) only reads; `status` is the sixth word of 4 or 8 bytes (struct timex).
        timex = (ctypes.c_long * MEMBERS_OF_TIMEX)()
        state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex))
    except (OSError, AttributeError):
        return None
    return None if state < 0 else not timex[5] & UNSYNCHRONISED


def _run(words: Sequence[str]) -> str | None:
    if shutil.which(words[0]) is None:
        return None
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


@dataclass(frozen=True)
class Host:
    """The machine that is asked.

    Attributes:
        root: where `dev`, `etc`, `proc` and `sys` are.
        folder: where the logs are to be.
        user, groups: whom the ports have to let in.
        ports: lists the serial ports.
        holder: the process that has locked a port.
        run: what a program prints; None where it is not there or fails.
        synchronised: whether the clock is kept; None: not known.
        now: seconds since the epoch.
        disk_free: bytes, for a folder.
        offload: whether llama.cpp was built with a GPU; None where it is not installed.
    """

    root: Path = Path("/")
    folder: Path = field(default_factory=Path.cwd)
    user: int = field(default_factory=os.geteuid)
    groups: Sequence[int] = field(default_factory=os.getgroups)
    ports: Callable[[], Sequence[PortInfo]] = list_ports
    holder: Callable[[str], int | None] = port_holder
    run: Callable[[Sequence[str]], str | None] = _run
    synchronised: Callable[[], bool | None] = _kernel_is_synchronised
    now: Callable[[], float] = time.time
    disk_free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free
    offload: Callable[[], bool | None] = lambda: _offload()

    def read(self, path: str | Path) -> str:
        """Return a file's text, stripped; empty where there is none."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace").strip("\0\n \t")
        except OSError:
            return ""

    def number(self, path: str | Path) -> float | None:
        """Return the number in a file; None where there is none."""
        try:
            return float(self.read(path))
        except ValueError:
            return None

    def find(self, pattern: str) -> list[Path]:
        """Return the files that a pattern finds, in order."""
        return sorted(self.root.glob(pattern))


def check_host(host: Host) -> list[HostFinding]:
    """Return all findings about a machine."""
    checks = (_access, _holders, _latency, _clock, _disk, _throttling, _sleep, _gpu)
    return [finding for check in checks for finding in check(host)]


def check_memory(host: Host, needed: int, model: str) -> HostFinding:
    """Return whether a model that needs so many bytes fits into the free memory."""
    match = re.search(r"^MemAvailable:\s+(\d+) kB", host.read("proc/meminfo"), re.MULTILINE)
    if match is None:
        return HostFinding("memory", "warning", "free memory is not known: no MemAvailable in /proc/meminfo")
    free = int(match[1]) * 1024
    text = f"{model} needs about {needed / 2**20:,.0f} MiB, {free / 2**20:,.0f} MiB are free"
    if needed > free:
        return HostFinding("memory", "fault", f"{text}: take a smaller quantisation, or less n_ctx")
    if needed > 0.8 * free:
        return HostFinding("memory", "warning", f"{text}: end other programs, or take less n_ctx")
    return HostFinding("memory", "ok", text)


def _access(host: Host) -> Iterator[HostFinding]:
    ports = host.ports()
    if not ports:
        yield HostFinding("ports", "ok", "no serial port is plugged in")
    for port in ports:
        try:
            status = (host.root / port.path.lstrip("/")).stat()
        except OSError:
            yield HostFinding("ports", "fault", f"{port.path} is gone: is the cable loose?")
            continue
        mode = status.st_mode
        may = host.user == 0 or mode & 0o006 == 0o006
        may |= status.st_uid == host.user and mode & 0o600 == 0o600
        may |= status.st_gid in host.groups and mode & 0o060 == 0o060
        if may:
            yield HostFinding("ports", "ok", f"{port}: this user may open it")
            continue
        name, members = _group(host, status.st_gid)
        me = _name_of(host)
        if mode & 0o060 != 0o060:
            todo = f"its mode is {mode & 0o777:o}: add a udev rule with GROUP and MODE"
        elif me in members:
            todo = f"user {me} is in group {name}, but not in this session: log in again"
        else:
            todo = f"sudo usermod -aG {name} {me}, then log in again"
        yield HostFinding("ports", "fault", f"{port}: this user may not open it: {todo}")


def _group(host: Host, number: int) -> tuple[str, list[str]]:
    for line in host.read("etc/group").splitlines():
        fields = line.split(":")
        if len(fields) == 4 and fields[2] == str(number):
            return fields[0], fields[3].split(",")
    return str(number), []


def _name_of(host: Host) -> str:
    for line in host.read("etc/passwd").splitlines():
        fields = line.split(":")
        if len(fields) > 2 and fields[2] == str(host.user):
            return fields[0]
    return str(host.user)


def _holders(host: Host) -> Iterator[HostFinding]:
    for port in host.ports():
        holder = host.holder(port.path) or _opener(host, port.path)
        if holder is not None:
            who = describe_process(holder) or f"process {holder}"
            yield HostFinding("holder", "warning", f"{port.path} is open in {who}: a run finds it in use")
    running = {host.read(path) for path in host.find("proc/[0-9]*/comm")}
    for name, does in INTERFERING.items():
        if name in running and host.ports():
            todo = f"sudo systemctl disable --now {name}, or exempt the port by a udev rule"
            yield HostFinding("holder", "warning", f"{name} runs, which {does}: {todo}")


def _opener(host: Host, port: str) -> int | None:
    """Return a process that has a port open without a lock, of those that this user may look at."""
    for link in host.root.glob("proc/[0-9]*/fd/*"):
        try:
            if str(link.readlink()) == port:
                return int(link.parts[-3])
        except OSError:
            continue
    return None


def _latency(host: Host) -> Iterator[HostFinding]:
    for path in host.find("sys/bus/usb-serial/devices/*/latency_timer"):
        value = host.number(path)
        name = f"/dev/{path.parent.name}"
        if value is None or value <= MOST_LATENCY_MS:
            yield HostFinding("latency", "ok", f"{name}: FTDI's latency timer is short")
        else:
            real = f"/{path.relative_to(host.root)}"
            yield HostFinding(
                "latency", "warning", f"{name}: FTDI's latency timer holds each answer up to {value:g} ms: "
                f"echo 1 | sudo tee {real}",
            )  # fmt: skip


def _clock(host: Host) -> Iterator[HostFinding]:
    now = host.now()
    date = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now))
    # This file was not written in the future.
    if now < Path(__file__).stat().st_mtime - 86400:
        yield HostFinding(
            "clock", "fault", f"it is not {date}: this program is newer; set the clock (sudo timedatectl "
            "set-ntp true)",
        )  # fmt: skip
        return
    kept = host.synchronised()
    if kept is False and (host.root / "run/systemd/timesync/synchronized").exists():
        kept = True
    if kept is None:
        yield HostFinding("clock", "warning", f"{date}; whether it is synchronised is not known")
    elif kept:
        yield HostFinding("clock", "ok", f"{date}, synchronised")
    else:
        yield HostFinding("clock", "warning", f"{date}, not synchronised: sudo timedatectl set-ntp true")
    if not host.find("sys/class/rtc/rtc*"):
        yield HostFinding(
            "clock", "warning", "no clock runs while this machine is off: logs begin with a wrong time until "
            "the network answers; fit a real-time clock with a battery",
        )  # fmt: skip


def _disk(host: Host) -> Iterator[HostFinding]:
    folder = host.folder
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        yield HostFinding("disk", "fault", f"{folder}: not a folder that can be written: create it")
        return
    free = host.disk_free(folder)
    text = f"{folder}: {free / 2**30:,.1f} GiB free"
    if free < LEAST_DISK:
        yield HostFinding("disk", "fault", f"{text}: delete old logs, or shorten `keep` of the schedule")
    elif free < SCANT_DISK:
        yield HostFinding("disk", "warning", f"{text}: delete old logs soon, or shorten `keep`")
    else:
        yield HostFinding("disk", "ok", text)
    if _file_system(host, folder) in ("tmpfs", "ramfs"):
        yield HostFinding("disk", "warning", f"{folder} is in memory: its logs are gone after a power cut")


def _file_system(host: Host, folder: Path) -> str:
    place, found = "", ""
    for line in host.read("proc/mounts").splitlines():
        fields = line.split()
        if len(fields) > 2 and folder.is_relative_to(fields[1]) and len(fields[1]) >= len(place):
            place, found = fields[1], fields[2]
    return found


def _throttling(host: Host) -> Iterator[HostFinding]:
    known = list(_raspberry(host)) + list(_jetson(host)) + list(_temperatures(host))
    yield from known or [HostFinding("throttling", "ok", "nothing says that this machine is slowed down")]


class Slowdowns:
    """What slows a machine down from now on: what a Raspberry Pi says, and counts that rise.

    A Pi tells at each look what is so now, and what has been so for the first time since its boot.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._before = _slowdown_counts(host)
        self._latched = (_raspberry_bits(host) or 0) >> 16
        self._seen: set[str] = set()

    def look(self) -> None:
        """Look once more."""
        bits = _raspberry_bits(self._host) or 0
        bits |= bits >> 16 & ~self._latched
        self._seen |= {name for bit, name in NOW_BITS.items() if bits >> bit & 1}
        counts = _slowdown_counts(self._host)
        self._seen |= {name for name, count in counts.items() if count > self._before.get(name, 0)}

    @property
    def words(self) -> str:
        """What was seen; empty where nothing was."""
        return ", ".join(sorted(self._seen))


def _slowdown_counts(host: Host) -> dict[str, float]:
    """Return how often a Jetson's supply, or an Intel processor's heat, has slowed it down."""
    found = {
        f"over-current {path.name.partition('_')[0]}": host.number(path) or 0
        for path in host.find("sys/class/hwmon/hwmon*/oc*_event_cnt")
    }
    hot = host.find("sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_count")
    return found | ({"heat": sum(host.number(path) or 0 for path in hot)} if hot else {})


def _raspberry_bits(host: Host) -> int | None:
    text = host.run(["vcgencmd", "get_throttled"]) or ""
    match = re.search(r"throttled=0x([0-9a-fA-F]+)", text)
    word = match[1] if match else host.read("sys/devices/platform/soc/soc:firmware/get_throttled")
    try:
        return int(word, 16)
    except ValueError:
        return None


def _raspberry(host: Host) -> Iterator[HostFinding]:
    bits = _raspberry_bits(host)
    if bits is None:
        return
    now = [name for bit, name in NOW_BITS.items() if bits >> bit & 1]
    before = [name for bit, name in NOW_BITS.items() if bits >> bit + 16 & 1]
    todo = "use the board's own supply and a short cable" if bits & 0x10001 else "cool the board"
    if now:
        yield HostFinding("throttling", "fault", f"the Raspberry Pi has {', '.join(now)} now: {todo}")
    elif before:
        yield HostFinding("throttling", "warning", f"since its boot the Pi had {', '.join(before)}: {todo}")
    else:
        yield HostFinding("throttling", "ok", "the Raspberry Pi was not slowed down since its boot")


def _jetson(host: Host) -> Iterator[HostFinding]:
    counts = {path.name: host.number(path) or 0 for path in host.find("sys/class/hwmon/hwmon*/oc*_event_cnt")}
    if events := {name.partition("_")[0]: count for name, count in counts.items() if count}:
        told = ", ".join(f"{name} {count:g} times" for name, count in events.items())
        yield HostFinding(
            "throttling", "warning", f"over-current has slowed the Jetson since its boot ({told}): use a "
            "stronger supply, or a lower power mode (sudo nvpmodel -q)",
        )  # fmt: skip
    elif counts:
        yield HostFinding("throttling", "ok", "no over-current has slowed the Jetson since its boot")


def _temperatures(host: Host) -> Iterator[HostFinding]:
    for zone in host.find("sys/class/thermal/thermal_zone*"):
        reading = host.number(zone / "temp")
        limits = [
            limit
            for kind in sorted(zone.glob("trip_point_*_type"))
            if host.read(kind) == "passive"
            and (limit := host.number(kind.with_name(kind.name.replace("_type", "_temp")))) is not None
            and limit > 0
        ]
        if reading is None or not limits:
            continue
        above = (reading - min(limits)) / 1000
        text = f"{host.read(zone / 'type') or zone.name} is at {reading / 1000:.0f} °C, and slows down at "
        text += f"{min(limits) / 1000:.0f} °C"
        if above >= 0:
            yield HostFinding("throttling", "fault", f"{text}: cool it, or give the model fewer threads")
        elif above > -NEAR_LIMIT:
            yield HostFinding("throttling", "warning", f"{text}: cool it before a long run")


def _sleep(host: Host) -> Iterator[HostFinding]:
    if not host.read("sys/power/state"):
        yield HostFinding("sleep", "ok", "this machine cannot suspend")
        return
    masked = [
        name
        for name in SLEEP_TARGETS
        if (link := host.root / "etc/systemd/system" / name).is_symlink()
        and str(link.readlink()) == "/dev/null"
    ]
    if masked == list(SLEEP_TARGETS):
        yield HostFinding("sleep", "ok", "suspending is switched off")
        return
    settings = _logind(host)
    causes = []
    if host.find("proc/acpi/button/lid/*") and settings.get("HandleLidSwitch", "suspend") != "ignore":
        causes.append("its lid is closed")
    if settings.get("IdleAction", "ignore") not in ("ignore", "lock"):
        causes.append("it is idle")
    default = host.root / "etc/systemd/system/default.target"
    if default.is_symlink() and "graphical" in str(default.readlink()):
        causes.append("its desktop says so")
    if causes:
        mask = f"sudo systemctl mask {' '.join(SLEEP_TARGETS)}"
        yield HostFinding("sleep", "warning", f"this machine may suspend when {' or '.join(causes)}: {mask}")
    else:
        yield HostFinding("sleep", "ok", "nothing suspends this machine by itself")


def _logind(host: Host) -> dict[str, str]:
    files = [host.root / "etc/systemd/logind.conf", *host.find("etc/systemd/logind.conf.d/*.conf")]
    lines = (line.strip() for file in files for line in host.read(file).splitlines())
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}


def _offload() -> bool | None:
    from agents.agent import AgentSpecError
    from agents.backends.llama_library import load_llama_cpp

    try:
        return bool(load_llama_cpp().llama_supports_gpu_offload())
    except AgentSpecError:
        return None


def _gpu(host: Host) -> Iterator[HostFinding]:
    there = next((name for name in GPU_FILES if (host.root / name).exists()), None)
    built = host.offload()
    if built is None:
        yield HostFinding("gpu", "warning", "no local models: pip install 'pathrig[llama]'")
    elif there is None:
        yield HostFinding("gpu", "ok", "no GPU's driver runs: models run on the processor")
    elif built:
        yield HostFinding("gpu", "ok", f"llama.cpp uses the GPU (/{there})")
    else:
        flag = "GGML_HIP" if there == "dev/kfd" else "GGML_CUDA"
        yield HostFinding(
            "gpu", "warning", f"there is a GPU (/{there}), but llama.cpp was built without: "
            f"CMAKE_ARGS=-D{flag}=on pip install --force-reinstall --no-cache-dir --no-binary "
            "llama-cpp-python llama-cpp-python",
        )  # fmt: skip
