"""A machine as its files below a root describe it: what is found, and what to do."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from core_eval.rig.host_check import SLEEP_TARGETS, Host, HostFinding, Slowdowns, check_host, check_memory
from firmware_bridge.serial.ports import PortInfo

PORT = PortInfo("/dev/ttyUSB0", vid=0x0403, pid=0x6001)
GIB = 2**30
USER = os.geteuid() + 1
"""A user whom no file of the test belongs to."""
Make = Callable[..., Host]


def write(root: Path, path: str, text: str = "") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.fixture
def host(tmp_path: Path) -> Make:
    def make(**given: Any) -> Host:
        fine: dict[str, Any] = {
            "root": tmp_path,
            "folder": tmp_path,
            "user": USER,
            "groups": [],
            "ports": lambda: [],
            "holder": lambda _: None,
            "run": lambda _: None,
            "synchronised": lambda: True,
            "disk_free": lambda _: 50 * GIB,
            "offload": lambda: False,
        }
        return Host(**fine | given)

    write(tmp_path, "etc/passwd", f"root:x:0:0::/root:/bin/sh\nann:x:{USER}:1000::/home/ann:/bin/sh\n")
    write(tmp_path, "sys/class/rtc/rtc0/name", "rtc")
    return make


def of(check: str, findings: Sequence[HostFinding]) -> list[tuple[str, str]]:
    return [(one.weight, one.text) for one in findings if one.check == check]


def port_file(root: Path, mode: int) -> int:
    file = write(root, "dev/ttyUSB0")
    file.chmod(mode)
    return file.stat().st_gid


def test_a_fit_machine_has_no_fault(host: Make) -> None:
    findings = check_host(host())
    assert {one.weight for one in findings} == {"ok"}
    assert {one.check for one in findings} == {"ports", "clock", "disk", "throttling", "sleep", "gpu"}


def test_a_port_needs_its_group_or_a_new_login(host: Make, tmp_path: Path) -> None:
    group = port_file(tmp_path, 0o660)
    here = host(ports=lambda: [PORT])
    write(tmp_path, "etc/group", f"dialout:x:{group}:bob\n")
    ((weight, text),) = of("ports", check_host(here))
    assert weight == "fault" and "sudo usermod -aG dialout ann" in text
    write(tmp_path, "etc/group", f"dialout:x:{group}:ann\n")
    assert "log in again" in of("ports", check_host(here))[0][1]
    assert of("ports", check_host(host(ports=lambda: [PORT], groups=[group])))[0][0] == "ok"
    port_file(tmp_path, 0o600)
    assert "udev rule" in of("ports", check_host(here))[0][1]


def test_who_holds_a_port_is_told(host: Make, tmp_path: Path) -> None:
    port_file(tmp_path, 0o666)
    (tmp_path / "proc/4194999/fd").mkdir(parents=True)
    (tmp_path / "proc/4194999/fd/5").symlink_to("/dev/ttyUSB0")
    write(tmp_path, "proc/77/comm", "ModemManager\n")
    told = of("holder", check_host(host(ports=lambda: [PORT])))
    assert [weight for weight, _ in told] == ["warning", "warning"]
    assert "process 4194999" in told[0][1] and "systemctl disable --now ModemManager" in told[1][1]
    locked = of("holder", check_host(host(ports=lambda: [PORT], holder=lambda _: os.getpid())))
    assert f"process {os.getpid()}" in locked[0][1]


@pytest.mark.parametrize(("timer", "weight"), [("16", "warning"), ("1", "ok")])
def test_latency_timer(host: Make, tmp_path: Path, timer: str, weight: str) -> None:
    write(tmp_path, "sys/bus/usb-serial/devices/ttyUSB0/latency_timer", f"{timer}\n")
    ((found, text),) = of("latency", check_host(host()))
    assert found == weight
    if found == "warning":
        assert "sudo tee /sys/bus/usb-serial/devices/ttyUSB0/latency_timer" in text


def test_clock(host: Make, tmp_path: Path) -> None:
    assert of("clock", check_host(host(now=lambda: 0.0)))[0][0] == "fault"
    assert of("clock", check_host(host(synchronised=lambda: False)))[0][0] == "warning"
    assert "not known" in of("clock", check_host(host(synchronised=lambda: None)))[0][1]
    write(tmp_path, "run/systemd/timesync/synchronized")
    assert of("clock", check_host(host(synchronised=lambda: False))) == [
        ("ok", time.strftime("%Y-%m-%d %H:%M UTC, synchronised", time.gmtime()))
    ]
    (tmp_path / "sys/class/rtc/rtc0/name").unlink()
    (tmp_path / "sys/class/rtc/rtc0").rmdir()
    assert "real-time clock" in of("clock", check_host(host()))[1][1]


@pytest.mark.parametrize(("free", "weight"), [(0.1, "fault"), (1.0, "warning"), (5.0, "ok")])
def test_disk(host: Make, free: float, weight: str) -> None:
    assert of("disk", check_host(host(disk_free=lambda _: int(free * GIB))))[0][0] == weight


def test_a_folder_that_is_not_there_or_in_memory(host: Make, tmp_path: Path) -> None:
    assert of("disk", check_host(host(folder=tmp_path / "none")))[0][0] == "fault"
    write(tmp_path, "proc/mounts", f"/dev/sda / ext4 rw 0 0\ntmpfs {tmp_path} tmpfs rw 0 0\n")
    assert "in memory" in of("disk", check_host(host()))[1][1]


@pytest.mark.parametrize(
    ("word", "weight", "words"),
    [
        ("0x0", "ok", "not slowed down"),
        ("0x50000", "warning", "had under-voltage, throttled: use the board's own supply"),
        ("0x50005", "fault", "under-voltage, throttled now"),
        ("0x8", "fault", "soft temperature limit now: cool"),
    ],
)
def test_raspberry_pi(host: Make, word: str, weight: str, words: str) -> None:
    ((found, text),) = of("throttling", check_host(host(run=lambda _: f"throttled={word}\n")))
    assert found == weight and words in text


def test_raspberry_pi_without_its_tool(host: Make, tmp_path: Path) -> None:
    write(tmp_path, "sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n")
    assert of("throttling", check_host(host()))[0][0] == "fault"


def test_jetson(host: Make, tmp_path: Path) -> None:
    for name, count in {"oc1_event_cnt": 0, "oc3_event_cnt": 7}.items():
        write(tmp_path, f"sys/class/hwmon/hwmon3/{name}", f"{count}\n")
    write(tmp_path, "dev/nvhost-gpu")
    findings = check_host(host())
    ((weight, text),) = of("throttling", findings)
    assert weight == "warning" and "oc3 7 times" in text
    assert "GGML_CUDA" in of("gpu", findings)[0][1]
    assert of("gpu", check_host(host(offload=lambda: True)))[0][0] == "ok"
    assert "pathrig[llama]" in of("gpu", check_host(host(offload=lambda: None)))[0][1]


@pytest.mark.parametrize(("degrees", "weight"), [(86, "fault"), (82, "warning")])
def test_temperature(host: Make, tmp_path: Path, degrees: int, weight: str) -> None:
    zone = "sys/class/thermal/thermal_zone0"
    values = {"type": "cpu-thermal", "temp": degrees * 1000, "trip_point_0_type": "passive"}
    for name, value in (values | {"trip_point_0_temp": 85000}).items():
        write(tmp_path, f"{zone}/{name}", f"{value}\n")
    ((found, text),) = of("throttling", check_host(host()))
    assert found == weight and "cpu-thermal" in text


def test_sleep(host: Make, tmp_path: Path) -> None:
    write(tmp_path, "sys/power/state", "freeze mem\n")
    assert of("sleep", check_host(host()))[0][0] == "ok"
    write(tmp_path, "proc/acpi/button/lid/LID0/state", "open")
    ((weight, text),) = of("sleep", check_host(host()))
    assert weight == "warning" and "lid" in text and "systemctl mask sleep.target" in text
    write(tmp_path, "etc/systemd/logind.conf", "[Login]\n#IdleAction=ignore\nHandleLidSwitch=ignore\n")
    assert of("sleep", check_host(host()))[0][0] == "ok"
    write(tmp_path, "etc/systemd/logind.conf.d/a.conf", "[Login]\nIdleAction=suspend\n")
    assert "idle" in of("sleep", check_host(host()))[0][1]
    folder = tmp_path / "etc/systemd/system"
    folder.mkdir(parents=True)
    (folder / "default.target").symlink_to("/lib/systemd/system/graphical.target")
    assert "desktop" in of("sleep", check_host(host()))[0][1]
    for name in SLEEP_TARGETS:
        (folder / name).symlink_to("/dev/null")
    assert of("sleep", check_host(host())) == [("ok", "suspending is switched off")]


@pytest.mark.parametrize(("free", "weight"), [(900, "fault"), (1200, "warning"), (4000, "ok")])
def test_memory(host: Make, tmp_path: Path, free: int, weight: str) -> None:
    write(tmp_path, "proc/meminfo", f"MemTotal: 8000000 kB\nMemAvailable: {free * 1024} kB\n")
    assert check_memory(host(), 1000 * 2**20, "a.gguf").weight == weight
    assert check_memory(host(root=tmp_path / "none"), 1, "a.gguf").weight == "warning"


def test_what_slows_a_machine_down_is_told_by_what_rises(tmp_path: Path) -> None:
    def put(name: str, text: object) -> None:
        file = tmp_path / "sys" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    put("class/hwmon/hwmon1/oc3_event_cnt", 7)
    put("devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", 90)
    slowed = Slowdowns(Host(root=tmp_path, run=lambda _: None))
    slowed.look()
    assert slowed.words == ""
    put("class/hwmon/hwmon1/oc3_event_cnt", 8)
    put("devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", 91)
    slowed.look()
    assert slowed.words == "heat, over-current oc3"
    put("devices/platform/soc/soc:firmware/get_throttled", "4")
    slowed.look()
    put("devices/platform/soc/soc:firmware/get_throttled", "40000")
    slowed.look()
    assert slowed.words == "heat, over-current oc3, throttled"
    put("devices/platform/soc/soc:firmware/get_throttled", "50000")
    slowed.look()
    assert slowed.words == "heat, over-current oc3, throttled, under-voltage"
    again = Slowdowns(Host(root=tmp_path, run=lambda _: None))
    again.look()
    assert again.words == ""
