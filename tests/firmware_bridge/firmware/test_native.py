"""Parts of the firmware that need no board, compiled for this machine and held against oracles."""

import ctypes
import json
import math
import random
import shutil
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from farm_rig import WORLD
from firmware_native import compile_library
from hypothesis import example, given
from hypothesis import strategies as st

from sims.farm_rover.firmware_tables import HEADER
from sims.farm_rover.geometry import Box, Disc
from sims.farm_rover.route import Ground, plan_route

MAX_DEPTH = 8
PENDING = 0xFF
STEPS = 41 * 42
"""Each of 40 corners and the start looks at 40 corners, and is left."""
JSON_NONE, JSON_NUMBER, JSON_STRING = 0, 4, 5

pytestmark = [pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"), pytest.mark.firmware]


class Json(ctypes.Structure):
    _fields_ = (("type", ctypes.c_uint8), ("at", ctypes.c_void_p), ("length", ctypes.c_uint16))


class Point(ctypes.Structure):
    _fields_ = (("x", ctypes.c_float), ("y", ctypes.c_float))


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    sources = [HEADER.with_name(name) for name in ("json.c", "route.c", "tables.c")]
    loaded = ctypes.CDLL(str(compile_library(tmp_path_factory.mktemp("native"), sources)))
    loaded.json_parse.restype = Json
    loaded.json_uint32.restype = ctypes.c_uint32
    return loaded


class Text:
    """A text that stays where it is while the reader points into it."""

    def __init__(self, library: ctypes.CDLL, payload: bytes) -> None:
        self._library = library
        self._buffer = ctypes.create_string_buffer(payload + b"*")
        self.value: Json = library.json_parse(self._buffer, ctypes.c_uint16(len(payload)))

    def as_text(self, size: int = 100) -> bytes | None:
        out = ctypes.create_string_buffer(size)
        fits = self._library.json_text(ctypes.byref(self.value), out, ctypes.c_uint8(size))
        return out.value if fits & 0xFF else None

    def as_uint32(self) -> int:
        return int(self._library.json_uint32(ctypes.byref(self.value)))


def _refuse(_word: str) -> None:
    raise ValueError("not JSON")


def _depth(value: Any) -> int:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(map(_depth, inner), default=0)
    return 0


def is_json(payload: bytes) -> bool:
    try:
        return _depth(json.loads(payload.decode(), parse_constant=_refuse)) <= MAX_DEPTH
    except (ValueError, RecursionError):
        return False


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(max_size=8)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
SIGNS = st.sampled_from(list('{}[]":,.\\/+-eE0123456789abtfnruNI \t\n\x01'))


@given(JSON_VALUES, st.booleans(), st.lists(st.tuples(st.integers(0, 60), SIGNS, st.booleans()), max_size=3))
@example([[[[[[[[]]]]]]]], True, [])
@example([[[[[[[[[]]]]]]]]], True, [])
def test_the_reader_takes_json_and_nothing_else(
    native: ctypes.CDLL, value: Any, ascii_only: bool, edits: list[tuple[int, str, bool]]
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    for place, sign, replace in edits:
        text = text[:place] + sign + text[place + replace :]
    payload = text.encode(errors="replace")
    assert (Text(native, payload).value.type != JSON_NONE) == is_json(payload)


@given(st.binary(max_size=6) | st.text(st.characters(min_codepoint=0x80), max_size=3).map(str.encode))
@example(b"\xc0\xaf")
@example(b"\xed\xa0\x80")
@example(b"\xf4\x90\x80\x80")
@example(b"\xe2\x82")
def test_text_is_utf8_and_nothing_else(native: ctypes.CDLL, text: bytes) -> None:
    payload = b'"' + text + b'"'
    assert (Text(native, payload).value.type != JSON_NONE) == is_json(payload)


@given(st.text(max_size=30), st.booleans())
@example('\U0001f600\\"/\b\f\n\r\t', True)
def test_text_comes_out_as_utf8(native: ctypes.CDLL, text: str, ascii_only: bool) -> None:
    wanted: bytes | None = text.encode(errors="surrogatepass")
    if "\0" in text:
        wanted = None
    read = Text(native, json.dumps(text, ensure_ascii=ascii_only).encode(errors="surrogatepass"))
    assert read.value.type == JSON_STRING
    assert read.as_text(200) == wanted
    assert read.as_text(3) == (wanted if wanted is not None and len(wanted) <= 2 else None)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("0", 0), ("-5", 0), ("123456789", 123456789), ("4294967295", 2**32 - 1), ("4294967296", 2**32 - 1),
     ("99999999999999", 2**32 - 1), ("12.999", 12), ("1.5e3", 1500), ("1e99", 2**32 - 1), ("2E-3", 0),
     ("12500000000e-6", 12500)],
)  # fmt: skip
def test_deadlines_are_read_to_the_millisecond(native: ctypes.CDLL, text: str, milliseconds: int) -> None:
    assert Text(native, text.encode()).as_uint32() == milliseconds


def _planner(native: ctypes.CDLL) -> Callable[[tuple[float, float], tuple[float, float]], list[Point]]:
    route = (Point * 16)()

    def plan(start: tuple[float, float], goal: tuple[float, float]) -> list[Point]:
        native.route_begin(Point(*start), Point(*goal))
        for _ in range(STEPS):
            if (count := native.route_step(route) & 0xFF) != PENDING:
                return [Point(point.x, point.y) for point in route[:count]]
        raise AssertionError(f"no way within {STEPS} steps of planning")

    return plan


def test_ways_are_as_short_as_the_simulator_s_and_as_clear(native: ctypes.CDLL) -> None:
    shapes = (
        *(Box(name, b.x_min, b.x_max, b.y_min, b.y_max) for name, b in WORLD.beds.items()),
        *(Disc(name, o.x, o.y, o.radius) for name, o in WORLD.obstacles.items()),
    )
    ground = Ground(WORLD.field.width, WORLD.field.height, shapes, WORLD.rover.radius + WORLD.rover.clearance)
    chance, plan, detours = random.Random(1), _planner(native), 0
    for _ in range(150):
        start, goal = ((chance.uniform(0, 20), chance.uniform(0, 20)) for _ in range(2))
        if not (ground.is_clear(start) and ground.is_clear(goal)):
            continue
        wanted = plan_route(ground, start, goal)
        assert wanted is not None
        found = [start, *((point.x, point.y) for point in plan(start, goal))]
        assert sum(map(math.dist, *zip(*pairwise(found), strict=True))) == pytest.approx(
            sum(map(math.dist, *zip(*pairwise(wanted), strict=True))), abs=0.01
        )
        for shape in shapes:
            assert min(shape.segment_distance(a, b) for a, b in pairwise(found)) >= ground.clearance - 0.005
        detours += len(found) > 2
    assert detours > 20


def test_a_way_that_is_begun_anew_forgets_the_one_before(native: ctypes.CDLL) -> None:
    plan = _planner(native)
    wanted = [(point.x, point.y) for point in plan((5.0, 5.0), (14.0, 8.5))]
    assert len(wanted) > 1
    native.route_begin(Point(2.0, 2.0), Point(10.0, 14.0))
    for _ in range(50):
        native.route_step((Point * 16)())
    assert [(point.x, point.y) for point in plan((5.0, 5.0), (14.0, 8.5))] == wanted
