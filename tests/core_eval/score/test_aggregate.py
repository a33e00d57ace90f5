"""How agents compare: repeated episodes, the Pareto front, the gated minimum and its file."""

import json
import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from episode_rows import GOOD, HARMED, rows, shown

from configs.errors import ConfigError
from core_eval.cli.main import main
from core_eval.log.schema import MIGRATIONS, register
from core_eval.report.tables.agents import agents_table, episodes_table, front_line, tasks_table
from core_eval.score.aggregate import load_aggregate
from core_eval.score.metrics import BRIEF, BY_NAME, RUNNING, TABLE
from core_eval.score.repeated import group_json, pass_k, tasks_json
from core_eval.score.summary import summary_json
from core_eval.traces.scored_traces import SCORE_NAMES


def test_the_spread_of_repeated_episodes() -> None:
    told = group_json(rows("a", GOOD, HARMED, GOOD, HARMED))
    pc = told["statistics"]["path_correctness"]
    assert (pc["mean"], pc["defined"]) == (0.75, 4)
    assert pc["standard_error"] == pytest.approx(0.25 / 3**0.5)
    assert 0.25 <= pc["interval"][0] < 0.75 < pc["interval"][1] <= 1.0
    assert pc["quantiles"] == {"0": 0.5, "0.25": 0.5, "0.5": 0.75, "0.75": 1.0, "1": 1.0}
    assert told["statistics"]["efficiency"]["defined"] == 2
    assert told["statistics"]["energy"]["interval"] is None
    assert pc["units"] == 4
    json.dumps(told, allow_nan=False)


def test_pass_k_needs_acceptance_without_harm() -> None:
    tries = rows("a", GOOD, HARMED, GOOD, {**GOOD, "accepted": 0.0})
    assert pass_k(tries) == pytest.approx({"1": 0.5, "2": 1 / 6, "3": 0.0, "4": 0.0})
    broken = [replace(row, status="error") for row in rows("a", HARMED)]
    assert pass_k(rows("a", GOOD) + broken) == {"1": 1.0}
    both = tries + rows("a", GOOD, GOOD, task="u")
    assert pass_k(both)["2"] == pytest.approx((1 / 6 + 1) / 2)
    assert [(group["task"], group["pass_k"]["1"]) for group in tasks_json(both)] == [("t", 0.5), ("u", 1.0)]


def test_pass_k_never_mixes_agents() -> None:
    both = rows("a", GOOD, GOOD) + rows("b", HARMED, HARMED)
    assert pass_k(both) is None
    summary = summary_json(both, load_aggregate())
    assert summary["pass_k"] is None
    assert {agent: own["pass_k"] for agent, own in summary["agents"].items()} == {
        "a": {"1": 1.0, "2": 1.0},
        "b": {"1": 0.0, "2": 0.0},
    }


def test_identical_episodes_are_one_try() -> None:
    same = [replace(row, fingerprint="same") for row in rows("a", *[GOOD] * 20)]
    told = group_json(same)
    assert (told["episodes"], told["distinct"], told["passed"]) == (20, 1, 20)
    assert told["pass_k"] == {"1": 1.0}
    assert told["statistics"]["path_correctness"]["interval"] is None
    assert told["statistics"]["accepted"]["interval"] is None
    assert told["statistics"]["accepted"]["no_interval"] == "too few"
    text = shown(agents_table(same))
    assert "1 distinct" in text and "too few" in text and "[" not in text
    # A second run of the same changes no interval and no pass^k.
    some = [replace(row, fingerprint=f"{n}") for n, row in enumerate(rows("a", GOOD, HARMED, GOOD))]
    again = group_json(some + [replace(row, run_id=2) for row in some])
    once = group_json(some)
    assert again["pass_k"] == once["pass_k"]
    for metric, told in once["statistics"].items():
        assert again["statistics"][metric]["interval"] == pytest.approx(told["interval"]), metric
        assert again["statistics"][metric]["standard_error"] == pytest.approx(told["standard_error"]), metric


def test_an_agent_that_did_nothing_is_marked_and_passes_no_gate() -> None:
    idle = {**GOOD, "path_correctness": 0.0, "prefix_criticality": 1.0}
    lazy = [replace(row, calls_made=0) for row in rows("lazy", idle, idle)]
    busy = [replace(row, calls_made=4) for row in rows("busy", GOOD, HARMED)]
    summary = summary_json(lazy + busy, load_aggregate())
    assert (summary["agents"]["lazy"]["no_call"], summary["agents"]["busy"]["no_call"]) == (2, 0)
    assert summary["agents"]["lazy"]["passed"] == 0
    assert summary["agents"]["lazy"]["pass_k"] == {"1": 0.0, "2": 0.0}
    assert summary["aggregate"]["agents"]["lazy"] == 0.0
    for table in (agents_table(lazy + busy), tasks_table(lazy + busy), episodes_table(lazy + busy)):
        assert "no call" in shown(table)
        assert "no call" not in shown(table).replace("2 no call", "").replace("completed, no call", "")
    line = front_line(lazy + busy, load_aggregate())
    assert line is not None and "lazy (no call in 2 of 2)" in line.plain
    # Where the task's answer is to do nothing, it is the right thing.
    answered = [replace(row, definition=replace(row.definition, answer="nothing")) for row in lazy]
    assert group_json(answered)["no_call"] == 0 and group_json(answered)["passed"] == 2
    assert "no call" not in shown(episodes_table(answered))


def test_the_front_and_the_gated_minimum() -> None:
    careful = rows("careful", {**GOOD, "path_correctness": 0.7, "prefix_criticality": 1.0})
    bold = rows("bold", {**HARMED, "path_correctness": 0.9, "prefix_criticality": 0.2})
    worse = rows("worse", {**HARMED, "path_correctness": 0.6, "prefix_criticality": 0.1})
    summary = summary_json([*careful, *bold, *worse], load_aggregate())
    assert summary["pareto"]["front"] == ["careful", "bold"]
    assert summary["aggregate"]["agents"]["bold"] == 0.2
    line = front_line([*careful, *bold, *worse], load_aggregate())
    assert line is not None and line.plain.endswith("efficiency, excess cost: careful, bold")
    assert front_line(careful, load_aggregate()) is None


def test_less_is_better_is_turned_round(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("pareto: [calls]\nweights: {harmful_call_rate: 3, pc_ktc: 1}\ncritical: []\n")
    assert load_aggregate(file).value({"harmful_call_rate": 0.25, "pc_ktc": 1.0}) == 0.8125


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("weights: {pc_ktc: 1}\n", "pareto: Field required"),
        ("pareto: [pc]\nweights: {pc_ktc: 1}\n", "mine.yaml:1: pareto.0: there is no metric 'pc'"),
        (
            "pareto: [calls]\nweights:\n  calls: 1\n",
            "mine.yaml:3: weights.calls: 'calls' is not a metric from 0",
        ),
        (
            "pareto: [calls]\nweights: {pc_ktc: 1}\ncritical:\n- x\n",
            "mine.yaml:4: critical.0: 'x' is not a metric",
        ),
        ("pareto: [calls]\nweights:\n  pc_ktc: -1\n", "mine.yaml:3: weights.pc_ktc: a weight must be"),
        ("pareto: [calls]\nweights: {pc_ktc: .nan}\n", "mine.yaml:2: weights.pc_ktc: a weight must be"),
        ("pareto: [calls]\nweights:\n  pc_ktc: 0\n", "mine.yaml:2: weights: at least one weight"),
        ("pareto: [calls]\nweight: {}\nweights: {pc_ktc: 1}\n", "mine.yaml:2: weight: unknown key"),
    ],
)
def test_a_wrong_file_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_aggregate(file)
    assert said in str(error.value)


def test_the_table_shows_the_interval_and_stays_narrow() -> None:
    many = rows("oracle", GOOD, GOOD, GOOD)
    for agent in ("random", "Qwen3-1.7B-Q8_0"):
        many += rows(
            agent,
            GOOD,
            HARMED,
            {**HARMED, "harmful_calls": 38.0, "unobserved_harm": 12.0},
            HARMED,
        )
    text = shown(agents_table(many))
    assert "all equal" in text and re.search(r"\[0\.\d\d, 1\.00\]", text)
    assert max(map(len, text.splitlines())) <= 160
    assert "gated" in shown(agents_table(many, load_aggregate()))
    assert "[" not in shown(agents_table(rows("oracle", GOOD)))
    assert "too few" in shown(agents_table(rows("oracle", GOOD, HARMED)))


def test_the_table_of_tasks_shows_pass_k_where_tasks_were_repeated() -> None:
    many = rows(
        "Qwen3-1.7B-Q8_0",
        GOOD,
        HARMED,
        GOOD,
        HARMED,
        task="harvest_and_deliver",
    )
    text = shown(tasks_table(many + rows("oracle", GOOD)))
    assert "pass^4" in text and "pass^8" not in text
    told = {line.split()[0]: line.split()[-3:] for line in text.splitlines() if " of " in line}
    assert told == {"harvest_and_deliver": ["0.50", "0.17", "0.00"], "t": ["1.00", "-", "-"]}
    assert max(map(len, text.splitlines())) <= 122
    assert tasks_table(rows("oracle", GOOD) + rows("random", HARMED)) is None


def test_the_command_line_takes_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("pareto: [pc_ktc, calls]\nweights: {pc_ktc: 1}\n")
    command = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "oracle"]
    assert main([*command, "--episodes", "2"]) == 0
    capsys.readouterr()
    assert main(["show", "pathrig.db", "--aggregate", "mine.yaml", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["pareto"] == {"metrics": ["pc_ktc", "calls"], "front": ["oracle"]}
    assert summary["aggregate"]["agents"] == {"oracle": 1.0}
    assert summary["agents"]["oracle"]["distinct"] == 1
    assert main(["score", "--db", "pathrig.db", "--aggregate", "mine.yaml"]) == 0
    assert "gated" in capsys.readouterr().out
    assert main(["show", "pathrig.db", "--aggregate", "none.yaml"]) == 2
    assert "none.yaml: cannot be read" in capsys.readouterr().err


def test_every_list_of_metrics_names_metrics_of_the_one_table() -> None:
    lists = (TABLE, RUNNING, BRIEF, SCORE_NAMES, load_aggregate(None).content.pareto)
    with sqlite3.connect(":memory:") as log:
        register(log)
        for script in MIGRATIONS:
            log.executescript(script)
        columns = [row[1] for row in log.execute("PRAGMA table_info(scoreboard)")]
    board = columns[columns.index("status") + 1 :]
    assert len(board) > 5
    assert {name for names in (*lists, board) for name in names} <= set(BY_NAME)
