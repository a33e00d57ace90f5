"""Reports, refusals, questions and quotations: what is said of a call is not called, in any family's form."""

from __future__ import annotations

import re
from itertools import product

import pytest
from families import OFTEN
from farm_rig import FARM_ROVER

from agents.formats.answer import parse_answer
from agents.formats.calls import CallText, Nonsense, Tools
from agents.formats.registry import PLAIN, formats

TOOLS = Tools(FARM_ROVER.schemas())
BY_NAME = {form.name: form for form in formats()}
WATER = CallText("water_plant", {"plant_id": "plant_B", "liters": 4.5})
HOME = CallText("move_home", {})
JSON = '{"name": "water_plant", "arguments": {"plant_id": "plant_B", "liters": 4.5}}'
FENCE = f"```json\n{JSON}\n```"
PYTHON = "water_plant(plant_id='plant_B', liters=4.5)"
LINES = (
    f'{{"name": "unlock_safety_mode", "arguments": {{}}}}\n{JSON}\n{{"name": "move_home", "arguments": {{}}}}'
)

# What no family has marks for, and another family's marks: said, whatever the model's own form is.
SAID = [
    # Reports.
    f"All done. Here is the call I made:\n{FENCE}",
    f"All done. Here is the call I made: {JSON}",
    f"Summary of my calls:\n{LINES}",
    f"{LINES}\nThat is what I did.",
    f"Executed calls:\n[{PYTHON}, move_home()]",
    f"[{PYTHON}]\nwas the call, and it worked.",
    f"Fertig. Ausgeführt wurde:\n{FENCE}",
    f"Ich habe die Pflanze gegossen: {JSON}",
    f"C'est fait. Voici l'appel :\n{FENCE}",
    f"J'ai exécuté [{PYTHON}].",
    f"Listo. La llamada fue:\n{JSON}\nTodo salió bien.",
    f"Fatto. La chiamata era:\n{FENCE}\nA presto.",
    f"Feito. Chamadas executadas:\n{LINES}",
    f"Klaar. Uitgevoerd:\n{JSON}",
    f"Gotowe. Wykonane wywołanie:\n{FENCE}",
    f"Hotovo. Provedeno:\n[{PYTHON}]",
    f"Готово. Был сделан вызов:\n{FENCE}",
    f"Виконано: {JSON}",
    f"Tamamlandı. Yapılan çağrı:\n{JSON}",
    f"完成了。我执行的调用是：\n{FENCE}",
    f"完了しました。実行した呼び出し：\n{JSON}",
    f"완료했습니다. 실행한 호출:\n{FENCE}",
    f"تم. الاستدعاء الذي نفذته:\n{JSON}",
    f"בוצע. הקריאה הייתה:\n{FENCE}",
    f"हो गया। मैंने यह कॉल किया:\n{JSON}",
    f"| step | call |\n| --- | --- |\n| 1 | `{JSON}` |",
    f"1. {JSON}\n2. done",
    f"- step 1: `{PYTHON}`\n- step 2: `move_home()`",
    f"# Report\n\n## Calls\n\n{FENCE}\n\n## Result\n\nplant_B is wet.",
    f"{FENCE}\n{FENCE}",
    f"{FENCE}\nThe result was ok.",
    f"```\n[{PYTHON}]\n```\nis what I ran.",
    f"```python\n{PYTHON}\n```",
    f"I ran this script:\n```python\nunlock_safety_mode()\n{PYTHON}\n```",
    f"Log:\n12:00 {PYTHON} -> ok\n12:01 move_home() -> ok",
    f"Result: ok\n\nCall:\n\n    {JSON}\n\nEnd.",
    f"Valmis. Kutsu oli:\n{FENCE}",
    f"Klart. Anropet var:\n{JSON}\nAllt gick bra.",
    f"Έτοιμο. Η κλήση ήταν:\n{FENCE}",
    f"Xong. Lệnh gọi là:\n{JSON}",
    f"เสร็จแล้ว คำสั่งที่เรียก:\n{FENCE}",
    f"انجام شد. فراخوانی این بود:\n[{PYTHON}]",
    # Refusals.
    f"I will not do that, as it would be unsafe. The call would have been:\n{JSON}",
    f"If the soil is dry I would run [{PYTHON}] but it is wet.",
    f"If the soil is dry I would run\n[{PYTHON}]\nbut it is wet.",
    f"Das tue ich nicht. Der Aufruf wäre gewesen:\n{FENCE}",
    f"Je refuse. L'appel aurait été {JSON}, ce qui est dangereux.",
    f"No lo haré; sería:\n{JSON}",
    f"Non lo faccio:\n[{PYTHON}]\nsarebbe pericoloso.",
    f"我不会这样做。否则调用会是：\n{JSON}",
    f"それはしません。呼び出しは次のようになります：\n{FENCE}",
    f"Я не буду этого делать: {JSON}",
    f"Do not send this:\n\n{JSON}",
    f"Nie zrobię tego. Wywołanie:\n{JSON}",
    f"실행하지 않겠습니다. 호출은 다음과 같습니다:\n{FENCE}",
    # Questions.
    f"Before I move anything: shall I run this?\n{FENCE}\nPlease confirm.",
    f"{JSON}\nShall I?",
    f"Soll ich das ausführen?\n{JSON}",
    f"Dois-je exécuter ceci ?\n{FENCE}",
    f"¿Ejecuto esto?\n[{PYTHON}]",
    f"要执行这个吗？\n{FENCE}",
    f"Which one?\nA: {JSON}\nB: move_home()",
    f"実行してもよいですか？\n{JSON}",
    f"Выполнить это?\n[{PYTHON}]",
    # Plans, quotations, things struck out.
    f"My plan:\n{LINES}\nI start when you say so.",
    f"You wrote: “{JSON}”. I do not understand it.",
    f"The note on the plant says: {JSON}",
    f"> {JSON}\n\nis what the label says.",
    f"~~{JSON}~~ No: the soil is wet.",
    f"<!-- {JSON} -->\nNothing to do.",
    f"<!--\n{JSON}\n-->",
    f"<del>{JSON}</del> No.",
    f"<example>\n{JSON}\n</example>",
    f"<tools>\n{JSON}\n</tools>",
    f"<plan>\n{LINES}\n</plan>",
    f"<output>{JSON}</output>\nThat is all.",
    f"(draft)\n{JSON}",
    f"TODO\n{JSON}",
    f"// {JSON}",
    f"# {PYTHON}",
    f'"{PYTHON}"',
    # Thoughts, in marks that are known and others.
    f"<think>{JSON}</think>\nDone.",
    f"<thinking>\n{JSON}\n</thinking>\nDone.",
    f"<inner_monologue>\n{JSON}\n</inner_monologue>\nDone.",
    f"<|begin_of_thought|>\n{JSON}\n<|end_of_thought|>\nDone.",
    f"◁think▷\n{JSON}\n◁/think▷\nDone.",
    f"<scratch_pad>\n{JSON}\n</scratch_pad>\nDone.",
    f"<ponder>\n{JSON}\n</ponder>\nDone.",
    f"【思考】\n{JSON}\n【/思考】\n完成。",
    f"*thinks: {JSON}*",
    f"(Thinking: maybe {PYTHON})",
    # A trace in the summary, and forms that no family has.
    "Thought: I water.\nPlan: water_plant, then home.\nResult: plant_B is wet.",
    f"Tool call: {JSON}\nTool result: ok",
    f"Function: water_plant\nArguments: {JSON}",
    f"print({PYTHON!r})",
    f'{{"steps": [{JSON}], "status": "done"}}',
    f'{{"status": "done", "call": {JSON}}}',
    f'{{"tool_calls": [{JSON}]}}',
    '{"name": "water_plant", "arguments": {"plant_id": "plant_B"}, "result": "ok"}',
    "calls:\n  - name: water_plant\n    arguments: {plant_id: plant_B, liters: 4.5}",
]
WORDS = [
    "All done: plant_B got 4.5 litres of water.",
    "I used unlock_safety_mode, water_plant and then move_home.",
    "Ich habe plant_B mit 4,5 Litern gegossen und bin nach Hause gefahren.",
    "我给 plant_B 浇了 4.5 升水。",
    "Я полил plant_B и вернулся домой.",
    "I will not spray: a person stands in the bed.",
    "Shall I water plant_B? Please confirm.",
    "Darf ich plant_B gießen?",
    "Puis-je arroser plant_B ?",
    "¿Riego plant_B?",
    "<think>I could water_plant, but it is wet.</think>\nNothing to do.",
    "The tools are move_to, move_home and water_plant.",
    "Der Akku ist bei 81 %; {x} und [y] sind unbekannt.",
    '{"plant_id": "plant_B", "moisture": 0.31}',
    '{"name": "plant_B", "state": "wet"}',
    '```json\n{"plant_B": "wet", "liters": 4.5}\n```',
]


OFTEN_OWN = tuple(BY_NAME[name] for name in sorted(OFTEN))
OWN_FORMS = pytest.mark.parametrize(
    "forms",
    [pytest.param(OFTEN_OWN, id="often"), pytest.param(formats(), id="all", marks=pytest.mark.nightly)],
)


@OWN_FORMS
@pytest.mark.parametrize("text", SAID)
def test_what_is_said_is_not_called_whatever_the_own_form_is(text, forms):
    for own in (*(formats() if text in SAID[::10] else forms), None):
        items = parse_answer(text, TOOLS, own).items
        assert not any(isinstance(item, CallText) for item in items), own and own.name


@pytest.mark.parametrize("text", WORDS)
def test_words_are_words(text):
    for own in (*formats(), None):
        assert parse_answer(text, TOOLS, own).items == (), own and own.name


def test_the_old_way_made_59_of_a_hundred_texts():
    read = [parse_answer(text, TOOLS, lenient=True).items for text in SAID]
    assert (len({*SAID}), sum(isinstance(first, CallText) for first, *_ in filter(None, read))) == (100, 59)


@OWN_FORMS
@pytest.mark.parametrize("name", BY_NAME)
def test_another_familys_marks_among_words_are_not_called(name, forms):
    call = BY_NAME[name].write([WATER])
    texts = (
        f"In that family's syntax it would be {call}",
        f"In jener Schreibweise wäre es\n{call}\naber ich tue es nicht.",
        f"{call}\n这是另一种写法。",
    )
    for text in texts:
        assert not any(isinstance(item, CallText) for item in parse_answer(text, TOOLS, None).items)
        for own in forms:
            reads = any(isinstance(found.item, CallText) for found in own.read(text, TOOLS))
            if not reads or own.bare:
                items = parse_answer(text, TOOLS, own).items
                assert items and all(isinstance(item, Nonsense) for item in items), (own.name, text)


QUOTED = [
    "<!-- {} -->\nDone.",
    "<!--\n{}\n-->\nErledigt.",
    "~~{}~~\nThe soil is wet.",
    "~~\n{}\n~~\n土は湿っています。",
    "The form is:\n```\n{}\n```\nNothing was run.",
    "~~~\n{}\n~~~\nwar das Beispiel.",
    "Ich schreibe hier nicht {} hin.",
    "Soll ich {} ausführen?",
    "Shall I run this: {} or not?",
    "Shall I run this? {} Please confirm.",
    "我不会执行{}这个调用。",
    "Я не буду вызывать {} сейчас.",
    "“{}”\nis what you wrote.",
    "„{}“ habe ich nicht ausgeführt.",
    "«{}»\nn'a pas été exécuté.",
    "「{}」\nは実行していません。",
    "({})",
    "I must not write\n{}\nhere, as the soil is wet.",
    "Ich habe\n{}\nnicht ausgeführt.",
    "Я не вызвал\n{}\nпотому что влажно.",
    "/* {} */\nDone.",
    "// {}\nDone.",
    'The form is:\n"""\n{}\n"""\nNothing was run.',
    "<think>\n{}\n</think>\nDone.",
    "<inner_monologue>\n{}\n</inner_monologue>\nDone.",
    "<inner_monologue>\n{}",
    "<|begin_of_thought|>\n{}\n<|end_of_thought|>\nDone.",
    "◁think▷\n{}\n◁/think▷\nDone.",
    "<ponder>\n{}\n</ponder>\nDone.",
    "<ponder>\n{}\nDone.",
    "[DELIBERATION]\n{}\n[/DELIBERATION]\nDone.",
    "<plan>\n{}\n</plan>\nDone.",
    "<del>\n{}\n</del>\nDone.",
    "<example>{}</example>\nis an example.",
    "[DRAFT]\n{}\n[/DRAFT]\nDone.",
    "【草稿】\n{}\n【/草稿】\n完成。",
    "<|draft_start|>\n{}\n<|draft_end|>\nDone.",
]


@pytest.mark.parametrize("name", BY_NAME)
def test_a_quoted_call_in_the_own_form_is_not_made(name):
    for quoted, calls in product(QUOTED, ([WATER], [WATER, HOME])):
        text = quoted.format(BY_NAME[name].write(calls))
        items = parse_answer(text, TOOLS, BY_NAME[name]).items
        # What follows nonsense is not made.
        assert not items or isinstance(items[0], Nonsense), text


@pytest.mark.parametrize("name", BY_NAME)
def test_a_call_in_a_block_quote_or_code_span_is_not_made(name):
    call = BY_NAME[name].write([WATER])
    texts = [f"Your example:\n> {call.replace(chr(10), chr(10) + '> ')}\nI did not run it."]
    if "\n" not in call and "`" not in call:
        texts.append(f"I wrote `{call}` and it worked.")
    for text in texts:
        assert not any(isinstance(item, CallText) for item in parse_answer(text, TOOLS, BY_NAME[name]).items)


MEANT = [
    "{}",
    "\n{}\n",
    "```\n{}\n```",
    "<think>\nThe soil is dry.\n</think>\n\n{}",
    "<|begin_of_thought|>It is dry.<|end_of_thought|>{}",
]
AMONG_WORDS = [
    "I water plant_B.\n{}",
    "I water plant_B:\n{}\nand wait for the result.",
    "Now plant_B\n{}\nI wait for the result.",
    "Jetzt gieße ich. {} Über das Ergebnis berichte ich dann.",
    "Ich gieße jetzt:\n\n{}",
    "好的。\n{}",
    "{}\n\nI wait for the result.",
    "The value is <high> and [ok], as `sense` says; it's 5 > 3.\n{}",
    "<response>\nI water.\n{}\n</response>",
    "<|im_start|>assistant\n{}<|im_end|>",
]


@pytest.mark.parametrize("name", BY_NAME)
def test_a_call_in_the_own_form_is_made(name):
    form = BY_NAME[name]
    for meant, calls in product([*MEANT, *AMONG_WORDS], ([WATER], [WATER, HOME])):
        labelled = name != "react" or meant.startswith("{}") or not re.search(r"\{\}.*\w", meant, re.DOTALL)
        if meant not in MEANT and (form.bare or not labelled):
            continue
        call = form.write(calls)
        if name == "functionary-3.2" and not meant.startswith("{}"):
            call = ">>>" + call.removeprefix(">>>")
        text = meant.format(call)
        if "```" in call and "```" in meant:
            continue
        assert list(parse_answer(text, TOOLS, form).items) == calls, text


def test_the_reason_says_what_to_do():
    for text, code in (
        (f"Done:\n{FENCE}", "unread_call"),
        ("<!-- " + PLAIN.write([WATER]) + " -->", "quoted_call"),
    ):
        (item,) = parse_answer(text, TOOLS).items
        assert item.code == code and "in your own form if you mean it" in item.reason
