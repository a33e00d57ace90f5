"""Rig files over drivers and driver files: what loads, and what each mistake is called, with its line."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import ROOT

from configs.device_types import load_device
from configs.drivers_loader import DRIVERS_FOLDER, driver_names, load_driver
from configs.errors import ConfigError
from configs.rigs_loader import load_rig
from devices.drivers.patterns import MachineMessage, Pattern
from devices.drivers.python_driver import load_class
from devices.drivers.settings import resolve
from devices.drivers.templates import TemplateError, check_bytes, render_regex
from devices.drivers.values import Scope, Value, evaluate, plain_text, write
from devices.outcome import Refusal

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64)


@pytest.mark.parametrize("name", driver_names())
def test_every_shipped_driver_loads_and_says_something_of_each_tool(name: str) -> None:
    driver = load_driver(name)
    assert driver.name == name and driver.description
    if driver.link == "pathrig":
        return
    assert driver.device is not None
    device = load_device(driver.device)
    assert set(driver.tools) <= set(device.by_name)
    works = [tool for tool, mapped in driver.tools.items() if mapped.not_fitted is None]
    if driver.link == "python" and not driver.tools:
        works = list(device.by_name)
    assert len(works) >= 6
    if driver.link == "python":
        lacking = [tool for tool in works if not hasattr(load_class(driver.python), tool)]
        assert lacking == []
    else:
        assert driver.stop.remember["safety"] == "locked"


def test_a_rig_of_ones_own_lies_over_a_shipped_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "base: farmbot-serial\nurl: serial:///dev/ttyUSB1\ndriver_options: {flow: 0.2}\n"
        "driver_tables: {plants: {basil: {x: 1, y: 2.5}}}\n"
    )
    rig = load_rig(str(path))
    assert rig.url == "serial:///dev/ttyUSB1"
    assert rig.driver_options["flow"] == 0.2 and rig.driver_options["mm_per_metre"] == 60.0
    assert list(rig.driver_tables["plants"]) == ["basil"] and "base" in rig.driver_tables["stations"]
    settings = resolve(load_driver("farmbot-serial"), rig.driver_options, rig.driver_tables)
    assert settings.tables["plants"]["basil"] == {"x": 1, "y": 2.5, "yaw": 0.0}
    assert settings.options["speed"] == 400


def test_a_url_may_name_a_driver() -> None:
    rig = load_rig("serial:///dev/pts/5?baud=9600&driver=farmbot-serial")
    assert (rig.url, rig.device) == ("serial:///dev/pts/5?baud=9600", "farm_rover")
    assert "plant_B" in rig.driver_tables["plants"], "the shipped rig's tables, for the kit's own tasks"
    assert load_rig("mqtt://host:1884/garden?driver=tasmota-mqtt").url == "mqtt://host:1884/garden"
    for url in ("serial://?serial=AB12", "socket://host:3333", "rfc2217://host:4000"):
        sign = "&" if "?" in url else "?"
        assert load_rig(f"{url}{sign}driver=grbl-serial").url == url
    with pytest.raises(ConfigError, match="needs a URL like mqtt://HOST/RIG"):
        load_rig("serial:///dev/ttyS0?driver=tasmota-mqtt")
    with pytest.raises(ConfigError, match="no driver 'marlin'; there are esphome-mqtt"):
        load_rig("serial:///dev/ttyS0?driver=marlin")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "base: farmbot\nurl: serial:///dev/ttyS0\n",
            r":1: base: no rig 'farmbot'; the rigs are .*farmbot-s",
        ),
        ("base: grbl-serial\nurl: mqtt://h/r\n", r":2: url: driver grbl-serial needs a URL like serial:"),
        ("base: grbl-serial\ndriver: grbl\n", r":2: driver: no driver 'grbl'; there are"),
        ("base: grbl-serial\ndevice: farm_rover\n", r":2: device: driver grbl-serial is for a robotic_arm"),
        (
            "base: grbl-serial\ndriver_options:\n  fed: 3\n",
            r":3: driver_options.fed: .* no such option; there",
        ),
        ("base: grbl-serial\ndriver_options:\n  feed: fast\n", r":3: driver_options.feed: must be a number"),
        ("base: grbl-serial\ndriver_options:\n  feed: 0\n", r":3: driver_options.feed: must be 1 or more"),
        ("base: grbl-serial\ndriver_options:\n  homing: 1\n", r":3: driver_options.homing: must be true or"),
        (
            "base: grbl-serial\ndriver_tables:\n  cups: {}\n",
            r":3: driver_tables.cups: .* no such table; there",
        ),
        (
            "base: grbl-serial\ndriver_tables:\n  bins:\n    b: {x: 1, y: 2}\n",
            r":4: driver_tables.bins.b: the column z is missing: metres",
        ),
        (
            "base: grbl-serial\ndriver_tables:\n  bins:\n    b: {x: 1, y: 2, z: up}\n",
            r":4: driver_tables.bins.b.z: must be a number, not 'up'",
        ),
    ],
)
def test_a_mistake_in_a_rig_file_names_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "rig.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"rig\.yaml" + says):
        load_rig(str(path))


SMALL = """\
name: small
description: a valve
link: serial
device: farm_rover
options:
  flow: {default: 1.0, description: litres/s}
memory: {safety: locked}
line: {never_send: eE}
answers: {done: ['^ok ${id}$']}
stop: {send: E}
tools:
  water_plant:
    values: {t: {argument: liters, divide_by: {option: flow}}}
    steps:
      - send: 'V ${t} ${id}'
    result: {liters: {argument: liters}}
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("link: serial", "link: usb", r":3: link: Input should be 'serial'"),
        ("device: farm_rover", "device: tank", r":4: device: no device type 'tank'; there are "),
        ("stop: {send: E}", "heartbeat: {every: 0, steps: []}", r":10: heartbeat.every: .* greater than 0"),
        ("stop: {send: E}\n", "", r"stop: a driver needs a stop"),
        ("water_plant:", "water_plants:", r":12: tools.water_plants: farm_rover has no such tool"),
        ("argument: liters, div", "argument: litres, div", r":13: .*no argument 'litres'; it has liters"),
        ("option: flow", "option: flaw", r":13: .*no option 'flaw'; there are flow"),
        ("V ${t}", "Ve ${t}", r":15: tools.water_plant.steps.0.send: .* holds 'e', which must not be sent"),
        ("V ${t}", "V ${liters}", r":15: .*nothing is known for \$\{liters\}; there are flow, id, rig, t"),
        (
            "- send: 'V ${t} ${id}'",
            "- {send: V, wait: 1}",
            r":15: tools.water_plant.steps.0: .*exactly one of",
        ),
        ("- send:", "- sent:", r":15: tools.water_plant.steps.0"),
        ("'^ok ${id}$'", "'^ok (${id}$'", r":9: answers.done.0.match: .*is no regular expression"),
        ("liters}}\n", "liters}, tank: 1}\n", r":16: .*result of water_plant has no such key"),
        ("- send: 'V", "- publish: x\n        payload: 'V", r":15: .*publish: is for link mqtt"),
        ("- send: 'V ${t} ${id}'", "- use: spin", r":15: tools.water_plant.steps.0.use: no such macro"),
        ("- send: 'V ${t} ${id}'", '- realtime: "?"', r":15: .*realtime: '\?' is not among `line.realtime`"),
        (
            "- send: 'V ${t} ${id}'",
            "- set: {door: shut}",
            r":15: .*set.door: is not in `memory`; there are safety",
        ),
    ],
)
def test_a_mistake_in_a_driver_file_names_its_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    assert load_driver(str(path)).name == "small"
    assert old in SMALL
    path.write_text(SMALL.replace(old, new, 1))
    os.utime(path, ns=(1, 1))
    with pytest.raises(ConfigError, match=r"small\.yaml" + says if ":" in says[:2] else says):
        load_driver(str(path))


def test_a_driver_file_lies_beside_its_rig_file(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    (tmp_path / "rig.yaml").write_text("name: r\nurl: serial:///dev/ttyS0\ndriver: small.yaml\n")
    assert load_rig(str(tmp_path / "rig.yaml")).driver == str(tmp_path / "small.yaml")


@settings(deadline=None)
@given(x=NUMBERS, scale=st.floats(0.001, 1e6), decimals=st.none() | st.integers(0, 6))
def test_a_number_in_a_command_has_no_exponent(x: float, scale: float, decimals: int | None) -> None:
    text = write(Value(argument="x", scale=scale, decimals=decimals), Scope({"x": x}))
    assert re.fullmatch(r"-?\d+(\.\d+)?|-?inf", text)
    if "inf" not in text:
        check_bytes("G00 X" + text, "eE", 1000)


@settings(deadline=None)
@given(text=st.text())
def test_no_text_of_a_model_leaves_its_line_or_its_topic(text: str) -> None:
    value = Value(argument="plant_id")
    try:
        written = write(value, Scope({"plant_id": text}))
    except Refusal:
        return
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", written)


@settings(deadline=None)
@given(text=st.text(max_size=20))
def test_a_command_with_a_byte_that_must_not_go_is_not_sent(text: str) -> None:
    try:
        data = check_bytes(text, "eE?", 12)
    except TemplateError:
        return
    assert len(data) <= 12 and not set(data) & set(b"eE?\r\n\x18") and max(data, default=0) < 127


@settings(deadline=None)
@given(value=NUMBERS, minus=st.floats(-1e3, 1e3), scale=st.floats(0.1, 1e3), offset=st.floats(-1e3, 1e3))
def test_units_are_converted(value: float, minus: float, scale: float, offset: float) -> None:
    written = Value(argument="x", minus=minus, scale=scale, divide_by=2.0, offset=offset)
    result = evaluate(written, Scope({"x": value}))
    assert result == pytest.approx((value - minus) * scale / 2.0 + offset, nan_ok=True)


def test_values_come_from_where_they_say() -> None:
    tables: dict[str, Any] = {"plants": {"a": {"x": 1.5, "soil": "s1"}, "b": {"x": 2.0}}}
    scope = Scope({"plant_id": "a"}, {"f": 2.0, "on": True}, tables, {"seen.a": "wet"}, {"v": "450"})
    row = {"argument": "plant_id"}
    assert evaluate(Value(row=row, table="plants", column="x"), scope) == 1.5  # type: ignore[arg-type]
    assert evaluate(Value(rows="plants"), scope) == ["a", "b"]
    limit = {"at": {"option": "f"}, "below": "dry", "above": "wet"}
    assert evaluate(Value(capture="v", threshold=limit), scope) == "wet"  # type: ignore[arg-type]
    scope.names["plant"] = "a"
    assert evaluate(Value(remembered="seen.${plant}"), scope) == "wet"
    with pytest.raises(Refusal, match="this rig has no soil for b"):
        evaluate(Value(row="b", table="plants", column="soil"), scope)  # type: ignore[arg-type]
    with pytest.raises(Refusal, match="takes values up to 2"):
        evaluate(Value(argument="x", max={"option": "f"}), Scope({"x": 3}, {"f": 2.0}))  # type: ignore[arg-type]
    assert plain_text(0.1 + 0.2) == "0.3" and plain_text(-0.0) == "0" and plain_text(-1e-9, 2) == "-0.00"


def test_patterns_find_lines_and_json() -> None:
    line = Pattern(match=r"^R41 P(?P<pin>\d+) Q${id}$")
    assert line.find(MachineMessage("", "R41 P8 Q7"), {"id": "7"}) == {"pin": "8"}
    assert line.find(MachineMessage("", "R41 P8 Q77"), {"id": "7"}) is None
    assert render_regex("^${name}$", {"name": "a.b"}) == r"^a\.b$"
    keyed = Pattern.model_validate({"topic": "t/${rig}", "keys": {"A.${k}": {"capture": "v"}, "S": "ON"}})
    names = {"rig": "r", "k": "b"}
    assert keyed.find(MachineMessage("t/r", '{"A": {"b": 1.5}, "S": "ON"}'), names) == {"v": "1.5"}
    for text in ("no json", "[]", '{"A": {"b": 1}}', '{"A": 3, "S": "ON"}', '{"A": {"b": []}, "S": "ON"}'):
        assert keyed.find(MachineMessage("t/r", text), names) is None
    assert keyed.find(MachineMessage("t/x", '{"A": {"b": 1}, "S": "ON"}'), names) is None


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a": ' + "9" * 4301 + "}", '{"a": NaN}', '{"a": 1e999}', '{"a": "\ud800'],
    ids=["deep", "long", "nan", "infinite", "cut"],
)
def test_a_payload_that_nobody_could_use_fits_no_pattern_of_keys(text: str) -> None:
    assert (
        Pattern.model_validate({"keys": {"a": {"capture": "v"}}}).find(MachineMessage("", text), {}) is None
    )


def test_a_sensor_that_is_not_there_hides_no_other() -> None:
    keyed = Pattern.model_validate({"keys": {"a": {"capture": "v"}}})
    assert keyed.find(MachineMessage("", '{"a": 1.5, "b": NaN}'), {}) == {"v": "1.5"}


def test_the_shipped_drivers_are_yaml_that_others_can_read() -> None:
    for path in DRIVERS_FOLDER.glob("*.yaml"):
        assert yaml.safe_load(path.read_text())["name"] == path.stem


def test_the_driver_in_the_docs_loads(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "drivers.md").read_text(encoding="utf-8")
    example = page.split("## Write a driver")[1].split("```yaml")[1].split("```")[0]
    (tmp_path / "my-pump.yaml").write_text(example)
    driver = load_driver(str(tmp_path / "my-pump.yaml"))
    assert write(driver.tools["water_plant"].values["ms"], Scope({"liters": 4.5}, {"flow": 0.1})) == "45000"
    own = page.split("# my-bed.yaml")[1].split("```")[0]
    (tmp_path / "bed.yaml").write_text(own)
    assert load_rig(str(tmp_path / "bed.yaml")).driver_tables["plants"] == {"basil": {"x": 0.4, "y": 0.3}}
