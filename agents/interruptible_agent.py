"""Runs an agent on a separate thread, so that waiting for its action can be cancelled at any time."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from agents.agent import Action, Agent, EpisodeContext, Observation, StopAction, check_agent
from agents.agent_proxy import AgentProxy
from agents.deadline import CancelledError, Deadline

GRACE_SECONDS = 0.5
"""Time that an agent may take beyond its limit to report by itself that the time is up, and its cost."""
CLOSE_SECONDS = 30.0
"""Time that a cancelled answer may delay the end of the run: llama.cpp built without an abort callback
goes on to the end of its chunk, and its memory must not be freed before."""

T = TypeVar("T")


class InterruptibleAgent(AgentProxy):
    """Another agent, asked on a thread of its own.

    A wait for it ends when the episode is cancelled, when a model's `limits.seconds` are over, and when an
    exception is raised in the waiting thread, as by a signal handler; the agent's episode is then cancelled.
    Questions to the agent itself never overlap.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._questions: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._deadline = Deadline(math.inf)

    def check(self, context: EpisodeContext) -> Any:
        """Let the agent check that a first answer is possible."""
        self._deadline = Deadline(math.inf, context.cancellation)
        return self._ask(partial(check_agent, self._agent, context))

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
        if self._thread is None:
            self._agent.close()
            return
        self._deadline.cancellation.cancel()
        closing: Future[None] = Future()
        self._questions.put((closing, self._agent.close))
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


class _TimeUpError(CancelledError):
    """The agent exceeded its time limit."""
