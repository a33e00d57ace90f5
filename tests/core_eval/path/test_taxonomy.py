"""Labels of failed episodes, by rule."""

from __future__ import annotations

import pytest

from core_eval.path.taxonomy import LEVELS, Failure, StepFacts, failures

OK = StepFacts("ok", "progress")
HARM = StepFacts("ok", "harmful")


@pytest.mark.parametrize(
    ("steps", "stop", "labels"),
    [
        ([OK], "done", [Failure.REASONING]),
        ([OK, HARM], "done", [Failure.REASONING]),
        ([OK], "max_steps", [Failure.ITERATIONS]),
        ([OK], "max_tokens", [Failure.ITERATIONS]),
        ([OK, HARM], "max_time", [Failure.REASONING, Failure.TIMEOUT]),
        ([], "context", [Failure.CONTEXT]),
        ([StepFacts("invalid", "harmful", "bad_json")], "done", [Failure.PARSING]),
        ([StepFacts("invalid", "harmful", "arguments")], "done", [Failure.INVOCATION]),
        ([StepFacts("rejected", "harmful", "safety_locked")], "done", [Failure.REASONING]),
        ([StepFacts("fault", "fault", "timeout")], "done", [Failure.LINK]),
        ([StepFacts("fault", "fault", "internal")], "done", [Failure.DEVICE]),
        ([StepFacts("blocked", "harmful", "guard")], "done", [Failure.REASONING, Failure.GUARD]),
        ([OK], "guard", [Failure.GUARD]),
    ],
)
def test_labels(steps, stop, labels):
    assert list(failures(steps, succeeded=False, stop=stop)) == labels


def test_success_has_none():
    assert failures([OK, StepFacts("fault", "fault", "timeout")], succeeded=True, stop="done") == ()


def test_every_label_has_a_level():
    assert set(LEVELS) == set(Failure)
