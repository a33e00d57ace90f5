"""Agents have the name that the user gave, and no path of a file."""

import pytest

from agents.names import agent_name, agent_names, without_folders
from agents.registry import parse_spec


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("oracle", "oracle"),
        ("mutated:0.5:skip", "mutated:0.5:skip"),
        ("llama", "llama"),
        ("llama:/home/me/models/Qwen3-1.7B-Q8_0.gguf", "Qwen3-1.7B-Q8_0"),
        ("llama-server:../qwen 3.gguf?temperature=0.7", "qwen 3?temperature=0.7"),
        ("hf:Qwen/Qwen3-0.6B-GGUF:Qwen3-0.6B-Q8_0.gguf", "Qwen3-0.6B-Q8_0"),
        ("llama:x.gguf?chat_template=/home/me/t.jinja&tools=full", "x?chat_template=t.jinja&tools=full"),
        ("llama:x.gguf?tools=full&name=night run", "night run"),
        ("openai:http://10.0.0.2:8080/v1#Qwen/Qwen3-4B", "Qwen/Qwen3-4B"),
        ("model:demo", "model:demo"),
        ("model:/home/me/mine.yaml", "model:mine"),
        ("scripted:/home/me/some where/eager.jsonl", "scripted:eager"),
        ("replay:/home/me/runs.db#12", "replay:runs.db#12"),
        ("command:python3 /home/me/agent.py --model=/opt/m.gguf", "command:python3 agent.py --model=m.gguf"),
        ("some-agent-of-a-package:~/notes/plan.txt", "some-agent-of-a-package:plan.txt"),
    ],
)
def test_the_name_of_a_specification(spec: str, name: str) -> None:
    assert agent_name(spec) == name
    assert agent_name(name) == name


def test_alike_names_of_a_run_are_numbered() -> None:
    specs = ["llama:a/x.gguf", "oracle", "llama:b/x.gguf", "llama:a/x.gguf"]
    assert agent_names(specs) == {"llama:a/x.gguf": "x", "oracle": "oracle", "llama:b/x.gguf": "x (2)"}


def test_a_model_keeps_the_name_of_its_file_in_the_canonical_form(tmp_path) -> None:
    assert agent_name(parse_spec("model:demo").text()) == "model:demo"
    assert agent_name(parse_spec("model:demo?tools=full").text()) == "model:demo?tools=full"
    file = tmp_path / "night.yaml"
    file.write_text("model: llama:a.gguf\ntools: full\n")
    assert agent_name(parse_spec(f"model:{file}").text()) == "model:night"
    file.write_text("model: model:demo\nname: ours\ntools: full\n")
    assert agent_name(parse_spec(f"model:{file}").text()) == "ours"
    assert agent_name(parse_spec(f"model:{file}?grammar=off").text()) == "ours?grammar=off"
    assert agent_name(parse_spec(f"model:{file}?name=theirs").text()) == "theirs"


def test_addresses_of_servers_and_devices_stay() -> None:
    assert without_folders("sim:farm_rover") == "sim:farm_rover"
    for url in ("mqtt://broker.example.com:1883/pathrig?id=rover", "serial:///dev/ttyUSB0"):
        assert without_folders(url) == url
    assert without_folders("snapshot:/home/me/x.json") == "snapshot:x.json"
