"""What the sample of mutants reports: what counts, and what does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.mutation import sample
from tests.mutation.sample import Mutant, drawn, forget, report, results


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("firmware_bridge.codec.x_to_line__mutmut_3", "firmware_bridge.codec.to_line"),
        ("firmware_bridge.codec.x__decode__mutmut_12", "firmware_bridge.codec._decode"),
        ("core_eval.log.writer.xǁRunLogǁ__init____mutmut_1", "core_eval.log.writer.RunLog.__init__"),
    ],
)
def test_a_mutant_names_its_function(name: str, function: str) -> None:
    assert Mutant(name, (), ()).function == function


@pytest.mark.parametrize(
    ("removed", "added", "rewords"),
    [
        ('raise ValueError("no")', 'raise ValueError("XXnoXX")', True),
        ('raise ValueError(f"{n} is no number")', "raise ValueError(None)", True),
        ('raise ValueError("no")', 'raise TypeError("no")', False),
        ('if state == "safe":', 'if state == "SAFE":', False),
        ('self._refuse("no", harmful=True)', 'self._refuse("no", harmful=False)', False),
    ],
)
def test_a_change_of_a_message_alone_only_rewords(removed: str, added: str, rewords: bool) -> None:
    assert Mutant("a", (removed,), (added,)).only_rewords is rewords


@pytest.mark.parametrize(
    ("removed", "added", "alike"),
    [
        ('"UPDATE step SET status = ?,"', '"update step set status = ?,"', True),
        ('" WHERE id = ?",', '" WHERE ID = ?",', True),
        ('"UPDATE step SET status = ?,"', '"XXUPDATE step SET status = ?,XX"', False),
        ("\"SELECT id FROM step WHERE status = 'ok'\"", "\"SELECT ID FROM STEP WHERE STATUS = 'OK'\"", False),
        ('status="running",', 'status="RUNNING",', False),
    ],
)
def test_a_change_of_case_in_sql_is_none(removed: str, added: str, alike: bool) -> None:
    assert Mutant("a", (removed,), (added,)).only_recases_sql is alike


def test_the_share_is_of_what_is_neither_equivalent_nor_reworded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = {f"m.x_f__mutmut_{number}": code for number, code in enumerate((1, 1, 1, 0, 0, 0, 33))}
    (tmp_path / "m.py.meta").write_text(json.dumps({"exit_code_by_key": codes, "more": 1}))
    changes = {3: ("a = 1", "a = 2"), 4: ('raise E("no")  # reason', 'raise E("")  # reason')}
    monkeypatch.setattr(sample, "MUTANTS", tmp_path)
    monkeypatch.setattr(sample, "equivalents", lambda: {("m.f", "a = 2"): "why"})

    def shown(name: str) -> Mutant:
        removed, added = changes.get(int(name.rpartition("_")[2]), ("b = 1", "b = 2"))
        return Mutant(name, (removed,), (added,))

    monkeypatch.setattr(sample, "mutant", shown)
    assert results() == codes
    assert report(list(codes), 0.6) == 0 and report(list(codes), 0.61) == 1
    said = capsys.readouterr().out
    assert "3 of 5 noticed (60.0 %); beside them 1 equivalent and 1 that only reword a message" in said
    assert "executed by no test: m.x_f__mutmut_6" in said and "survived: m.x_f__mutmut_5" in said
    forget(["m.x_f__mutmut_5"])
    assert results() == {**codes, "m.x_f__mutmut_5": None}


def test_a_draw_is_by_its_seed_and_stays_where_some_names_go() -> None:
    names = [f"m.x_f__mutmut_{number}" for number in range(300)]
    first = drawn(names, 100, 1)
    assert len(set(first)) == 100 and first == drawn(reversed(names), 100, 1) != drawn(names, 100, 2)
    assert len(set(first) & set(drawn(names[10:], 100, 1))) >= 90
    assert drawn(names, 0, 1) == sorted(names) == drawn(names, 1000, 1)
