"""`pathrig baseline`: saved from a run, checked against later ones."""

import json
from pathlib import Path

import pytest

from core_eval.cli.main import main

pytestmark = pytest.mark.slow
RUN = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--db", "runs.db", "--agent"]


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def check(*options: str) -> int:
    return main(["baseline", "check", "baseline.json", "runs.db", *options])


def test_a_worse_run_is_1_and_the_same_one_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "oracle"]) == 0
    assert main(["baseline", "save", "runs.db", "-o", "baseline.json"]) == 0
    assert main([*RUN, "oracle"]) == 0
    assert check() == 0
    # The same agent's name, other calls.
    content = json.loads(Path("baseline.json").read_text())
    content["episodes"][0]["scores"]["path_correctness"] = 0.5
    Path("baseline.json").write_text(json.dumps(content))
    assert check() == 0
    content["episodes"][0]["scores"]["path_correctness"] = 1.5
    Path("baseline.json").write_text(json.dumps(content))
    capsys.readouterr()
    assert check() == 1
    assert "1 worse, 0 better" in capsys.readouterr().out
    assert check("--tolerance", "pc=0.5") == 0
    assert check("--metric", "harmful calls") == 0
    assert check("--markdown") == 1
    assert "| ❌ worse | water_one_plant | oracle | PC | 1.5 | 1 | - |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "must hold one JSON object"),
        ("{", "baseline.json"),
        ('{"episodes": [{"task": 1}]}', "episodes.0.task"),
        ('{"pathrig_baseline": 2, "episodes": []}', "pathrig_baseline"),
    ],
)
def test_a_bad_file_is_one_line(text: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "oracle"]) == 0
    Path("baseline.json").write_text(text)
    capsys.readouterr()
    assert check() == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "options",
    [
        ["--metric", "speed"],
        ["--metric", "wall_seconds"],
        ["--tolerance", "pc"],
        ["--tolerance", "pc=-1"],
        ["--tolerance", "pc=nan"],
    ],
)
def test_a_bad_option_is_one_line(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert check(*options) == 2
    assert capsys.readouterr().err.startswith(f"pathrig: {options[0]}")


@pytest.mark.parametrize("reference", ["runs.db#x", "runs.db#7", "none.db"])
def test_a_run_that_is_not_there_is_one_line(reference: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "oracle"]) == 0
    assert main(["baseline", "save", reference, "-o", "out.json"]) == 2
    assert not Path("out.json").exists()
