"""The same right calls in every syntax give the same episode; torn ones give steps, and all is in the log."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from families import BY_NAME, families
from played_episode import GOLDEN, rig

from agents.agent import Usage
from agents.backends.backend import ChatBackend, Message, Reply, ReplyItem
from agents.deadline import Deadline
from agents.formats.answer import parse_answer
from agents.formats.calls import CallText, Tools
from agents.formats.format import Format
from agents.formats.registry import formats
from agents.scaffolds.native import NativeScaffold
from configs.tasks_loader import load_task
from core_eval.log import EpisodeRow, LogReader, RunLog, StepRow, ignore
from core_eval.rig.session import RigSession
from core_eval.rig.signals import StopSignals
from core_eval.run.episode import Episode
from core_eval.run.episode_start import Assignment

TASK = load_task("water_one_plant")
UNLOCK = (GOLDEN[0].name, GOLDEN[0].arguments)


class Texts(ChatBackend):
    """A model whose answers are given; the last one stays."""

    name = "texts"

    def __init__(self, form: Format, texts: Sequence[str]) -> None:
        self.form, self.texts = form, list(texts)
        self.options = {"format": form.name, "grammar": "off"}

    def start(self, seed: int, schemas: Sequence[dict]) -> None:
        self.tools = Tools(schemas)

    def answer(self, messages: Sequence[Message], *, tokens: int, deadline: Deadline) -> Reply:
        text = self.texts.pop(0) if self.texts else "Done."
        items = tuple(ReplyItem(item) for item in parse_answer(text, self.tools, self.form).items)
        return Reply({"role": "assistant", "content": text}, items, "end", Usage(text, 1, 0, 1, 0.0))

    def close(self) -> None:
        pass


def play(path: Path, session: RigSession, backend: Texts) -> tuple[EpisodeRow, list[StepRow]]:
    with RunLog(path) as log, StopSignals() as signals:
        run = log.begin_run({}, {}, {})
        assignment = Assignment(run, 0, 5, TASK, "texts", {"beta": 0.5}, None, False)
        Episode(assignment, session, NativeScaffold(backend), signals, ignore).run(log)
    with LogReader(path) as reader:
        episode = reader.episodes()[-1]
        return episode, reader.steps(episode.id)


@pytest.fixture(scope="module")
def session():
    with rig() as opened:
        yield opened


@pytest.mark.parametrize("name", BY_NAME)
def test_right_calls_are_progress_in_every_syntax(name, tmp_path, session):
    form = BY_NAME[name]
    texts = [form.write([CallText(call.name, call.arguments)]) for call in GOLDEN]
    episode, steps = play(tmp_path / "log.db", session, Texts(form, texts))
    assert [(step.status, step.kind) for step in steps] == [("ok", "progress")] * len(GOLDEN)
    assert (episode.status, episode.stop_reason) == ("completed", "done")
    assert episode.agent_info["options"] == {"format": name, "grammar": "off", "prompt": "operator"}


@pytest.mark.slow
@pytest.mark.parametrize("name", families())
def test_a_call_that_cannot_be_read_is_a_step_and_the_model_may_go_on(name, tmp_path, session):
    form = BY_NAME[name]
    whole = form.write([CallText("move_to", {"x": 2.0, "y": 1.0})])
    cut = whole[: whole.index("move_to") + 14]
    backend = Texts(form, [cut, form.write([CallText(*UNLOCK)])])
    episode, steps = play(tmp_path / "log.db", session, backend)
    assert [step.status for step in steps] == ["invalid", "ok"]
    assert steps[0].tool is None and steps[0].turn is not None and steps[0].turn.text == cut
    assert episode.stop_reason == "done"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("least", "each"), [(115, 3), pytest.param(3000, 30, marks=pytest.mark.nightly)])
def test_torn_answers_through_the_log(least, each, tmp_path, session):
    """No answer crashes an episode; what reaches the device is a call of a tool; every answer is logged."""
    rng = random.Random(11)
    count = number = 0
    while count < least:
        number += 1
        form = formats()[number % len(formats())]
        texts = [torn(form, rng) for _ in range(each)]
        backend = Texts(form, texts)
        path = tmp_path / f"{number % 8}.db"
        episode, steps = play(path, session, backend)
        assert episode.status in ("completed", "stopped"), episode.error
        assert all(step.call_id is None for step in steps if step.status == "invalid")
        assert all(step.tool in TASK.device.by_name for step in steps if step.call_id is not None)
        with LogReader(path) as reader:
            told = {turn.text for turn in reader.turns(episode.id).values()}
        asked = texts[: len(texts) - len(backend.texts)]
        assert {*asked} <= told
        count += len(asked)
    assert number >= len(formats()), "each format is among them"


def torn(form: Format, rng: random.Random) -> str:
    """A call with a few characters put in or taken out."""
    call = rng.choice(GOLDEN)
    text = form.write([CallText(call.name, call.arguments)])
    place, size = rng.randrange(len(text)), rng.choice((0, 0, 1, 3))
    return text[:place] + rng.choice(("", "{", '"', "<", form.name)) + text[place + size :]
