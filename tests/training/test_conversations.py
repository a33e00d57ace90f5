"""Training puts an episode to a model as the ReAct scaffold does, to the letter."""

from __future__ import annotations

import json

import pytest

from agents.agent import NO_USAGE, EpisodeContext, Observation, StopAction
from agents.backends.backend import ChatBackend, Reply, ReplyItem
from agents.formats.answer import parse_answer
from agents.formats.calls import Tools
from agents.formats.chat_template import ChatTemplate
from agents.formats.chatml import CHAT_TEMPLATE
from agents.scaffolds.prompting import DECLINE
from agents.scaffolds.react import ReactScaffold
from devices.outcome import Outcome
from training.conversations import NATIVE, REACT
from training.transcripts import HELD_OUT, episode


class Expert(ChatBackend):
    """A model that writes what training teaches, and keeps the prompt of its last answer."""

    name = "expert"

    def __init__(self, answers):
        self.answers, self.prompt = list(answers), ""
        self.template = ChatTemplate(CHAT_TEMPLATE)

    def start(self, seed, schemas, plain=None):
        self.tools, self.plain = Tools(schemas), plain

    def answer(self, messages, *, tokens, deadline):
        self.prompt = self.template.render(messages, [])
        text = self.answers.pop(0)
        items = tuple(ReplyItem(item) for item in parse_answer(text, self.tools, self.plain.form).items)
        return Reply({"role": "assistant", "content": text}, items, "end", NO_USAGE)

    def close(self):
        pass


def outcome(result):
    value = json.loads(result)
    if "error" in value:
        return Outcome("device_error", code=value["error"], message=value["message"])
    return Outcome("ok", value)


@pytest.mark.slow
def test_react_is_trained_on_what_its_scaffold_says():
    for seed in range(HELD_OUT, HELD_OUT + 20):
        story = episode(seed)
        pieces = REACT.pieces(story)
        expert = Expert(text.removesuffix("<|im_end|>") for text, _ in pieces if text.startswith("Thought:"))
        agent = ReactScaffold(expert)
        agent.start(EpisodeContext(story.prompt, story.device.tools, advice=story.device.advice))
        seen = None
        for turn in story.turns:
            call = agent.act(seen)
            if turn.tool == DECLINE:
                assert call == StopAction("decline")
                break
            assert (call.name, dict(call.arguments)) == (turn.tool, dict(turn.arguments))
            seen = Observation(call, outcome(turn.result))
        else:
            assert isinstance(agent.act(seen), StopAction)
        assert expert.prompt == REACT.system_turn(story.device, None) + "".join(
            text for text, _ in pieces[:-1]
        )


def test_both_scaffolds_teach_the_calls_and_the_last_word():
    for seed in range(60):
        story = episode(seed)
        for put in (NATIVE, REACT):
            learned = [text for text, learn in put.pieces(story) if learn]
            last_word = story.turns[-1].tool != DECLINE
            assert len(learned) == sum(turn.learn for turn in story.turns) + last_word
            assert all(text.endswith("<|im_end|>") for text in learned)
