"""`tasks verify` finds what is wrong with a task: each case breaks one sound task in one way."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from core_eval.cli.main import main

Entry = dict[str, Any]
Break = Callable[[Entry], None]

PAY = {
    "id": "pay",
    "world": "transactions",
    "prompt": "Transfer 60 EUR from checking to A1001, then check the balance of checking.",
    "paraphrases": ["Give A1001 60 EUR out of checking. After that read what checking holds."],
    "init": {"accounts": {"A1001": {"balance": 20.0}, "A1010": {"balance": 20.0}}},
    "plan": [
        {"transfer": {"from_account": "checking", "to_account": "A1001", "amount": 60}},
        {"check_balance": {"account_id": "checking"}},
    ],
    "goal": {
        "accounts.checking.balance": 440,
        "accounts.A1001.balance": 80,
        "accounts.A1010.balance": 20,
        "accounts.savings.balance": 2000,
        "accounts.rent.balance": 0,
        "accounts.A100.balance": 80,
    },
    "left_out": [
        {"calls": ["deposit", "withdraw"], "why": "cash is no transfer"},
        {"calls": ["withdraw", "deposit"], "why": "cash is no transfer"},
    ],
}
NOBODY = {
    "id": "nobody",
    "world": "transactions",
    "prompt": "Transfer 50 EUR from checking to X999.",
    "paraphrases": ["X999 gets 50 EUR out of checking."],
    "answer": "decline",
    "reason": "missing",
    "found_by": [{"look": {"fact": "no account 'X999'", "by": [{"check_balance": {"account_id": "X999"}}]}}],
    "goal": {"accounts.checking.balance": 500},
}
LIGHTS = {
    "id": "lights",
    "world": "automation",
    "prompt": "Make sure that the light in the kitchen is off; if it is off, do nothing.",
    "answer": "nothing",
    "found_by": [{"look": {"fact": {"on": False}, "by": [{"get_light_status": {"room": "kitchen"}}]}}],
    "goal": {"rooms.kitchen.lights": False},
}
LEAVE = {
    "id": "leave",
    "world": "automation",
    "prompt": "Turn the lights of the living_room off, lock front_door, and activate the alarm at last.",
    "plan": [
        {
            "any_order": [
                {"turn_off_lights": {"room": "living_room"}},
                {"lock_door": {"door": "front_door"}},
            ]
        },
        {"activate_alarm": {}},
    ],
    "left_out": [
        {"calls": ["lock_door", "activate_alarm", "turn_off_lights"], "why": "the alarm is asked for at last"}
    ],
    "goal": {"rooms.living_room.lights": False, "doors.front_door.locked": True, "alarm": True},
}
PAGE = {
    "id": "page",
    "world": "web_browsing",
    "prompt": "Open page2.html.",
    "plan": [{"move_to_url": {"url": "page2.html"}}],
    "goal": {"current": "page2.html"},
}
DRAWN = {
    "id": "drawn",
    "world": "transactions",
    "parameters": {"amount": {"whole": [100, 400], "step": 10}, "left": {"value": "{{ 500 - amount }}"}},
    "prompt": "Transfer {{ amount }} EUR from checking to A1001.",
    "init": {"accounts": {"A1001": {"balance": 0.0}}},
    "plan": [{"transfer": {"from_account": "checking", "to_account": "A1001", "amount": "{{ amount }}"}}],
    "goal": {"accounts.checking.balance": "{{ left }}", "accounts.A1001.balance": "{{ amount }}"},
    "left_out": PAY["left_out"],
}


def put(*path: Any, value: Any) -> Break:
    """Set what stands at a path of keys."""

    def change(entry: Entry) -> None:
        for key in path[:-1]:
            entry = entry[key]
        entry[path[-1]] = value

    return change


def drop(*path: Any) -> Break:
    """Remove what stands at a path of keys."""

    def change(entry: Entry) -> None:
        for key in path[:-1]:
            entry = entry[key]
        del entry[path[-1]]

    return change


def both(*changes: Break) -> Break:
    """Make several changes."""

    def change(entry: Entry) -> None:
        for one in changes:
            one(entry)

    return change


TRANSFER = ("plan", 0, "transfer")
CASES: dict[str, tuple[Entry, Break, str]] = {
    "wrong number in the plan": (PAY, put(*TRANSFER, "amount", value=90), "does not fit"),
    "wrong number in plan and goal": (
        PAY,
        both(
            put(*TRANSFER, "amount", value=70),
            put("goal", "accounts.checking.balance", value=430),
            put("goal", "accounts.A1001.balance", value=90),
        ),
        "number 60 stands neither",
    ),
    "another number in the prompt": (
        PAY,
        put("prompt", value="Transfer 900 EUR from checking to A1001, then check the balance of checking."),
        "number 900 stands neither",
    ),
    "another number in a paraphrase": (
        PAY,
        put("paraphrases", value=["Give A1001 75 EUR out of checking."]),
        "paraphrase 0 says 75",
    ),
    "another account in a paraphrase": (
        PAY,
        put("paraphrases", value=["Give A1010 60 EUR out of checking."]),
        "paraphrase 0 names A1010",
    ),
    "the wrong payee with a goal that sees it": (
        PAY,
        put(*TRANSFER, "to_account", value="A1010"),
        "does not fit",
    ),
    "the wrong payee with a weak goal": (
        PAY,
        both(
            put(*TRANSFER, "to_account", value="A1010"), put("goal", value={"accounts.checking.balance": 440})
        ),
        "the goal is too weak: it holds with call 0 (transfer) with to_account",
    ),
    "a goal without the payees": (
        PAY,
        both(drop("goal", "accounts.A1001.balance"), drop("goal", "accounts.A1010.balance")),
        "to_account",
    ),
    "a goal that always holds": (PAY, put("goal", value={"accounts.savings.balance": 2000}), "left out"),
    "a write that is missing": (PAY, drop("plan", 0), "golden path"),
    "too wide a tolerance": (PAY, put(*TRANSFER, "amount", value={"min": 50, "max": 70}), "too wide"),
    "a typing error in a tool": (PAY, put("plan", 1, value={"chek_balance": {}}), "chek_balance"),
    "a typing error in an argument": (
        PAY,
        put(*TRANSFER, value={"from": "checking", "to_account": "A1001", "amount": 60}),
        "golden path",
    ),
    "a name in the prompt that is nowhere": (
        PAY,
        put("prompt", value="Transfer 60 EUR from checking to A1001 for acc_ghost, then check checking."),
        "acc_ghost stands neither",
    ),
    "a way that is left out without a reason": (PAY, drop("left_out"), "too narrow: "),
    "a harmful step that is optional": (
        PAY,
        put(
            "plan",
            value=[*PAY["plan"], {"optional": [PAY["plan"][0]]}],  # type: ignore[misc]
        ),
        "golden path",
    ),
    "a decline although the account is there": (
        NOBODY,
        put("init", value={"accounts": {"X999": {"balance": 1.0}}}),
        "found_by",
    ),
    "a decline whose reason no read tells": (NOBODY, drop("found_by"), "found_by is missing"),
    "a decline whose read tells something else": (
        NOBODY,
        put("found_by", 0, "look", "fact", value="frozen"),
        "found_by",
    ),
    "a decline found out by a write": (
        NOBODY,
        put(
            "found_by",
            value=[
                {"look": {"fact": "no account", "by": [{"deposit": {"account_id": "X999", "amount": 1}}]}}
            ],
        ),
        "deposit is no read",
    ),
    "a decline whose read tells of something else": (
        NOBODY,
        put(
            "found_by",
            value=[
                {"look": {"fact": {"balance": 500}, "by": [{"check_balance": {"account_id": "checking"}}]}}
            ],
        ),
        "does not tell that something is missing",
    ),
    "a decline by a rule that its read does not tell": (
        NOBODY,
        both(
            put("reason", value="not_allowed"),
            put(
                "found_by",
                value=[
                    {
                        "look": {
                            "fact": {"balance": 2000},
                            "by": [{"check_balance": {"account_id": "savings"}}],
                        }
                    }
                ],
            ),
        ),
        "does not tell of anything that is asked for",
    ),
    "an initial state without the page that is open": (
        PAGE,
        put("init", value={"pages": {"home.html": None}}),
        "the initial state is refused: There is no page 'home.html'",
    ),
    "a draw with which the plan does not run": (
        DRAWN,
        put("parameters", "amount", "whole", value=[100, 9000]),
        "instance drawn@",
    ),
    "a draw that the words do not tell": (
        DRAWN,
        both(
            drop("parameters", "amount"),
            put("parameters", "amount", value={"among": [100, 120, 90]}),
            put("prompt", value="Transfer 100 EUR from checking to A1001."),
        ),
        "instance drawn@",
    ),
    "an unknown reason": (NOBODY, put("reason", value="tired"), "reason"),
    "nothing to do although a light is on": (
        LIGHTS,
        both(
            put("init", value={"rooms": {"kitchen": {"lights": True}}}), put("goal", value={"alarm": False})
        ),
        "found_by",
    ),
    "nothing to do, of which no goal says what it is": (
        LIGHTS,
        both(drop("found_by"), drop("goal")),
        "found_by is missing",
    ),
    "nothing to do where the goal asks for something": (
        LIGHTS,
        both(drop("found_by"), put("goal", value={"rooms.kitchen.lights": True})),
        "does not fit",
    ),
    "another payee in a paraphrase, beside the payer": (
        PAY,
        put("paraphrases", value=["Give A1010 60 EUR out of checking. After that read what checking holds."]),
        "paraphrase 0 names A1010, the prompt A1001",
    ),
    "another room in a paraphrase": (
        LEAVE,
        put("paraphrases", value=["Lights out in the nursery, lock front_door, the alarm at last."]),
        "paraphrase 0 names nursery, the prompt living_room",
    ),
    "a paraphrase that leaves the amount out": (
        PAY,
        put("paraphrases", value=["A1001 gets money out of checking; read what checking holds then."]),
        "paraphrase 0 does not say 60",
    ),
    "a paraphrase that is the prompt": (
        PAY,
        put("paraphrases", value=[PAY["prompt"]]),
        "paraphrase 0 repeats the prompt",
    ),
    "a place in the prompt that nothing fills": (
        PAY,
        put("prompt", value="Transfer 60 EUR from checking to {payee}, A1001, then check checking."),
        "a place to fill in",
    ),
    "fewer steps than the plan has": (PAY, put("limits", value={"steps": 1}), "limits.steps 1 is below"),
    "a caution about a tool that the plan never calls": (
        PAY,
        put(
            "cautions",
            value=[{"name": "rich", "before": "withdraw", "holds": {"accounts.rent.balance": {"min": 0}}}],
        ),
        "caution rich: the plan has no call of withdraw",
    ),
    "a way left out with a tool that there is not": (
        PAY,
        put("left_out", value=[*PAY["left_out"], {"calls": ["depositt"], "why": "no transfer"}]),  # type: ignore[misc]
        "there is no tool 'depositt'",
    ),
    "an answer that the world does not give": (
        PAY,
        put(
            "plan",
            1,
            value={"look": {"fact": {"balance": 400}, "by": [{"check_balance": {"account_id": "checking"}}]}},
        ),
        "does not tell",
    ),
    "a choice that the world refuses": (
        PAY,
        put(
            "plan",
            0,
            value={
                "choice": [
                    PAY["plan"][0],
                    {"transfer": {"from_account": "rent", "to_account": "A1001", "amount": 60}},
                ]
            },
        ),  # type: ignore[index]
        "golden path",
    ),
    "a bound that cannot be met": (
        PAY,
        put("goal", "accounts.A1001.balance", value={"min": 90, "max": 100}),
        "does not fit",
    ),
    "too free an order": (
        LEAVE,
        put(
            "plan",
            value=[{"any_order": [*LEAVE["plan"][0]["any_order"], {"activate_alarm": {}}]}],  # type: ignore[index]
        ),
        "golden path",
    ),
    "too strict an order": (
        LEAVE,
        put("plan", value=[*LEAVE["plan"][0]["any_order"], {"activate_alarm": {}}]),
        "too narrow",
    ),  # type: ignore[index]
    "a goal that forgets the light": (
        LEAVE,
        drop("goal", "rooms.living_room.lights"),
        "turn_off_lights) left out",
    ),
    "the wrong room": (
        LEAVE,
        put("plan", 0, "any_order", 0, "turn_off_lights", "room", value="kitchen"),
        "golden path",
    ),
}


def verify(folder: Path, *entries: Entry) -> int:
    """Run the command on a file of these tasks; return its exit status."""
    file = folder / "tasks.yaml"
    file.write_text(yaml.safe_dump({"tasks": list(entries)}), encoding="utf-8")
    return main(["tasks", "verify", str(file), "--nominal", "--jobs", "1", "--json"])


@pytest.mark.parametrize(
    "entry", [PAY, NOBODY, LIGHTS, LEAVE, PAGE, DRAWN], ids=lambda entry: str(entry["id"])
)
def test_the_sound_tasks_hold(entry: Entry, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(tmp_path, entry) == 0, capsys.readouterr().out


def test_nothing_to_do_needs_no_named_read_where_some_read_tells(tmp_path: Path) -> None:
    assert verify(tmp_path, {key: value for key, value in LIGHTS.items() if key != "found_by"}) == 0


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_named(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry, breaks, told = CASES[case]
    broken = copy.deepcopy(entry)
    breaks(broken)
    assert verify(tmp_path, broken) == 2
    said = capsys.readouterr()
    assert told in " ".join((said.out + said.err).split()), said.out


def test_another_tasks_paraphrase_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stolen = {**copy.deepcopy(NOBODY), "paraphrases": PAY["paraphrases"]}
    assert verify(tmp_path, PAY, stolen) == 2
    assert "stands in nobody too" in " ".join(capsys.readouterr().out.split())


def test_it_goes_on_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept.jsonl"
    file = tmp_path / "tasks.yaml"
    for entries in ([PAY], [PAY, LIGHTS]):
        file.write_text(yaml.safe_dump({"tasks": entries}), encoding="utf-8")
        assert main(["tasks", "verify", str(file), "--nominal", "--resume", str(kept), "--jobs", "1"]) == 0
    assert [line.split('"task": ')[1].split(",")[0] for line in kept.read_text().splitlines()] == [
        '"pay"',
        '"lights"',
    ]
    changed = {**LIGHTS, "prompt": "Is the light in the kitchen off? Then do nothing."}
    file.write_text(yaml.safe_dump({"tasks": [PAY, changed]}), encoding="utf-8")
    assert main(["tasks", "verify", str(file), "--nominal", "--resume", str(kept), "--jobs", "1"]) == 0
    assert len(kept.read_text().splitlines()) == 3
    kept.write_text("nonsense\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["tasks", "verify", str(file), "--resume", str(kept)]) == 2
    assert "kept.jsonl: line 1 is no result" in capsys.readouterr().err
