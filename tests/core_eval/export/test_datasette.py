"""Datasette's metadata: every canned query runs on a log, and names what the log has."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest
from exported_log import empty_log, export, exported_log

from core_eval.export.datasette import QUERIES, metadata


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return exported_log(tmp_path / "farm log.db")


@pytest.mark.parametrize("name", QUERIES)
def test_a_canned_query_runs_and_finds_something(db: Path, name: str) -> None:
    with sqlite3.connect(db) as connection:
        rows = connection.execute(QUERIES[name][2], {"episode": 1}).fetchall()
    # The log has no harm behind a right final state.
    assert rows or name == "behind_an_ok_state"


@pytest.mark.parametrize("name", QUERIES)
def test_it_runs_on_an_empty_log(tmp_path: Path, name: str) -> None:
    empty = empty_log(tmp_path / "empty.db")
    with sqlite3.connect(empty) as connection:
        assert connection.execute(QUERIES[name][2], {"episode": 1}).fetchall() == []


def test_what_it_describes_is_in_the_log(db: Path) -> None:
    tables = metadata("log")["databases"]["log"]["tables"]
    with sqlite3.connect(db) as connection:
        for name, table in tables.items():
            there = {row[1] for row in connection.execute(f"PRAGMA table_info({name})")}
            assert there, name
            assert table.get("columns", {}).keys() <= there
    assert "device time" in tables["harm"]["columns"]["t_start"]


@pytest.mark.interop
def test_datasette_serves_it(db: Path, tmp_path: Path) -> None:
    app = pytest.importorskip("datasette.app")
    content = json.loads(export(db, "datasette", tmp_path / "metadata.json").read_text(encoding="utf-8"))
    served = app.Datasette([str(db)], metadata=content)

    async def answers() -> dict[str, int]:
        found = {}
        for name in QUERIES:
            reply = await served.client.get(f"/farm~20log/{name}.json?episode=1")
            found[name] = reply.status_code
        page = await served.client.get("/farm~20log/harm")
        assert "Harm events of the world" in page.text
        return found

    assert set(asyncio.run(answers()).values()) == {200}
