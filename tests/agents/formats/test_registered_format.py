"""A syntax of tool calls that a package registers: the example that the documentation names."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from chat_standin import DONE, completion, serving
from paths import ROOT
from plugin import Plugin, forget
from tiny_gguf import write_tiny_gguf

from agents.formats.answer import parse_answer
from agents.formats.calls import CallText, Nonsense
from agents.formats.known_marks import known_marks
from agents.formats.registry import FORMATS, formats
from pathrig import open_log

EXAMPLE = ROOT / "examples" / "arrow_format"
HOME = "[plan] [call] look -> {} [/plan] [call] unlock_safety_mode -> {} [end][done]"


@pytest.fixture
def arrow(tmp_path: Path) -> Iterator[Plugin]:
    """The example, installed."""
    points = {"arrow": "pathrig_arrow_format:ARROW"}
    package = Plugin(tmp_path, "pathrig-arrow-format", "pathrig.formats", points, {})
    for file in ("pathrig_arrow_format.py", "arrow.jinja"):
        shutil.copy(EXAMPLE / file, tmp_path)
    forget_marks()
    yield package
    forget_marks()


def forget_marks() -> None:
    forget(FORMATS)
    formats.cache_clear()
    known_marks.cache_clear()


def test_the_calls_of_a_model_behind_a_server_are_made(arrow: Plugin) -> None:
    answers = [(200, completion({"content": HOME}, "stop")), (200, DONE)]
    command = ("run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--db", "a.db")
    with serving(*answers) as (_, spec):
        ran = arrow.pathrig(*command, "--agent", spec)
    assert ran.returncode == 0, ran.stderr
    with open_log(arrow.folder / "a.db") as log:
        [episode] = log.episodes
        [step] = log.steps(episode)
    assert (step.tool, step.status) == ("unlock_safety_mode", "ok")


def test_without_the_package_they_are_words() -> None:
    assert "arrow" not in FORMATS
    assert parse_answer(HOME, own=None).items == ()


@pytest.mark.llama
def test_a_model_is_prompted_in_it(arrow: Plugin) -> None:
    template = (EXAMPLE / "arrow.jinja").read_text(encoding="utf-8")
    write_tiny_gguf(arrow.folder / "tiny.gguf", template=template, context=16384)
    checked = arrow.pathrig("models", "check", "llama:tiny.gguf", "--json")
    assert checked.returncode in (0, 1), checked.stderr
    assert json.loads(checked.stdout)["format"] == "arrow"


def test_its_marks_are_known_in_every_syntax(arrow: Plugin) -> None:
    with arrow._installed(FORMATS):
        forget_marks()
        [call] = parse_answer(HOME, own=FORMATS["arrow"]).items
        assert call == CallText("unlock_safety_mode", {})
        [other] = parse_answer("I would send [call] unlock_safety_mode -> {} [end] now.").items
        assert isinstance(other, Nonsense) and other.code == "unread_call"


def test_one_that_cannot_be_imported_is_one_line(tmp_path: Path) -> None:
    package = Plugin(tmp_path, "pathrig-broken", "pathrig.formats", {"broken": "no_such_module:X"}, {})
    with serving((200, DONE)) as (_, spec):
        ran = package.pathrig(
            "run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", spec, "--db", "b.db"
        )
    assert ran.returncode == 3
    assert "pathrig-broken registers 'broken' in pathrig.formats" in ran.stderr
    assert "Traceback" not in ran.stderr
