"""`pathrig bench`: planners of known skill come out in their order, and a bench that was stopped goes on."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from paths import ROOT

from core_eval.bench.draws import draws
from core_eval.cli.main import main
from core_eval.log import LogReader
from core_eval.log.signing import own_key

PLANNERS = ("mutated:0.6", "oracle", "mutated:0.2", "random")
BENCH = ("--suite", "crud", "--first", "3", "--finalists", "2", "--fresh", "4")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    assert main(["bench", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bench of planners, its page and its bundle."""
    folder = tmp_path_factory.mktemp("bench")
    (folder / "bundles").mkdir()
    page, bundle = str(folder / "b.html"), str(folder / "bundles" / "one.zip")
    command = ["bench", *PLANNERS, *BENCH, "--db", str(folder / "b.db"), "-o", page, "--bundle", bundle]
    assert main(command) == 0
    return folder


def test_the_known_order_comes_out(folder, capsys):
    found = run(capsys, *PLANNERS, *BENCH, "--db", str(folder / "b.db"))
    order = [one["agent"] for one in found["cards"]]
    assert order[0] == "oracle" and order.index("mutated:0.2") < order.index("random")
    oracle = found["cards"][0]
    assert oracle["right"]["mean"] == 1.0 and (oracle["harmless"], oracle["fresh"]) == (4, 4)
    assert [one["finalist"] for one in found["cards"]] == [True, True, False, False]
    assert found["sentence"].startswith("Not enough episodes")
    # No planner takes time or memory of its own, so that the worse ones are not on the front by chance.
    assert "oracle" in found["front"] and not {"mutated:0.6", "random"} & {*found["front"]}


def test_a_bench_that_was_stopped_runs_only_what_its_log_has_not(folder, capsys, tmp_path):
    db = tmp_path / "b.db"
    source, copy = sqlite3.connect(folder / "b.db"), sqlite3.connect(db)
    with copy:
        source.backup(copy)
    source.close()
    with copy:
        copy.execute("UPDATE episode SET status = 'interrupted' WHERE id > (SELECT max(id) - 3 FROM episode)")
    copy.close()
    before = run(capsys, *PLANNERS, *BENCH, "--db", str(folder / "b.db"))
    after = run(capsys, *PLANNERS, *BENCH, "--db", str(db))
    same = ("agent", "right", "harmless", "fresh", "finalist", "off_path")
    assert [[one[key] for key in same] for one in before["cards"]] == [
        [one[key] for key in same] for one in after["cards"]
    ]
    with LogReader(db) as reader:
        counts = Counter((row.task, row.agent, row.seed) for row in reader.episodes())
        assert sorted(counts.values())[-3:] == [2, 2, 2] and sum(counts.values()) == len(counts) + 3


def test_another_exam_needs_another_log(folder, capsys):
    assert main(["bench", "oracle", *BENCH, "--exam", "rig", "--db", str(folder / "b.db")]) == 2
    assert "is of exam model" in capsys.readouterr().err


def test_the_page_says_the_sentence_first(folder):
    page = (folder / "b.html").read_text()
    assert page.index("Not enough episodes") < page.index("Pareto front") < page.index("<table")
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_no_stretch_of_draws_repeats_a_task_before_all_were_drawn():
    drawn = draws(["a", "b", "c", "d", "e"], 3, 0, 12)
    places = "".join(place for place, _ in drawn)
    assert sorted(places[:5]) == sorted(places[5:10]) == list("abcde")
    assert [seed for _, seed in drawn] == [3] * 5 + [4] * 5 + [5] * 2
    assert draws(["a", "b", "c", "d", "e"], 3, 4, 4) == drawn[4:8]


@pytest.mark.parametrize("word", ["nothing.txt", "folder", "mutated:2", "llama:no.gguf?temperature=1"])
def test_what_is_no_model_is_one_line(word, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    status = main(["bench", word, *BENCH, "--db", "b.db"])
    said = capsys.readouterr()
    assert status in (0, 2) and "Traceback" not in said.err
    assert ("is no model" in said.err) or ("no .gguf" in said.err) or ("cannot be run" in said.err)


# Bundles and boards


def forged(folder: Path, out: Path, change: str, *, signed: bool = False) -> None:
    """A bundle whose log was changed, without chains unless `signed`, and whose hashes were made anew."""
    with zipfile.ZipFile(folder / "bundles" / "one.zip") as archive:
        archive.extractall(out)
    log = sqlite3.connect(out / "bench.db")
    with log:
        assert log.execute(change).rowcount > 0
        if not signed:
            log.execute("DELETE FROM chain")
            log.execute("DELETE FROM signature")
    log.close()
    names = ("bench.db", "bench.json")
    hashes = {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in names}
    (out / "sha256.json").write_text(json.dumps(hashes))
    with zipfile.ZipFile(out / "forged.zip", "w") as archive:
        for name in ("sha256.json", *names):
            archive.write(out / name, name)


def board(capsys: pytest.CaptureFixture[str], folder: Path, page: Path, *words: str) -> tuple[int, dict]:
    status = main(["board", "build", str(folder), "-o", str(page), "--json", *words])
    return status, json.loads(capsys.readouterr().out)


def test_a_bundle_says_what_its_log_says(folder, capsys, tmp_path):
    status, found = board(capsys, folder / "bundles", tmp_path / "board.html")
    (one,) = found["bundles"]
    bench = run(capsys, *PLANNERS, *BENCH, "--db", str(folder / "b.db"))
    assert (status, one["sentence"], one["cards"]) == (0, bench["sentence"], bench["cards"])
    assert one["standing"] == "3 episodes run again, the same"
    assert one["notes"] == [f"its log is signed by {own_key()}"]
    _, found = board(capsys, folder / "bundles", tmp_path / "board.html", "--again", "0")
    assert found["bundles"][0]["standing"] == "consistent, not proven"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "UPDATE score SET value = 1 - value WHERE metric = 'accepted' AND value = 0",
            "other values of accepted",
        ),
        ("UPDATE step SET arguments = '{}' WHERE tool IS NOT NULL", "other values of"),
        ("UPDATE definition SET automaton = replace(automaton, '\"accepting\":', '\"accepting\": ')", ""),
        ("UPDATE run SET config = json_remove(config, '$.exam')", "is of another exam"),
        ("UPDATE run SET config = json_set(config, '$.vary', json('true'))", "other starts or limits"),
        ("UPDATE run SET config = json_set(config, '$.limits.steps', 900)", "other starts or limits"),
        ("UPDATE episode SET init = '{}'", "has another start than task"),
        ("UPDATE episode SET guard = 'block'", "has another guard than its run"),
        ("UPDATE episode SET seed = seed + 1 WHERE id = 2", "has another seed than its run"),
        ("UPDATE episode SET number = number + 900 WHERE id = 2", "has another number than its run"),
        ("UPDATE episode SET agent = 'oracle' WHERE agent = 'random'", "has another agent than its run"),
        ("UPDATE episode SET task = 'easy' WHERE id = 3", "has another task than its run"),
        ("UPDATE definition SET prompt = 'Do nothing.'", "has another prompt than task"),
    ],
)
def test_a_bundle_with_one_changed_row_is_refused(folder, capsys, tmp_path, change, said):
    forged(folder, tmp_path, change)
    status, found = board(capsys, tmp_path, tmp_path / "board.html", "--again", "0")
    assert (status, len(found["refused"])) == ((1, 1) if said else (0, 0))
    assert all(said in why for why in found["refused"].values())
    assert said in (tmp_path / "board.html").read_text()


def test_a_bundle_whose_chain_does_not_hold_is_refused(folder, capsys, tmp_path):
    forged(folder, tmp_path, "UPDATE step SET t_intent = t_intent + 1 WHERE id = 1", signed=True)
    status, found = board(capsys, tmp_path, tmp_path / "board.html", "--again", "0")
    assert status == 1
    assert "step 0, record " in found["refused"]["forged.zip"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda told: told["candidates"][0].update(size=5), None),
        (lambda told: told["picked"].update(fresh=3), "fresh episodes, and 3 are counted"),
        (lambda told: told["picked"].update(fresh=10**9), "are counted"),
        (lambda told: told.update(places=[]), "cannot be read"),
        (lambda told: told.update(places=told["places"][:5]), "leaves out 19 tasks of its suites"),
        (lambda told: told.update(places=[*told["places"], ["easy", "sim:crud"]]), "have no task easy"),
        (lambda told: told["candidates"][0].update(size="small"), "cannot be read"),
        (lambda told: told["candidates"][0].update(colour="red"), "cannot be read"),
        (lambda told: told.update(share=2), "cannot be read"),
    ],
)
def test_what_a_bundle_states_must_be_that_of_its_log(folder, capsys, tmp_path, change, said):
    """A planner has no file, so that any size of it is possible."""
    with zipfile.ZipFile(folder / "bundles" / "one.zip") as archive:
        archive.extractall(tmp_path)
    told = json.loads((tmp_path / "bench.json").read_text())
    change(told)
    (tmp_path / "bench.json").write_text(json.dumps(told))
    names = ("bench.db", "bench.json")
    hashes = {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in names}
    (tmp_path / "sha256.json").write_text(json.dumps(hashes))
    with zipfile.ZipFile(tmp_path / "forged.zip", "w") as archive:
        for name in ("sha256.json", *names):
            archive.write(tmp_path / name, name)
    status, found = board(capsys, tmp_path, tmp_path / "board.html", "--again", "0")
    assert status == (said is not None)
    assert all(said in why for why in found["refused"].values())


def test_a_budget_holds_for_few_models_too(capsys, tmp_path):
    command = ["oracle", "random", "--suite", "crud", "--db", str(tmp_path / "b.db")]
    found = run(capsys, *command, "--budget", "0.5s")
    assert [one["fresh"] for one in found["cards"]] == [found["cards"][0]["fresh"]] * 2
    assert 1 <= found["cards"][0]["fresh"] < 60


def test_a_machine_that_is_slowed_down_is_told(capsys, tmp_path, monkeypatch):
    program = tmp_path / "vcgencmd"
    program.write_text("#!/bin/sh\necho throttled=0x50005\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr("core_eval.run.episode.is_model", lambda name: name == "oracle")
    db, page = str(tmp_path / "b.db"), tmp_path / "b.html"
    command = ["bench", "oracle", "random", "--suite", "crud", "--fresh", "1", "--db", db]
    assert main([*command, "-o", str(page), "--json"]) == 0
    said = capsys.readouterr()
    words = "1 of 1 episodes: throttled, under-voltage"
    assert f"oracle: the machine was slowed down in {words}" in said.err
    assert [one["slowed_down"] for one in json.loads(said.out)["cards"]] == [words, None]
    assert page.read_text().count(words) == 1
    assert main(["show", db, "--episode", "1"]) == 0
    assert "slowed down: throttled, under-voltage" in capsys.readouterr().out


def test_what_is_no_bundle_is_refused_in_one_line(capsys, tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK no zip")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("bench.json", "{}")
    for name, content in (("c.zip", b"[" * 100_000), ("d.zip", b" " * 2**25)):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in ("bench.db", "bench.json", "sha256.json"):
                archive.writestr(file, content)
            archive.writestr("../beside.txt", "x")
    link = zipfile.ZipInfo("bench.db")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "e.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("bench.json", "{}")
        archive.writestr("sha256.json", "{}")
    status, found = board(capsys, tmp_path, tmp_path / "board.html")
    assert status == 1 and sorted(found["refused"]) == [f"{name}.zip" for name in "abcde"]
    said = {name[0]: why for name, why in found["refused"].items()}
    assert "nested deeper" in said["c"] and "is larger than" in said["d"] and "whose hash" in said["e"]


def test_an_empty_board_says_how_to_fill_it(capsys, tmp_path):
    assert board(capsys, tmp_path, tmp_path / "board.html")[0] == 0
    assert "--bundle" in (tmp_path / "board.html").read_text()


def test_the_shipped_board_is_what_its_bundles_give(capsys, tmp_path):
    """Where scores or tasks have changed, `docs/bench.md` has the commands that make it anew."""
    page = tmp_path / "board.html"
    status, found = board(capsys, ROOT / "docs" / "board", page, "--again", "0")
    assert status == 0, found["refused"]
    assert page.read_text() == (ROOT / "docs" / "board" / "board.html").read_text()
    (one,) = found["bundles"]
    assert "pathrig-demo-q8_0" in [card["agent"] for card in one["cards"]]
