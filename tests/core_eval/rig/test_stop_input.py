"""A stop input that is pressed during a run: what run, log and terminal say, and how it is reset."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from bench_rig import BenchRover, on_a_pty
from bridge_rig import wait_until
from firmware_rig import board
from processes import children_of

from configs.errors import ConfigError
from configs.rig_config import RigConfig
from configs.rigs_loader import load_rig
from core_eval.cli.main import main
from core_eval.log import LogReader
from core_eval.rig.opening import open_rig
from core_eval.rig.signals import RigError
from devices.outcome import StopOutcome
from sims.farm_rover.board_pins import Outputs

pytestmark = [pytest.mark.serial, pytest.mark.stops]

RUN = ["run", "--task", "water_one_plant", "--agent", "oracle", "--episodes", "2"]


@pytest.mark.firmware
def test_the_run_ends_says_so_and_no_other_begins_before_a_person_resets_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pressed_at: list[int] = []
    moved: list[int] = []

    def press(out: Outputs) -> None:
        if out.moving and not pressed_at:
            emulated.press()
            pressed_at.append(out.ms)
        if pressed_at and out.moving:
            moved.append(out.ms)

    log = str(tmp_path / "log.db")
    file = tmp_path / "mine.yaml"
    with board(on_outputs=press) as emulated:
        file.write_text(f"name: mine\nurl: serial://{emulated.path}\ndevice: farm_rover\nstop_input: true\n")
        run = [*RUN, "--rig", str(file), "--db", log]
        assert main(run) == 130
        assert max(moved) <= pressed_at[0] + 5
        said = capfd.readouterr().err
        assert "rig mine: its stop input is pressed." in said
        emulated.release()
        assert main(run) == 3
        said = capfd.readouterr().err
        assert "its stop input was pressed. It stays stopped until the input is released and a person" in said
        assert main(["rigs", "reset", str(file)]) == 0
        capfd.readouterr()
        main(["rigs", "check", str(file), "--look"])
        checks = capfd.readouterr().out
        assert re.search(r"stop input +ok +released", checks)
        # The clock of an emulated board falls behind where the machine is busy.
        assert set(re.findall(r"^(\w[\w ]*?) +failed ", checks, re.M)) <= {"clock"}
    with LogReader(Path(log)) as reader:
        first, *later = reader.episodes()
        assert (first.status, first.stop_reason) == ("stopped", "stop_input")
        assert {episode.status for episode in later} == {"error"}
        said_by_device = [row.detail for row in reader.rig_statuses(first.id) if row.source == "device"]
    inputs = [detail["stop_input"] for detail in said_by_device if detail is not None]
    assert inputs[0] == "released" and inputs[-1] == "pressed"


def test_a_simulator_of_a_rig_file_has_the_input_too(monkeypatch: pytest.MonkeyPatch) -> None:
    config = RigConfig(name="sim", url="serial://pty", world="farm_rover", spawn=True, stop_input=True)
    with open_rig(config) as session:
        session.client.reset()
        assert session.client.call("sense_pose", {}).status == "ok"
        (child,) = children_of(os.getpid(), "core_eval.rig.serve_simulator")
        os.kill(child, signal.SIGUSR1)
        assert wait_until(lambda: session.held)
        assert session.client.call("sense_pose", {}).code == "estop"
        with pytest.raises(RigError, match="its stop input is pressed: release it first"):
            session.reset_stop_input()
        os.kill(child, signal.SIGUSR2)
        assert wait_until(lambda: getattr(session.client.status, "stop_input", None) == "latched")
        assert not session.client.reset()
        with monkeypatch.context() as lost:
            lost.setattr(session.client, "reset", lambda **_: False)
            with pytest.raises(RigError, match="its stop input was not reset: the rig did not answer"):
                session.reset_stop_input()
        with monkeypatch.context() as unsure:
            unsure.setattr(session.client, "estop", lambda: StopOutcome.SENT)
            with pytest.raises(RigError, match="is reset, but its stop is not confirmed"):
                session.reset_stop_input()
        os.kill(child, signal.SIGUSR1)
        assert wait_until(lambda: session.held)
        os.kill(child, signal.SIGUSR2)
        assert wait_until(lambda: getattr(session.client.status, "stop_input", None) == "latched")
        session.reset_stop_input()
        assert session.client.reset()
        assert session.client.call("sense_pose", {}).status == "ok"


def test_a_rig_whose_file_says_stop_input_and_that_tells_of_none_is_not_driven() -> None:
    rover = BenchRover()
    with on_a_pty(rover) as url:
        config = RigConfig(name="bench", url=url, device="farm_rover", stop_input=True)
        with (
            open_rig(config) as session,
            pytest.raises(RigError, match="its file says stop_input, and its status tells of none"),
        ):
            session.initialise("farm_rover", {}, 0, required=False)
        with open_rig(config) as session, pytest.raises(RigError, match="tells of no stop input"):
            session.reset_stop_input()
    assert not rover.calls


@pytest.mark.parametrize(
    "keys", ["url: serial:///dev/ttyUSB0\ndriver: grbl-serial", "url: sim:farm_rover\nworld: farm_rover"]
)
def test_what_cannot_tell_of_one_is_an_error_with_its_line(keys: str, tmp_path: Path) -> None:
    file = tmp_path / "rig.yaml"
    file.write_text(f"name: a\n{keys}\nstop_input: true\n")
    with pytest.raises(ConfigError, match=r"rig\.yaml:4: stop_input: only a rig with the kit's own wire"):
        load_rig(str(file))
