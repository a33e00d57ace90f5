import json
from dataclasses import replace

from episode_rows import BROKEN, CLEAN, ROW

from core_eval.score.summary import episode_json, latest_attempts, run_json


def test_an_episode_has_the_scores_under_their_names_and_types() -> None:
    shown = episode_json(ROW)
    assert (shown["task"], shown["agent"], shown["seed"], shown["status"]) == ("t", "oracle", 3, "completed")
    assert shown["path_correctness"] == 0.5
    assert shown["harmful_calls"] == 2 and isinstance(shown["harmful_calls"], int)
    assert shown["accepted"] is False
    assert shown["efficiency"] is None and shown["unobserved_harm"] is None
    json.dumps(shown, allow_nan=False)


def test_means_leave_out_what_is_undefined_and_what_broke() -> None:
    summary = run_json([ROW, CLEAN, BROKEN])["summary"]
    assert summary["path_correctness"] == 0.75
    assert summary["efficiency"] == 0.5
    assert summary["defined"]["efficiency"] == 1
    assert summary["unobserved_harm"] is None
    assert summary["statuses"] == {"completed": 2, "error": 1}


def test_of_each_place_in_the_plan_the_last_attempt_counts() -> None:
    aborted = replace(ROW, id=1, number=1, status="aborted")
    again = replace(ROW, id=5, number=1)
    assert latest_attempts([CLEAN, aborted, again, BROKEN]) == [again, BROKEN]
