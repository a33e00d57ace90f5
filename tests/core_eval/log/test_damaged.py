"""A log that was damaged by hand: whatever reads it says in one line which value of which row it is."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core_eval.cli.main import main
from core_eval.log.columns import EPOCH_COLUMNS, SHAPES, ColumnError, read_value

pytestmark = pytest.mark.slow

CALLS = [
    ("unlock_safety_mode", {}),
    ("move_to", {"x": 3.5, "y": 12.5}),
    ("water_plant", {"plant_id": "plant_B", "liters": 4.9}),
    ("move_home", {}),
    ("move_to", {"x": 3.5, "y": 12.5}),
    ("lock_safety_mode", {}),
    ("unlock_safety_mode", {}),
]
WET = '{"plants": {"plant_B": {"moisture": 0.26}}}'
COMMANDS = (
    ["show"],
    ["show", "--episode", "1", "--json"],
    ["harm"],
    ["report", "-o", "/dev/null"],
    ["score", "--db"],
)
INSIDE = {
    "run.config": ('{"cells":3}', '{"cells":[{"task":3}]}', '{"episodes":"x"}'),
    "definition.goal": ('{"a":{"min":"x"}}', '{"a":{"b":1}}'),
    "definition.tools": ("[3]", "{}"),
    "episode.scoring": ('{"beta":"x"}', '{"beta":9}', '{"zeta":1}', '{"lam":null}'),
    "harm.evidence": ("{}", '{"sensor":1}', '{"sensor":"x","t":"y","value":1,"counterfactual":1}'),
    "deviation.evidence": ("{}", '{"sensor":1}'),
    "compensating_pair.restored": ("[3]", "{}"),
    "truth_row.events": ("[3]", "{}"),
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with harm, compensating pairs and truth; every JSON column of it is filled."""
    folder = tmp_path_factory.mktemp("log")
    script = folder / "calls.jsonl"
    script.write_text("".join(json.dumps({"name": n, "arguments": a}) + "\n" for n, a in CALLS))
    wet = folder / "wet.json"
    wet.write_text(WET)
    path = folder / "log.db"
    task = ["--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", f"scripted:{script}"]
    assert main(["run", *task, "--db", str(path), "--init", str(wet)]) == 0
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # A script has no prompt of a model.
        connection.execute(
            "INSERT INTO prompt (sha256, messages, tools, rendered) VALUES ('0', '[]', '[]', 'Go.')"
        )
        connection.execute("UPDATE episode SET prompt_id = 1")
        connection.execute("PRAGMA journal_mode = DELETE")
    return path


def damaged(log: Path, into: Path, column: str, value: object) -> tuple[Path, int]:
    """A copy in which one row of the column holds this; that row's id."""
    path = into / "damaged.db"
    shutil.copyfile(log, path)
    table, _, name = column.partition(".")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        (row,) = connection.execute(f"SELECT max(rowid) FROM {table}").fetchone()
        assert (
            connection.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (value, row)).rowcount == 1
        )
    return path, row


def told(path: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """What the commands say on standard error, each in no more than one line; nothing is a traceback."""
    said = set()
    for command in COMMANDS:
        capsys.readouterr()
        status = main([*command, str(path)] if "--db" in command else [command[0], str(path), *command[1:]])
        errors = capsys.readouterr().err
        if command[0] == "report" and status == 0:
            # It says what it wrote.
            errors = errors.removeprefix(f"pathrig: /dev/null holds the report of {path}\n")
        if command[0] == "score" and status == 1:
            # The other episodes are scored, and the damaged one is told of.
            assert errors.endswith("; left out\npathrig: 0 scored, 1 left out as damaged\n")
            status, errors = 2, f"pathrig: {errors.removeprefix('episode 1: ').partition('; left out')[0]}\n"
        assert (status, errors.count("\n")) in ((0, 0), (2, 1)), (command, errors)
        said.add(errors)
    return said - {""}


UNREAD = ("step.result", "rig_status.detail")
"""Columns that none of the commands reads, or in which any JSON is right."""


@pytest.mark.parametrize("column", [column for column in SHAPES if column not in UNREAD])
def test_json_of_another_shape_is_one_line(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str
) -> None:
    for value in ("3", *INSIDE.get(column, ())):
        path, row = damaged(log, tmp_path, column, value)
        (line,) = told(path, capsys)
        assert line.startswith(f"pathrig: {path}: cannot be read as a log: {column} of row {row}: "), value
    with pytest.raises(ColumnError, match="no JSON"):
        read_value(*column.split("."), '{"a"')


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("step.result", '{"a"', "no JSON"),
        ("step.result", "[" * 300 + "]" * 300, "nested deeper"),
        ("harm.severity", float("inf"), "not a finite number"),
        ("step.duration", float("-inf"), "not a finite number"),
        ("run.created", 1e300, "not a time"),
        ("episode.started", 1e300, "not a time"),
        ("episode.ended", -5.0, "not a time"),
        ("step.t_intent", 1e300, "not a time"),
        ("step.t_result", 1e300, "not a time"),
    ],
)
def test_a_value_that_cannot_be_is_one_line(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str, value: object, why: str
) -> None:
    path, row = damaged(log, tmp_path, column, value)
    (line,) = told(path, capsys)
    assert f"cannot be read as a log: {column} of row {row}: " in line and why in line


@pytest.mark.parametrize("column", sorted(EPOCH_COLUMNS))
def test_a_time_of_another_type_is_none(column: str) -> None:
    for value in ("yesterday", b"\x00", 10**40):
        with pytest.raises(ColumnError, match="is not a time in s since 1970") as error:
            read_value("run", column, value)
        assert len(str(error.value)) < 80
    assert read_value("run", column, None) is None
    assert read_value("run", column, 1) == 1


def test_an_episode_of_no_run_is_one_line(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "damaged.db"
    shutil.copyfile(log, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE run SET id = 77")
    assert main(["log", "export", str(path), "--format", "otel", "-o", str(tmp_path / "spans.json")]) == 2
    assert capsys.readouterr().err == f"pathrig: {path}: there is no run 1\n"


def test_a_score_that_is_no_number_is_one_line(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "damaged.db"
    shutil.copyfile(log, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE score SET value = 9e999 WHERE metric = 'path_correctness'")
    (line,) = told(path, capsys)
    assert "cannot be read as a log: score.value" in line


@pytest.mark.parametrize("value", ["3", "{}", '{"states":[{}]}', "nothing"])
def test_an_automaton_that_is_none_is_one_line(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    path, _ = damaged(log, tmp_path, "definition.automaton", value)
    (line,) = told(path, capsys)
    assert "the automaton of episode 1 cannot be read" in line


def test_the_other_episodes_of_a_damaged_log_are_scored(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "three.db"
    shutil.copyfile(log, path)
    task = ["--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "oracle"]
    assert main(["run", *task, "--db", str(path), "--episodes", "2"]) == 0
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("""UPDATE step SET arguments = '"x"' WHERE episode_id = 2 AND k = 0""")
        (row,) = connection.execute("SELECT id FROM step WHERE episode_id = 2 AND k = 0").fetchone()
    capsys.readouterr()
    assert main(["score", "--db", str(path), "--json", "--write"]) == 1
    told = capsys.readouterr()
    assert [episode["episode"] for episode in json.loads(told.out)["episodes"]] == [1, 3]
    assert told.err == (
        f"episode 2: {path}: cannot be read as a log: step.arguments of row {row}: Input should be a valid "
        "dictionary; left out\npathrig: 2 scored, 1 left out as damaged\n"
    )


READ_BY = {
    "step.arguments": ("harm", "report"),
    "harm.evidence": ("harm", "report"),
    "truth_row.events": ("report",),
    "episode.init": ("show", "harm", "report", "compare"),
    "episode.definition_id": ("show", "harm", "report", "compare"),
    "score.value": ("show", "harm", "report", "compare"),
}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("step.arguments", '"x"'),
        ("harm.evidence", "{}"),
        ("truth_row.events", '{"a"'),
        ("episode.init", "3"),
        ("episode.definition_id", 99),
        ("score.value", 9e999),
    ],
)
def test_a_damaged_episode_is_named_and_the_others_are_shown(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str, value: object
) -> None:
    path, table = tmp_path / "three.db", column.partition(".")[0]
    shutil.copyfile(log, path)
    task = ["--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "oracle", "--agent", "random"]
    wet = tmp_path / "wet.json"
    wet.write_text(WET)
    assert main(["run", *task, "--db", str(path), "--init", str(wet)]) == 0
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        of = "id" if table == "episode" else "episode_id"
        assert connection.execute(
            f"UPDATE {column.replace('.', ' SET ')} = ? WHERE {of} = 1", [value]
        ).rowcount
    report = tmp_path / "report.html"
    for command, words in (
        (["show", str(path)], "oracle"),
        (["harm", str(path)], "deviations"),
        (["report", str(path), "-o", str(report)], ""),
        (["compare", str(path)], "oracle"),
    ):
        capsys.readouterr()
        assert main(command) == 0, command
        told = capsys.readouterr()
        lines = [line for line in told.err.splitlines() if "holds the report" not in line]
        if command[0] in READ_BY[column]:
            (line,) = lines
            assert line.startswith(f"episode 1: {path}: cannot be read as a log: ")
            assert line.endswith("; left out")
        else:
            assert not lines
        assert words in told.out
    text = report.read_text()
    shown = [f'id="episode-{number}"' in text for number in (1, 2, 3)]
    assert shown == ["report" not in READ_BY[column], True, True]


@pytest.mark.parametrize("changed", ["$.value", "$.t", "$.counterfactual"])
def test_rescoring_compares_the_evidence_too(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: str
) -> None:
    path = tmp_path / "other.db"
    shutil.copyfile(log, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        done = connection.execute(
            "UPDATE harm SET evidence = json_set(evidence, ?, -1) WHERE evidence IS NOT NULL", [changed]
        )
        assert done.rowcount > 0
    assert main(["score", "--db", str(path), "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["episodes"][0]["differing"] == ["harm"]
    assert told.err == "episode 1: the log has other values of harm\n"


@pytest.mark.parametrize(("share", "differing"), [(1e-12, []), (1e-7, ["harm", "pairs"])])
def test_rescoring_overlooks_the_rounding_of_amounts_alone(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], share: float, differing: list[str]
) -> None:
    path = tmp_path / "other.db"
    shutil.copyfile(log, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE harm SET t_start = t_start * (1 + ?), cost = cost * (1 - ?)", [share] * 2)
        done = connection.execute("UPDATE compensating_pair SET stranded = stranded * (1 + ?)", [share])
        assert done.rowcount > 0
    assert main(["score", "--db", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"][0]["differing"] == differing


@pytest.mark.parametrize("content", ["nothing", "no tables"])
def test_a_file_without_a_log_is_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    path = tmp_path / "z.db"
    path.touch()
    if content == "no tables":
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript("CREATE TABLE t (x); DROP TABLE t;")
    before = path.read_bytes()
    out = str(tmp_path / "out")
    for command in (
        *(["show", str(path)], ["harm", str(path)], ["harm", str(path), "--detect"]),
        *(["report", str(path), "-o", out], ["score", "--db", str(path), "--write"]),
        *(["compare", str(path), str(path)], ["log", "export", str(path), "--format", "csv", "-o", out]),
        *(["log", "backup", str(path), out], ["gate", str(path), "--save", out]),
        *(["run", "--resume", "--db", str(path)], ["watch", str(path)]),
    ):
        capsys.readouterr()
        assert main(command) == 2, command
        told = capsys.readouterr()
        assert told.out == "" and told.err.count("\n") == 1, command
        assert f"{path}: {'is empty' if content == 'nothing' else 'holds no tables'}: no log" in told.err
        assert path.read_bytes() == before and [item.name for item in tmp_path.iterdir()] == ["z.db"], command
