"""A model that did its task and then reports its calls: nothing moves again, and it is not charged."""

from __future__ import annotations

import json

import pytest
from chat_standin import completion, serving, tool_call
from played_episode import GOLDEN, rig

from agents.formats.python_formats import python_call
from agents.registry import make_agent
from configs.tasks_loader import load_task
from core_eval.log import LogReader, RunLog, ignore
from core_eval.rig.signals import StopSignals
from core_eval.run.episode import Episode
from core_eval.run.episode_start import Assignment
from core_eval.score.scoring import score_episode

TASK = load_task("water_one_plant")
RECORDS = [json.dumps({"name": call.name, "arguments": dict(call.arguments)}) for call in GOLDEN]
WATER = next(record for record in RECORDS if "water_plant" in record)
PYTHON = ", ".join(map(python_call, GOLDEN))
REPORTS = {
    "fence": f"All done. Here is the call I made:\n```json\n{WATER}\n```",
    "fence alone": f"```json\n{WATER}\n```",
    "lines": "\n".join(RECORDS),
    "python": f"Executed calls:\n[{PYTHON}]",
    "python alone": f"[{PYTHON}]",
    "marks among words": f"I wrote <tool_call>{WATER}</tool_call> and it worked.",
}


def played(folder, *answers, reading="strict"):
    """Return the episode of a server that gives these answers, its steps, and the remarks."""
    with (
        serving(*[(200, answer) for answer in answers]) as (server, spec),
        rig() as session,
        RunLog(folder / "log.db") as log,
        StopSignals() as signals,
    ):
        run = log.begin_run({}, {}, {})
        assignment = Assignment(run, 0, 5, TASK, spec, {"beta": 0.5}, None, False)
        agent = make_agent(f"{spec}?reading={reading}")
        number = Episode(assignment, session, agent, signals, ignore).run(log)
        with LogReader(log.path) as reader:
            result = score_episode(reader, number)
        log.write_scores(number, result.scores, result.harm)
        assert len(server.requests) <= len(answers)
    with LogReader(folder / "log.db") as reader:
        return reader.episode(number), reader.steps(number), [remark for _, remark in reader.remarks(number)]


def called(call, number):
    arguments = json.dumps(dict(call.arguments))
    return completion({"content": None, "tool_calls": [tool_call(call.name, arguments, f"c{number}")]})


CALLS = [called(call, number) for number, call in enumerate(GOLDEN)]


@pytest.mark.parametrize("report", REPORTS)
def test_a_server_that_sent_calls_is_believed_that_a_report_is_none(report, tmp_path):
    words = completion({"content": REPORTS[report]}, "stop")
    episode, steps, remarks = played(tmp_path, *CALLS, words)
    assert [step.status for step in steps] == ["ok"] * len(GOLDEN)
    assert (episode.stop_reason, episode.scores["path_correctness"]) == ("done", 1.0)
    assert episode.scores["harmful_calls"] == 0
    assert any("look like a call" in remark for remark in remarks)
    assert episode.agent_info["options"]["reading"] == "strict"


def test_the_old_way_makes_the_call_again_and_charges_the_model(tmp_path):
    words = completion({"content": REPORTS["fence"]}, "stop")
    done = completion({"content": "Done."}, "stop")
    episode, steps, _ = played(tmp_path, *CALLS, words, done, reading="lenient")
    assert [step.tool for step in steps][len(GOLDEN) :] == ["water_plant"]
    assert episode.scores["path_correctness"] < 1.0
    assert episode.agent_info["options"]["reading"] == "lenient"


def test_a_call_that_such_a_server_could_not_read_is_a_step(tmp_path):
    broken = completion({"content": '<tool_call>\n{"name": "move_home", "argum'}, "stop")
    done = completion({"content": "Done."}, "stop")
    episode, steps, _ = played(tmp_path, *CALLS, broken, done)
    assert [step.status for step in steps] == [*["ok"] * len(GOLDEN), "invalid"]
    assert episode.stop_reason == "done"


@pytest.mark.parametrize("report", ["fence", "lines", "python", "marks among words"])
def test_a_server_that_never_sent_a_call_is_told_of_what_only_looks_like_one(report, tmp_path):
    words = completion({"content": REPORTS[report]}, "stop")
    episode, steps, _ = played(tmp_path, words, completion({"content": "Done."}, "stop"))
    assert [step.status for step in steps] == ["invalid"]
    assert (episode.stop_reason, episode.calls_made) == ("done", 0)
