"""The page of a log: self-contained, whole, and safe with whatever a model wrote."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from core_eval.cli.main import main
from core_eval.log import HarmRow, RunLog, SampleRow
from core_eval.report.pictures.event_drawing import event_svg, sensors_of

RUN = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover"]
CALLS = [
    ("unlock_safety_mode", {}),
    ("lock_safety_mode", {}),
    ("unlock_safety_mode", {}),
    ("move_to", {"x": 3.5, "y": 12.5}),
    ("water_plant", {"plant_id": "plant_B", "liters": 4.5}),
    ("water_plant", {"plant_id": "plant_B", "liters": 0.5}),
    ("spray_pesticide", {"plant_id": "plant_B", "ml": 120.0}),
    ("fly", {"to": "<b>moon</b>"}),
    ("lock_safety_mode", {}),
]
INLINE = "data:image/png;base64,"
VOID = {"meta", "br", "wbr", "hr", "img", "link", "input"}
EVENT = HarmRow("over_irrigation", "plant_A", False, 40.0, 90.0, 0.1, 2.0, None, 1, 2)
SAMPLES = [
    SampleRow("moisture.plant_A", "dry", 0.0),
    SampleRow("tank_low", 0, 0.0),
    SampleRow("moisture.plant_B", "dry", 0.0),
    SampleRow("moisture.plant_A", "wet", 60.0),
    SampleRow("tank_low", 1, 70.0),
]


class Page(HTMLParser):
    """Checks that tags are closed in order, and collects ids, links and what loads something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if values.get("id"):
            self.ids.append(str(values["id"]))
        if tag == "a":
            self.links.append(str(values["href"]))
        self.loads += [
            value
            for name, value in attrs
            if name in ("src", "srcset") and value and not value.startswith(INLINE)
        ]
        if tag in ("link", "script", "iframe", "object"):
            self.loads.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(path: str) -> tuple[Page, str]:
    text = Path(path).read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    return page, text


@pytest.mark.slow
def test_a_page_tells_the_whole_log() -> None:
    lines = (json.dumps({"name": name, "arguments": arguments}) for name, arguments in CALLS)
    Path("script.jsonl").write_text("\n".join(lines))
    assert main([*RUN, "--agent", "oracle", "--agent", "scripted:script.jsonl", "--episodes", "2"]) == 0
    assert main(["report", "pathrig.db", "-o", "page.html"]) == 0
    page, text = read("page.html")
    assert page.loads == ["script"] and "@import" not in text and "url(http" not in text
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert "prefers-color-scheme: dark" in text and 'name="viewport"' in text
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert "2 1 distinct" in " ".join(page.text.split()) and "±0.00" not in page.text
    assert "pass^1" in page.text and "Pareto front" in page.text
    assert re.search(r"oracle\s*2 of 2", page.text) and re.search(r"script\s*0 of 2", page.text)
    # The title is the outcome; of the worst episodes, both equal, one is there, with its calls and its map.
    (title,) = re.findall("<title>pathrig: (.*)</title>", text)
    assert (
        title == "oracle passed 2 of 2, scripted:script passed 0 of 2; harm is charged in 2 episodes; "
        "in 2 episodes the rig&#39;s own sensors miss harm."
    )
    assert text.count("<h1>") == 1 and text.count('class="card"') == 1 == text.count('<svg class="calls"')
    assert "Expected instead: move_to(x~3.5, y~12.5, yaw=*)." in page.text
    # The scripted way: a harmful step, why it failed, what it undid, what the sensors said.
    assert "lock_safety_mode()" in page.text and "harmful" in page.text
    assert "reasoning deficit" in page.text and "Undoes step 1" in page.text
    assert "Off the path, and carried out: with effect" in page.text
    assert "unobserved" in page.text and "ml, limit 100 ml, above it for" in page.text
    assert text.count('<svg class="event"') == 2
    assert text.count("in every state:") == 4
    assert "<b>moon</b>" not in text and "moon" in page.text
    assert 'fill="#' not in text and "var(--harm)" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "first", "folder"),
    [
        (["-o", "page.html", "--in-one", "3"], "page.html", "page-episodes"),
        (["-o", "out"], "out/index.html", "out/episodes"),
    ],
)
def test_many_episodes_and_a_folder_have_a_page_each(options: list[str], first: str, folder: str) -> None:
    assert main([*RUN, "--agent", "oracle", "--agent", "random", "--episodes", "2"]) == 0
    assert main(["report", "pathrig.db", *options]) == 0
    page, text = read(first)
    assert f'data-folder="{Path(folder).name}/"' in text
    links = [link for link in page.links if not link.startswith("#")]
    assert f"{Path(folder).name}/everything.html" in links
    assert sum("#episode-" in link for link in links) >= 3, "cells of the grid, and the worst"
    for link in links:
        assert (Path(first).parent / link.partition("#")[0]).is_file()
    tables, _ = read(f"{folder}/everything.html")
    assert {f"{number}.html#episode-{number}" for number in range(1, 5)} <= set(tables.links)
    for number in range(1, 5):
        # Steps are numbered from 0.
        assert f"episode-{number}" in tables.ids
        own, told = read(f"{folder}/{number}.html")
        assert {f"episode-{number}", f"e{number}s0", f"e{number}s3"} <= set(own.ids)
        inside = {link.removeprefix("#") for link in own.links if link.startswith("#")}
        assert inside <= set(own.ids) and len(own.ids) == len(set(own.ids))
        away = [link for link in own.links if not link.startswith("#")]
        assert away and all((Path(folder) / link).resolve().is_file() for link in away)
        assert "Transcript" in told and '<svg class="way-down' in told


def test_several_processes_write_what_one_writes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, "--agent", "random", "--episodes", "4"]) == 0
    assert main(["report", "pathrig.db", "-o", "one"]) == 0
    monkeypatch.setattr("core_eval.report.page.stories.FEWEST", 1)
    monkeypatch.setattr("core_eval.report.page.report.STORIES", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert main(["report", "pathrig.db", "-o", "two"]) == 0
    one, two = (
        {file.relative_to(name): file.read_bytes() for file in Path(name).rglob("*.html")}
        for name in ("one", "two")
    )
    assert one == two and len(one) == 6
    # A damaged episode that another process finds is left out, and the others' pages lead past it.
    with RunLog(Path("pathrig.db")) as log:
        log.connection.execute("UPDATE step SET arguments = '[]' WHERE episode_id = 2")
    capsys.readouterr()
    assert main(["report", "pathrig.db", "-o", "rest"]) == 0
    assert capsys.readouterr().err.startswith(
        "episode 2: pathrig.db: cannot be read as a log: step.arguments"
    )
    assert {int(file.stem) for file in Path("rest/episodes").glob("[0-9]*")} == {1, 3, 4}
    assert 'rel="next" href="3.html"' in Path("rest/episodes/1.html").read_text(encoding="utf-8")


def test_a_run_links_its_cases_to_a_folder_of_pages() -> None:
    assert main([*RUN, "--agent", "oracle", "--junit", "j.xml", "--report", "out"]) == 0
    assert read("out/episodes/1.html")[0].ids.count("episode-1") == 1
    assert "out/index.html#episode-1" in Path("j.xml").read_text()


def test_an_empty_log_and_a_bad_place(capsys: pytest.CaptureFixture[str]) -> None:
    RunLog(Path("empty.db")).close()
    assert main(["report", "empty.db", "-o", "page.html"]) == 0
    assert "No episode was run." in read("page.html")[0].text
    assert main(["report", "empty.db", "-o", "no/page.html"]) == 2
    assert "-o no/page.html: there is no folder" in capsys.readouterr().err
    assert main(["report", "none.db", "-o", "page.html"]) == 2
    assert "there is no such log" in capsys.readouterr().err


def test_what_a_model_wrote_cannot_break_the_page() -> None:
    assert main([*RUN, "--agent", "oracle"]) == 0
    evil = "</pre><script>alert(1)</script> {{ 7 * 7 }} \x00"
    with RunLog(Path("pathrig.db")) as log:
        log.connection.execute("UPDATE turn SET text = ?", (evil,))
        log.connection.execute(
            "UPDATE turn SET reasoning = ?, output_tokens = 33, seconds = 1.5", (f"{evil} hm",)
        )
        log.connection.execute("UPDATE step SET tool = '<img src=x>', status = 'ok' WHERE k = 1")
        log.connection.execute("UPDATE step SET result = ? WHERE k = 2", (json.dumps({"said": evil}),))
        messages = json.dumps([{"role": "system", "content": f"Be careful. {evil}"}])
        log.connection.execute(
            "INSERT INTO prompt (id, sha256, messages, tools) VALUES (1, 'x', ?, '[]')", (messages,)
        )
        log.connection.execute("UPDATE episode SET prompt_id = 1")
    assert main(["report", "pathrig.db", "-o", "page.html"]) == 0
    page, text = read("page.html")
    assert page.loads == ["script"] and text.count("<script") == 1
    # The page allows its own script, by its hash, and no other.
    script = text.partition("<script>")[2].partition("</script>")[0]
    assert b64encode(sha256(script.encode()).digest()).decode() in text
    assert "{{ 7 * 7 }}" in page.text
    # The transcript: what the model was given, thought, wrote and got back, and what that cost.
    assert "Be careful. </pre><script>" in page.text and "the agent thought" in page.text
    assert "0 tokens in, 33 out, 1.50 s" in page.text and '{"said": "</pre><script>' in page.text


def test_a_time_line_shows_the_sensors_of_the_entity_first() -> None:
    assert sensors_of(EVENT, SAMPLES) == ["moisture.plant_A", "tank_low"]
    root = ElementTree.fromstring(event_svg(EVENT, SAMPLES))
    shown = [element.text for element in root.iter("text")]
    assert "harm 40.0 to 90.0 s" in shown and {"dry", "wet", "0", "1"} <= set(shown)
    band = next(element for element in root.iter("rect") if element.get("class") == "band")
    left, width = float(band.get("x") or 0), float(band.get("width") or 0)
    assert 0 < left < left + width < 720


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "without the harm: 0 at 900.0 s"),
        ({"counterfactual": None, "counterfactual_t": None}, "without the harm: no such sample"),
        ({"t": None, "value": None}, "without the harm: 0 at 900.0 s"),
    ],
)
def test_a_time_line_sets_the_counterfactual_beside_the_samples(
    changed: dict[str, object], said: str
) -> None:
    evidence = {"sensor": "tank_low", "index": 1, "t": 95.0, "value": True, "counterfactual": False}
    event = HarmRow(
        "ponding", "x", True, 40.0, 90.0, 1.0, 1.0, {**evidence, "counterfactual_t": 900.0, **changed}, 1, 2
    )
    assert sensors_of(event, SAMPLES) == ["tank_low"]
    root = ElementTree.fromstring(event_svg(event, SAMPLES))
    assert said in [element.text for element in root.iter("text")]
    drawn = list(root.iter("circle"))
    assert sum(one.get("class") == "dot" for one in drawn) == (2 if changed.get("t", 95.0) else 1)
    for element in [*drawn, *root.iter("text")]:
        assert 0 <= float(element.get("cx") or element.get("x") or -1) <= 720


def test_a_time_line_without_any_sensor() -> None:
    assert event_svg(EVENT, []) == ""
