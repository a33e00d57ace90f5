"""Exams: what all models have alike, from the file that a model states it in."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.agent import AgentSpecError
from agents.backends.llama_backend import SHIPPED_MODEL
from agents.names import agent_name
from agents.registry import model_options, parse_spec
from configs.errors import ConfigError
from configs.exam import LLAMA_CPP, exam_names, load_exam
from configs.suite_manifest import MeasuredSuite
from core_eval.cli.main import main

SUITES = (MeasuredSuite(name="core", version="1", digest="abc"),)


def test_exams_differ_by_all_that_a_result_has_from_them():
    model, rig = (load_exam(name).taken(SUITES) for name in ("model", "rig"))
    other = load_exam("model").taken((SUITES[0].model_copy(update={"digest": "abd"}),))
    assert exam_names() == ["model", "rig"]
    assert len({model.digest, rig.digest, other.digest}) == 3
    assert load_exam("model").taken(SUITES) == model


def test_a_model_gets_the_options_and_keeps_its_name():
    spec = load_exam("rig").spec("openai:http://localhost:1/v1#qwen?timeout=9")
    options = model_options(spec)
    assert options is not None and options.timeout == 9 and options.temperature == 0.0
    assert agent_name(spec) == agent_name("openai:http://localhost:1/v1#qwen?timeout=9")
    assert load_exam("rig").spec("mutated:0.2") == "mutated:0.2"
    assert parse_spec(spec).text() == spec


def test_a_model_may_not_set_what_the_exam_sets():
    with pytest.raises(AgentSpecError, match="sets temperature, which exam rig sets for all models"):
        load_exam("rig").spec("openai:http://localhost:1/v1#qwen?temperature=1")


def test_a_server_is_sampled_as_llama_cpp_does():
    options = model_options(load_exam("model").spec("openai:http://localhost:1/v1#qwen"))
    assert options is not None
    assert {key: getattr(options, key) for key in LLAMA_CPP} == dict(LLAMA_CPP)


@pytest.mark.llama
def test_a_file_is_sampled_as_it_states(tmp_path: Path):
    import gguf
    from tiny_gguf import write_tiny_gguf

    def stated(**keys: float) -> dict[str, float]:
        file = tmp_path / f"{'-'.join(keys) or 'none'}.gguf"
        write_tiny_gguf(file, template=None, sampling=keys)
        options = model_options(load_exam("model").spec(f"llama:{file}"))
        assert options is not None and options.kv_type == "f16" and options.grammar == "off"
        return {key: getattr(options, key) for key in LLAMA_CPP}

    assert gguf.Keys.General.SAMPLING_TEMP == "general.sampling.temp"
    assert stated() == dict(LLAMA_CPP)
    assert stated(temp=0.5, top_k=7) == {**LLAMA_CPP, "temperature": 0.5, "top_k": 7}
    assert stated(temp=0.0)["temperature"] == 0.0
    with pytest.raises(
        AgentSpecError, match=r"top_p\.gguf states general\.sampling\.top_p = 1\.5.*: Input should"
    ):
        stated(top_p=1.5)
    (tmp_path / "own.yaml").write_text("sampling: file\noptions: {top_p: 0.9}")
    assert load_exam(str(tmp_path / "own.yaml")).spec(f"llama:{tmp_path / 'top_p.gguf'}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("options: {n_threads: 3}", "an exam sets no 'n_threads'"),
        ("options: {temperature: warm}", "option temperature=warm"),
        ("sampling: best", "sampling"),
        ("option: {}", "did you mean 'options'"),
    ],
)
def test_a_wrong_file_is_told_with_its_key(tmp_path, text, said):
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(ConfigError, match=said.replace("(", r"\(")):
        load_exam(str(tmp_path / "own.yaml"))
    with pytest.raises(ConfigError, match="no exam 'modle': name a file, or one of model, rig"):
        load_exam("modle")


@pytest.mark.llama
def test_a_bench_of_the_shipped_model_measures_its_fit(tmp_path, capsys):
    command = ["bench", str(SHIPPED_MODEL), "--suite", "crud", "--fresh", "1", "--exam", "rig"]
    assert main([*command, "--db", str(tmp_path / "b.db")]) == 0
    said = capsys.readouterr()
    assert "MiB, first answer after" in said.err and "2.3 MB" in said.out
