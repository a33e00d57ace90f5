"""Pictures of harm events in the report: the moment of each, drawn once, and one line where none can be."""

import json
import re
import struct
from base64 import b64decode
from dataclasses import replace

import pytest

from core_eval.cli.main import main
from core_eval.log import LogReader
from core_eval.report.pictures import event_pictures as event_pictures_module
from core_eval.report.pictures import world_picture
from core_eval.report.pictures.event_pictures import SIZE, event_pictures
from core_eval.report.pictures.field_picture import field_picture
from core_eval.report.pictures.field_shapes import Field, Shape, Stop
from core_eval.report.pictures.world_picture import picture_at, pictures_at
from sims import offscreen
from sims.picture_error import CannotDrawError, PictureError

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

try:
    field_picture(FIELD, STATE, (16, 16))
    no_opengl = ""
except PictureError as error:
    no_opengl = str(error)
needs_opengl = pytest.mark.skipif(bool(no_opengl), reason=no_opengl)

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


def pixels(file):
    import zlib

    import numpy as np

    width, height = struct.unpack(">II", file[16:24])
    start = file.index(b"IDAT")
    (length,) = struct.unpack(">I", file[start - 4 : start])
    rows = np.frombuffer(zlib.decompress(file[start + 4 : start + 4 + length]), np.uint8)
    return rows.reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3).astype(int)


def colour(image, x, y):
    """The colour at a place of FIELD, whose 8 m fill 400 of 416 pixels."""
    return tuple(image[104 - round((y - 2.0) * 50), 208 + round((x - 4.0) * 50)])


@needs_opengl
def test_the_field_is_drawn_to_scale_with_machine_passer_by_and_harm():
    image = pixels(field_picture(FIELD, STATE, (416, 208)))
    assert colour(image, 6.3, 2.8) == colour(image, 5.7, 1.2) == (0x8F, 0x98, 0x9C), "the wall, 1 by 2 m"
    assert colour(image, 6.8, 1.6) == (0xE9, 0xE4, 0xD8) == colour(image, 6.0, 3.3), "the ground around it"
    r, _, b = colour(image, 4.0, 2.0)
    assert r < 100 < b, "the way, a thin line"
    assert colour(image, 1.95, 0.96) == (0xE0, 0x8A, 0x1E), "the person"
    red = (image[..., 0] > 180) & (image[..., 1] < 60)
    assert red.sum() == 0
    struck = pixels(field_picture(FIELD, STATE, (416, 208), ["wall"]))
    red = (struck[..., 0] > 180) & (struck[..., 1] < 60)
    assert red.sum() > 10 and abs(red.nonzero()[1].mean() - (208 + 2 * 50)) < 8.0
    on_machine = pixels(field_picture(FIELD, STATE, (416, 208), ["hopper"]))
    red = (on_machine[..., 0] > 180) & (on_machine[..., 1] < 60)
    assert abs(red.nonzero()[1].mean() - 208) < 2.0, "what is not on the map is marked at the machine"


@needs_opengl
def test_names_of_neighbours_do_not_overlap_in_the_pictures_of_a_report():
    """As near to each other as plants of the shipped field: 1 m in a picture of 8 m."""
    one, two = (Shape("plants", name, x, 2.0) for name, x in (("plant_A", 2.0), ("plant_B", 3.0)))
    white = [
        (pixels(field_picture(replace(FIELD, shapes=shapes), STATE, SIZE)) == 255).all(axis=2).sum()
        for shapes in ((), (one,), (two,), (one, two))
    ]
    assert white[1] - white[0] > 50
    assert white[3] - white[0] == (white[1] - white[0]) + (white[2] - white[0])


@needs_opengl
def test_a_way_that_is_not_known_is_dashed_from_stop_to_stop():
    known, unknown = (
        pixels(field_picture(field, STATE, (416, 208))) for field in (FIELD, replace(FIELD, driven=()))
    )
    twice = replace(FIELD, driven=(), stops=(*FIELD.stops, FIELD.stops[-1]))
    assert (pixels(field_picture(twice, STATE, (416, 208))) == unknown).all(), "a stop where it stood"
    blue = [[colour(image, 4.0, 1.3 + 0.02 * k)[0] < 100 for k in range(60)] for image in (known, unknown)]
    assert all(blue[0])
    assert 20 < sum(blue[1]) < 40


def test_the_way_is_the_driven_one_until_that_moment(log, monkeypatch):
    drawn = []
    monkeypatch.setattr(world_picture, "field_picture", lambda field, *_: drawn.append(field) or b"")
    with LogReader(log) as reader:
        row = reader.episode(1)
        for step in (1, 2):
            world_picture.picture_after_step(reader, row, step)
    first, second = (field.driven for field in drawn)
    assert len(first) < len(second) and second[: len(first)] == first
    assert first[-1] == pytest.approx((8.5, 12.4), abs=0.05)
    assert second[-1] == pytest.approx((3.5, 12.5), abs=0.05)


@needs_opengl
def test_the_moments_of_an_episode_are_drawn_from_one_replay_as_each_alone(log):
    with LogReader(log) as reader:
        row = reader.episode(1)
        first, last = (event.t_start for event in reader.harm(1))
        both = pictures_at(reader, row, [last, first, 1e9], (90, 60))
        assert set(both) == {first, last}, "by then the episode is over"
        assert both[first] == picture_at(reader, row, first, (90, 60)) != both[last]
        with pytest.raises(PictureError, match="over before"):
            picture_at(reader, row, 1e9, (90, 60))


@pytest.mark.slow
@needs_opengl
def test_a_report_draws_each_moment_once(log, tmp_path):
    with LogReader(log) as reader:
        episodes = list(reader.episodes())
        found = event_pictures(reader, episodes)
        assert found.left_out is None
        kinds = [event.kind for event in reader.harm(1)]
        assert kinds == ["bed_crossing", "pesticide_overdose"]
        own, same = found.of(1), found.of(2)
        assert all(one.data for one in own.values()) and len(own) == 2
        assert struct.unpack(">II", b64decode(own[0].data)[16:24]) == SIZE
        assert [(one.data, one.episode, one.step) for one in same.values()] == [("", 1, 1), ("", 1, 3)]
    assert main(["report", str(log), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert page.count("data:image/png;base64,") == 2
    assert page.count('href="#e1s1">Picture of this moment</a>, in an identical episode') == 1
    assert main(["report", str(log), "-o", str(tmp_path / "folder")]) == 0
    second = (tmp_path / "folder" / "episodes" / "2.html").read_text()
    assert 'href="1.html#e1s3">Picture of this moment</a>' in second and "data:image" not in second


@needs_opengl
def test_no_more_pictures_than_stated(log, monkeypatch):
    monkeypatch.setattr(event_pictures_module, "PICTURES", 1)
    with LogReader(log) as reader:
        found = event_pictures(reader, list(reader.episodes()))
    assert sum(bool(one.data) for own in found.shown.values() for one in own.values()) == 1


def test_a_report_without_opengl_says_so_in_one_line(log, monkeypatch, tmp_path):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(offscreen, "import_module", missing)
    with pytest.raises(CannotDrawError):
        field_picture(FIELD, STATE, (16, 16))
    assert main(["report", str(log), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    (line,) = re.findall(r"Pictures of harm events are left out: [^<]*", page)
    assert "libegl1" in line and "data:image" not in page


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


def test_a_picture_that_is_no_png_is_refused(log, capsys, tmp_path):
    assert main(["log", "picture", f"{log}#1", "-o", str(tmp_path / "field.jpg")]) == 2
    assert "field.jpg: the picture is a PNG file, so end the name in .png" in capsys.readouterr().err
    assert not (tmp_path / "field.jpg").exists()
