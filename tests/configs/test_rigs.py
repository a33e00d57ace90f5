from pathlib import Path

import pytest

from configs.errors import ConfigError
from configs.rigs_loader import list_rigs, load_rig

pytestmark = [pytest.mark.broker, pytest.mark.serial]


def test_the_shipped_rigs_load() -> None:
    rigs = {rig.name: rig for rig in list_rigs()}
    assert {"sim-farm-mqtt", "sim-arm-serial"} <= set(rigs)
    assert rigs["sim-farm-mqtt"].spawn
    assert rigs["sim-arm-serial"].device == "robotic_arm"


def test_a_url_is_a_rig() -> None:
    rig = load_rig("mqtt://me:secret@broker:1884/rover-7")
    assert rig.url == "mqtt://me:secret@broker:1884/rover-7"
    assert "secret" not in rig.name
    assert rig.world is None
    assert load_rig("sim:farm").device == "farm_rover"
    assert load_rig("serial:///dev/ttyACM0?baud=115200").device is None


@pytest.mark.parametrize(
    ("ref", "says"),
    [
        ("no-such-rig", r"no rig 'no-such-rig'; the rigs are .*sim-arm-serial, sim-farm-mqtt"),
        ("mqtt://host", r"the rig's name is missing"),
        ("mqtt://host:99999/r", r"port"),
        ("mqtt://host/a/+", r"neither \+ nor #"),
        ("serial://", r"the port's path is missing"),
        ("sim:moon", r"no world"),
        ("sim:farm_rover?thruth=false", r"no options but truth=false"),
    ],
)
def test_a_bad_reference_says_what_to_do(ref: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load_rig(ref)


@pytest.mark.parametrize(
    ("url", "truth", "left"),
    [
        ("mqtt://h/r?truth=false", False, "mqtt://h/r"),
        ("mqtt://h/r?version=5&truth=false", False, "mqtt://h/r?version=5"),
        ("serial:///dev/ttyACM0?baud=9600&truth=true", True, "serial:///dev/ttyACM0?baud=9600"),
        ("mqtt://h/r?version=5", True, "mqtt://h/r?version=5"),
    ],
)
def test_truth_in_a_url_is_the_same_in_a_file_and_as_the_rig(
    tmp_path: Path, url: str, truth: bool, left: str
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(f"name: a\nurl: {url}\n", encoding="utf-8")
    for rig in (load_rig(str(path)), load_rig(url)):
        assert (rig.truth, rig.url) == (truth, left)


def test_a_file_that_takes_no_truth_takes_none_whatever_its_url_says(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("name: a\nurl: mqtt://h/r?truth=true\ntruth: false\n", encoding="utf-8")
    assert load_rig(str(path)).truth is False


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: a\nurl: mqtt://h/r\nbaud: 9\n", r"own.yaml:3: baud: unknown key"),
        ("name: a\nurl: mqtt://h/r?truth=no\n", r"own.yaml:2: url: .*truth is either true or false"),
        ("name: a\nurl: http://h\n", r"own.yaml:2: url: .*starts with .*mqtt://"),
        ("name: a\nurl: mqtt://h/r\ndevice: tank\n", r"own.yaml:3: device: no device type 'tank'"),
        ("name: a\nurl: mqtt://h/r\nspawn: true\n", r"world: a rig that is spawned needs the world"),
        ("name: a\n", r"url: Field required"),
        ("name: a\nurl: mqtt://h/r\nguard: maybe\n", r"own.yaml:3: guard: "),
    ],
)
def test_a_bad_rig_file_names_the_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=says):
        load_rig(str(path))
