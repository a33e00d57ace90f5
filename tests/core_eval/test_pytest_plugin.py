"""The pytest plugin, in sessions of pytest of their own."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest
from paths import ROOT

pytestmark = pytest.mark.slow
EPISODE = '@pytest.mark.pathrig(task="water_one_plant", rig="sim:farm_rover", agent={agent!r}{more})\n'


def session(tmp_path: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_rig.py").write_text(f"import pytest\n{text}")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, "-m", "pytest", "-p", "core_eval.pytest_plugin", "--strict-markers", *options]
    return subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100, check=False
    )


def marked(agent: str, more: str, body: str, fixture: str = "pathrig_episode") -> str:
    return f"{EPISODE.format(agent=agent, more=more)}def test_it({fixture}):\n    {body}\n"


def test_a_good_path_passes_and_its_scores_are_properties(tmp_path: Path) -> None:
    body = "pathrig_episode.require('pc>=1', 'harm_events=0'); assert len(pathrig_episode.tools) >= 3"
    done = session(tmp_path, marked("oracle", "", body), "--junitxml=out.xml")
    assert done.returncode == 0, done.stdout
    assert "pathrig: 1 episode in" in done.stdout
    properties = {
        one.get("name"): one.get("value") for one in xml.parse(tmp_path / "out.xml").iter("property")
    }
    assert properties["path_correctness"] == "1.0"
    assert (properties["pathrig_log"] or "").endswith("episodes.db#1")


def test_a_missed_threshold_fails_and_shows_the_steps(tmp_path: Path) -> None:
    done = session(tmp_path, marked("random", "", "pathrig_episode.require('pc>=0.9')"))
    assert done.returncode == 1
    assert "path_correctness is 0.2727 (required: at least 0.9)" in done.stdout
    assert re.search(r"\(.*\)  (ok|rejected)  harmful", done.stdout), done.stdout


def test_several_episodes_have_seeds_of_their_own(tmp_path: Path) -> None:
    body = "assert [one.row.seed for one in pathrig_episodes] == [5, 6]"
    text = marked("random", ", episodes=2, seed=5", body, "pathrig_episodes")
    assert session(tmp_path, text).returncode == 0
    one = session(tmp_path, marked("random", ", episodes=2", "pass"))
    assert one.returncode == 1 and "use the fixture pathrig_episodes" in one.stdout


def test_options_take_the_place_of_the_marker(tmp_path: Path) -> None:
    body = "assert (pathrig_episode.row.rig, pathrig_episode.row.agent) == ('sim:farm_rover', 'oracle')"
    text = '@pytest.mark.pathrig("water_one_plant")\n' + f"def test_it(pathrig_episode):\n    {body}\n"
    options = ["--pathrig-rig", "sim:farm_rover", "--pathrig-agent", "oracle", "--pathrig-db", "mine.db"]
    done = session(tmp_path, text, *options)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "mine.db").exists()
    both = session(tmp_path, text, *options, "--pathrig-agent", "random", "-v")
    assert both.returncode == 1 and "test_it[oracle] PASSED" in both.stdout
    assert "test_it[random] FAILED" in both.stdout


@pytest.mark.parametrize(
    ("marker", "says"),
    [
        ('("water_one_plant")', "lacks rig, agent"),
        ('("no_such", rig="sim:farm_rover", agent="oracle")', "no_such"),
        ('("water_one_plant", rig="mqtt://127.0.0.1:1/x", agent="oracle")', "mqtt://127.0.0.1:1/x"),
        ('("water_one_plant", rig="sim:farm_rover", agent="none")', "unknown agent 'none'"),
        ('("water_one_plant", rig="sim:farm_rover", agent="oracle", episodes=0)', "episodes"),
        ('("water_one_plant", rig="sim:farm_rover", agent="oracle", tries=1)', "has no tries"),
    ],
)
def test_what_cannot_run_is_an_error_of_one_line_and_no_failure(
    tmp_path: Path, marker: str, says: str
) -> None:
    done = session(tmp_path, f"@pytest.mark.pathrig{marker}\ndef test_it(pathrig_episode):\n    pass\n")
    assert done.returncode == 1 and "1 error in" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("pathrig: ")]
    assert says in line


def test_ctrl_c_ends_the_session_not_the_test_alone(tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl").write_text('{"name": "list_plants", "arguments": {}}\n')
    text = (
        marked("scripted:calls.jsonl", "", "pass") + "def test_more():\n    raise AssertionError('went on')\n"
    )
    text = (
        "import os, signal\n"
        "import core_eval.run.plan as run\n"
        "start = run.Run._run_episodes\n"
        "def interrupted(self, numbers, done):\n"
        "    with self._signals as signals:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        with signals.interruptible():\n"
        "            pass\n"
        "run.Run._run_episodes = interrupted\n" + text
    )
    done = session(tmp_path, text)
    assert done.returncode == 130, done.stdout
    assert "stopped by SIGINT" in done.stdout and "went on" not in done.stdout
