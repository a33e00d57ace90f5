"""A name that no file can have, as a prompt that was pasted as a task, is one clear line."""

from __future__ import annotations

import pytest

from core_eval.cli.main import main

LONG = "Water the plants of the greenhouse, each one of them.\n" * 6


@pytest.mark.parametrize(
    "arguments",
    [
        ["tasks", "show", LONG],
        ["rigs", "check", LONG],
        ["run", "--task", LONG, "--rig", "sim:farm_rover", "--agent", "oracle"],
        ["run", "--task", "water_one_plant", "--rig", LONG, "--agent", "oracle"],
        ["run", "--suite", LONG, "--rig", "sim:farm_rover", "--agent", "oracle"],
        ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--agent", f"model:{LONG}"],
        ["sim", LONG, "--serial", "pty"],
        ["show", LONG],
        ["models", "check", LONG],
        ["watch", LONG],
        ["log", "record", LONG, "-o", "out.yaml"],
        ["compare", LONG],
        ["score", "--db", LONG],
        ["worlds", "new", LONG],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_name_above_255_bytes(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("pathrig: ") and error.count("\n") == 1
    assert "Water the plants" in error
