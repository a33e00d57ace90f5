"""Rule files on the command line: over traces, over a log, and in a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from core_eval.cli import file_parts
from core_eval.cli.main import main
from core_eval.log import LogReader, RunLog, StepRow
from core_eval.rules.episode import logged_calls, told_at_first
from core_eval.rules.monitor import violations
from core_eval.rules.rule_file import load_rules

RULES = """
rules:
  - id: unlock-first
    severity: critical
    sentence: Unlock before you move.
    precedence: [unlock_safety_mode, move_to]
  - id: lock-after
    sentence: Lock the safety mode again.
    response: [unlock_safety_mode, lock_safety_mode]
"""
UNLOCK, LOCK = {"name": "unlock_safety_mode"}, {"name": "lock_safety_mode"}
MOVE: dict[str, Any] = {"name": "move_to", "arguments": {"x": 3.5, "y": 12.5}}
TRACES = {
    "kept": [UNLOCK, MOVE, LOCK],
    "corrected": [{**MOVE, "status": "rejected"}, UNLOCK, MOVE, LOCK],
    "open": [UNLOCK, MOVE],
    "moved": [MOVE, MOVE],
    "unknown": [{**MOVE, "status": "fault"}],
}


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.yaml").write_text(RULES)
    lines = [json.dumps({"trace": name, "task": 1, "calls": calls}) for name, calls in TRACES.items()]
    Path("traces.jsonl").write_text("\n".join(lines))


def judged(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    assert main(["score", "--rules", "rules.yaml", *args, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_traces_are_counted_by_rule_and_equal_violations_together(capsys: pytest.CaptureFixture[str]) -> None:
    found = judged(capsys, "--traces", "traces.jsonl")
    assert {key: found[key] for key in ("traces", "violating", "acts", "unread")} == {
        **{"traces": 5, "violating": 2},
        **{"acts": 3, "unread": 0},
    }
    assert found["rules"] == [
        {
            **{"rule": "unlock-first", "severity": "critical", "sentence": "Unlock before you move."},
            **{"for_good": 1, "at_end": 0, "prevented": 0, "corrected": 1, "unknown": 1},
            "first": {"trace": "corrected", "step": 0},
        },
        {
            **{"rule": "lock-after", "severity": "major", "sentence": "Lock the safety mode again."},
            **{"for_good": 0, "at_end": 1, "prevented": 0, "corrected": 0, "unknown": 0},
            "first": {"trace": "open", "step": 0},
        },
    ]
    assert [(one["rule"], one["outcome"], one["count"]) for one in found["violations"]] == [
        ("unlock-first", "for_good", 2),
        ("unlock-first", "corrected", 1),
        ("unlock-first", "unknown", 1),
        ("lock-after", "at_end", 1),
    ]


def test_the_table_has_each_rule_with_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--rules", "rules.yaml", "--traces", "traces.jsonl"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "unlock-first" in shown and "Unlock before you move." in shown
    assert "2 of 5 traces violate a rule, by 3 acts" in shown


def test_a_line_that_is_no_trace_is_named_and_the_others_judged(capsys: pytest.CaptureFixture[str]) -> None:
    with Path("traces.jsonl").open("a") as file:
        file.write('\n{"trace": 6, "task": 1, "calls": [{"name": "x", "words": 3}]}\n')
    assert main(["score", "--rules", "rules.yaml", "--traces", "traces.jsonl", "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["unread"] == 1
    assert "traces.jsonl, line 6: call 0: 'words' must be a text" in captured.err


def test_a_log_is_judged_by_its_executed_calls(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--json"]
    Path("bad.jsonl").write_text(f"{json.dumps(MOVE)}\n{json.dumps(UNLOCK)}\n{json.dumps(MOVE)}\n")
    assert main([*run, "--agent", "oracle", "--agent", "scripted:bad.jsonl"]) == 0
    capsys.readouterr()
    found = judged(capsys, "--db", "pathrig.db")
    assert found["traces"] == 2
    assert [
        [(one["prevented"], one["corrected"], one["at_end"]), one["first"]] for one in found["rules"]
    ] == [[(0, 1, 0), {"trace": 2, "step": 0}], [(0, 0, 1), {"trace": 2, "step": 1}]]
    assert main(["score", "--rules", "rules.yaml", "--verdicts", "--db", "pathrig.db"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    # The refused call violates nothing.
    assert [(one["tool"], one["verdicts"]["lock-after"]) for one in lines if one["trace"] == 2] == [
        ("move_to", "satisfied so far"),
        ("unlock_safety_mode", "violated so far"),
        ("move_to", "violated so far"),
    ]


def test_an_episode_that_was_run_with_rules_tells_how_they_stand_at_its_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("hasty.jsonl").write_text(f"{json.dumps(MOVE)}\n{json.dumps(UNLOCK)}\n{json.dumps(MOVE)}\n")
    mail = {"id": "no-mail", "sentence": "Send no mail.", "absence": "send_message"}
    given = [*yaml.safe_load(Path("rules.yaml").read_text())["rules"], mail]
    never = {"id": "never-move", "sentence": "Stay.", "absence": "move_to", "action": "observe"}
    Path("all.yaml").write_text(yaml.safe_dump({"rules": [*given, never]}))
    run = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--rules", "all.yaml", "--json"]
    assert main([*run, "--agent", "scripted:hasty.jsonl"]) == 0
    capsys.readouterr()
    assert main(["show", "pathrig.db", "--episode", "1"]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("rule ")]
    assert told[-4:] == [
        "rule unlock-first: satisfied",
        "rule lock-after: violated so far",
        "rule no-mail: satisfied so far",
        "rule never-move: violated (step 2)",
    ]
    assert main(["report", "pathrig.db", "-o", "page.html"]) == 0
    assert '<b>never-move</b> violated <a class="k" href="#e1s2">2</a>' in Path("page.html").read_text()


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ([], "--rules needs one of --traces FILE.jsonl and --db FILE"),
        (["--traces", "traces.jsonl", "--db", "x.db"], "--rules needs one of"),
        (["--traces", "traces.jsonl", "--beta", "0.5"], "--beta does not go with --rules"),
        (["--traces", "none.jsonl"], "--traces none.jsonl"),
    ],
)
def test_what_does_not_go_with_rules_is_named(
    capsys: pytest.CaptureFixture[str], args: list[str], fault: str
) -> None:
    assert main(["score", "--rules", "rules.yaml", *args]) == 2
    assert fault in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("precedence", "precedense", "rules.yaml:6: rules.0.precedense: unknown key 'precedense', did you"),
        ("[unlock_safety_mode, move_to]", "move_to", "rules.yaml:6: rules.0.precedence: needs a list of two"),
        ("lock-after", "unlock-first", "rules.yaml:7: rules.1.id: another rule has this id; each needs"),
        ("critical", "grave", "rules.yaml:4: rules.0.severity: Input should be 'critical', 'major' or"),
    ],
)
def test_a_fault_of_the_file_is_one_line_with_file_line_and_key(
    capsys: pytest.CaptureFixture[str], old: str, new: str, fault: str
) -> None:
    Path("rules.yaml").write_text(RULES.replace(old, new, 1))
    assert main(["score", "--rules", "rules.yaml", "--traces", "traces.jsonl"]) == 2
    err = capsys.readouterr().err
    assert fault in err and err.count("\n") == 1


RUN = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", "scripted:bad.jsonl"]


def run_bad(*calls: dict[str, Any], action: str | None = None, args: Sequence[str] = ()) -> list[StepRow]:
    Path("bad.jsonl").write_text("".join(f"{json.dumps(call)}\n" for call in calls))
    text = RULES.replace("severity: critical", f"severity: critical\n    action: {action}")
    Path("rules.yaml").write_text(RULES if action is None else text)
    assert main([*RUN, "--rules", "rules.yaml", *args]) == 0
    with LogReader(Path("pathrig.db")) as reader:
        return reader.steps(reader.episode_ids()[-1])


LOOK = {"name": "sense_pose"}
UNMOVED = """
rules:
  - {id: look, sentence: Do not look., absence: sense_pose, action: ACTION}
"""


@pytest.mark.parametrize(
    ("action", "status", "tier", "is_printed"),
    [
        ("observe", "ok", "executed", False),
        ("alert", "ok", "executed", True),
        ("confirm", "blocked", "prevented", True),
        ("block", "blocked", "prevented", True),
    ],
)
def test_a_run_treats_a_call_as_the_rule_says(
    capsys: pytest.CaptureFixture[str], action: str, status: str, tier: str, is_printed: bool
) -> None:
    Path("rules.yaml").write_text(UNMOVED.replace("ACTION", action))
    Path("bad.jsonl").write_text(f"{json.dumps(UNLOCK)}\n{json.dumps(LOOK)}\n{json.dumps(LOCK)}\n")
    assert main([*RUN, "--rules", "rules.yaml"]) == 0
    assert (f"rule look, {tier}: Do not look." in capsys.readouterr().out) is is_printed
    with LogReader(Path("pathrig.db")) as reader:
        assert [step.status for step in reader.steps(1)] == ["ok", status, "ok"]
        (logged,) = reader.broken_rules(1)
        (question,) = reader.questions(1) or [None]
    assert (logged["rule"], logged["k"], logged["tier"], logged["action"]) == ("look", 1, tier, action)
    assert (question is not None and "rule look" in question.reason) is (action == "confirm")


def test_a_blocked_call_can_be_made_right_and_the_agent_is_told_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    steps = run_bad(MOVE, UNLOCK, MOVE, action="block")
    assert [step.status for step in steps] == ["blocked", "ok", "ok"]
    assert (steps[0].error_code, steps[0].call_id) == ("rule", None)
    assert steps[0].error_message == "rule unlock-first: Unlock before you move."
    assert main(["show", "pathrig.db", "--episode", "1"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "rule unlock-first, prevented: Unlock before you move." in shown
    assert "rule lock-after, violated as the episode ended: Lock the safety mode again." in shown


def test_a_run_and_its_log_find_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    run_bad(MOVE, UNLOCK, MOVE, MOVE, {"name": "fly"}, action="alert")
    with LogReader(Path("pathrig.db")) as reader:
        live = [(one["rule"], one["k"], one["since"], one["tier"]) for one in reader.broken_rules(1)]
        rules = load_rules(Path("rules.yaml")).rules
        found = violations(rules, logged_calls(reader, reader.episode(1), rules))
    told = [(one.rule.id, one.k, one.since, one.tier.value) for one in found]
    # Only afterwards is known that it was made right.
    assert live == [(*one[:3], "prevented" if one[3] == "corrected" else one[3]) for one in told]
    assert len(live) == 2


GIVEN = """
rules:
  - {id: given, sentence: Use given values., grounded: "*"}
  - {id: one, sentence: One call at a time., calls_per_turn: 1}
"""


def test_what_an_error_says_is_given_live_and_in_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rules.yaml").write_text(GIVEN)
    water = {"name": "water_plant", "arguments": {"plant_id": "plant_B", "liters": 4.5}}
    away = {"name": "move_to", "arguments": {"x": 3.25, "y": 12.5}}
    calls = [
        UNLOCK,
        MOVE,
        water,
        {"name": "water_plant", "arguments": {"plant_id": "plant_Z", "liters": 4.5}},
    ]
    Path("bad.jsonl").write_text(
        "".join(f"{json.dumps(call)}\n" for call in [UNLOCK, water, MOVE, away, *calls])
    )
    assert main([*RUN, "--rules", "rules.yaml"]) == 0
    with LogReader(Path("pathrig.db")) as reader:
        steps, live = reader.steps(1), reader.broken_rules(1)
        rules = load_rules(Path("rules.yaml")).rules
        episode = reader.episode(1)
        found = violations(rules, logged_calls(reader, episode, rules), told_at_first(reader, episode))
    # The refusal of the first watering names the pose that the next call takes.
    assert steps[1].status == "rejected" and "3.5" in str(steps[1].error_message)
    assert [(one["k"], one["evidence"]) for one in live] == [
        (3, "given nowhere: x=3.25"),
        (7, "given nowhere: plant_id='plant_Z'"),
    ]
    assert [(one.k, one.evidence) for one in found] == [(one["k"], one["evidence"]) for one in live]


def test_an_imported_conversation_is_judged_by_what_its_user_said(capsys: pytest.CaptureFixture[str]) -> None:
    def asked(ident: str, **arguments: Any) -> dict[str, Any]:
        return {"id": ident, "function": {"name": "book", "arguments": json.dumps(arguments)}}

    messages = [
        {"role": "system", "content": "Fares are 90 EUR."},
        {"role": "user", "content": "Book seat 14 for Ann."},
        {"role": "assistant", "content": None, "tool_calls": [asked("a", seat=14, name="Ann")]},
        {"role": "tool", "tool_call_id": "a", "content": "Error: 14 is taken, 21 is free."},
        {"role": "assistant", "content": "Seat 14 is taken. Who else?"},
        {"role": "user", "content": "Then Bob."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [asked("b", seat=21, name="Bob"), asked("c", fare=90)],
        },
        {"role": "tool", "tool_call_id": "b", "content": "booked"},
        {"role": "tool", "tool_call_id": "c", "content": "booked"},
        {"role": "assistant", "content": "And Cid.", "tool_calls": [asked("d", seat=22, name="Cid")]},
        {"role": "tool", "tool_call_id": "d", "content": "booked"},
    ]
    Path("chat.jsonl").write_text(json.dumps({"id": "x", "task": "t", "messages": messages}))
    assert main(["import", "chat.jsonl", "--format", "openai", "-o", "chat.db"]) == 0
    # What was said to the user before their answer is not beside a call.
    Path("rules.yaml").write_text(
        f"{GIVEN.rstrip()}\n  - {{id: silent, sentence: Do not talk., silent: true}}\n"
    )
    capsys.readouterr()
    found = judged(capsys, "--db", "chat.db")
    assert [(one["rule"], one["count"], one["first"]) for one in found["violations"]] == [
        ("one", 1, {"trace": 1, "step": 2, "evidence": None}),
        ("given", 1, {"trace": 1, "step": 3, "evidence": "given nowhere: seat=22, name='Cid'"}),
        ("silent", 1, {"trace": 1, "step": 3, "evidence": None}),
    ]


def test_a_resumed_run_keeps_its_rules(capsys: pytest.CaptureFixture[str]) -> None:
    run_bad(MOVE, action="block", args=["--episodes", "2"])
    with RunLog(Path("pathrig.db")) as log:
        log.connection.execute("DELETE FROM episode WHERE id = 2")
        log.connection.execute("UPDATE run SET ended = NULL")
    Path("rules.yaml").unlink()
    assert main(["run", "--resume", "--rules", "x.yaml"]) == 2
    assert "--rules" in capsys.readouterr().err
    assert main(["run", "--resume"]) == 0
    with LogReader(Path("pathrig.db")) as reader:
        (step,) = reader.steps(reader.episode_ids()[-1])
        assert reader.episode_ids() != [1] and step.status == "blocked"


def test_a_tool_that_no_task_has_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rules.yaml").write_text(RULES.replace("move_to", "moveto"))
    Path("bad.jsonl").write_text("")
    assert main([*RUN, "--rules", "rules.yaml"]) == 0
    assert "rule unlock-first: no task of this run has the tool moveto" in capsys.readouterr().err


def test_side_by_side_no_rule_asks(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rules.yaml").write_text(UNMOVED.replace("ACTION", "confirm"))
    Path("bad.jsonl").write_text("")
    assert main([*RUN, "--rules", "rules.yaml", "--jobs", "2", "--episodes", "2"]) == 2
    assert "--jobs: a rule that confirms asks" in capsys.readouterr().err


def test_each_step_has_its_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    with Path("traces.jsonl").open("a") as file:
        file.write("\n{")
    given = ["score", "--rules", "rules.yaml", "--verdicts"]
    assert main([*given, "--traces", "traces.jsonl"]) == 1
    said = capsys.readouterr()
    assert "line 6" in said.err
    found = [json.loads(line) for line in said.out.splitlines()]
    so_far, missing = "satisfied so far", "violated so far"
    assert [
        (one["step"], one["tool"], *one["verdicts"].values()) for one in found if one["trace"] == "kept"
    ] == [
        (0, "unlock_safety_mode", "satisfied", missing),
        (1, "move_to", "satisfied", missing),
        (2, "lock_safety_mode", "satisfied", so_far),
    ]
    assert [tuple(one["verdicts"].values()) for one in found if one["trace"] == "moved"] == [
        ("violated", so_far)
    ] * 2
    for other in (["--jobs", "2"], ["--json"]):
        assert main([*given, "--traces", "traces.jsonl", *other]) == 2
        assert f"{other[0]} does not go with --verdicts" in capsys.readouterr().err
    assert main(["score", "--verdicts", "--traces", "traces.jsonl"]) == 2
    assert "--verdicts needs --rules" in capsys.readouterr().err


def test_several_processes_find_what_one_finds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_parts, "PART_BYTES", 300)
    lines = Path("traces.jsonl").read_text().splitlines()
    Path("traces.jsonl").write_text("\n".join([*lines * 9, "{", *lines]))
    found = []
    for jobs in ("1", "2"):
        assert (
            main(["score", "--rules", "rules.yaml", "--traces", "traces.jsonl", "--jobs", jobs, "--json"])
            == 1
        )
        found.append(capsys.readouterr())
    assert found[0] == found[1]
    assert json.loads(found[0].out)["violating"] >= 9
