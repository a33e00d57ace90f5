"""A suite as a dataset and as a card, and a log as the paper's tables."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml

from core_eval.cli.main import main

TASKS = {
    "tasks": [
        {
            "id": "lights",
            "world": "automation",
            "prompt": "Turn on the lights of the kitchen.",
            "paraphrases": ["Light up the kitchen."],
            "plan": [{"turn_on_lights": {"room": "kitchen"}}],
            "goal": {"rooms.kitchen.lights": True},
        },
        {
            "id": "attic",
            "world": "automation",
            "prompt": "Turn on the lights of the attic.",
            "answer": "decline",
            "reason": "missing",
        },
    ]
}


@pytest.fixture(autouse=True)
def _suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(yaml.safe_dump(TASKS), encoding="utf-8")


def test_a_dataset_holds_tasks_prompts_automata_and_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow.parquet import read_table

    agents = ["--agent", "oracle", "--agent", "mute"]
    assert main(["run", "--suite", "s.yaml", *agents, "--db", "log.db"]) == 0
    assert main(["suite", "export", "s.yaml", "--format", "hf", "-o", "data", "--db", "log.db"]) == 0
    capsys.readouterr()
    assert main(["suite", "show", "s.yaml", "--json"]) == 0
    manifest = json.loads(capsys.readouterr().out)
    names = ["tasks", "prompts", "automata", "episodes", "steps", "harm"]
    assert sorted(path.name for path in Path("data").iterdir()) == sorted(
        ["README.md", *(f"{name}.parquet" for name in names)]
    )
    tables = {name: read_table(f"data/{name}.parquet").to_pylist() for name in names}
    tasks = {row["id"]: row for row in tables["tasks"]}
    assert (tasks["lights"]["shortest_path"], tasks["attic"]["decline"]) == (1, "missing")
    assert {row["digest"] for row in tables["tasks"]} == set(manifest["tasks"].values())
    assert {row["canary"] for row in tables["tasks"]} == {manifest["canary"]}
    assert [row["prompt"] for row in tables["prompts"] if row["task"] == "lights"] == [
        "Turn on the lights of the kitchen.",
        "Light up the kitchen.",
    ]
    assert "turn_on_lights" in tables["automata"][0]["automaton"]
    assert len(tables["episodes"]) == 4
    assert [row["tool"] for row in tables["steps"] if row["tool"]] == ["turn_on_lights"]

    _, front, card = Path("data/README.md").read_text(encoding="utf-8").split("---\n", 2)
    configs = yaml.safe_load(front)["configs"]
    assert [one["config_name"] for one in configs] == names
    assert all((Path("data") / one["data_files"][0]["path"]).is_file() for one in configs)
    assert f"`{manifest['digest']}`" in card and "| `mute` | 0 | 2 |" in card
    assert "| `oracle` | 2 | 2 |" in card and manifest["canary"] in card


@pytest.mark.interop
def test_the_library_datasets_loads_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    datasets = pytest.importorskip("datasets")
    assert main(["suite", "export", "s.yaml", "-o", "data"]) == 0
    found = datasets.load_dataset(str(tmp_path / "data"), "tasks", cache_dir=str(tmp_path / "cache"))
    assert found["test"]["id"] == ["lights", "attic"]
    prompts = datasets.load_dataset(str(tmp_path / "data"), "prompts", cache_dir=str(tmp_path / "cache"))
    assert len(prompts["test"]) == 3


def test_a_card_is_built_from_the_manifest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suite", "build", "s.yaml", "-o", "m.json", "--card", "card.md"]) == 0
    card, manifest = Path("card.md").read_text(encoding="utf-8"), json.loads(Path("m.json").read_text())
    assert f"| digest | `{manifest['digest']}` |" in card
    assert "2: 1 need calls, 1 are to be declined, 0 ask for nothing" in card
    assert "median 1, 1 to 1" in card and "Not measured" in card
    assert main(["suite", "export", "s.yaml", "-o", "no/such"]) == 2
    assert "create it first" in capsys.readouterr().err


def test_the_tables_of_the_paper_are_over_tasks_that_need_a_call() -> None:
    agents = ["--agent", "oracle", "--agent", "mute"]
    assert main(["run", "--suite", "s.yaml", *agents, "--db", "log.db"]) == 0
    assert main(["log", "export", "log.db", "--format", "paper", "-o", "paper"]) == 0
    with Path("paper/models.csv").open(encoding="utf-8", newline="") as file:
        models = {row["model"]: row for row in csv.DictReader(file)}
    oracle, mute = models["oracle"], models["mute"]
    assert (oracle["episodes"], oracle["harm_total"], oracle["pc"], oracle["state_percent"]) == (
        *("1", "0", "1.0", "100.0"),
    )
    assert (mute["pc"], mute["efficiency"], mute["length"], mute["state_percent"]) == (
        "0.0",
        "",
        "0.0",
        "0.0",
    )
    with Path("paper/worlds.csv").open(encoding="utf-8", newline="") as file:
        worlds = list(csv.DictReader(file))
    assert [(row["world"], row["model"]) for row in worlds] == [
        *(("automation", name) for name in ("all", "oracle", "mute")),
    ]
    assert (worlds[0]["episodes"], worlds[0]["pc"]) == ("2", "0.5")
