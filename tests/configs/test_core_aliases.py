"""CORE's JSON on the worlds that ship: as it is where names agree, by an alias table where they do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from configs.errors import ConfigError
from configs.tasks_loader import list_tasks, load_automata, load_task
from core_eval.cli.main import main

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
    tools = {symbol.tool for symbol in load_automata(Path("mine.yaml")).automata["7"].symbols.values()}
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
