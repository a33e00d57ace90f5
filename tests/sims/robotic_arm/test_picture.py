"""Pictures of the bench: they show what is there, and rooms that know no world draw them."""

import ast
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from arm_rig import WORLD, arm, do
from paths import ROOT

from core_eval.report.pictures import world_picture
from sims.png import PictureError, png
from sims.robotic_arm.picture import picture
from sims.world_type import WORLD_TYPES


@pytest.fixture(scope="module")
def needs_opengl():
    try:
        picture(arm()[0], (16, 16))
    except PictureError as error:
        pytest.skip(str(error))


def pixels(file):
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", file[16:24])
    start = file.index(b"IDAT")
    (length,) = struct.unpack(">I", file[start - 4 : start])
    rows = np.frombuffer(zlib.decompress(file[start + 4 : start + 4 + length]), np.uint8)
    return rows.reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3).astype(int)


def red(image):
    return (
        (image[..., 0] > 90) & (image[..., 0] > 2 * image[..., 1]) & (image[..., 0] > 2 * image[..., 2])
    ).sum()


def test_a_png_file_holds_its_pixels():
    image = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    assert (pixels(png(image)) == image).all()


@pytest.mark.slow
@pytest.mark.usefixtures("needs_opengl")
def test_the_picture_shows_the_arm_where_it_is_and_what_is_struck_in_red():
    init = {
        "obstacles": {"post": {"x": 0.65, "y": -0.1, "size": [0.05, 0.05, 0.3]}},
        "zones": {"walkway": None},
    }
    simulator, _ = arm(init)
    first = pixels(picture(simulator, (120, 80)))
    assert first.shape == (80, 120, 3)
    do(simulator, "move_to", x=0.45, y=-0.1, z=0.1)
    moved = pixels(picture(simulator, (120, 80)))
    assert (np.abs(first - moved).sum(axis=2) > 60).sum() > 100
    assert red(moved) == 0
    simulator._monitor.touch = {"post": 100.0}
    assert red(pixels(picture(simulator, (120, 80)))) > 10


@pytest.mark.slow
@pytest.mark.usefixtures("needs_opengl")
def test_a_zone_is_seen_through():
    with_zone = pixels(picture(arm()[0], (120, 80)))
    without = pixels(picture(arm({"zones": {"walkway": None}})[0], (120, 80)))
    changed = np.abs(with_zone - without).sum(axis=2) > 15
    assert changed.sum() > 100
    assert len(np.unique(with_zone[changed], axis=0)) > 20, "what is behind shows through"


def test_without_opengl_one_line_says_what_to_install(monkeypatch):
    from sims.arm import picture as pictures

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(pictures, "import_module", missing)
    with pytest.raises(PictureError, match="libegl1") as caught:
        picture(arm()[0], (32, 32))
    assert "\n" not in str(caught.value)


def test_rooms_that_draw_name_no_world():
    names = set(WORLD_TYPES) | {alias for w in WORLD_TYPES.values() for alias in w.aliases}
    for path in (Path(world_picture.__file__), ROOT / "core_eval" / "cli" / "log.py"):
        tree = ast.parse(path.read_text())
        words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not words & names
        assert not any(part in names for module in modules for part in module.split("."))
    assert WORLD.objects
