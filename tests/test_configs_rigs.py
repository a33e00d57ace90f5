from pathlib import Path

import pytest

from configs.errors import ConfigError
from configs.rigs_loader import list_rigs, load_rig


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
    ("text", "says"),
    [
        ("name: a\nurl: mqtt://h/r\nbaud: 9\n", r"own.yaml:3: baud: unknown key"),
        ("name: a\nurl: http://h\n", r"own.yaml:2: url: .*starts with mqtt://"),
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
