"""Render a conversation with a model's own chat template."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, get_args

from agents.agent import BackendError
from agents.formats.calls import CallText, Tools, to_json
from agents.formats.chatml import CHAT_TEMPLATE
from agents.formats.data_text import DataText
from agents.formats.format import Format
from agents.formats.known_marks import known_marks
from agents.formats.messages import Beside, one_by_one, paired, without_refused
from agents.formats.registry import PLAIN, formats
from agents.formats.signature import signature
from agents.formats.template_process import SECONDS, TEMPLATES
from agents.formats.template_use import NO_WORDS, TemplateUse, ways
from agents.formats.thoughts import opened_by
from agents.options import Effort

SWITCHES = ("enable_thinking", "thinking")
"""Variables by which templates switch thinking on and off."""
EFFORT = "reasoning_effort"
LOAD_SECONDS = 10.0
"""Seconds for trying out a template in all ways; most take a tenth of one."""
UNKNOWN = "writes tool calls in a syntax that no format reads; docs/local-models.md lists those that are read"
MISPRINTED = "prints tool calls in another way than it asks for them"
PROBE = "pour_probe"
PROBE_SCHEMAS: tuple[Mapping[str, Any], ...] = (
    {
        "type": "function",
        "function": {
            "name": PROBE,
            "description": "Pours the probe liquid.",
            "parameters": {
                "type": "object",
                "properties": {
                    "litres": {"type": "number", "description": "How many litres."},
                    "station": {"type": "string"},
                },
                "required": ["litres"],
            },
        },
    },
)
SIGNATURE = signature(PROBE_SCHEMAS[0])
PROBE_CALLS = (
    CallText(PROBE, {"litres": 41.5, "station": "north"}),
    CallText(PROBE, {"litres": 63.5, "station": "south"}),
)
PROBE_RESULTS = ('{"poured":17.25}', '{"error":"too_far"}')
SHOWN = ("Probe the system.", "Pours the probe")
IN_ORDER = ("Begin the probe.", "41.5", "17.25", "63.5", "too_far")


class ChatTemplate:
    """One model's template, and how a conversation with tools is put to it.

    The template is tried out with a conversation of two steps: the first way in which tools, calls and
    results all show is taken, and the syntax of calls is the one that it prints. A template that prints none,
    or not those that it asks for, gets calls as text, in the syntax that it names, or in Hermes JSON. A model
    without a template gets the shipped model's.

    Attributes:
        source: the template's text.
        form: the syntax of the model's calls.
        use: how a conversation is put.
    """

    def __init__(
        self,
        source: str | None,
        *,
        bos: str = "",
        eos: str = "",
        thinking: bool | None = None,
        specials: Iterable[str] = (),
        short_tools: bool = True,
        reasoning_effort: str | None = None,
    ) -> None:
        """Compile the template and try it out.

        Args:
            source: the template's text.
            bos, eos: the vocabulary's tokens for the beginning and the end.
            thinking: switch thinking on or off; as the template has it where it is None.
            specials: the vocabulary's special tokens, which no data may contain.
            short_tools: give tools as signatures, where the template prints them as they are.
            reasoning_effort: how much the model thinks; as the template has it where it is None.

        Raises:
            BackendError: it does not compile, no conversation with tools can be put to it, or it does not
                take the reasoning effort.
        """
        self.source = source or CHAT_TEMPLATE
        self._thinking = thinking
        self._effort: str | None = None
        self._tokens = {"bos_token": bos, "eos_token": eos}
        self._data = DataText(specials)
        self._until: float | None = time.monotonic() + LOAD_SECONDS
        self._variables = TEMPLATES.names(self.source, SECONDS)
        self.use, self.form = self._try_out()
        if short_tools:
            self.use = self._with_signatures()
        self._takes_several = self._tried_several()
        self._beside = self._tried_beside()
        if reasoning_effort is not None:
            self._set_effort(reasoning_effort)
        self._until = None

    @property
    def thinking_switch(self) -> str | None:
        """The variable that switches thinking on and off; None where the template has none."""
        return next((switch for switch in SWITCHES if switch in self._variables), None)

    def render(self, messages: Sequence[Mapping[str, Any]], schemas: Sequence[Mapping[str, Any]]) -> str:
        """Return the conversation as text, with the head of the next answer, and guards in its data.

        Raises:
            BackendError: the template refuses the conversation.
        """
        safe = self._data.guarded(schemas)
        whole = paired(self._taken(messages, self._beside))
        put = self.use.messages(whole if self._takes_several else one_by_one(whole), safe, self.form)
        text = self._render(put, safe, self.use)
        if self._thinking is False and opened_by(text):
            pairs = known_marks().pairs
            close = next((pairs[mark] for mark in pairs if text.rstrip().endswith(mark)), "")
            text = f"{text.rstrip()}\n\n{close}\n\n" if close else text
        return text

    def _render(
        self, messages: Sequence[Mapping[str, Any]], schemas: Sequence[Mapping[str, Any]], use: TemplateUse
    ) -> str:
        given = _printed(use.schemas(schemas))
        variables: dict[str, Any] = {"tools": given}
        if "tools" not in self._variables:
            variables = {
                "xml_tools": given,
                "functions": to_json(given),
                "datetime": datetime.now().strftime("%d %B %Y"),
            }
        if self._thinking is not None:
            variables |= dict.fromkeys(self._variables & {*SWITCHES}, self._thinking)
        if self._effort is not None:
            variables[EFFORT] = self._effort
        seconds = SECONDS if self._until is None else self._until - time.monotonic()
        if seconds <= 0:
            raise BackendError(f"trying out the model's chat template takes more than {LOAD_SECONDS:.0f} s")
        variables |= {"messages": messages, "add_generation_prompt": True, **self._tokens}
        return TEMPLATES.text(self.source, variables, min(seconds, SECONDS))

    def _taken(self, messages: Sequence[Mapping[str, Any]], beside: Beside) -> list[dict[str, Any]]:
        """Return the messages as data, without what the template refuses."""
        return [self._guarded(part) for message in messages for part in without_refused(message, beside)]

    def _guarded(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return a message as data; a model's thoughts go where the template has a place for them."""
        safe: dict[str, Any] = self._data.guarded({k: v for k, v in message.items() if k != "role"})
        safe["role"] = message["role"]
        thoughts = safe.pop("reasoning_content", None)
        if thoughts:
            if "reasoning_content" in self.source:
                safe["reasoning_content"] = thoughts
            elif "message.thinking" in self.source:
                safe["thinking"] = thoughts
            elif "</think>" in self.source:
                safe["content"] = f"<think>\n{thoughts}\n</think>\n\n{safe.get('content') or ''}"
        return safe

    def _try_out(self) -> tuple[TemplateUse, Format]:
        detected = next((form for form in formats() if form.detects(self.source)), PLAIN)
        reason = ""
        for use in ways(self._variables):
            if reason == MISPRINTED and use.calls != "words":
                continue
            found = self._tried(use, detected)
            if isinstance(found, str):
                if found == UNKNOWN:
                    raise BackendError(f"the model's chat template {UNKNOWN}")
                reason = MISPRINTED if found == MISPRINTED else reason or found
                continue
            form, length = found
            # Of the ways to say nothing, the one that shows least.
            for other in (replace(use, no_words=words) for words in NO_WORDS):
                again = self._tried(other, detected)
                if not isinstance(again, str) and again[1] < length:
                    use, (form, length) = other, again
            return use, form
        raise BackendError(f"the model's chat template takes no conversation with tools: {reason}")

    def _with_signatures(self) -> TemplateUse:
        """Return the way with tools as signatures, where all of one shows."""
        short = replace(self.use, short=True)
        messages = short.messages(_conversation(), PROBE_SCHEMAS, self.form)
        try:
            text = self._render(messages, PROBE_SCHEMAS, short)
        except BackendError:
            return self.use
        shown = all(f'"{key}"' in text and line in text for key, line in SIGNATURE["parameters"].items())
        return short if shown and f'"{PROBE}"' in text and SIGNATURE["description"] in text else self.use

    def _set_effort(self, asked: str) -> None:
        """Use a reasoning effort; the template must take it, and print another text for another one."""
        messages = self.use.messages(_conversation()[:2], PROBE_SCHEMAS, self.form)
        texts = {self._render(messages, PROBE_SCHEMAS, self.use)}
        for effort in get_args(Effort):
            self._effort = effort
            try:
                texts.add(self._render(messages, PROBE_SCHEMAS, self.use))
            except BackendError as error:
                if effort == asked:
                    raise BackendError(f"{EFFORT}={asked}: {error}") from None
        if len(texts) == 1:
            raise BackendError(f"the model's chat template takes no {EFFORT}: leave the option out")
        self._effort = asked

    def _tried_several(self) -> bool:
        """Return whether several calls of one answer show, with their results."""
        system, user, first, result, second, last = _conversation()
        calls = [*first["tool_calls"], *second["tool_calls"]]
        messages = [system, user, {**first, "tool_calls": calls}, result, last]
        try:
            put = self.use.messages(messages, PROBE_SCHEMAS, self.form)
            text = self._render(put, PROBE_SCHEMAS, self.use)
        except BackendError:
            return False
        return _in_order(text, (IN_ORDER[0], "41.5", "63.5", "17.25", "too_far")) is None

    def _tried_beside(self) -> Beside:
        """Return what of an answer's words and thoughts may stand beside its calls, so that these show."""
        words, thoughts = {"content": "I begin."}, {"reasoning_content": "Where am I?"}
        found: Beside
        for found in get_args(Beside):
            for one, two in ((words | thoughts, thoughts), (words, words | thoughts)):
                system, user, first, result, second, last = _conversation()
                told = [system, user, first | one, result, second | two, last]
                put = self.use.messages(self._taken(told, found), PROBE_SCHEMAS, self.form)
                try:
                    text = self._render(put, PROBE_SCHEMAS, self.use)
                except BackendError:
                    break
                if _in_order(text, IN_ORDER) is not None:
                    break
            else:
                return found
        return "nothing"

    def _tried(self, use: TemplateUse, detected: Format) -> tuple[Format, int] | str:
        """Return the syntax that shows and the text's length, or why this way does not serve."""
        form = detected if use.calls == "words" else PLAIN
        try:
            text = self._render(use.messages(_conversation(), PROBE_SCHEMAS, form), PROBE_SCHEMAS, use)
        except BackendError as error:
            return str(error)
        missing = _in_order(text, IN_ORDER) or next((word for word in SHOWN if word not in text), None)
        if missing is not None:
            return f"it does not show {missing!r} of a conversation in its place"
        said = text[text.index(IN_ORDER[0]) + len(IN_ORDER[0]) :]
        if use.calls == "words":
            shown = all(form.write([call]) in said for call in PROBE_CALLS)
            return (form, len(text)) if shown else "it changes the text of an answer"
        for form in (detected, *formats()):
            if [found.item for found in form.read(said, Tools(PROBE_SCHEMAS))] == [*PROBE_CALLS]:
                return form, len(text)
        # Calls that were asked for so are read, but not what is printed: numbers in quotes, text without.
        return MISPRINTED if re.search(detected.head.rstrip('"'), text) else UNKNOWN


def _in_order(text: str, words: Sequence[str]) -> str | None:
    """Return the first of the words that does not follow those before it; None if all do."""
    place = 0
    for word in words:
        place = text.find(word, place)
        if place < 0:
            return word
        place += len(word)
    return None


def _printed(value: Any) -> Any:
    """Return a JSON value with its numbers as llama.cpp's own templates print them: `1000`, `6.28319`."""
    if isinstance(value, float):
        short = float(f"{value:.6g}")
        return int(short) if short.is_integer() else short
    if isinstance(value, Mapping):
        return {key: _printed(entry) for key, entry in value.items()}
    return [_printed(entry) for entry in value] if isinstance(value, list | tuple) else value


def _conversation() -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SHOWN[0]},
        {"role": "user", "content": IN_ORDER[0]},
    ]
    for call, result in zip(PROBE_CALLS, PROBE_RESULTS, strict=True):
        function = {"name": call.name, "arguments": dict(call.arguments)}
        made = {"type": "function", "function": function}
        messages.append({"role": "assistant", "content": "", "tool_calls": [made]})
        messages.append({"role": "tool", "content": result})
    return paired(messages)
