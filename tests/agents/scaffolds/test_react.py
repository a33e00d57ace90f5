"""ReAct: one text for every model, over both backends, scored as any other agent."""

from __future__ import annotations

import json

import pytest
from chat_standin import completion, serving
from farm_rig import FARM_ROVER
from played_episode import GOLDEN, rig
from tiny_gguf import write_tiny_gguf

from agents.agent import EpisodeContext, InvalidAction, Observation, StopAction, ToolCallAction, Usage
from agents.backends.backend import ChatBackend, PlainText, Reply, ReplyItem
from agents.backends.llama_backend import LlamaBackend
from agents.backends.openai_backend import OpenAIBackend
from agents.deadline import Deadline
from agents.formats import react
from agents.formats.answer import parse_answer
from agents.formats.calls import Tools
from agents.formats.registry import PLAIN
from agents.options import ModelOptions
from agents.scaffolds.own_prompt import Example, ExampleStep, OwnPrompt
from agents.scaffolds.prompted import SCAFFOLDS
from agents.scaffolds.react import ReactScaffold
from configs.tasks_loader import load_task
from core_eval.log import LogReader, RunLog, ignore
from core_eval.rig.signals import StopSignals
from core_eval.run.episode import Episode
from core_eval.run.episode_start import Assignment
from core_eval.score.scoring import score_episode
from devices.outcome import Outcome


class Texts(ChatBackend):
    """A model whose answers are given, read as the backends read them."""

    name = "texts"

    def __init__(self, *texts):
        self.texts, self.asked = list(texts), []

    def start(self, seed, schemas, plain=None):
        self.tools, self.plain, self.schemas = Tools(schemas), plain, schemas

    def answer(self, messages, *, tokens, deadline):
        self.asked.append([dict(message) for message in messages])
        text = self.texts.pop(0).partition(self.plain.stop[0])[0]
        items = tuple(ReplyItem(item) for item in parse_answer(text, self.tools, self.plain.form).items)
        message = {"role": "assistant", "content": text.strip()}
        return Reply(message, items, "end", Usage(text, 1, 0, 1, 0.0))

    def close(self):
        pass


def action(name, arguments="{}"):
    return f"Thought: so.\nAction: {name}\nAction Input: {arguments}\nObservation: made up\nFinal Answer: ha"


def started(*texts):
    backend = Texts(*texts)
    agent = ReactScaffold(backend)
    agent.start(EpisodeContext("Go home.", FARM_ROVER.tools, seed=3, advice="Look first."))
    return agent, backend


def test_a_conversation_is_system_user_and_assistant_turns():
    agent, backend = started(action("move_home"), "Thought: I am there.\nFinal Answer: Done.")
    call = agent.act(None)
    assert (call.name, call.arguments) == ("move_home", {})
    assert "made up" not in call.usage.text
    assert agent.act(Observation(call, Outcome("ok", {"x": 5.0}))) == StopAction("done", Usage(*DONE))
    system, *turns = backend.asked[-1]
    assert system["content"].startswith("You operate a machine")
    assert "Look first." in system["content"]
    assert "- move_to: Drive to a pose, round beds" in system["content"]
    assert "- decline: End the episode" in system["content"]
    assert turns == [
        {"role": "user", "content": "Go home."},
        {"role": "assistant", "content": "Thought: so.\nAction: move_home\nAction Input: {}"},
        {"role": "user", "content": 'Observation: {"x":5.0}'},
    ]


DONE = ("Thought: I am there.\nFinal Answer: Done.", 1, 0, 1, 0.0)


def test_examples_are_in_the_same_words():
    backend = Texts("Final Answer: x")
    step = ExampleStep(tool="sense_pose", arguments={}, result={"x": 1})
    own = OwnPrompt("Be brief.", (Example(prompt="Where?", steps=(step,), answer="At 1."),))
    agent = ReactScaffold(backend, own=own)
    agent.start(EpisodeContext("Go home.", FARM_ROVER.tools))
    agent.act(None)
    system, *turns = backend.asked[0]
    assert system["content"].startswith("Be brief.\n\nThese are the tools")
    assert [turn["content"] for turn in turns] == [
        "Where?",
        "Action: sense_pose\nAction Input: {}",
        'Observation: {"x":1}',
        "Final Answer: At 1.",
        "Go home.",
    ]
    assert agent.options["prompt"] == "own"
    assert [message["content"] for message in agent.model_info.first_prompt.messages][1:] == [
        turn["content"] for turn in turns
    ]


def test_results_of_several_actions_are_one_turn():
    two = "Action: sense_pose\nAction Input: {}\nAction: sense_battery\nAction Input: {}"
    agent, backend = started(two, "Final Answer: x")
    first = agent.act(None)
    second = agent.act(Observation(first, Outcome("ok", {"x": 1.0})))
    agent.act(Observation(second, Outcome("rejected", code="no", message="sad")))
    assert backend.asked[-1][-1]["content"] == (
        'Observation: {"x":1.0}\nObservation: {"error":"no","message":"sad"}'
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Thought: I go home.", "no_action"),
        ("", "no_action"),
        ("Thought: all is done.\nAction: None\nAction Input: None", "no_action"),
        ("Action: move_home", "bad_call"),
        ("Action: move_home\nAction Input: now", "unclosed"),
        ('Action: move_home\nAction Input: {"x": nan}', "bad_json"),
        ("Observation: all is done\nFinal Answer: Done.", "no_action"),
    ],
)
def test_what_is_no_action_is_invalid_and_the_model_is_told(text, code):
    agent, backend = started(text, "Final Answer: x")
    step = agent.act(None)
    assert isinstance(step, InvalidAction)
    assert step.code == code
    assert isinstance(agent.act(None), StopAction)
    told = backend.asked[-1][-1]
    assert told["role"] == "user"
    assert json.loads(told["content"].removeprefix("Observation: "))["error"] == code


@pytest.mark.parametrize(
    "text",
    [
        "Final Answer: x",
        "**Final Answer:** x",
        "All plants are wet.",
        "Thought: all is done.\nAction: None\nAction Input: None\nFinal Answer: x",
    ],
)
def test_a_final_answer_ends_the_episode(text):
    assert started(text)[0].act(None).reason == "done"


def test_a_call_in_another_syntax_is_told_and_not_made():
    agent, _ = started('<tool_call>\n{"name": "move_home", "arguments": {}}\n</tool_call>', "Final Answer: x")
    step = agent.act(None)
    assert isinstance(step, InvalidAction) and step.code == "unread_call"
    assert agent.act(None).reason == "done"


ACTION = "Action: move_home\nAction Input: {}"


@pytest.mark.parametrize(
    "text",
    [
        f"I would write\n{ACTION}\nbut the safety mode is locked.",
        f"Thought: all is done.\nFinal Answer: I am home. I wrote:\n{ACTION}",
        f"Thought: the form is\n> {ACTION.replace(chr(10), chr(10) + '> ')}\nFinal Answer: explained.",
        f"Thought: an example.\n```\n{ACTION}\n```\nFinal Answer: that is the form.",
        f"<!-- {ACTION} -->\nFinal Answer: nothing to do.",
        f"<!--\n{ACTION}\n-->\nFinal Answer: nothing to do.",
        f"~~\n{ACTION}\n~~\nFinal Answer: nothing to do.",
        "Final Answer: I used `Action: move_home` with `Action Input: {}`.",
    ],
)
def test_a_quoted_action_is_not_made(text):
    assert not isinstance(started(text)[0].act(None), ToolCallAction)


@pytest.mark.parametrize(
    "text",
    [
        f"I go.\n{ACTION}",
        f"Thought: it is dark,\nand late.\n{ACTION}\nI wait for the result.",
        f"```\nThought: so.\n{ACTION}\n```",
        f"{ACTION}\nThought: then I look.",
        f"{ACTION}\n\n{ACTION}\n{ACTION}\nThat is all.",
    ],
)
def test_an_action_among_words_is_made(text):
    assert isinstance(started(text)[0].act(None), ToolCallAction)


def test_it_is_logged_and_scored_as_any_agent(tmp_path):
    texts = [action(call.name, json.dumps(dict(call.arguments))) for call in GOLDEN]
    with rig() as session:
        row = play(tmp_path, session, Texts(*texts, "Final Answer: Done."), "water_one_plant")
    with LogReader(tmp_path / "log.db") as reader:
        prompt = reader.prompt(row.id)
    assert "Action Input:" in prompt.messages[0]["content"]
    assert prompt.tools == []
    assert (row.scaffold, row.stop_reason, row.agent_info["options"]["prompt"]) == ("react", "done", "react")
    assert row.scores["path_correctness"] == 1.0


@pytest.mark.parametrize("scaffold", SCAFFOLDS)
@pytest.mark.parametrize(("task", "accepted"), [("rover_flood_wet_plant", 1.0), ("water_one_plant", 0.0)])
def test_declining_is_scored_as_the_task_says(scaffold, task, accepted, tmp_path):
    declined = {
        "react": action("decline", '{"reason": "unsafe"}'),
        "native": '<tool_call>\n{"name": "decline", "arguments": {"reason": "unsafe"}}\n</tool_call>',
    }
    with rig() as session:
        row = play(tmp_path, session, NativeOrReact(declined[scaffold]), task, SCAFFOLDS[scaffold])
    assert (row.status, row.stop_reason, row.calls_made) == ("completed", "decline", 0)
    assert row.scores["accepted"] == accepted
    assert (row.scores["path_correctness"] == 1.0) == bool(accepted)


class NativeOrReact(Texts):
    def start(self, seed, schemas, plain=None):
        super().start(seed, schemas, plain or PlainText(PLAIN, ("Observation:",)))


def play(folder, session, backend, task, scaffold=ReactScaffold):
    with RunLog(folder / "log.db") as log, StopSignals() as signals:
        run = log.begin_run({}, {}, {})
        assignment = Assignment(run, 0, 5, load_task(task), "texts", {"beta": 0.5}, None, False)
        number = Episode(assignment, session, scaffold(backend), signals, ignore).run(log)
        with LogReader(log.path) as reader:
            result = score_episode(reader, number)
        log.write_scores(number, result.scores, result.harm)
    with LogReader(folder / "log.db") as reader:
        return reader.episode(number)


def test_a_server_gets_no_tools_and_the_stop_text():
    with serving((200, completion({"content": action("move_home")}, "stop"))) as (server, spec):
        url, _, model = spec.removeprefix("openai:").rpartition("#")
        agent = ReactScaffold(OpenAIBackend(url, model))
        agent.start(EpisodeContext("Go home.", FARM_ROVER.tools))
        assert agent.act(None).name == "move_home"
        body = server.requests[0][2]
    assert body["stop"] == ["Observation:"]
    assert "tools" not in body
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


@pytest.mark.llama
@pytest.mark.parametrize("grammar", ["off", "calls", "strict"])
def test_llama_cpp_stops_at_the_text_and_keeps_what_came_before(grammar, tmp_path):
    path = write_tiny_gguf(tmp_path / "tiny.gguf", template=None)
    backend = LlamaBackend(path, ModelOptions(n_threads=1, grammar=grammar))
    messages = [{"role": "user", "content": "Go."}]

    def answer(*stop):
        backend.start(0, FARM_ROVER.schemas(), PlainText(react.FORMAT, stop))
        return backend.answer(messages, tokens=24, deadline=Deadline(30)).usage.text

    free = answer()
    place = len(free) // 2
    mark = free[place : place + 3]
    assert answer(mark) == free[: free.index(mark)]
    backend.close()
