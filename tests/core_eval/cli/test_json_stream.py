"""Long JSON goes out piece by piece, as the same text."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from core_eval.cli.main import main
from core_eval.cli.output import print_json_stream
from core_eval.log import LogReader
from core_eval.text.json_text import json_text

ITEMS = [{"a": [1, {"b": "x\ny"}], "c": {}}, [], "ünï\x1b", float("nan")]


@pytest.mark.parametrize("items", [[], ITEMS[:1], ITEMS])
def test_a_stream_is_the_same_text(items: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    print_json_stream({"before": {"x": 1}, "items": iter(items), "after": None})
    assert (
        capsys.readouterr().out
        == json_text({"before": {"x": 1}, "items": items, "after": None}, indent=2) + "\n"
    )
    print_json_stream({})
    assert capsys.readouterr().out == "{}\n"


def test_each_item_is_written_before_the_next_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)

    def items() -> Iterator[str]:
        for number in range(3):
            yield f"item {number}"
            assert f'"item {number}"' in out.getvalue()

    print_json_stream({"items": items()})


def test_episodes_of_a_task_share_its_definition(tmp_path: Path) -> None:
    db = tmp_path / "log.db"
    task = ["--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "oracle", "--db", str(db)]
    assert main(["run", *task, "--episodes", "2"]) == 0
    with LogReader(db) as reader:
        first, second = reader.episodes()
        assert first.definition is second.definition and first.limits is second.limits
        assert reader.automaton(first) is reader.automaton(second)
