"""Lists of right calls become tasks by which traces are scored."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
import yaml

from configs.errors import ConfigError
from configs.tasks_loader import load_scored, load_task
from core_eval.cli.main import main
from core_eval.path.calls import Call
from core_eval.traces.scored_traces import score_traces
from core_eval.traces.trace_file import read_traces

CANCEL = {"name": "cancel_order", "arguments": {"order": "W-7", "reason": "late"}}
REFUND = {"name": "refund", "arguments": {"order": "W-7", "amount": "12.50 EUR", "weight": 2}}
MAIL = {"name": "send_mail", "kwargs": {"to": "ann", "lines": [1, "500 ml"]}}
LOOK = {"name": "get_order", "arguments": {"order": "W-7"}}
GOLD = [
    {"id": 1, "prompt": "Cancel it.", "actions": [LOOK, CANCEL, REFUND, MAIL]},
    {"id": "none", "prompt": "Nothing is to be done.", "actions": []},
    {"id": "reads", "actions": [LOOK]},
    {"id": "pair", "actions": [LOOK, [CANCEL, REFUND], MAIL]},
]
"""Own records of the shape that tau2-bench has, and of the plain one with parallel calls."""


@pytest.fixture
def make(tmp_path, capsys):
    """Write gold to a file, make tasks of it, and give a function that scores paths of one."""

    def made(gold, *options, status=0):
        (tmp_path / "gold.json").write_text(json.dumps(gold))
        out = tmp_path / "tasks.yaml"
        found = main(["tasks", "from-gold", str(tmp_path / "gold.json"), "-o", str(out), *options])
        assert found == status
        tasks = load_scored(out)

        def score(task, *calls, **more):
            told = [
                {"arguments": one["kwargs"], "name": one["name"]} if "kwargs" in one else one for one in calls
            ]
            line = json.dumps({"trace": "t", "task": task, "calls": told, **more})
            (one,) = score_traces(read_traces([line], file="f"), tasks.find)
            return one.scores

        return score

    return made


def accepted(scores):
    return scores["accepted"] and not scores["harmful_calls"]


@pytest.mark.parametrize(
    ("match", "right", "wrong"),
    [
        (
            "exact",
            [[LOOK, CANCEL, REFUND, MAIL]],
            [[CANCEL, REFUND, MAIL], [LOOK, LOOK, CANCEL, REFUND, MAIL]],
        ),
        ("in_order", [[CANCEL, LOOK, REFUND, MAIL, LOOK]], [[REFUND, CANCEL, MAIL], [CANCEL, REFUND]]),
        (
            "any_order",
            [list(p) for p in permutations([CANCEL, REFUND, MAIL])],
            [[CANCEL, MAIL], [CANCEL] * 2],
        ),
        ("superset", [[CANCEL, CANCEL, MAIL, REFUND, MAIL]], [[CANCEL, MAIL, MAIL]]),
        ("subset", [[], [MAIL], [REFUND, CANCEL]], [[MAIL, MAIL], [{**MAIL, "kwargs": {"to": "bob"}}]]),
    ],
)
def test_the_ways_to_match(make, match, right, wrong):
    score = make(GOLD, "--match", match)
    assert all(accepted(score("1", *path)) for path in right)
    assert not any(accepted(score("1", *path)) for path in wrong)


def test_arguments_are_compared_as_told(make):
    more = {**CANCEL, "arguments": {**CANCEL["arguments"], "note": "x"}}
    other = {**CANCEL, "arguments": {"order": "W-7", "reason": "broken"}}
    for mode, wanted in (
        ("subset", [True, True, False]),
        ("exact", [True, False, False]),
        ("ignore", [True, True, True]),
        ("keys:order", [True, True, True]),
        ("keys:order+reason", [True, True, False]),
    ):
        score = make(GOLD, "--args", f"cancel_order={mode}")
        assert [accepted(score("1", one, REFUND, MAIL)) for one in (CANCEL, more, other)] == wanted, mode
    # A file may say itself which arguments count.
    score = make([{"id": 1, "actions": [{**CANCEL, "compare_args": ["order"]}]}], "--args", "exact")
    assert accepted(score("1", other)) and not accepted(score("1", {**CANCEL, "arguments": {"order": "W-8"}}))


def test_numbers_are_compared_by_value_and_unit(make):
    score = make(GOLD)

    def refund(**arguments):
        given = {**REFUND, "arguments": {**REFUND["arguments"], **arguments}}
        return accepted(score("1", CANCEL, given, MAIL))

    assert refund(amount="12.5 euro") and refund(weight=2.0) and refund(weight="2")
    assert not refund(amount="12.5 USD") and not refund(weight=True) and not refund(weight="2.1")
    mail = {"name": "send_mail", "arguments": {"to": "ann", "lines": [1.0, "0.5 l"]}}
    assert accepted(score("1", CANCEL, REFUND, mail))


def test_a_task_without_a_step_is_ended_as_told(make):
    for told, right in (("either", ["done", "decline"]), ("decline", ["decline"]), ("nothing", ["done"])):
        score = make(GOLD, "--no-action", told)
        for task in ("none", "reads"):
            assert [end for end in ("done", "decline") if accepted(score(task, LOOK, end=end))] == right
            assert not accepted(score(task, CANCEL))


def test_parallel_calls_score_as_the_best_of_their_orders(make):
    score = make(GOLD)
    for first, second in permutations([CANCEL, REFUND]):
        assert accepted(score("pair", first, second, MAIL))
    mail = {"name": "send_mail", "arguments": MAIL["kwargs"]}
    grouped = [{**one, "group": 1} for one in (mail, REFUND, LOOK, CANCEL)]
    assert accepted(score("1", *grouped))
    assert not accepted(score("1", *({**one, "group": n} for n, one in enumerate(grouped))))
    assert score("1", *[{**mail, "group": 1}] * 9, *grouped)["harmful_calls"] == 9


def test_which_tools_write_is_listed_with_what_says_so(make, tmp_path, capsys):
    tools = tmp_path / "tools.json"
    tools.write_text(
        json.dumps([{"name": "refund", "annotations": {"readOnlyHint": True}}, {"name": "closeShop"}])
    )
    make(GOLD, "--tools", str(tools), "--reads", "send_mail", "--writes", "get_order", "--json")
    told = json.loads(capsys.readouterr().out)
    assert {name: (one["effect"], one["told_by"]) for name, one in told["effects"].items()} == {
        "cancel_order": ("write", "name cancel"),
        "closeShop": ("write", "name close"),
        "get_order": ("write", "user"),
        "refund": ("read", "annotation"),
        "send_mail": ("read", "user"),
    }
    assert (told["tasks"], told["without_steps"]) == (4, 1)
    written = yaml.safe_load((tmp_path / "tasks.yaml").read_text())
    assert written["effects"]["refund"] == {"effect": "read", "told_by": "annotation"}


def test_tasks_of_tau2_are_read_and_broken_records_skipped(make, capsys):
    actions = [{"action_id": "a", "info": None, **CANCEL}, {"requestor": "user", **MAIL}]
    scenario = {"instructions": {"domain": "shop", "known_info": "You are Ann."}}
    gold = [
        {"id": "0", "user_scenario": scenario, "evaluation_criteria": {"actions": actions}},
        {"id": "0", "evaluation_criteria": {"actions": []}},
        {"id": "2", "evaluation_criteria": {"nl_assertions": []}},
        {"id": "3", "actions": [{"arguments": {}}]},
    ]
    score = make(gold, status=1)
    text = capsys.readouterr()
    assert accepted(score("0", CANCEL)) and "1 calls of simulated users" in text.out
    for fault in ("record 1: the id '0' stands twice", "record 2: has no 'actions'", "record 3: action 0:"):
        assert fault in text.err


@pytest.mark.parametrize(
    ("gold", "options", "fault"),
    [
        ([{"id": 1}], [], "has no 'actions'"),
        (GOLD, ["--match", "strict"], "--match strict: must be one of exact, in_order"),
        (GOLD, ["--args", "refund=most"], "must be exact, subset, ignore, or keys:NAME+NAME"),
        (GOLD, ["--args", "pay=exact"], "--args: there is no tool 'pay'; there are cancel_order"),
        (GOLD, ["--writes", "refund", "--reads", "refund"], "both name 'refund'"),
    ],
)
def test_faults_are_one_line(make, capsys, gold, options, fault):
    with pytest.raises(ConfigError, match="cannot be read"):
        make(gold, *options, status=2)
    (line,) = capsys.readouterr().err.splitlines()
    assert fault in line


def test_such_a_file_is_for_scoring_alone(make, tmp_path):
    make(GOLD)
    with pytest.raises(ConfigError, match="no world"):
        load_task(f"{tmp_path / 'tasks.yaml'}#1")
    task = load_scored(tmp_path / "tasks.yaml").find("1").automaton
    assert task.symbol_of(Call("cancel_order", CANCEL["arguments"])) is not None


def test_tools_that_only_the_traces_call_are_listed_too(make, tmp_path, capsys):
    calls = [{"name": name} for name in ("list_orders", "sequentialThinking", "close_account")]
    traces = tmp_path / "traces.jsonl"
    traces.write_text(json.dumps({"trace": "t", "task": "1", "calls": [*calls, CANCEL]}))
    before, after = make(GOLD), make(GOLD, "--traces", str(traces))
    told = capsys.readouterr().out
    assert "name thinking" in told and "name close" in told
    harmful = [[score("1", call)["harmful_calls"] for call in calls] for score in (before, after)]
    assert harmful == [[1, 1, 1], [0, 0, 1]]
