"""The native scaffold: a chat with tools, one call after another, until the model stops calling."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from agents.agent import (
    NO_USAGE,
    Action,
    Agent,
    EpisodeContext,
    FirstPrompt,
    InvalidAction,
    Limits,
    ModelInfo,
    Observation,
    StopAction,
    StopReason,
    ToolCallAction,
    Usage,
)
from agents.backends.backend import ChatBackend, FirstAnswer, Message, Reply, ReplyItem
from agents.deadline import Deadline
from agents.formats.calls import CallText, Nonsense
from agents.scaffolds.own_prompt import OwnPrompt, native_messages
from agents.scaffolds.prompting import (
    DECLINE,
    OPERATOR,
    TRAINED,
    Prompting,
    compact_json,
    error_value,
    outcome_text,
)
from core_eval.call_status import CallStatus

STOPS: dict[str, StopReason] = {
    "refused": "decline",
    "tokens": "max_tokens",
    "time": "max_time",
    "context": "context",
}


class NativeScaffold(Agent):
    """An agent out of any chat backend.

    Several calls in one answer are made one after another before the model is asked again, up to the first
    one that fails: the rest was planned for a rig in another state, so it is dropped with a message.
    Nonsense is an `InvalidAction`; the model gets the error as the tool's answer and may go on. An answer
    without a call ends the episode as `done`, a call of `decline` ends it as declined.
    """

    scaffold = "native"

    def __init__(
        self,
        backend: ChatBackend,
        *,
        own: OwnPrompt | None = None,
        answer_tokens: int | None = None,
        prompting: Prompting | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prompt a backend.

        Args:
            backend: the model.
            own: the user's own prompt.
            answer_tokens: of one answer at most; all that the limits leave without it.
            prompting: the kit's prompt; by default that of the model's training, or the operator's.
            clock: monotonic, s.
        """
        self.backend = backend
        self.name = backend.name
        self._own = own or OwnPrompt()
        self._answer_tokens = answer_tokens
        self._prompting = prompting or (TRAINED if backend.trained_here else OPERATOR)
        self._declines = False
        self._clock = clock
        self._messages: list[Message] = []
        self._queue: deque[ReplyItem] = deque()
        self._waiting: ReplyItem | None = None
        self._limits = Limits()
        self._steps = self._tokens = 0
        self._deadline = Deadline(0.0)
        self._first_prompt: FirstPrompt | None = None

    @property
    def options(self) -> Mapping[str, Any]:
        """The backend's options, and which prompt is used."""
        return {
            **self.backend.options,
            "prompt": self._prompting.name if self._own.system is None else "own",
        }

    @property
    def model_info(self) -> ModelInfo:
        """The facts about the backend's model, with its first prompt."""
        return replace(self.backend.model_info, first_prompt=self._first_prompt)

    def check(self, context: EpisodeContext) -> FirstAnswer | None:
        """Check that a first answer is possible in this context and within its limits; before `start`.

        Returns:
            The cost of the first answer; None where the backend does not estimate it.

        Raises:
            AgentSpecError: it is not possible; one line with the figures.
        """
        self._begin(context)
        return self.backend.check(self._messages, context.limits)

    def _begin(self, context: EpisodeContext) -> list[dict[str, Any]]:
        """Begin a fresh conversation, and return the schemas of its tools."""
        self._declines = self._prompting.can_decline(context.tools)
        usual = self._prompting.text(context.advice, self._declines)
        system = self._own.system_prompt(usual, context.advice)
        self._messages = [
            {"role": "system", "content": system},
            *(message for example in self._own.examples for message in native_messages(example)),
            {"role": "user", "content": context.prompt},
        ]
        schemas = self._prompting.schemas(context.tools)
        self.backend.start(context.seed, schemas)
        return schemas

    def start(self, context: EpisodeContext) -> None:
        """Begin an episode with a fresh conversation."""
        schemas = self._begin(context)
        self._queue.clear()
        self._waiting = None
        self._limits = context.limits
        self._steps = self._tokens = 0
        self._first_prompt = FirstPrompt(tuple(self._messages), schemas, self.backend.render(self._messages))
        self._deadline = Deadline(context.limits.seconds, context.cancellation, self._clock)

    def act(self, observation: Observation | None) -> Action:
        """Return the next call, invalid step or stop."""
        if self._waiting is not None and observation is not None:
            self._say_result(self._waiting, outcome_text(observation.outcome))
            if observation.outcome.status != CallStatus.OK:
                self._drop_the_rest()
        self._waiting = None
        if self._steps >= self._limits.steps:
            return StopAction("max_steps")
        if self._deadline.left <= 0:
            return StopAction("max_time")
        if self._queue:
            return self._step(self._queue.popleft(), NO_USAGE)
        tokens = self._limits.output_tokens - self._tokens
        if tokens <= 0:
            return StopAction("max_tokens")
        if self._answer_tokens is not None:
            tokens = min(tokens, self._answer_tokens)
        return self._read(self.backend.answer(self._messages, tokens=tokens, deadline=self._deadline))

    def close(self) -> None:
        """Close the backend."""
        self.backend.close()

    def _read(self, reply: Reply) -> Action:
        self._tokens += reply.usage.output_tokens
        if reply.stop in STOPS:
            return StopAction(STOPS[reply.stop], reply.usage)
        self._messages.append(reply.message)
        if not reply.items:
            return StopAction("done", reply.usage)
        first, *later = reply.items
        self._queue.extend(later)
        return self._step(first, reply.usage)

    def _step(self, item: ReplyItem, usage: Usage) -> Action:
        if self._declines and isinstance(item.what, CallText) and item.what.name == DECLINE:
            return StopAction("decline", usage, str(item.what.arguments.get("reason", "")))
        self._steps += 1
        if isinstance(item.what, Nonsense):
            self._say_result(item, compact_json(error_value(item.what.code, item.what.reason)))
            self._drop_the_rest()
            return InvalidAction(item.what.text, item.what.reason, item.what.code, usage)
        self._waiting = item
        return ToolCallAction(item.what.name, item.what.arguments, usage)

    def _drop_the_rest(self) -> None:
        count = len(self._queue)
        if not count:
            return
        calls = (
            "1 further call of this answer was"
            if count == 1
            else f"{count} further calls of this answer were"
        )
        said = compact_json(error_value("not_run", f"{calls} not run, since the call before failed"))
        # Where calls have ids, servers want an answer to each.
        answered = [item for item in self._queue if item.call_id is not None] or [self._queue[0]]
        for item in answered:
            self._say_result(item, said)
        self._queue.clear()

    def _say_result(self, item: ReplyItem, content: str) -> None:
        message: Message = {"role": "tool", "content": content}
        if item.call_id is not None:
            message["tool_call_id"] = item.call_id
        self._messages.append(message)
