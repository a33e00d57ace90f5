"""Truth is kept as changes: what comes out is what went in, by the reader and by SQL."""

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from episode_start import START
from hypothesis import given
from hypothesis import strategies as st

from core_eval.log import LogError, LogReader, RunLog
from core_eval.log.connection import migrate
from core_eval.log.pending_rows import WHOLE_EVERY
from core_eval.log.schema import MIGRATIONS, register
from core_eval.log.truth_changes import NULL, change, changed, packed, unpacked
from devices.harm import HarmEvent
from devices.sensors import Truth

SCALARS = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0, 0.1, "", "a", NULL])
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
STATES = st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4)


def text(state: Any) -> str:
    """By text, since 1, 1.0 and true are equal to Python."""
    return json.dumps(state, sort_keys=True)


@given(STATES, STATES)
def test_a_change_makes_the_second_state_of_the_first(before: dict[str, Any], after: dict[str, Any]) -> None:
    if NULL in text([before, after]):
        return
    again = json.loads(unpacked(*packed(change(before, after))))
    assert text(changed(before, again)) == text(after)


def test_taking_away_what_is_not_there_changes_nothing() -> None:
    assert changed({"a": 1}, {"b": None, "c": {"d": None}}) == {"a": 1, "c": {}}


def a_walk(length: int, seed: int) -> list[dict[str, Any]]:
    """States of a world in which a little changes from one to the next."""
    chance = random.Random(seed)
    state: dict[str, Any] = {
        "pose": {"x": 0.0, "y": 0.0},
        "working": None,
        "plants": {f"plant_{n}": {"moisture": 0.1 * n, "watered_by": None, "ripe": True} for n in range(4)},
        "overlap": {},
    }
    states = []
    for step in range(length):
        state = json.loads(json.dumps(state))
        state["pose"]["x"] = chance.random()
        plant = state["plants"][f"plant_{chance.randrange(4)}"]
        plant["moisture"] = chance.choice([0, 0.0, 1.0, chance.random()])
        plant["watered_by"] = chance.choice([None, step])
        state["working"] = chance.choice([None, "water", {"tool": "water", "since": None}])
        state["overlap"] = chance.choice([{}, {"tree": step}, {"tree": None, "shed": [None, 1]}])
        if chance.random() < 0.1:
            state["note"] = chance.choice([NULL, f'says "{NULL}"'])
        else:
            state.pop("note", None)
        states.append(state)
    states[0]["_initial"] = {"world": "whole", "plants": {"plant_9": None}}
    return states


def some_events(count: int) -> tuple[HarmEvent, ...]:
    return tuple(HarmEvent("ponding", f"plant_{n}", n, 1.0, 2.0, 0.5, 0.25) for n in range(count))


@pytest.mark.parametrize("seed", range(4))
def test_what_went_in_comes_out_by_reader_and_by_sql(tmp_path: Path, seed: int) -> None:
    walks = [a_walk(3 * WHOLE_EVERY + 5, seed), a_walk(5, seed), a_walk(7, seed + 100)]
    with RunLog(tmp_path / "log.db") as log:
        run = log.begin_run({}, {}, {})
        for walk in walks:
            episode = log.begin_episode(run, START)
            for place, state in enumerate(walk):
                call = None if place == 0 else f"c{place}"
                episode.truth(Truth(float(place), call, state, some_events(place // 10)))
            episode.end("completed")
    plain = sqlite3.connect(tmp_path / "log.db")
    register(plain)
    with LogReader(tmp_path / "log.db") as reader:
        for number, walk in enumerate(walks, start=1):
            rows = reader.truth(number)
            assert [text(row.state) for row in rows] == [text(state) for state in walk]
            assert [len(row.events) for row in rows] == [place // 10 for place in range(len(walk))]
            assert [row.call_id for row in rows[:2]] == [None, "c1"]
            told = plain.execute(
                "SELECT t, state, events FROM truth WHERE episode_id = ?", (number,)
            ).fetchall()
            assert [text(json.loads(state)) for _, state, _ in told] == [text(state) for state in walk]
            assert [len(json.loads(events)) for _, _, events in told] == [len(row.events) for row in rows]
            assert [t for t, _, _ in told] == [float(place) for place in range(len(walk))]
    plain.close()


@pytest.mark.parametrize(
    "marked", [{"a": NULL}, {NULL: 1}, {"a": [NULL]}, {"a": {"b": [None, {"c": NULL}]}}, {"a": [[1, NULL]]}]
)
def test_a_state_that_holds_the_mark_of_null_wherever_it_does_comes_out_as_it_was(
    tmp_path: Path, marked: dict[str, Any]
) -> None:
    states = [{"on": True}, marked, {"on": None}, {**marked, "on": True}]
    with RunLog(tmp_path / "log.db") as log:
        episode = log.begin_episode(log.begin_run({}, {}, {}), START)
        for place, state in enumerate(states):
            episode.truth(Truth(float(place), None, state))
        told = log.connection.execute("SELECT state FROM truth").fetchall()
        assert [json.loads(state) for (state,) in told] == states
    with LogReader(tmp_path / "log.db") as reader:
        assert [row.state for row in reader.truth(1)] == states


def test_an_episode_that_begins_with_the_mark_of_null_is_no_base_for_the_next(tmp_path: Path) -> None:
    walks = [[{"by": NULL, "n": 0}], [{"by": NULL, "n": 1}, {"by": None, "n": 2}, {"by": NULL, "n": 3}]]
    with RunLog(tmp_path / "log.db") as log:
        run = log.begin_run({}, {}, {})
        for walk in walks:
            episode = log.begin_episode(run, START)
            for state in walk:
                episode.truth(Truth(0.0, None, state))
            episode.end("completed")
        told = log.connection.execute("SELECT state FROM truth").fetchall()
    assert [json.loads(state) for (state,) in told] == [state for walk in walks for state in walk]


def test_a_state_takes_a_tenth_of_its_text(tmp_path: Path) -> None:
    world = {"parts": {f"part_{n}": {"level": 0.1 * n, "flow": 0.0, "by": None} for n in range(60)}}
    with RunLog(tmp_path / "log.db") as log:
        run = log.begin_run({}, {}, {})
        for _ in range(3):
            episode = log.begin_episode(run, START)
            for call in range(40):
                world["parts"][f"part_{call}"]["level"] = call / 7
                episode.truth(Truth(float(call), f"c{call}" if call else None, world))
            episode.end("completed")
        kept = log.connection.execute("SELECT total(length(change)) FROM truth_row").fetchone()[0]
        wholes = log.connection.execute("SELECT count(*), sum(length(state)) FROM truth_whole").fetchone()
    said = 120 * len(json.dumps(world, separators=(",", ":")))
    assert kept + wholes[1] < said / 10
    assert wholes[0] == 1, "episodes of one task begin alike, and share that state"


def test_an_older_log_keeps_its_truth_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    walk = a_walk(6, 1)
    old = sqlite3.connect(path, isolation_level=None)
    migrate(old, path, MIGRATIONS[:4])
    old.executescript(
        "INSERT INTO run VALUES (1, 10.0, NULL, '{}', '{}', '{}');"
        "INSERT INTO definition VALUES (1, 'abc', 'Go.', '{}', NULL, '[]', NULL);"
        "INSERT INTO episode (id, run_id, number, task, rig, device, agent, scaffold, seed, status, started,"
        " definition_id, limits, guard, scoring, agent_info)"
        " VALUES (1, 1, 0, 't', 'r', 'd', 'a', 'none', 1, 'completed', 11.0, 1, '{}', 'block', '{}', '{}'),"
        " (2, 1, 1, 't', 'r', 'd', 'a', 'none', 2, 'completed', 12.0, 1, '{}', 'block', '{}', '{}');"
    )
    for place, state in enumerate(walk):
        for episode in (1, 2):
            old.execute(
                "INSERT INTO truth VALUES (?, ?, ?, ?, '[]')",
                (episode, f"c{place}", float(place), json.dumps({**state, "episode": episode})),
            )
            old.execute("INSERT INTO sample VALUES (?, 'tank_low', ?, 5.0)", (episode, 10 * episode + place))
    old.close()
    with LogReader(path) as reader:
        assert reader.connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        for episode in (1, 2):
            states = [row.state for row in reader.truth(episode)]
            assert states == [{**state, "episode": episode} for state in walk]
            in_sql = reader.connection.execute("SELECT state FROM truth WHERE episode_id = ?", (episode,))
            assert [json.loads(state) for (state,) in in_sql] == states
            assert [s.value for s in reader.samples(episode)] == [10 * episode + place for place in range(6)]
    with RunLog(path) as log:
        new = log.begin_episode(1, START)
        for place, state in enumerate(walk):
            new.truth(Truth(float(place), f"n{place}", state))
        new.end("completed")
    with LogReader(path) as reader:
        assert [row.state for row in reader.truth(new.id)] == walk


@pytest.mark.parametrize(
    "damage",
    [
        "change = x'00ff'",
        "bytes = 10",
        "bytes = 1 << 40",
        "bytes = NULL",
        "change = x'5b5d', bytes = 2",
    ],
)
def test_a_damaged_change_is_one_line(tmp_path: Path, damage: str) -> None:
    with RunLog(tmp_path / "log.db") as log:
        episode = log.begin_episode(log.begin_run({}, {}, {}), START)
        for place, state in enumerate(a_walk(3, 0)):
            episode.truth(Truth(float(place), f"c{place}", state))
        episode.end("completed")
        log.connection.execute(f"UPDATE truth_row SET {damage} WHERE n = 1")
    with (
        LogReader(tmp_path / "log.db") as reader,
        pytest.raises(LogError, match=r"cannot be read as a log: truth_row\.change of row 2: "),
    ):
        reader.truth(1)
