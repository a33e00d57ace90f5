"""A log of each schema version: it opens, its path figures stay as they are, its harm is judged again."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from old_logs import old_log

from core_eval.cli.main import main
from core_eval.log import LogReader
from core_eval.log.schema import MIGRATIONS

VERSIONS = range(1, 12)
BY_DAY = (1, 8, 11)
PATH = {
    1: (1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0),
    2: (7 / 13, 10 / 13, 16 / 21, 4.0, 2 / 3, 2 / 3, 4 / 7, 0.0),
    3: (1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0),
    4: (7 / 9, 8 / 9, 4 / 5, 2.0, 0.5, 1.0, 7 / 9, 0.0),
}
"""By episode, what every version scored and every later one must."""
METRICS = (
    "path_correctness",
    "pc_ktc",
    "prefix_criticality",
    "harmful_calls",
    "harmful_call_rate",
    "efficiency",
    "path_correctness_hlr",
    "accepted",
)


def latest(path: Path) -> dict[tuple[int, str], float | None]:
    with LogReader(path) as reader:
        rows = reader.connection.execute("SELECT episode_id, metric, value FROM score_latest").fetchall()
    return {(episode, metric): value for episode, metric, value in rows}


def test_there_is_a_log_of_each_earlier_schema() -> None:
    assert len(MIGRATIONS) == VERSIONS.stop, "add a log of the schema before the new one"


@pytest.mark.parametrize(
    "version",
    [one if one in BY_DAY else pytest.param(one, marks=pytest.mark.nightly) for one in VERSIONS],
)
def test_path_figures_stay_and_harm_is_judged_again_beside_the_first_scoring(
    version: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = old_log(version, tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)
    before = latest(path)
    for episode, values in PATH.items():
        assert [before[episode, metric] for metric in METRICS] == pytest.approx(values, abs=1e-12)
    with LogReader(path) as reader:
        first = {row.id: reader.harm(row.id) for row in reader.episodes()}
        assert [len(first[number]) for number in (1, 2, 3, 4)] == [0, 1, 0, 1]
        assert [(row.kind, row.observed) for row in first[4]] == [("drop", False)]
    assert main(["score", "--db", str(path), "--write"]) == 0
    after = latest(path)
    # Litres that leach hours after the record are a forecast now, and in no share.
    gone = [key for key, value in before.items() if value is not None and after[key] is None]
    assert gone in ([], [(2, "unobserved_share")])
    assert (after[2, "harm_events"], after[2, "forecasts"]) == (0.0, 1.0)
    assert (after[4, "harm_events"], after[4, "excess_harm"]) == (1.0, 1.0)
    for episode in PATH:
        assert [after[episode, metric] for metric in METRICS] == [
            before[episode, metric] for metric in METRICS
        ]
    told = capsys.readouterr()
    assert "could not be judged" not in told.err
    with LogReader(path) as reader:
        for row in reader.episodes():
            assert all(scoring.judged for scoring in row.scorings)
            assert len(row.scorings) == 2
        assert {event.kind for event in reader.harm(4)} == {"drop"}
        assert "leaching" in {event.kind for event in reader.harm(2)}
        kept = reader.connection.execute(
            "SELECT count(*) FROM harm JOIN scoring ON scoring.id = scoring_id"
            " WHERE scoring.id IN (SELECT min(id) FROM scoring GROUP BY episode_id)"
        ).fetchone()
        assert kept == (2,), "the events of the first scoring are still there"
        # The labels of failures came with a later schema.
        assert reader.connection.execute("SELECT count(*) FROM failure").fetchone()[0] > 0
        assert reader.connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    if version == 11:
        # To score again adds nothing.
        assert main(["score", "--db", str(path), "--write"]) == 0
        with LogReader(path) as reader:
            assert [len(row.scorings) for row in reader.episodes()] == [2, 2, 2, 2]
    if version < 8:
        assert "judged by today's simulator" in told.err
        assert main(["show", str(path)]) == 0
        shown = capsys.readouterr().out
        assert "pathrig 0.1.0 " in shown and "pathrig 0.1.0, 20" in shown
        assert main(["show", str(path), "--episode", "2", "--json"]) == 0
        scorings = json.loads(capsys.readouterr().out)["scorings"]
        assert [one["scores"]["path_correctness"] for one in scorings] == [PATH[2][0]] * 2
        assert [one["scores"]["harm_events"] for one in scorings] == [1, 0]


@pytest.mark.parametrize("version", VERSIONS)
def test_equal_episodes_are_told_as_before(version: int, tmp_path: Path) -> None:
    with LogReader(old_log(version, tmp_path)) as reader:
        rows = reader.episodes()
    assert [row.calls_made for row in rows] == [4, 6, 4, 4]
    assert [row.left_record for row in rows] == [None] * 4
    # As `LogReader` once computed them at each reading.
    known = {3: "6550a4a601ec", 4: "65d491793ce7", 8: "dfea566acfc0", 9: "d3260db629f4", 10: "6f5f23a8a0a8"}
    if version in known:
        assert (rows[1].fingerprint or "")[:12] == known[version]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_migrated_log_passes_sqlites_own_check(version: int, tmp_path: Path) -> None:
    path, copy = old_log(version, tmp_path), tmp_path / "copy.db"
    # One that writes brings the schema up to date.
    run = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "done"]
    assert main([*run, "--db", str(path)]) == 0
    with closing(sqlite3.connect(path)) as log:
        assert log.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert log.execute("SELECT count(*) FROM episode").fetchone() == (5,)
        assert log.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert main(["log", "backup", str(path), str(copy)]) == 0


@pytest.mark.parametrize("version", [*(pytest.param(one, marks=pytest.mark.nightly) for one in (1, 4)), 9])
def test_harm_that_cannot_be_judged_again_stays_with_its_version(
    version: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = old_log(version, tmp_path)
    before = latest(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # A call that the world of today refuses.
        connection.execute("UPDATE step SET status = 'rejected' WHERE episode_id = 2 AND k = 1")
    assert main(["score", "--db", str(path), "--write"]) == 0
    told = capsys.readouterr().err
    assert (
        "episode 2: harm could not be judged: the replay differs from the rig's answers: step 1 (move_to): "
        "logged rejected, replayed ok; it stays as judged by pathrig 0.1.0\n" in told
    )
    after = latest(path)
    harm = ("harm_events", "unobserved_harm", "final_state_ok", "deviations")
    assert [after[2, metric] for metric in harm] == [before[2, metric] for metric in harm]
    with LogReader(path) as reader:
        row = reader.episode(2)
        assert [scoring.judged for scoring in row.scorings] == [True, False]
        assert len(reader.harm(2)) == 1 and "harm_events" not in reader.scores(2, row.scorings[1].id)
    kept = "step 1 (move_to): logged rejected, replayed ok; it stays as judged by pathrig 0.1.0"
    for command in (["show", str(path)], ["harm", str(path)], ["show", str(path), "--episode", "2"]):
        assert main(command) == 0
        assert kept in " ".join(capsys.readouterr().out.split())
    assert main(["show", str(path), "--json"]) == 0
    episode = json.loads(capsys.readouterr().out)["episodes"][1]
    assert episode["harm_events"] == 1 and episode["scorings"][1]["note"].startswith("the replay differs")
