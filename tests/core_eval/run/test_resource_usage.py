import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from core_eval.cli.main import main
from core_eval.log import LogReader
from core_eval.run.resource_usage import (
    PowerMeter,
    UsageMonitor,
    find_meter,
    idle_power,
    peak_memory,
    pmic_watts,
)

PMIC = """  3V3_SYS_A current(1)=0.50000000A
   VDD_CORE_A current(7)=2.00000000A
   3V3_SYS_V volt(9)=3.30000000V
   VDD_CORE_V volt(15)=0.80000000V
   EXT5V_V volt(24)=5.10000000V
"""


class Clock:
    """Moves only when it is told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def write(root: Path, files: dict[str, object]) -> None:
    for name, text in files.items():
        file = root / "class" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")


def zone(number: str, name: str, micro: int) -> dict[str, object]:
    folder = f"powercap/intel-rapl:{number}"
    return {
        f"{folder}/name": name,
        f"{folder}/energy_uj": micro,
        f"{folder}/max_energy_range_uj": 1_000_000_000,
    }


def test_rapl_adds_packages_and_memory_and_survives_a_wrap(tmp_path: Path) -> None:
    start = {"0": ("package-0", 999_000_000), "0:0": ("core", 5), "0:1": ("dram", 0), "1": ("psys", 7)}
    for number, (name, micro) in start.items():
        write(tmp_path, zone(number, name, micro))
    meter = find_meter(tmp_path)
    assert meter is not None
    meter.read()
    write(tmp_path, zone("0", "package-0", 2_000_000) | zone("0:1", "dram", 500_000))
    write(tmp_path, zone("0:0", "core", 90_000_000) | zone("1", "psys", 90_000_000))
    meter.read()
    assert (meter.name, meter.joules) == ("rapl", pytest.approx(3.5))


def test_a_jetson_is_measured_at_its_input_rail(tmp_path: Path) -> None:
    chip = "hwmon/hwmon3"
    write(tmp_path, {"hwmon/hwmon0/name": "thermal", f"{chip}/name": "ina3221"})
    for number, rail, milliampere in ((1, "VDD_IN", 2000), (2, "VDD_CPU_GPU_CV", 900)):
        write(
            tmp_path,
            {
                f"{chip}/in{number}_label": rail,
                f"{chip}/in{number}_input": 5000,
                f"{chip}/curr{number}_input": milliampere,
            },
        )
    clock = Clock()
    meter = find_meter(tmp_path, clock)
    assert meter is not None
    meter.read()
    clock.now = 2.0
    write(tmp_path, {f"{chip}/curr1_input": 4000})
    meter.read()
    assert (meter.name, meter.joules) == ("ina3221 VDD_IN", pytest.approx((10 + 20) / 2 * 2))


def test_a_power_sensor_on_the_bus(tmp_path: Path) -> None:
    write(tmp_path, {"hwmon/hwmon1/name": "ina219", "hwmon/hwmon1/power1_input": 4_000_000})
    clock = Clock()
    meter = find_meter(tmp_path, clock)
    assert meter is not None
    for clock.now in (1.0, 3.5):
        meter.read()
    assert (meter.name, meter.joules) == ("ina219", pytest.approx(10.0))


def test_cards_are_added_to_the_processor_or_measured_alone(tmp_path, monkeypatch) -> None:
    class Error(Exception):
        pass

    watts = {0: 50_000, 1: 30_000}

    def power(card: int) -> int:
        if not watts:
            raise Error("lost")
        return watts[card]

    nvml = SimpleNamespace(
        NVMLError=Error,
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda k: k,
        nvmlDeviceGetPowerUsage=power,
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    clock = Clock()
    alone = find_meter(tmp_path / "none", clock)
    write(tmp_path, zone("0", "package-0", 0))
    both = find_meter(tmp_path, clock)
    assert alone is not None and both is not None
    for clock.now, micro in ((0.0, 0), (2.0, 7_000_000)):
        write(tmp_path, zone("0", "package-0", micro))
        alone.read()
        both.read()
    assert (alone.name, alone.joules) == ("nvml 2", pytest.approx(160.0))
    assert (both.name, both.joules) == ("rapl + nvml 2", pytest.approx(167.0))
    watts.clear()
    with pytest.raises(ValueError, match="NVML: lost"):
        both.read()
    assert (meter := find_meter(tmp_path, clock)) is not None and meter.name == "rapl"


def test_a_raspberry_pi_tells_its_rails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pmic_watts(PMIC) == pytest.approx(0.5 * 3.3 + 2.0 * 0.8)
    program = tmp_path / "vcgencmd"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{PMIC}END\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    meter = find_meter(tmp_path)
    assert meter is not None and meter.name == "pmic"
    program.write_text("#!/bin/sh\necho 'Command not registered'\n")
    assert find_meter(tmp_path) is None


def test_the_idle_machine_is_measured_for_some_seconds(tmp_path: Path) -> None:
    clock, power = Clock(), tmp_path / "class/hwmon/hwmon1/power1_input"
    write(tmp_path, {"hwmon/hwmon1/name": "ina219", "hwmon/hwmon1/power1_input": 3_000_000})

    def sleep(seconds: float) -> None:
        clock.now += seconds
        # A machine that takes 3 W for the first half, then 5 W.
        power.write_text("5000000" if clock.now > 2.0 else "3000000")

    idle = idle_power(partial(find_meter, tmp_path, clock), clock, sleep)
    assert idle is not None and (idle["seconds"], idle["meter"]) == (4.0, "ina219")
    assert idle["watts"] == pytest.approx((2.0 * 3 + 0.5 * 4 + 1.5 * 5) / 4)
    assert idle_power(partial(find_meter, tmp_path / "none", clock), clock, sleep) is None


def test_energy_above_idle_is_scored_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 3 W, 2 W of which it takes while it idles; `mute` is run as if it were a model."""
    clock = Clock()
    monkeypatch.setattr("core_eval.run.plan.is_model", lambda _name: True)
    monkeypatch.setattr(
        "core_eval.run.plan.idle_power", lambda _find: {"watts": 2.0, "seconds": 4.0, "meter": "plug"}
    )
    clock.now = 0.0

    def watts() -> float:
        clock.now += 5.0
        return 3.0

    monkeypatch.setattr("core_eval.run.episode.find_meter", lambda: PowerMeter("plug", watts, clock))
    db = tmp_path / "a.db"
    command = ["run", "--task", "users_list", "--rig", "sim:crud", "--agent", "oracle", "--no-floors"]
    assert main([*command, "--db", str(db)]) == 0
    with LogReader(db) as reader:
        (row, *_) = reader.episodes()
        assert reader.run(row.run_id).host["idle"]["watts"] == 2.0
        assert row.wall_seconds is not None
        above = row.scores["energy"] - 2.0 * row.wall_seconds
        assert row.scores["energy_above_idle"] == pytest.approx(above) and above > 0


def test_a_machine_that_cannot_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_meter(tmp_path) is None
    write(tmp_path, {"powercap/intel-rapl:0/name": "package-0", "powercap/intel-rapl:0/energy_uj": "secret"})
    assert find_meter(tmp_path) is None
    with UsageMonitor(None) as costs:
        pass
    assert (costs.cost.energy, costs.cost.meter) == (None, None)


def test_the_peak_is_that_of_the_episode() -> None:
    with UsageMonitor(None, os.getpid()) as before:
        pass
    with UsageMonitor(None, os.getpid()) as during:
        block = b"x" * (64 << 20)
    assert during.cost.peak_memory is not None and before.cost.peak_memory is not None
    assert during.cost.peak_memory - before.cost.peak_memory > 0.9 * len(block)
    assert (peak_memory(os.getpid()) or 0) > len(block)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells of other processes")
def test_the_peak_is_that_of_the_process_that_computes_the_model() -> None:
    with UsageMonitor(None) as elsewhere:
        pass
    assert elsewhere.cost.peak_memory is None
    code = "import sys; sys.stdin.readline(); b = b'x' * (64 << 20); print(flush=True); sys.stdin.readline()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-S", "-c", code], **pipes) as child:
        with UsageMonitor(None, child.pid) as costs:
            child.stdin.write("\n")
            child.stdin.flush()
            child.stdout.readline()
        child.communicate("\n")
    assert 64 << 20 < costs.cost.peak_memory < 128 << 20
    assert peak_memory(child.pid) is None


def test_a_sensor_that_fails_on_the_way_gives_no_energy() -> None:
    readings = iter([3.0])

    def watts() -> float:
        try:
            return next(readings)
        except StopIteration:
            raise OSError("gone") from None

    with UsageMonitor(PowerMeter("test", watts, Clock())) as costs:
        pass
    assert (costs.cost.energy, costs.cost.meter) == (None, None)


def test_energy_is_told_with_its_meter() -> None:
    clock = Clock()
    with UsageMonitor(PowerMeter("test", lambda: 3.0, clock)) as costs:
        clock.now = 2.0
    assert (costs.cost.energy, costs.cost.meter) == (pytest.approx(6.0), "test")
