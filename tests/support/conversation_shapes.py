"""All shapes of two answers with thoughts, words and calls, put to a chat template."""

from __future__ import annotations

from itertools import product

from agents.formats.chat_template import ChatTemplate
from agents.formats.data_text import unguarded

SCHEMA = {
    "type": "function",
    "function": {
        "name": "pour",
        "description": "Pours.",
        "parameters": {"type": "object", "properties": {"litres": {"type": "number"}}},
    },
}
WORDS, THOUGHTS = "I pour now.", "Shall I pour?"
PARTS = list(product(("", WORDS), ("", THOUGHTS), (0, 1, 2)))
"""Words, thoughts and the number of calls of one answer."""
RESULTS = ('{"poured":17.25}', '{"error":"after 19.75 s"}')


def answered(words, thoughts, calls, result, litres):
    """The messages of one answer, and what must be seen of it: each call, and each result."""
    message = {"role": "assistant", "content": words}
    if thoughts:
        message["reasoning_content"] = thoughts
    numbers = [litres + number / 4 for number in range(calls)]
    if calls:
        made = [{"name": "pour", "arguments": {"litres": number}} for number in numbers]
        message["tool_calls"] = [{"type": "function", "function": function} for function in made]
    # An answer whose call could not be read gets its error as a result without a call.
    return [message, *({"role": "tool", "content": result} for _ in range(calls or 1))], [*map(str, numbers)]


def check_shapes(source):
    """Assert that a template takes all shapes, and shows calls and results in order."""
    template = ChatTemplate(source, bos="<BOS>", eos="<EOS>")
    begin = [{"role": "system", "content": "Be exact."}, {"role": "user", "content": "Begin here."}]
    for first, second, result in product(PARTS, PARTS, RESULTS):
        one, calls = answered(*first, result, 40.5)
        two, more = answered(*second, result, 60.5)
        text = unguarded(template.render([*begin, *one, *two], [SCHEMA]))
        text = text[text.index("Begin here.") :]
        assert text.count("17.25") + text.count("19.75") == sum(
            message["role"] == "tool" for message in (*one, *two)
        )
        places = [text.index(number) for number in (*calls, *more)]
        assert places == sorted(places), (first, second)
