"""Tables at every width: no line is too long, no number is broken, no heading runs down letter by letter."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from core_eval.report.tables.fitted_table import Hanging, Table, hanging, wrapped
from core_eval.score.agent_names import legend, short_names

NUMBER = re.compile(r"\S*\d\S*")


def lines_of(renderable: object, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, markup=False, highlight=False, emoji=False).print(renderable)
    return out.getvalue().splitlines()


def table(rows: Sequence[Sequence[str]], optional: Sequence[str] = ()) -> Table:
    made = Table("episode", "task", "harmful calls", "share", optional=optional)
    for place in (0, 2, 3):
        made.columns[place].justify = "right"
    for row in rows:
        made.add_row(*row)
    return made


ROWS = [
    ("1", "cup_to_right_bin_and_home", "0.8 ±1.0", "100% (34-100%)"),
    ("12", "water_one_plant", "11.4 ±1.0", "0% (0-66%)"),
]


def test_where_there_is_room_nothing_wraps() -> None:
    assert lines_of(table(ROWS), 120) == [
        "",
        "                                      harmful",
        "episode  task                           calls           share",
        "─────────────────────────────────────────────────────────────",
        "      1  cup_to_right_bin_and_home   0.8 ±1.0  100% (34-100%)",
        "     12  water_one_plant            11.4 ±1.0      0% (0-66%)",
    ]


def test_names_wrap_first_then_columns_leave_and_are_named_then_rows_become_paragraphs() -> None:
    narrow = lines_of(table(ROWS, ["share"]), 52)
    assert narrow[4:6] == ["      1 cup_to_right_bin_    0.8 ±1.0 100% (34-100%)", "        and_home"]
    assert not any("not shown" in line for line in narrow)
    without = lines_of(table(ROWS, ["share"]), 40)
    assert without[-1] == "not shown at 40 columns: share" and "34-100%" not in " ".join(without)
    assert lines_of(table(ROWS), 40) == [
        "",
        "episode: 1",
        "  task: cup_to_right_bin_and_home",
        "  harmful calls: 0.8 ±1.0",
        "  share: 100% (34-100%)",
        "episode: 12  task: water_one_plant",
        "  harmful calls: 11.4 ±1.0",
        "  share: 0% (0-66%)",
    ]


names = st.text("abc_ ./:#水\x1b", min_size=1, max_size=40)
numbers = st.builds(lambda value, half: f"{value:.2f} ±{half:.1f}", st.floats(0, 99), st.floats(0, 9))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9999).map(str), names, numbers, numbers), max_size=4),
    st.integers(30, 130),
    st.sampled_from([(), ("share",), ("share", "harmful calls")]),
)
def test_at_any_width(rows: list[tuple[str, ...]], width: int, optional: tuple[str, ...]) -> None:
    shown = lines_of(table(rows, optional), width)
    assert all(Text(line).cell_len <= width for line in shown)
    text = "\n".join(shown)
    for row in rows:
        for number in (row[0], *(row[2:] if "not shown" not in text else ())):
            assert number in text
    assert "\x1b" not in text


def test_a_cell_of_several_lines_and_an_empty_table() -> None:
    made = table([("1", "a", "1.0\nof 3", "-")])
    assert [line.rstrip() for line in lines_of(made, 80)[-2:]] == [
        "      1  a         1.0      -",
        "                  of 3",
    ]
    assert len(lines_of(table([]), 80)) == 4
    with pytest.raises(ValueError, match="3 cells for 4 columns"):
        table([("1", "a", "b")])


def test_wrapping() -> None:
    def plain(text: str, width: int) -> list[str]:
        return [line.plain for line in wrapped(Text(text), width)]

    assert plain("a bc def", 4) == ["a bc", "def"]
    assert plain("move_to(x=1.25, y=12:30:05)", 12) == ["move_to(", "x=1.25,", "y=12:30:05)"]
    assert plain("https://host/path#model", 12) == ["https://", "host/path#", "model"]
    assert plain("abcdefgh", 3) == ["abc", "def", "gh"]
    assert plain("水水水", 4) == ["水水", "水"]
    assert plain("one\n\ntwo", 9) == ["one", "", "two"]
    styled = wrapped(Text.assemble("aa ", ("bb", "red")), 2)
    assert [line.plain for line in styled] == ["aa", "bb"] and styled[1].spans[0].style == "red"


def test_a_line_hangs_below_itself() -> None:
    text = "  4  water_plant(plant_id='plant_A', liters=4.5)  ok  harmful"
    assert [line.plain for line in hanging(Text(text), 40, "     ")] == [
        "  4  water_plant(plant_id='plant_A',",
        "     liters=4.5)  ok  harmful",
    ]
    assert lines_of(Hanging(Text(text)), 100) == [text]


def test_names_of_agents() -> None:
    given = ["oracle", "Qwen3-1.7B-Q8_0?tools=full", "Qwen3-1.7B-Q8_0?tools=short", "llama?tools=full"]
    short = short_names(given)
    assert list(short.values()) == [
        "oracle",
        "Qwen3-1.7B-Q8_0 (1)",
        "Qwen3-1.7B-Q8_0 (2)",
        "llama?tools=full",
    ]
    assert legend(short) == [f"Qwen3-1.7B-Q8_0 (1): {given[1]}", f"Qwen3-1.7B-Q8_0 (2): {given[2]}"]
    assert short_names(["a\x1b\n"]) == {"a\x1b\n": r"a\x1b\n"}
