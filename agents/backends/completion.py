"""Read a chat completion of an OpenAI-compatible server: its calls, its thoughts, and what it cost."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from agents.agent import Usage
from agents.backends.backend import Message, PlainText, Reply, ReplyItem, ReplyStop
from agents.backends.server_context import count
from agents.formats.answer import IN_THOUGHTS, ParsedText, parse_answer
from agents.formats.call_signs import shows_a_call
from agents.formats.calls import CallText, Item, Nonsense, Tools, call_of, read_arguments, to_json
from agents.formats.registry import formats
from agents.formats.thoughts import part
from agents.options import Reading
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.text.values import as_object

SAID_TO_CALL = ("tool_calls", "function_call")
LEFT = "the server could not read this as a tool call, so it was not made: make the call again"
NO_NAME = "unnamed"
CallReading = Reading | Literal["none"]
MALFORMED = "malformed"
"""In the conversation that goes back, the arguments that are no JSON object are a text under this key."""


def read_completion(
    answer: Any,
    tools: Tools,
    ids: Iterator[str],
    *,
    seconds: float,
    cut: ReplyStop,
    plain: PlainText | None = None,
    reading: CallReading = "strict",
) -> Reply:
    """Return the answer of a server.

    Args:
        answer: the server's JSON value.
        tools: what the model was offered.
        ids: for calls to which the server gives none.
        seconds: how long it took, s.
        cut: the limit that was met by an answer whose `finish_reason` is `length`.
        plain: the form in which calls stand in the words, for a scaffold that describes its tools in words.
        reading: how the words are read; "none" where the server reads them: what it leaves there is no call.

    Raises:
        KeyError, IndexError, TypeError, AttributeError: it is no chat completion.
    """
    choice = answer["choices"][0]
    message, finish = choice["message"], choice.get("finish_reason")
    words, refusal = _text(message.get("content")), _text(message.get("refusal"))
    reasoning = _text(message.get("reasoning_content") or message.get("reasoning"))
    usage = _usage(answer, message, words or refusal, reasoning, seconds)
    echo: Message = {"role": "assistant", "content": words}
    remarks: list[str] = []
    if plain is not None:
        words = _before(plain.stop, words)
        parsed = parse_answer(words, tools, plain.form, lenient=reading == "lenient")
        reasoning = reasoning or parsed.thoughts
        echo["content"] = words = parsed.rest.strip()
        made: list[Made] = [(ReplyItem(item), None) for item in parsed.items]
    elif made := [_made(call, ids) for call in _calls(message)]:
        if reasoning:
            # Within a chain of calls a model goes on from its thoughts.
            echo["reasoning_content"] = reasoning
    else:
        parsed = parse_answer(words, tools, None, lenient=reading == "lenient")
        reasoning = reasoning or parsed.thoughts
        items, words = parsed.items, parsed.words.strip()
        if items and reading == "none":
            items, words = _left_by_the_server(parsed), parsed.rest.strip()
            if not items:
                remarks.append("the words look like a call, of which the server sent none; it is not made")
        made = [_found(item, ids) for item in items]
    stop: ReplyStop = "end"
    if plain is None and not made and (lost := _lost(finish, words, reasoning, tools)) is not None:
        made = [(ReplyItem(lost), None)]
    elif not made and finish in SAID_TO_CALL:
        remarks.append("the server says that the answer is a tool call, and sends words alone")
    elif plain is None and _calls(message) and shows_a_call(part(words).rest, tools):
        remarks.append("the words beside the calls look like a call too; it is not made")
    if finish == "length":
        stop = cut
        if whole := _whole(made):
            # The cut came after them.
            stop, made = "end", made[:whole]
            remarks.append(f"the server cut the answer short after {whole} whole calls; they are made")
    elif not made and (refusal or finish == "content_filter"):
        stop = "refused"
    elif not made and not words:
        remarks.append("the answer is a thought alone" if reasoning else "the answer is empty")
    calls = [call for _, call in made if call is not None]
    if calls and len(calls) == len(made):
        echo |= {"content": words, "tool_calls": calls}
    else:
        # Their results are then messages of the user.
        made = [(ReplyItem(item.what), None) for item, _ in made]
    usage = replace(usage, reasoning=reasoning, remarks=tuple(remarks))
    return Reply(echo, tuple(item for item, _ in made), stop, usage)


def _before(stops: Sequence[str], words: str) -> str:
    """Return an answer up to the text at which it ends, which some servers do not heed."""
    rest = part(words).rest
    kept = min((rest.find(stop) for stop in stops if stop in rest), default=len(rest))
    return words.removesuffix(rest) + rest[:kept] if words.endswith(rest) else words


Made = tuple[ReplyItem, dict[str, Any] | None]
"""A call or an unreadable attempt, and the call with which the conversation goes back."""


def _made(call: Mapping[str, Any], ids: Iterator[str]) -> Made:
    function = call["function"]
    name, arguments = function.get("name"), function.get("arguments")
    given = call.get("id")
    call_id = given if isinstance(given, str) and given else next(ids)
    what = call_of(name, arguments, to_json(function))
    return ReplyItem(what, call_id), _echoed(call_id, name, arguments)


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the calls that the server read; old servers send one as `function_call`."""
    old = message.get("function_call")
    return list(message.get("tool_calls") or ()) or ([{"function": old}] if isinstance(old, dict) else [])


def has_calls(answer: Any) -> bool:
    """Return whether a chat completion holds calls that the server read."""
    return bool(_calls(answer["choices"][0]["message"]))


def _left_by_the_server(parsed: ParsedText) -> tuple[Item, ...]:
    """Return what a server that reads calls left and is no report: a call that it could not read, or one in
    a thought.
    """
    rest = parsed.rest.strip()
    if rest.startswith(tuple(mark for form in formats() for mark in form.marks)):
        return (Nonsense("unread_call", LEFT, rest),)
    return () if rest else parsed.items


def _lost(finish: Any, words: str, reasoning: str, tools: Tools) -> Nonsense | None:
    """Return a call that the server or the model lost, so that its answer is not taken for a last one."""
    if words:
        return None
    if finish in SAID_TO_CALL:
        reason = "the server says that the answer is a tool call, and sends none: make the call again"
        return Nonsense("unread_call", reason, reasoning)
    if shows_a_call(reasoning, tools):
        return Nonsense("call_in_thought", IN_THOUGHTS["call_in_thought"], reasoning)
    return None


def _found(item: Item, ids: Iterator[str]) -> Made:
    """Return a call that stood in the words, as one of the protocol."""
    if not isinstance(item, CallText):
        return ReplyItem(item), None
    call_id = next(ids)
    return ReplyItem(item, call_id), _echoed(call_id, item.name, dict(item.arguments))


def _echoed(call_id: str, name: Any, arguments: Any) -> dict[str, Any]:
    """Return a call as servers take it back: they read its arguments, and fail on what is no JSON object."""
    text = arguments if isinstance(arguments, str) else to_json({} if arguments is None else arguments)
    try:
        value = parse_json(text or "{}")
    except ForeignJsonError:
        value = None
    # Half a character, which JSON can escape, goes back as it was written: no request can hold it.
    whole = isinstance(value, dict) and read_arguments(value) is not None
    function = {
        "name": name if isinstance(name, str) and name else NO_NAME,
        "arguments": to_json(value if whole else {MALFORMED: text}),
    }
    return {"id": call_id, "type": "function", "function": function}


def _whole(made: list[Made]) -> int:
    """Return how many calls stand before the first that could not be read."""
    return next((n for n, (item, _) in enumerate(made) if not isinstance(item.what, CallText)), len(made))


def _text(value: Any) -> str:
    """Return a text, or the texts of a list of parts."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _usage(
    answer: Mapping[str, Any], message: Mapping[str, Any], words: str, reasoning: str, seconds: float
) -> Usage:
    """Return the server's token counts; zero for missing or invalid ones."""
    counts, timings = as_object(answer.get("usage")), as_object(answer.get("timings"))
    prompt = count(counts.get("prompt_tokens"))
    details = as_object(counts.get("prompt_tokens_details"))
    cached = min(prompt, count(details.get("cached_tokens")) or count(timings.get("cache_n")))
    text = f"<think>\n{reasoning}\n</think>\n{words}" if reasoning else words
    if calls := _calls(message):
        text += json.dumps(calls, ensure_ascii=False)
    reading, writing = _seconds(timings.get("prompt_ms")), _seconds(timings.get("predicted_ms"))
    return Usage(
        text,
        prompt - cached,
        cached,
        count(counts.get("completion_tokens")),
        seconds,
        prompt_seconds=reading,
        writing_seconds=writing,
    )


def _seconds(milliseconds: Any) -> float | None:
    number = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
    return milliseconds / 1000 if number and 0 <= milliseconds < math.inf else None
