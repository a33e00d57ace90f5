"""Chat templates are foreign code: none takes the time or the memory of the run."""

from __future__ import annotations

import os
import re
import resource
import signal
import threading
import time

import pytest
from chat_templates import QWEN25
from farm_rig import FARM_ROVER
from tiny_gguf import write_tiny_gguf

from agents.agent import BackendError
from agents.formats import chat_template
from agents.formats.chat_template import ChatTemplate
from agents.formats.template_process import TEMPLATES, TemplateProcess
from core_eval.cli.main import main

MESSAGES = [{"role": "system", "content": "Be exact."}, {"role": "user", "content": "Go."}]
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
SLOW = {
    "nested loops": ENDLESS,
    "a power": "{{ (10 ** (10 ** 8)) % 7 }}",
    "a macro": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
}
LARGE = {
    "a product": "{{ ('a' * 2 ** 31) | length }}",
    "doubling": "{% set n = namespace(s='a') %}{% for i in range(40) %}{% set n.s = n.s + n.s %}{% endfor %}",
    "padding": "{{ 'a' | center(2000000000) | length }}",
    "a format": "{{ '{:2000000000}'.format(1) | length }}",
    "an indent": "{{ [1] | tojson(indent=10 ** 9) | length }}",
    "a list": "{{ ([0] * 10 ** 9) | length }}",
    "text": "{% for i in range(40000) %}{{ 'a' * 1000 }}{% endfor %}",
}


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(chat_template, "SECONDS", 0.5)
    monkeypatch.setattr(chat_template, "LOAD_SECONDS", 1.0)


def refused(source):
    """The refusal of a template, which costs this process neither time nor memory."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    with pytest.raises(BackendError) as error:
        ChatTemplate(source + QWEN25)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_utime - before.ru_utime < 1.5
    assert after.ru_maxrss - before.ru_maxrss < 100_000
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("what", SLOW)
def test_one_that_takes_long_is_ended(what):
    assert re.search(r"takes more than (1|0\.\d)", refused(SLOW[what]))
    assert "Go." in ChatTemplate(QWEN25).render(MESSAGES, [])


@pytest.mark.parametrize("what", LARGE)
def test_one_that_takes_much_memory_is_refused(what):
    said = refused(LARGE[what])
    assert any(
        word in said for word in ("more than 256 MiB", "more than 16,777,216 characters", "takes more")
    )
    assert "Go." in ChatTemplate(QWEN25).render(MESSAGES, [])


@pytest.mark.slow
def test_one_that_does_so_only_for_some_conversation_ends_that_answer():
    template = ChatTemplate("{% if messages[1].content == 'Loop.' %}" + ENDLESS + "{% endif %}" + QWEN25)
    with pytest.raises(BackendError, match=r"takes more than 0\.5 s of processor time"):
        template.render([MESSAGES[0], {"role": "user", "content": "Loop."}], FARM_ROVER.schemas())
    assert "Go." in template.render(MESSAGES, FARM_ROVER.schemas())


def test_a_process_that_was_ended_is_started_again():
    process = TemplateProcess()
    assert process.text("{{ a }}", {"a": 1}) == "1"
    first = process._process.pid
    os.kill(first, signal.SIGKILL)
    process._process.wait()
    assert process.text("{{ a }}", {"a": "é\ud800\u2028"}) == "é\ud800\u2028"
    os.kill(process._process.pid, signal.SIGSTOP)
    stopped = process._process
    with pytest.raises(BackendError, match="takes more than"):
        process.text("{{ a }}", {"a": 1}, seconds=0.1)
    assert stopped.returncode == -signal.SIGKILL
    assert process.text("{{ a }}", {"a": 3}) == "3"
    process.close()
    assert process._process is None


def test_threads_get_their_own_texts():
    found = {}

    def ask(number):
        found[number] = TEMPLATES.text("{{ n * 2 }}", {"n": number})

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: str(number * 2) for number in range(20)}


def test_an_end_waits_for_no_text():
    process = TemplateProcess()
    process.text("{{ 1 }}", {})
    failed = threading.Event()

    def loop():
        with pytest.raises(BackendError, match="ends the process"):
            process.text(ENDLESS, {}, seconds=10.0)
        failed.set()

    thread = threading.Thread(target=loop)
    thread.start()
    while not process._lock.locked():
        time.sleep(0.01)
    time.sleep(0.2)
    process.close()
    assert failed.wait(20)
    thread.join()


def test_the_process_takes_no_part_in_an_interrupt():
    TEMPLATES.text("{{ 1 }}", {})
    os.kill(TEMPLATES._process.pid, signal.SIGINT)
    time.sleep(0.05)
    pid = TEMPLATES._process.pid
    assert TEMPLATES.text("{{ 2 }}", {}) == "2"
    assert TEMPLATES._process.pid == pid


@pytest.mark.slow
@pytest.mark.llama
def test_a_model_with_such_a_template_is_one_line_for_the_user(tmp_path, capsys):
    path = write_tiny_gguf(tmp_path / "tiny.gguf", template=ENDLESS)
    begun = time.monotonic()
    assert main(["models", "check", f"llama:{path}"]) != 0
    error = capsys.readouterr().err
    assert "takes more than" in error and "Traceback" not in error
    assert time.monotonic() - begun < 60
