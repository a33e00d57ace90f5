"""Runs an agent on a separate thread, so that waiting for its action can be cancelled at any time."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from agents.agent import Action, Agent, EpisodeContext, ModelInfo, Observation, StopAction
from agents.deadline import CancelledError, Deadline

GRACE_SECONDS = 0.5
"""Time that an agent may take beyond its limit to report by itself that the time is up, and its cost."""
CLOSE_SECONDS = 30.0
"""Time that a cancelled answer may delay the end of the run: llama.cpp built without an abort callback
goes on to the end of its chunk, and its memory must not be freed before."""

T = TypeVar("T")


class InterruptibleAgent(Agent):
    """Another agent, made when it is first used and again after `close`, and asked on a thread of its own.

    So not all models of a run are in memory at once. A wait for it ends when the episode is cancelled, when a
    model's `limits.seconds` are over, and when an exception is raised in the waiting thread, as by a signal
    handler; the agent's episode is then cancelled.
    Questions to the agent itself never overlap.
    """

    def __init__(self, agent: Agent | Callable[[], Agent]) -> None:
        """Take an agent, or what makes it."""
        self._given = agent
        self._made = agent if isinstance(agent, Agent) else None
        self._load_seconds = 0.0
        self._questions: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._deadline = Deadline(math.inf)

    @property
    def _agent(self) -> Agent:
        if self._made is None:
            begun = time.monotonic()
            self._made = self._given if isinstance(self._given, Agent) else self._given()
            self._load_seconds = time.monotonic() - begun
        return self._made

    @property
    def name(self) -> str:  # type: ignore[override]
        """The agent's name."""
        return self._agent.name

    @property
    def scaffold(self) -> str:  # type: ignore[override]
        """The agent's scaffold."""
        return self._agent.scaffold

    @property
    def options(self) -> Mapping[str, Any]:
        """The agent's options."""
        return self._agent.options

    @property
    def model_info(self) -> ModelInfo:
        """The facts about the agent's model, with the time that it took to make it."""
        info = self._agent.model_info
        return replace(info, load_seconds=info.load_seconds or self._load_seconds)

    def check(self, context: EpisodeContext) -> Any:
        """Let the agent check that a first answer is possible; a model is loaded within the wait."""
        self._deadline = Deadline(math.inf, context.cancellation)
        return self._ask(lambda: self._agent.check(context))

    def start(self, context: EpisodeContext) -> None:
        """Begin an episode.

        Raises:
            CancelledError: the episode was cancelled meanwhile, or its time was up before it began.
        """
        # Scripts and golden paths end by themselves, and a part of one would score as something else.
        seconds = math.inf if self.scaffold == "none" else context.limits.seconds + GRACE_SECONDS
        self._deadline = Deadline(seconds, context.cancellation)
        self._ask(partial(self._agent.start, context))

    def act(self, observation: Observation | None) -> Action:
        """Return the agent's next action; `max_time` where it does not keep its limit.

        Raises:
            CancelledError: the episode was cancelled meanwhile.
        """
        try:
            return self._ask(partial(self._agent.act, observation))
        except _TimeUpError:
            return StopAction("max_time")

    def close(self) -> None:
        """Close the agent when it is idle; one that hangs is left to the end of the process."""
        made, self._made = self._made, None
        if self._thread is None:
            _close(made)
            return
        self._deadline.cancellation.cancel()
        closing: Future[None] = Future()
        self._questions.put((closing, partial(_close, made)))
        self._questions.put(None)
        try:
            closing.result(CLOSE_SECONDS)
        except TimeoutError:
            return
        self._thread.join()
        self._thread = None

    def _ask(self, question: Callable[[], T]) -> T:
        if self._thread is None:
            self._thread = threading.Thread(target=self._answer, name="agent", daemon=True)
            self._thread.start()
        answer: Future[T] = Future()
        self._questions.put((answer, question))
        deadline = self._deadline
        try:
            answered = deadline.wait_for(answer)
        except BaseException:
            deadline.cancellation.cancel()
            raise
        if answered:
            return answer.result()
        deadline.check()
        deadline.cancellation.cancel()
        raise _TimeUpError

    def _answer(self) -> None:
        while (asked := self._questions.get()) is not None:
            answer, question = asked
            try:
                answer.set_result(question())
            except BaseException as error:
                answer.set_exception(error)
            # Do not keep the answer in memory until the next question.
            del asked, answer, question


def _close(agent: Agent | None) -> None:
    if agent is not None:
        agent.close()


class _TimeUpError(CancelledError):
    """The agent exceeded its time limit."""
