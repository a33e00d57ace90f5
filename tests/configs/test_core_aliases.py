"""CORE's JSON on the worlds that ship: as it is where names agree, by an alias table where they do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from configs.errors import ConfigError
from configs.tasks_loader import list_tasks, load_scored, load_task
from core_eval.cli.main import main
from core_eval.path.patterns import Excluded

SYMBOLS = {
    "open": ("create_account", {"account_id": "A123"}),
    "pay": ("deposit", {"account_id": "A123", "amount": 100}),
    "fee": ("charge_fee", {"account_id": "A123", "amount": 50}),
    "look": ("check_balance", {"account_id": "A123"}),
}


def record(symbols: dict[str, tuple[str, dict[str, Any]]], world: str = "transactions") -> dict[str, Any]:
    """A chain of the symbols in their order, as CORE's JSON."""
    names = list(symbols)
    alphabet = {
        symbol: {
            "name": tool,
            "arguments": {name: {"name": name, "value": value} for name, value in arguments.items()},
        }
        for symbol, (tool, arguments) in symbols.items()
    }
    edges = [
        [{"symbols": [name], "from": str(place), "to": str(place + 1)}] for place, name in enumerate(names)
    ]
    nodes = [
        {"name": str(place), "is_final": place == len(names), "transitions": own}
        for place, own in enumerate([*edges, []])
    ]
    return {"prompt_id": 7, "world": world, "prompt": "Open it.", "nodes": nodes, "alphabet": alphabet}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(task: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["run", "--task", task, "--rig", "sim", "--agent", "oracle", "--json"]) == 0
    (episode,) = json.loads(capsys.readouterr().out)["episodes"]
    return dict(episode)


def test_a_file_with_our_names_runs_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.json").write_text(json.dumps([record(SYMBOLS)]))
    episode = run("c.json#7", capsys)
    assert (episode["rig"], episode["path_correctness"], episode["harmful_calls"]) == (
        "sim:core:transactions",
        1.0,
        0,
    )


def test_an_alias_table_renames_tools_and_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    theirs = {
        "open": ("newAccount", {"id": "A123"}),
        "pay": ("deposit", {"account_id": "A123", "amount": 100}),
        "look": ("balance", {"account_id": "A123"}),
    }
    Path("c.json").write_text(json.dumps([record(theirs, "Bank of ours")]))
    Path("mine.yaml").write_text(
        "core: c.json\nworld: transactions\naliases:\n"
        "  newAccount: {tool: create_account, arguments: {id: account_id}}\n  balance: check_balance\n"
        "init: {'7': {accounts: {savings: {balance: 1.0}}}}\n"
    )
    episode = run("mine.yaml#7", capsys)
    assert (episode["path_correctness"], episode["harmful_calls"]) == (1.0, 0)
    assert load_task("mine.yaml").init == {"accounts": {"savings": {"balance": 1.0}}}
    tools = {symbol.tool for symbol in load_scored(Path("mine.yaml")).find("7").automaton.symbols.values()}
    assert tools == {"create_account", "deposit", "check_balance"}
    assert main(["tasks", "verify", "mine.yaml"]) == 0


def test_a_malformed_record_does_not_hide_the_others() -> None:
    Path("c.json").write_text(json.dumps([{**record(SYMBOLS), "prompt_id": 8, "nodes": 1}, record(SYMBOLS)]))
    Path("mine.yaml").write_text("core: c.json\n")
    assert load_task("mine.yaml#7").device.name == "core:transactions"
    with pytest.raises(ConfigError, match=r"c\.json: task 8"):
        list_tasks(Path("mine.yaml"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("core: c.json\nworld: bankk\n", "mine.yaml:2: world: no world 'bankk'; the worlds are "),
        ("core: no.json\n", "mine.yaml:1: core: "),
        ("core: c.json\naliases: {a: {name: b}}\n", "mine.yaml:2: aliases.a"),
        (
            "core: c.json\naliases:\n  depsit: deposit\n",
            "mine.yaml:3: aliases.depsit: no task has a tool 'depsit'; there are charge_fee, check_balance, "
            "create_account, deposit (did you mean deposit?)",
        ),
        (
            "core: c.json\naliases:\n  deposit:\n    arguments: {amont: sum}\n",
            "mine.yaml:4: aliases.deposit.arguments.amont: deposit has no argument 'amont'; there are "
            "account_id, amount (did you mean amount?)",
        ),
        (
            "core: c.json\naliases:\n  deposit: {repeat: times}\n",
            "aliases.deposit.repeat: deposit has no argument 'times'",
        ),
        (
            "core: c.json\nworld: transactions\naliases:\n  deposit: {calls: [withdraw, desposit]}\n",
            "mine.yaml:4: aliases.deposit.calls.1.tool: transactions has no tool 'desposit'; there are ",
        ),
        (
            "core: c.json\nworld: transactions\naliases:\n  deposit: {arguments: {amount: {name: sum}}}\n",
            "mine.yaml:4: aliases.deposit.arguments.amount: deposit has no argument 'sum'; there are "
            "account_id, amount",
        ),
        (
            "core: c.json\nworld: transactions\naliases:\n  deposit: {constants: {memo: x}}\n",
            "mine.yaml:4: aliases.deposit.constants.memo: deposit has no argument 'memo'",
        ),
        (
            "core: c.json\naliases: {deposit: {arguments: {amount: {factor: 2, time: '%H'}}}}\n",
            "give one of values, factor and time",
        ),
        ("core: c.json\ntasks: []\n", "mine.yaml:2: tasks: unknown key"),
        ("core: c.json\ninit: {'9': {}}\n", "mine.yaml:2: init.9: c.json has no task '9'; there are 7"),
    ],
)
def test_a_mistake_names_file_line_and_key(text: str, says: str) -> None:
    Path("c.json").write_text(json.dumps([record(SYMBOLS)]))
    Path("mine.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_task("mine.yaml#7")
    assert says in str(caught.value) and "\n" not in str(caught.value)


def symbols(theirs: dict[str, tuple[str, dict[str, Any]]], aliases: str) -> list[tuple[str, dict[str, Any]]]:
    """The calls that a chain of symbols is, by a table of aliases."""
    Path("c.json").write_text(json.dumps([record(theirs, "theirs")]))
    Path("mine.yaml").write_text(f"core: c.json\naliases:\n{aliases}")
    automaton = load_task("mine.yaml#7").automaton
    (path,) = automaton.golden_paths()
    used = [automaton.symbols[name] for name in path]
    return [(symbol.tool, symbol.example()) for symbol in used]


@pytest.mark.parametrize(
    ("theirs", "alias", "here"),
    [
        (
            ("light", {}),
            "{tool: turn_on_lights, constants: {room: hall}}",
            [("turn_on_lights", {"room": "hall"})],
        ),
        (("send", {"to": "Ann", "urgent": 1}), "{arguments: {urgent: null}}", [("send", {"to": "Ann"})]),
        (
            ("interest", {"rate": 0.07}),
            "{arguments: {rate: {name: percent, factor: 100}}}",
            [("interest", {"percent": 7.0})],
        ),
        (
            ("plan", {"at": "2025-03-01T09:30:00"}),
            "{arguments: {at: {name: start, time: '%Y-%m-%d %H:%M'}}}",
            [("plan", {"start": "2025-03-01 09:30"})],
        ),
        (
            ("set", {"lamp": "on"}),
            "{arguments: {lamp: {values: {on: true, off: false}}}}",
            [("set", {"lamp": True})],
        ),
        (("set", {"n": 2}), "{arguments: {n: {values: {1: one, 2.0: two}}}}", [("set", {"n": "two"})]),
        (("right", {"steps": 3}), "{tool: move_right, repeat: steps}", [("move_right", {})] * 3),
        (("right", {}), "{tool: move_right}", [("move_right", {})]),
        (
            ("save", {"name": "a.txt", "text": "hi"}),
            "{calls: [{tool: create_file, arguments: {name: filename, text: null}}, "
            "{tool: append_to_file, arguments: {name: filename, text: content}}, list_files]}",
            [
                ("create_file", {"filename": "a.txt"}),
                ("append_to_file", {"filename": "a.txt", "content": "hi"}),
                ("list_files", {"name": "a.txt", "text": "hi"}),
            ],
        ),
    ],
)
def test_an_alias_maps_arguments_values_and_calls(
    theirs: tuple[str, dict[str, Any]], alias: str, here: list[tuple[str, dict[str, Any]]]
) -> None:
    assert symbols({"a": theirs, "b": ("look", {})}, f"  {theirs[0]}: {alias}\n") == [*here, ("look", {})]


def test_values_that_are_excluded_are_mapped_too() -> None:
    theirs = record({"a": ("pay", {"rate": None})}, "theirs")
    theirs["alphabet"]["a"]["arguments"]["rate"]["excluded_values"] = [0.05, 0.1]
    Path("c.json").write_text(json.dumps([theirs]))
    Path("mine.yaml").write_text("core: c.json\naliases: {pay: {arguments: {rate: {factor: 100}}}}\n")
    (symbol,) = load_task("mine.yaml").automaton.symbols.values()
    assert symbol.arguments["rate"] == Excluded((5.0, 10.0))


def test_one_call_for_several_runs_in_the_kits_world(capsys: pytest.CaptureFixture[str]) -> None:
    """CORE's steps on the kit's grid, which moves cell by cell."""
    theirs = {"a": ("move_right", {"steps": 2}), "b": ("move_right", {"steps": 1})}
    Path("c.json").write_text(json.dumps([record(theirs, "navigation")]))
    Path("mine.yaml").write_text("core: c.json\nworld: navigation\naliases:\n  move_right: {repeat: steps}\n")
    assert run("mine.yaml#7", capsys)["path_correctness"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "alias", "says"),
    [
        (
            {"x": "c"},
            "{arguments: {x: {values: {a: 1, b: 2}}}}",
            "arguments.x: values has none for 'c'; there are 'a', 'b'",
        ),
        ({"x": "c"}, "{arguments: {x: {factor: 100}}}", "arguments.x: factor needs a number, not 'c'"),
        ({"x": "c"}, "{arguments: {x: {time: '%H'}}}", "arguments.x: time needs an ISO 8601 time, not 'c'"),
        ({"x": 5}, "{arguments: {x: {time: '%H'}}}", "arguments.x: time needs an ISO 8601 time, not 5"),
        ({"x": 0}, "{repeat: x}", "repeat: x must be a whole number from 1 to 100"),
        ({"x": None}, "{repeat: x}", "repeat: x must be a whole number from 1 to 100"),
    ],
)
def test_a_value_that_cannot_be_mapped_is_a_fault_of_its_task(
    arguments: dict[str, Any], alias: str, says: str
) -> None:
    other = {**record({"a": ("u", {})}, "theirs"), "prompt_id": 8}
    Path("c.json").write_text(json.dumps([record({"a": ("t", arguments)}, "theirs"), other]))
    Path("mine.yaml").write_text(f"core: c.json\naliases: {{t: {alias}}}\n")
    with pytest.raises(ConfigError) as caught:
        load_task("mine.yaml#7")
    assert str(caught.value) == f"c.json: task 7: symbol 'a': mine.yaml: aliases.t.{says}"
    assert load_task("mine.yaml#8").id == "8"
