"""`pathrig compare`: two logs, or the agents of one."""

from __future__ import annotations

import json

import pytest

from core_eval.cli.main import main


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    for agent in ("mutated:0.9", "oracle"):
        command = ["run", "--task", "users_change_and_verify", "--rig", "sim:crud", "--agent", agent]
        assert main([*command, "--episodes", "3", "--db", str(folder / "b.db")]) == 0
    return folder


def test_two_logs(logs, capsys):
    out = logs / "page.html"
    a, b = f"{logs / 'b.db'}#2", f"{logs / 'b.db'}#1"
    assert main(["compare", a, b, "-o", str(out), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (told["before"], told["after"], told["pairs"]) == ("A oracle", "B mutated:0.9", 3)
    pc = told["metrics"]["path_correctness"]
    assert pc["before"] == 1.0
    assert pc["after"] < 1.0
    assert pc["difference"] == pytest.approx(pc["after"] - 1.0)
    assert {number for change in told["changes"] for number in change["before"]} <= {4, 5, 6}
    page = out.read_text()
    assert "<svg" in page
    assert page.index("<svg") < page.index("<table")


def test_the_agents_of_one_log(logs, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["compare", str(logs / "b.db")]) == 0
    said = capsys.readouterr().out
    assert "mutated:0.9 to oracle: 3 pairs" in said
    assert " > " not in said and "±" not in said
    assert max(map(len, said.splitlines())) <= 80


def test_an_agent_of_one_side_is_named(logs, capsys):
    assert main(["compare", f"{logs / 'b.db'}#2", str(logs / "b.db")]) == 0
    assert "only in B: all 3 episodes of mutated:0.9" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["b.db#7"], "no run 7; its runs are 1, 2"),
        (["b.db#1"], "no two agents"),
        (["no.db"], "no.db"),
        (["b.db#1", "b.db#2", "-o", "b.db"], "is an input file"),
    ],
)
def test_what_cannot_be_compared_is_one_line(logs, capsys, monkeypatch, arguments, said):
    monkeypatch.chdir(logs)
    assert main(["compare", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_page_ends_in_a_sentence_and_links_to_the_episodes_of_a_report(logs, capsys, monkeypatch):
    monkeypatch.chdir(logs)
    (logs / "b").mkdir(exist_ok=True)
    (logs / "b" / "index.html").write_text("a report")
    assert main(["compare", "b.db", "-o", "linked.html", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["outcome"]
    assert told.startswith("3 pairs: ")
    page = (logs / "linked.html").read_text()
    assert f"<h1>{told}</h1>" in page and 'href="b/index.html#episode-1"' in page
    (logs / "b" / "index.html").unlink()
    assert main(["compare", "b.db", "-o", "linked.html"]) == 0
    assert "#episode-" not in (logs / "linked.html").read_text()
    capsys.readouterr()
    assert main(["compare", "b.db"]) == 0
    assert " ".join(capsys.readouterr().out.split()).endswith(told)
