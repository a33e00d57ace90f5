"""The table of models: what it draws, that it goes on where it stopped, and what it prints."""

import json
import re
import sqlite3

import pytest

from benchmarks.model_table import BEGIN, END, drawn, main, put
from sims.world_type import WORLD_TYPES

pytestmark = pytest.mark.slow

WORLDS = sum(not name.startswith("core:") for name in WORLD_TYPES)
FEW = ("computations", "farm_rover", "navigation")


@pytest.fixture
def table(monkeypatch, capsys):
    def printed(*options, status=0):
        monkeypatch.setattr("sys.argv", ["model_table.py", *options])
        capsys.readouterr()
        assert main() == status
        return capsys.readouterr()

    return printed


def episodes(db):
    with sqlite3.connect(db) as connection:
        return connection.execute("SELECT id, agent, task FROM episode ORDER BY id").fetchall()


def test_tasks_are_drawn_by_seed_from_every_world():
    choices = drawn(5, 0)
    assert choices == drawn(5, 0) != drawn(5, 1)
    assert len({one.world for one in choices}) == WORLDS and len(choices) == 5 * WORLDS
    assert len({one.task for one in choices}) == len(choices)
    for one in choices:
        number = int(one.paraphrase["id"].removeprefix(f"{one.task}_words_"))
        assert number >= 1 and "paraphrases" not in one.paraphrase
    few = {one.task for one in drawn(1, 0)}
    assert len(few) == WORLDS


def test_it_runs_what_is_missing_and_writes_the_page(tmp_path, table):
    db, page = tmp_path / "t.db", tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nearlier\n{END}\nafter\n")
    options = ["--out", str(db), "--tasks", "2", "--worlds", *FEW]
    count = 2 * len(FEW)
    table("--models", "oracle", *options)
    first = episodes(db)
    assert len(first) == count
    # A run that was cut short: its last three episodes are missing.
    with sqlite3.connect(db) as connection:
        (config,) = connection.execute("SELECT config FROM run").fetchone()
        kept = [cell["task"] for cell in json.loads(config)["cells"]][:-3]
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(
            f"UPDATE episode SET status = 'interrupted' WHERE task NOT IN ({','.join('?' * len(kept))})", kept
        )
        connection.execute("UPDATE run SET ended = NULL")
    said = table("--models", "oracle", "mutated:1", *options, "--markdown", str(page))
    again = episodes(db)
    assert again[:count] == first
    assert [agent for _, agent, _ in again[count:]] == ["oracle"] * 3 + ["mutated:1"] * count
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n| model |") and text.endswith(f"{END}\nafter\n")
    assert "earlier" not in text
    oracle = re.search(r"\| oracle \| - \| shipped \| 6 \| 100 \((\d+) to 100\) \| 1\.00 ", text)
    assert oracle is not None and 40 < int(oracle[1]) < 100
    assert text.count("\n| farm_rover |") == 2 and "100 (" in said.out
    before = len(again)
    table("--models", "oracle", "mutated:1", *options)
    assert len(episodes(db)) == before


def test_a_model_has_rows_for_scaffolds_and_wordings(tmp_path, table):
    table("--models", "llama?heat=1", "--out", str(tmp_path / "a.db"), status=2)
    none = tmp_path / "none.gguf"
    failed = table(
        "--models", f"llama:{none}", "--out", str(tmp_path / "b.db"), "--worlds", "writing", status=3
    )
    for row in ("native, shipped", "native, paraphrased", "react, shipped", "react, paraphrased"):
        assert f"llama:{none}, {row}: {none}: " in failed.err


def test_a_page_without_the_marks_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n")
    with pytest.raises(SystemExit, match="has no lines"):
        put("x", page)
    assert page.read_text() == "text\n"
