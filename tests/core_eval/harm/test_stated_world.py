"""A rig's initial state is held against the world in the log; an older recording lacks newer keys."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from core_eval.cli.main import main
from core_eval.harm.logged_episode import NoReplayError, logged_world
from core_eval.log import LogReader


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    db = tmp_path_factory.mktemp("stated") / "log.db"
    assert main(["run", "--task", "water_one_plant", "--rig", "sim", "--agent", "mute", "--db", str(db)]) == 0
    return db.read_bytes()


def older(state: dict[str, Any]) -> None:
    del state["water_tank"]["wasted_liters"], state["plants"]["plant_A"]["stress_moisture"]


def of_another_world(state: dict[str, Any]) -> None:
    state["plants"]["plant_A"]["moisture"] += 0.01


def with_more(state: dict[str, Any]) -> None:
    state["water_tank"]["colour"] = "blue"


@pytest.mark.parametrize(("change", "fits"), [(older, True), (of_another_world, False), (with_more, False)])
def test_what_a_rig_states_must_be_so(
    change: Callable[[dict[str, Any]], None], fits: bool, run: bytes, tmp_path: Path
) -> None:
    db = tmp_path / "log.db"
    db.write_bytes(run)
    with closing(sqlite3.connect(db)) as connection:
        number, text = connection.execute("SELECT id, state FROM truth_whole ORDER BY id LIMIT 1").fetchone()
        state = json.loads(text)
        change(state)
        connection.execute("UPDATE truth_whole SET state = ? WHERE id = ?", (json.dumps(state), number))
        connection.commit()
    with LogReader(db) as reader:
        (row,) = reader.episodes()
        if fits:
            assert logged_world(reader, row).name == "farm_rover"
        else:
            with pytest.raises(NoReplayError, match="initial state is not that of the world"):
                logged_world(reader, row)
