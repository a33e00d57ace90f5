"""The operator of a task: answers the tool `ask` by a script, from the question and what was done so far."""

from __future__ import annotations

import copy
import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from configs.errors import ConfigError
from configs.site_notes import READ_NOTES, SiteNotes
from core_eval.call_status import CallStatus
from core_eval.path.automaton import AutomatonError
from core_eval.path.calls import Call
from core_eval.path.facts import Fact
from core_eval.path.plan import plan_symbols
from core_eval.path.symbols import Symbol
from devices.outcome import Outcome
from devices.tool import Effect, Tool, ToolArguments, ToolResult

ASK = "ask"

Text = Annotated[str, Field(min_length=1)]


class Question(ToolArguments):
    """What an agent asks."""

    question: str = Field(min_length=1, description="the question, in a sentence")


class Told(ToolResult):
    """What the operator answers."""

    answer: str


ASK_TOOL = Tool(
    ASK,
    "Ask the operator, who gave the task, about something that you need and were not told.",
    Question,
    Told,
    Effect.READ,
)


class Reply(BaseModel):
    """An answer, and when it is given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    says: Text | list[Text] = Field(
        description="the answer; of several the first at the first question, and so on, then the last again"
    )
    after: list[Any] = Field(
        default=[], description="calls, as steps of a plan, that must each have been executed before"
    )
    before: list[Any] = Field(
        default=[], description="calls, as steps of a plan, of which none may have been executed"
    )
    told: list[str] = Field(default=[], description="topics that must each have been answered before")

    @property
    def texts(self) -> list[str]:
        """The answers, in order."""
        return [self.says] if isinstance(self.says, str) else list(self.says)


class Topic(BaseModel):
    """Something that the operator can be asked about."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    asked: list[Text] = Field(
        min_length=1,
        description="wordings: the question is about it where it has all words of one; `plant*` is each word "
        "that begins so",
    )
    says: Text | list[Text] | None = Field(default=None, description="the answers, whatever was done")
    replies: list[Reply] = Field(
        default=[], description="in place of `says`: the first whose conditions hold is given"
    )

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.says is None) == (not self.replies):
            raise ValueError("give one of says and replies")
        if any(not _words(wording) for wording in self.asked):
            raise ValueError("each wording of asked needs a word")
        return self

    @property
    def given(self) -> Sequence[Reply]:
        """Its answers, in the order in which they are looked for."""
        return self.replies if self.says is None else [Reply(says=self.says)]

    @property
    def example(self) -> str:
        """A question about it."""
        return self.asked[0].replace("*", "") + "?"

    def is_meant(self, question: str) -> bool:
        """Return whether a question is about it."""
        said = _words(question)
        return any(all(fnmatch.filter(said, word) for word in _words(wording)) for wording in self.asked)


class Operator(BaseModel):
    """Who gave the task: what may be asked, and what is answered."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    topics: dict[str, Topic] = Field(
        min_length=1,
        description="what may be asked about; a question about several is answered in this order",
    )
    otherwise: Text = Field(default="I do not know that.", description="the answer to any other question")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        for name, topic in self.topics.items():
            for place, reply in enumerate(topic.replies):
                where = ("topics", name, "replies", place)
                for key in ("after", "before"):
                    _symbols(getattr(reply, key), *where, key)
                for other in reply.told:
                    if other not in self.topics:
                        known = ", ".join(self.topics)
                        raise ConfigError(f"no topic {other!r}; there are {known}", at=(*where, "told"))
        return self

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The calls that its conditions name."""
        return tuple(
            symbol
            for topic in self.topics.values()
            for reply in topic.replies
            for symbol in (*_symbols(reply.after), *_symbols(reply.before))
        )

    @property
    def texts(self) -> list[str]:
        """All that it may answer."""
        return [text for topic in self.topics.values() for reply in topic.given for text in reply.texts]

    def question_for(self, fact: Fact) -> str:
        """Return a question whose answer may hold a fact, or several.

        Raises:
            ConfigError: no answer holds it.
        """
        parts = fact.written if isinstance(fact.written, list | tuple) else [fact.written]
        questions: dict[str, None] = {}
        for part in map(Fact.parse, parts):
            about = (
                topic.example
                for topic in self.topics.values()
                for reply in topic.given
                if any(part.holds({"answer": text}) for text in reply.texts)
            )
            question = next(about, None)
            if question is None:
                raise ConfigError(f"no answer of the operator holds the fact {part}")
            questions[question] = None
        return " ".join(questions)


class Conversation:
    """What an operator was asked in an episode, and what was done meanwhile.

    Args:
        operator: None: there is none.
        notes: what is written down of the site; None: nothing, and there is no tool to read it.
    """

    def __init__(self, operator: Operator | None, notes: Mapping[str, Any] | None = None) -> None:
        self._operator = operator
        self._notes = notes
        self.taken = frozenset(
            name for name, answers in ((ASK, operator), (READ_NOTES, notes)) if answers is not None
        )
        """The tools whose calls are answered here, and never reach the rig."""
        self._done: list[Call] = []
        self._given: list[tuple[str, int]] = []

    def copy(self) -> Self:
        """Return what goes on from here by itself."""
        twin = copy.copy(self)
        twin._done, twin._given = [*self._done], [*self._given]
        return twin

    def outcome(self, tool: str, arguments: Mapping[str, Any], execute: Callable[[], Outcome]) -> Outcome:
        """Return the outcome of a call: the operator's answer, or what executing it on the rig gives."""
        if tool == READ_NOTES and self._notes is not None:
            return Outcome(CallStatus.OK, SiteNotes(notes=dict(self._notes)).model_dump())
        if self._operator is None:
            return execute()
        if tool == ASK:
            answer = self._answer(self._operator, str(arguments.get("question", "")))
            return Outcome(CallStatus.OK, Told(answer=answer).model_dump())
        outcome = execute()
        if outcome.status is CallStatus.OK:
            self._done.append(Call(tool, arguments))
        return outcome

    def _answer(self, operator: Operator, question: str) -> str:
        answers = []
        told = {name for name, _ in self._given}
        for name, topic in operator.topics.items():
            if not topic.is_meant(question):
                continue
            for place, reply in enumerate(topic.given):
                if self._holds(reply, told):
                    texts = reply.texts
                    answers.append(texts[min(self._given.count((name, place)), len(texts) - 1)])
                    self._given.append((name, place))
                    break
        return " ".join(answers) or operator.otherwise

    def _holds(self, reply: Reply, told: set[str]) -> bool:
        return (
            all(map(self._was_done, _symbols(reply.after)))
            and not any(map(self._was_done, _symbols(reply.before)))
            and told.issuperset(reply.told)
        )

    def _was_done(self, symbol: Symbol) -> bool:
        return any(symbol.matches(call) for call in self._done)


def with_questions(plan: Any, operator: Operator) -> Any:
    """Return a plan in which each `look` by `ask` has a question, so that an agent may follow it.

    Raises:
        ConfigError: no answer of the operator holds the fact, or a step asks without one.
    """
    if isinstance(plan, Mapping):
        if set(plan) == {"look"} and isinstance(plan["look"], Mapping) and "by" in plan["look"]:
            look = plan["look"]
            return {"look": {**look, "by": [_asking(way, look.get("fact"), operator) for way in look["by"]]}}
        return {key: with_questions(step, operator) for key, step in plan.items()}
    if isinstance(plan, list):
        return [with_questions(step, operator) for step in plan]
    if plan == ASK:
        raise ConfigError(f"a step that asks is written {{look: {{fact: .., by: [{ASK}]}}}}")
    return plan


def _asking(way: Any, fact: Any, operator: Operator) -> Any:
    if way != ASK or fact is None:
        return way
    return {ASK: {"question": {"any": True, "such_as": operator.question_for(Fact.parse(fact))}}}


def _symbols(steps: Sequence[Any], *where: str | int) -> tuple[Symbol, ...]:
    try:
        return plan_symbols(steps, "step")
    except AutomatonError as error:
        raise ConfigError("; ".join(error.faults), at=where) from None


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case; a name with underscores is several."""
    return re.findall(r"[^\W_]+\*?", text.lower())
