"""Pictures of harm events in the report: the moment of each, drawn once, and one line where none can be."""

import json
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from png_pixels import png_pixels

from core_eval.cli.main import main
from core_eval.log import LogReader
from core_eval.report.pictures import event_pictures as event_pictures_module
from core_eval.report.pictures import standalone, world_picture
from core_eval.report.pictures.event_pictures import event_pictures
from core_eval.report.pictures.field_shapes import Field, Shape, Stop
from core_eval.report.pictures.field_view import BELOW, field_svg
from core_eval.report.pictures.standalone import png
from core_eval.report.pictures.world_picture import drawings_at, picture_at
from sims.png import PictureError

FIELD = Field(
    bounds=(0.0, 0.0, 8.0, 4.0),
    fenced=True,
    shapes=(
        Shape("obstacles", "wall", 6.0, 2.0, 1.0, 2.0),
        Shape("plants", "plant_A", 2.0, 3.0),
    ),
    tracks={"person": ((1.0, 1.0), (3.0, 1.0))},
    stops=(Stop(None, 4.0, 1.0), Stop(1, 4.0, 3.0)),
    moves={},
    true_stops=True,
    driven=((4.0, 1.0), (4.0, 3.0)),
)
STATE = {"pose": {"x": 4.0, "y": 3.0, "yaw": 0.0}, "person_at": [2.0, 1.0]}

CALLS = [
    ("unlock_safety_mode", {}),
    ("move_to", {"x": 8.5, "y": 12.4}),
    ("move_to", {"x": 3.5, "y": 12.5}),
    ("spray_pesticide", {"plant_id": "plant_B", "ml": 120.0}),
]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Two identical episodes with a bed crossed and an overdose."""
    folder = tmp_path_factory.mktemp("pictures")
    script, db = folder / "careless.jsonl", folder / "log.db"
    script.write_text("\n".join(json.dumps({"name": name, "arguments": given}) for name, given in CALLS))
    run = ["run", "--task", "water_one_plant", "--rig", "sim", "--db", str(db), "--json"]
    for _ in range(2):
        assert main([*run, "--agent", f"scripted:{script}"]) == 0
    return db


def pixels(field, state=STATE, struck=()):
    """The picture of a field, 416 x 208 pixels, as an array of colours: red, green, blue."""
    image = png(field_svg(field, state, struck), (416, 208))
    return png_pixels(image)[..., :3]


def colour(image, x, y):
    """The colour at a place of FIELD, 4 m high, above a ruler of 20 of the 185 units of the drawing."""
    scale = 208 / (165 + BELOW) * 165 / 4
    return tuple(image[round((4.0 - y) * scale), round(x * scale)])


def orange(image):
    """Where the colour of harm is."""
    return ((abs(image - (0xB8, 0x4A, 0x00)).sum(axis=2)) < 60).nonzero()


def test_the_field_is_drawn_to_scale_with_machine_passer_by_and_harm():
    image = pixels(FIELD)
    ground = colour(image, 7.5, 0.7)
    wall = colour(image, 6.3, 2.7)
    assert wall == colour(image, 5.7, 1.3) != ground == colour(image, 6.0, 3.5)
    r, _, b = colour(image, 4.0, 1.5)
    assert r < 100 < b, "the way, a thin line"
    assert colour(image, 2.0, 1.0) == (0x7D, 0x5A, 0x00), "the person"
    assert colour(image, 4.2, 3.0) == (0x00, 0x65, 0x9E), "the machine heads to the right"
    assert not len(orange(image)[0])
    scale = 208 / (165 + BELOW) * 165 / 4
    for name, x in (("wall", 6.0), ("hopper", 4.0)):
        struck = orange(pixels(FIELD, struck=[name]))
        assert len(struck[0]) > 10 and abs(struck[1].mean() - x * scale) < 2.0, "unknown: at the machine"


def test_a_way_that_is_not_known_is_dashed_from_stop_to_stop():
    known, unknown = (pixels(field) for field in (FIELD, replace(FIELD, driven=())))
    twice = replace(FIELD, driven=(), stops=(*FIELD.stops, FIELD.stops[-1]))
    assert (pixels(twice) == unknown).all(), "a stop where it stood"
    blue = [[colour(image, 4.0, 1.15 + 0.02 * k)[0] < 100 for k in range(30)] for image in (known, unknown)]
    assert all(blue[0]) and 5 < sum(blue[1]) < 28


def test_a_picture_without_its_converter_or_a_font_says_what_to_install(monkeypatch):
    monkeypatch.setattr(standalone, "FONTS", ("No such font",))
    standalone._font.cache_clear()
    with pytest.raises(PictureError, match="fonts-dejavu-core"):
        pixels(FIELD)
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(PictureError, match=r"pip install 'pathrig\[pictures\]'"):
        pixels(FIELD)
    monkeypatch.undo()
    standalone._font.cache_clear()


def test_the_way_is_the_driven_one_until_that_moment(log, monkeypatch):
    drawn = []
    monkeypatch.setattr(world_picture, "field_svg", lambda field, *_: drawn.append(field) or "")
    with LogReader(log) as reader:
        row = reader.episode(1)
        for step in (1, 2):
            world_picture.picture_after_step(reader, row, step)
    first, second = (field.driven for field in drawn)
    assert len(first) < len(second) and second[: len(first)] == first
    assert first[-1] == pytest.approx((8.5, 12.4), abs=0.05)
    assert second[-1] == pytest.approx((3.5, 12.5), abs=0.05)


def test_the_moments_of_an_episode_are_drawn_from_one_replay_as_each_alone(log):
    with LogReader(log) as reader:
        row = reader.episode(1)
        first, last = (event.t_start for event in reader.harm(1))
        both = drawings_at(reader, row, [last, first, 1e9], (90, 60))
        assert set(both) == {first, last}, "by then the episode is over"
        assert both[first] == picture_at(reader, row, first, (90, 60)) != both[last]
        with pytest.raises(PictureError, match="over before"):
            picture_at(reader, row, 1e9, (90, 60))


@pytest.mark.slow
def test_a_report_draws_each_moment_once(log, tmp_path):
    with LogReader(log) as reader:
        episodes = list(reader.episodes())
        found = event_pictures(reader, episodes)
        assert found.left_out is None
        kinds = [event.kind for event in reader.harm(1)]
        assert kinds == ["bed_crossing", "pesticide_overdose"]
        own, same = found.of(1), found.of(2)
        assert all(one.shown for one in own.values()) and len(own) == 2
        assert own[0].shown.startswith("<svg")
        assert [(one.shown, one.episode, one.step) for one in same.values()] == [("", 1, 1), ("", 1, 3)]
    assert main(["report", str(log), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert page.count('<figure class="moment"><svg') == 2
    assert page.count('href="#e1s1">Picture of this moment</a>, in an identical episode') == 1
    assert main(["report", str(log), "-o", str(tmp_path / "folder")]) == 0
    second = (tmp_path / "folder" / "episodes" / "2.html").read_text()
    assert 'href="1.html#e1s3">Picture of this moment</a>' in second and 'class="moment"' not in second


def test_no_more_pictures_than_stated(log, monkeypatch):
    monkeypatch.setattr(event_pictures_module, "PICTURES", 1)
    with LogReader(log) as reader:
        found = event_pictures(reader, list(reader.episodes()))
    assert sum(bool(one.shown) for own in found.shown.values() for one in own.values()) == 1


def test_a_map_needs_neither_mujoco_nor_a_converter(log, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    assert main(["report", str(log), "-o", str(tmp_path / "page.html")]) == 0
    assert '<figure class="moment"><svg' in (tmp_path / "page.html").read_text()
    out = tmp_path / "hit.svg"
    assert main(["log", "picture", f"{log}#1", "--event", "0", "-o", str(out)]) == 0
    drawn = ElementTree.parse(out).getroot()
    assert drawn.attrib["width"] == "960" and "var(" not in out.read_text()
    assert main(["log", "picture", f"{log}#1", "-o", str(tmp_path / "hit.png")]) == 2
    assert "pip install 'pathrig[pictures]'" in capsys.readouterr().err


def test_a_report_of_a_bench_without_mujoco_is_written(tmp_path, monkeypatch):
    script, db = tmp_path / "hard.jsonl", tmp_path / "log.db"
    calls = [("unlock_safety", {}), ("pick", {"object_id": "box_small"}), ("open_gripper", {})]
    script.write_text("\n".join(json.dumps({"name": name, "arguments": given}) for name, given in calls))
    run = ["run", "--task", "box_to_left_bin", "--rig", "sim", "--db", str(db), "--json"]
    assert main([*run, "--agent", f"scripted:{script}"]) == 0
    with LogReader(db) as reader:
        assert reader.harm(1), "the box drops"
    monkeypatch.setitem(__import__("sys").modules, "sims.robotic_arm.simulator", None)
    assert main(["report", str(db), "-o", str(tmp_path / "page.html")]) == 0
    assert "pip install &#39;pathrig[arm]&#39;" in (tmp_path / "page.html").read_text()


def test_events_are_counted_from_0_as_calls_are(log, capsys, tmp_path):
    out = tmp_path / "hit.png"
    with LogReader(log) as reader:
        count = len(reader.harm(1))
    assert main(["log", "picture", f"{log}#1", "--event", str(count), "-o", str(out)]) == 2
    assert f"the episode has {count} harm events, 0 to {count - 1}" in capsys.readouterr().err
    assert main(["log", "picture", f"{log}#1", "--event", "0", "-o", str(out)]) == 0 and out.exists()


def test_a_picture_of_another_format_is_refused(log, capsys, tmp_path):
    assert main(["log", "picture", f"{log}#1", "-o", str(tmp_path / "field.jpg")]) == 2
    assert "field.jpg: end the name in .png, or in .svg" in capsys.readouterr().err
    assert not (tmp_path / "field.jpg").exists()
