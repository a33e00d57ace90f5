"""The keys `twin` and `truth` of a rig, and writing calibrated parameters into its file."""

import pytest
import yaml

from configs.errors import ConfigError
from configs.rigs_loader import load_rig
from configs.tasks_loader import load_task
from configs.twin_config import TwinParameter
from configs.twin_writer import rig_file, rounded, with_parameters, write_parameters
from configs.yaml_file import load_yaml
from configs.yaml_text import parse_yaml
from core_eval.rig.known_rig import twin_of
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts

pytestmark = pytest.mark.broker

FILE = """\
# My rover, behind the barn.
name: barn
url: mqtt://barn.local/rover   # by cable
device: farm_rover

guard: block
envelope: {move_to: {x: {min: 0, max: 20}}}
twin:
  world: farm_rover
  # measured with a bucket
  parameters:
    water_flow: {value: 1.0, spread: 0.1}   # old
    slip: {value: 0.02, spread: 0.01}
"""


def test_a_rig_names_its_twin(tmp_path):
    path = tmp_path / "barn.yaml"
    path.write_text(FILE)
    rig = load_rig(str(path))
    assert rig.truth
    assert rig.twin is not None
    assert rig.twin.parameters["slip"] == TwinParameter(value=0.02, spread=0.01)
    assert rig.twin.members == 32


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "water_flow:",
            "water_flaw:",
            "barn.yaml:12: twin.parameters.water_flaw: no hidden parameter; there are",
        ),
        ("world: farm_rover", "world: farm_rovr", "barn.yaml:9: twin.world: no world or file 'farm_rovr'"),
        ("world: farm_rover", "world: robotic_arm", "a world of a robotic_arm"),
        ("value: 0.02", "valu: 0.02", "barn.yaml:13"),
    ],
)
def test_a_wrong_twin_is_reported_with_its_line(tmp_path, old, new, said):
    path = tmp_path / "barn.yaml"
    text = FILE.replace(old, new)
    if "robotic_arm" in new:
        text = text[: text.index("  # measured")]
    path.write_text(text)
    with pytest.raises(ConfigError, match="barn") as caught:
        load_rig(str(path))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("url", "kept", "truth"),
    [
        ("sim:farm_rover?truth=false", "sim:farm_rover", False),
        ("mqtt://host/rig?truth=false", "mqtt://host/rig", False),
        ("serial:///dev/ttyX?baud=9600&truth=false", "serial:///dev/ttyX?baud=9600", False),
        ("sim:farm_rover?truth=true", "sim:farm_rover", True),
        ("serial:///dev/ttyX?baud=9600", "serial:///dev/ttyX?baud=9600", True),
    ],
)
def test_a_url_may_say_that_no_truth_is_taken(url, kept, truth):
    rig = load_rig(url)
    assert (rig.url, rig.truth) == (kept, truth)


@pytest.mark.parametrize(
    ("url", "said", "band"),
    [
        ("mqtt://barn.local/rover", "", [0.2, 0.8]),
        ("mqtt://barn.local/rover", ", unknown_between: [0.4, 0.6]", [0.4, 0.6]),
        ("mqtt://barn.local/rover", ", unknown_between: null", None),
        ("sim:farm_rover?truth=false", "", None),
    ],
)
def test_a_physical_rig_has_no_verdict_where_its_twin_is_in_doubt(tmp_path, url, said, band):
    path = tmp_path / "barn.yaml"
    path.write_text(f"name: barn\nurl: {url}\ndevice: farm_rover\ntwin: {{world: farm_rover{said}}}\n")
    twin = twin_of(load_rig(str(path)), load_task("water_one_plant"))
    assert twin is not None and twin["unknown_between"] == band


def test_a_url_says_truth_by_one_of_two_words():
    with pytest.raises(ConfigError, match="truth is either true or false"):
        load_rig("sim:farm_rover?truth=no")


def test_calibration_keeps_comments_order_and_other_keys():
    text = with_parameters(FILE, "farm_rover", {"water_flow": TwinParameter(value=1.07, spread=0.002)})
    for line in ("# My rover, behind the barn.", "# by cable", "# measured with a bucket"):
        assert line in text
    before, after = yaml.safe_load(FILE), yaml.safe_load(text)
    assert list(before) == list(after)
    assert after["twin"].pop("parameters") == {"water_flow": {"value": 1.07, "spread": 0.002}}
    del before["twin"]["parameters"]
    assert after == before
    assert "water_flow: {value: 1.07, spread: 0.002}" in text


def test_a_rig_without_a_twin_gets_one(tmp_path):
    path = tmp_path / "barn.yaml"
    path.write_text(FILE[: FILE.index("twin:")])
    write_parameters(path, "farm_rover", {"slip": TwinParameter(value=0.0312, spread=0.0004)})
    rig = load_rig(str(path))
    assert rig.twin is not None
    assert (rig.twin.world, rig.twin.parameters["slip"].value) == ("farm_rover", 0.0312)
    assert [one.name for one in tmp_path.iterdir()] == ["barn.yaml"], "nothing else is left behind"


PINNED = {
    "water_flow": TwinParameter(value=1.07, spread=0.002),
    "slip": TwinParameter(value=0.0312, spread=1e-05),
}
HEAD = "# mine\nname: barn   # the old one\nurl: mqtt://barn.local/rover\n"


@pytest.mark.parametrize(
    "twin",
    [
        "",
        "# nothing yet",
        "twin:\n",
        "twin: ~  # none yet\n",
        "twin: {}\n",
        "twin: {world: farm_rover}  # in one line\n",
        "twin: {world: farm_rover, members: 8,}\n",
        "twin: {parameters: {slip: {value: 1.0, spread: 1.0}}, world: farm_rover}\n",
        "twin: {\n  world: farm_rover,  # flow\n  parameters: {},\n}\n# the end\n",
        "twin:\n  members: 8   # few\n# below\ndevice: farm_rover\n",
        "twin:\n  world: farm_rover   # its field\n\n# below\n\ndevice: farm_rover\n",
        "twin:\n    world: farm_rover\n    parameters:\n    members: 8\n",
        "twin:\n    parameters:   # by hand\n          slip:\n             value: 1.0\n"
        "             spread: 2.0   # much\n    # which\n    world: farm_rover\n",
        "twin:\n  world: farm_rover\n  parameters: {slip: {value: 1.0,\n     spread: 2.0}}  # two\n# end",
        "home: move_home\ntwin:\n  parameters:\n    slip: {value: 1.0, spread: 1.0}",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_the_twins_parameters_are_written(tmp_path, twin, newline):
    path = tmp_path / "barn.yaml"
    text = (HEAD + twin).replace("\n", newline)
    path.write_bytes(text.encode())
    before = load_yaml(path).data
    write_parameters(path, "farm_rover", PINNED)
    written = path.read_bytes().decode()
    after = load_yaml(path).data
    wanted = {name: parameter.model_dump() for name, parameter in PINNED.items()}
    assert after["twin"] == {"world": "farm_rover", **(before.get("twin") or {}), "parameters": wanted}
    assert {**after, "twin": None} == {**before, "twin": None}
    kept = [
        line for line in text.split(newline) if line.strip() and not any(w in line for w in ("twin", "slip"))
    ]
    old_block = ("value:", "spread:", "parameters:")
    for line in kept:
        assert line in written.split(newline) or any(word in line for word in old_block), line
    assert written.startswith(HEAD.replace("\n", newline))
    assert "\r\n" in written if newline == "\r\n" else "\r" not in written
    again = written
    write_parameters(path, "farm_rover", PINNED)
    assert path.read_bytes().decode() == again, "the second time changes nothing"


@pytest.mark.parametrize(
    "text",
    [
        "spare: &t {world: farm_rover}\nname: a\ntwin: *t\n",
        "spare: &p {slip: {value: 1.0, spread: 1.0}}\nname: a\ntwin: {world: farm_rover, parameters: *p}\n",
        "name: a\ntwin:\n  world: x\n  parameters: &p {slip: {value: 1.0, spread: 1.0}}\nspare: *p\n",
        "spare: &t {parameters: {slip: {value: 1.0, spread: 1.0}}}\nname: a\ntwin:\n  <<: *t\n",
    ],
)
def test_a_twin_that_is_shared_by_an_alias_is_left_alone(tmp_path, text):
    path = tmp_path / "barn.yaml"
    path.write_text(text)
    try:
        write_parameters(path, "farm_rover", PINNED)
    except ConfigError as error:
        assert str(error).startswith(f"{path}: its `twin` cannot be changed")
        assert "slip: {value: 0.0312, spread: 1.0e-05}" in str(error)
        assert path.read_text() == text
    else:
        before, after = parse_yaml(text).value, parse_yaml(path.read_text()).value
        assert before["spare"] == after["spare"], "what shares it keeps its own"
        assert after["twin"]["parameters"]["slip"] == {"value": 0.0312, "spread": 1e-05}
    assert [one.name for one in tmp_path.iterdir()] == ["barn.yaml"]


def test_values_are_written_as_exactly_as_they_are_known():
    found = rounded(TwinParameter(value=1.0723456, spread=0.0023456))
    assert (found.value, found.spread) == (1.0723, 0.0023)


def test_a_rig_file_is_found_by_name_and_by_path(tmp_path):
    assert rig_file("sim-farm-mqtt").name == "sim-farm-mqtt.yaml"
    with pytest.raises(ConfigError, match="give its name or path"):
        rig_file("sim:farm_rover")


def test_a_twin_is_held_against_the_world_that_a_rig_simulates(tmp_path):
    path = tmp_path / "rig.yaml"
    path.write_text("name: r\nurl: sim:farm_rover\nworld: farm_rover\ntwin: {world: robotic_arm}\n")
    with pytest.raises(ConfigError, match=r"rig\.yaml:4: twin\.world: is a world of a robotic_arm"):
        load_rig(str(path))


def test_a_twin_is_held_against_the_task_before_anything_moves(tmp_path):
    path = tmp_path / "rig.yaml"
    path.write_text("name: r\nurl: mqtt://127.0.0.1:1/r\ntwin: {world: robotic_arm}\n")
    cell = Cell(task="water_one_plant", rig=str(path), agent="oracle")
    with pytest.raises(ConfigError, match=r"for a farm_rover, but twin\.world of rig r is robotic_arm"):
        load_parts(RunConfig(cells=(cell,)))
