import os
import time
from pathlib import Path

import pytest

from configs.errors import ConfigError
from core_eval.cli.main import main
from core_eval.log.connection import wal_of
from core_eval.serve.day_files import day_of, outdated, remove, to_copy
from core_eval.serve.serve_file import DAY, Entry, Schedule, next_start

WORK = "tasks: [water_one_plant], agents: [oracle]"
RIGS = "rigs: ['sim:farm_rover']\n"


def entry(**given: object) -> Entry:
    return Entry.model_validate({"name": "a", "tasks": ["t"], "agents": ["oracle"], **given})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("folder: x", "nothing to do: give schedule, or collect"),
        (f"schedule: [{{name: a, every: 1h, {WORK}}}]", "give rigs"),
        (RIGS + f"schedule: [{{name: a, {WORK}}}]", ":2: schedule.0: give every or at"),
        (RIGS + f"schedule: [{{name: a, every: 5, {WORK}}}]", "write a number and s, min, h or d"),
        (RIGS + f"schedule: [{{name: a, at: ['25:00'], {WORK}}}]", "write a time of the day"),
        (RIGS + f"schedule: [{{name: a, evry: 1h, {WORK}}}]", "did you mean 'every'"),
        (RIGS + "schedule: [{name: a, every: 1h, agents: [oracle]}]", "give tasks or suites"),
        (RIGS + "schedule: [{name: a, every: 1h, tasks: [nix], agents: [oracle]}]", "schedule.0.tasks"),
        (RIGS + "schedule: [{name: a, every: 1h, suites: [navigation], agents: [nix]}]", "unknown agent"),
        (RIGS + f"schedule: [{{name: a, every: 1h, rigs: [b], {WORK}}}]", "'b' is none of the file's rigs"),
        ("rigs: [nix]\n" + f"schedule: [{{name: a, every: 1h, {WORK}}}]", ":1: rigs.0: no rig 'nix'"),
        (RIGS + f"schedule: [{{name: a, every: 1h, guard: confirm, {WORK}}}]", "nobody is asked"),
        ("collect: {url: 'http://x'}", ":1: collect.url: bad MQTT URL"),
        ("collect: {url: 'mqtt://x/rig'}", "leave out /rig"),
        ("rigs: ['sim:farm', 'sim:farm']\nschedule: []\ncollect: {url: x}", "is there twice"),
    ],
)
def test_a_fault_is_one_line_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text(text)
    assert main(["serve", str(file), "--check"]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith(f"pathrig: {file}") and words in line


def test_a_file_is_read_with_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "barn.yaml").write_text("name: barn\nurl: mqtt://127.0.0.1/barn\ndevice: farm_rover\n")
    file = tmp_path / "serve.yaml"
    file.write_text(
        "rigs: [barn.yaml, 'sim:navigation']\n"
        "schedule:\n"
        "  - {name: a, at: ['06:00', 18:30], suites: [navigation], agents: [oracle, random], vary: true, "
        "guard: block}\n"
        "  - {name: b, every: 90s, rigs: [barn.yaml], suites: [farm_rover], agents: [oracle]}\n"
    )
    read = Schedule(file)
    assert read.rigs == {
        "barn": (str(tmp_path / "barn.yaml"), True),
        "sim_navigation": ("sim:navigation", False),
    }
    a, b = read.keys.schedule
    assert a.at == (360, 1110) and b.every == 90.0
    assert list(read.work(a)) == ["barn", "sim_navigation"] and list(read.work(b)) == ["barn"]
    assert read.options(a, 7) == [
        "--suite=navigation", "--agent=oracle", "--agent=random", "--episodes=1", "--seed=7", "--retries=0",
        "--no-floors", "--guard=block", "--vary",
    ]  # fmt: skip


def test_intervals_that_were_missed_are_left_out() -> None:
    hourly = entry(every="1h")
    assert next_start(hourly, 1000.0, None) == 1000.0
    assert next_start(hourly, 1000.0, 1000.0) == 4600.0
    assert next_start(hourly, 1000.0 + 5.5 * 3600, 1000.0) == 1000.0 + 6 * 3600


def test_times_of_the_day_hold_when_the_clock_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        daily = entry(at=["06:00", "18:30"])
        evening = time.mktime((2026, 3, 28, 20, 0, 0, 0, 0, -1))
        # The night of 29 March 2026 has an hour less.
        six = next_start(daily, evening, None)
        assert six - evening == 9 * 3600
        assert time.localtime(six)[:5] == (2026, 3, 29, 6, 0)
        assert next_start(daily, six, six) - six == 12.5 * 3600
    finally:
        monkeypatch.undo()
        time.tzset()


def day_file(folder: Path, rig: str, days_ago: int, size: int, suffix: str = "db") -> Path:
    path = folder / rig / f"{day_of(time.time() - days_ago * DAY)}.{suffix}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def test_what_is_old_or_too_much_goes_and_the_unsent_stays(tmp_path: Path) -> None:
    now = time.time()
    files = [day_file(tmp_path, rig, days, 400_000) for days in (9, 2, 1, 0) for rig in ("a", "b")]
    note = day_file(tmp_path, "a", 9, 10, "log")
    (tmp_path / "status.json").write_text("{}")
    (tmp_path / "a" / "mine.db").write_text("not a day's")
    assert outdated(tmp_path, now, None, None) == []
    assert outdated(tmp_path, now, 5, None) == [files[0], files[1], note]
    assert outdated(tmp_path, now, 5, None, kept={files[0]}) == [files[1]]
    # 3.2 MB, of which 1 may stay: the day that is written does in any case.
    assert outdated(tmp_path, now, None, 1) == [files[0], files[1], note, *files[2:6]]
    wal_of(files[0]).write_text("x")
    remove(files[0])
    assert not files[0].exists() and not wal_of(files[0]).exists()


def test_days_that_are_over_are_copied_once(tmp_path: Path) -> None:
    folder, target, now = tmp_path / "logs", tmp_path / "copies", time.time()
    folder.mkdir()
    old, _ = day_file(folder, "a", 1, 5), day_file(folder, "a", 0, 5)
    copy = target / "a" / old.name
    assert to_copy(folder, target, now) == [(old, copy)]
    copy.parent.mkdir(parents=True)
    copy.write_text("done")
    assert to_copy(folder, target, now) == []
    os.utime(old, (now + 9, now + 9))
    assert to_copy(folder, target, now) == [(old, copy)]


def test_two_rigs_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text("name: same\nurl: mqtt://127.0.0.1/same\n")
    file = tmp_path / "serve.yaml"
    file.write_text(f"rigs: [one.yaml, two.yaml]\nschedule: [{{name: a, every: 1h, {WORK}}}]")
    with pytest.raises(ConfigError, match="two rigs are called same"):
        Schedule(file)
