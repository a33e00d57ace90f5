"""After a run without errors a rig calls its `home` tool, if its file names one, and is stopped."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_rig import BenchRover, on_a_pty

from configs.errors import ConfigError
from configs.rig_config import RigConfig
from configs.rigs_loader import load_rig
from core_eval.rig.opening import open_rig

pytestmark = [pytest.mark.serial, pytest.mark.stops]


def rig(url: str, home: str | None) -> RigConfig:
    return RigConfig(name="bench", url=url, device="farm_rover", home=home)


def test_a_run_that_ended_in_order_goes_home_and_is_stopped_there() -> None:
    rover = BenchRover()
    with on_a_pty(rover) as url:
        with open_rig(rig(url, "move_home")) as session:
            session.make_safe()
        assert rover.calls == ["move_home"]
        assert rover.made_safe.wait(25)


def test_without_home_in_its_file_nothing_moves_at_the_end() -> None:
    rover = BenchRover()
    with on_a_pty(rover) as url:
        with open_rig(rig(url, None)):
            pass
        assert not rover.calls and rover.made_safe.wait(25)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_after_an_error_or_ctrl_c_nothing_moves(error: type[BaseException]) -> None:
    rover = BenchRover()
    with on_a_pty(rover) as url:
        with pytest.raises(error), open_rig(rig(url, "move_home")):
            raise error
        assert not rover.calls and rover.made_safe.wait(25)


def test_an_unknown_home_tool_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("name: a\nurl: mqtt://h/r\ndevice: farm_rover\nhome: fly\n")
    with pytest.raises(ConfigError, match=r"own\.yaml:4: home: a farm_rover has no tool 'fly'"):
        load_rig(str(path))


@pytest.mark.parametrize(
    "url", ["serial://?serial=7563", "serial://?vid=2341&pid=0042&baud=9600", "socket://10.0.0.7:4001"]
)
def test_every_form_of_a_serial_url_is_a_rig(url: str) -> None:
    assert load_rig(url).url == url


@pytest.mark.parametrize("url", ["socket://host", "rfc2217://:99"])
def test_a_network_port_needs_host_and_port(url: str) -> None:
    with pytest.raises(ConfigError, match="HOST:PORT"):
        load_rig(url)
