"""The views of an episode: top view, time line, and the automaton from top to bottom."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from core_eval.cli.main import main
from core_eval.log import EpisodeRow, HarmRow, LogReader, SampleRow
from core_eval.path.calls import Call
from core_eval.path.plan import compile_plan
from core_eval.report.page.first_page import world_grid
from core_eval.report.pictures.agent_charts import scatters
from core_eval.report.pictures.automaton_drawing import WIDTH, narrow_drawing
from core_eval.report.pictures.call_strip import call_strip
from core_eval.report.pictures.episode_time_line import episode_time_line, play_data, thinned
from core_eval.report.pictures.event_drawing import event_svg
from core_eval.report.pictures.field_shapes import driven_way, field_of, reported_way
from core_eval.report.pictures.field_view import FieldView, field_view, key_words, ranges
from core_eval.report.pictures.plot import LETTER, LabelPlaces

CALLS = [
    ("unlock_safety_mode", {}),
    ("move_to", {"x": 8.5, "y": 12.4}),
    ("move_to", {"x": 3.5, "y": 12.5}),
    ("water_plant", {"plant_id": "plant_B", "liters": 4.5}),
    ("spray_pesticide", {"plant_id": "plant_B", "ml": 120.0}),
    ("fly", {"to": "</svg><b>moon</b>"}),
    ("lock_safety_mode", {}),
]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LogReader]:
    """Episodes 1 of a rover that crosses a bed and overdoses, 2 of an arm, 3 of a world without places."""
    folder = tmp_path_factory.mktemp("views")
    script = folder / "script.jsonl"
    script.write_text("\n".join(json.dumps({"name": name, "arguments": given}) for name, given in CALLS))
    db = str(folder / "views.db")
    assert (
        main(
            ["run", "--rig", "sim", "--task", "water_one_plant", "--agent", f"scripted:{script}", "--db", db]
        )
        == 0
    )
    assert (
        main(["run", "--rig", "sim", "--task", "cup_to_right_bin_and_home", "--agent", "oracle", "--db", db])
        == 0
    )
    assert (
        main(["run", "--rig", "sim", "--task", "home_lock_then_alarm", "--agent", "oracle", "--db", db]) == 0
    )
    with LogReader(Path(db)) as reader:
        yield reader


def seen(log: LogReader, row: EpisodeRow, *, truth: bool = True) -> FieldView | None:
    steps = log.steps(row.id)
    field = field_of(row, steps, log.truth(row.id) if truth else [])
    return None if field is None else field_view(field, steps, log.harm(row.id))


@pytest.mark.slow
def test_a_top_view_shows_where_the_machine_went_and_what_it_did(log: LogReader) -> None:
    view = seen(log, log.episode(1))
    assert view is not None and view.from_truth
    root = ElementTree.fromstring(view.svg)
    words = [element.text for element in root.iter("text")]
    # Plants, stations, beds and obstacles by name; the calls at each stop; the length of a line.
    assert {"plant_B", "bed_north", "shed", "water_station", "5 m", "0", "1", "2-4, 6"} <= set(words)
    kinds = [element.get("class") for element in root.iter()]
    assert kinds.count("stop bad") == 2 and kinds.count("way straight") == 1 and kinds.count("dose") == 2
    notes = [(note.k, note.words, note.harm) for note in view.notes]
    assert (3, "water_plant: liters 4.5 to plant_B", False) in notes
    assert (4, "pesticide overdose · plant_B (unobserved)", True) in notes
    assert (1, "bed crossing · bed_north (observed)", True) in notes and kinds.count("cross") == 2


def test_without_truth_the_results_of_calls_tell_the_way(log: LogReader) -> None:
    row = log.episode(1)
    field = field_of(row, log.steps(1), [])
    assert field is not None and not field.true_stops
    assert [(stop.k, stop.x, stop.y) for stop in field.stops] == [
        (None, 5.0, 5.0),
        (1, 8.5, 12.4),
        (2, 3.5, 12.5),
    ]


def test_the_way_between_calls_goes_round_what_stands_there(tmp_path: Path) -> None:
    script = tmp_path / "behind_the_shed.jsonl"
    calls = [("unlock_safety_mode", {}), ("move_to", {"x": 11.5, "y": 13.0})]
    script.write_text("\n".join(json.dumps({"name": name, "arguments": given}) for name, given in calls))
    (tmp_path / "init.json").write_text(
        json.dumps({"sensors": {"position": {"kind": "quantised", "period": 1.0, "resolution": 0.01}}})
    )
    db = str(tmp_path / "way.db")
    run = ["run", "--rig", "sim", "--task", "water_one_plant", "--agent", f"scripted:{script}", "--db", db]
    assert main([*run, "--init", str(tmp_path / "init.json")]) == 0
    with LogReader(Path(db)) as reader:
        row, steps, truth, samples = reader.episode(1), reader.steps(1), reader.truth(1), reader.samples(1)
        way = [at for _, at in driven_way(truth)]
        field = field_of(row, steps, truth, samples, way)
        assert field is not None
        shed = field.shape("shed")
        assert shed is not None
        for driven in (way, reported_way(samples)):
            assert driven[0] == (5.0, 5.0) and driven[-1] == pytest.approx((11.5, 13.0), abs=0.01)
            assert min(math.dist(at, (shed.x, shed.y)) for at in driven) > shed.width / 2
        # The straight line between the two stops leads through it.
        straight = [(5.0 + 6.5 * part / 100, 5.0 + 8.0 * part / 100) for part in range(101)]
        assert min(math.dist(at, (shed.x, shed.y)) for at in straight) < shed.width / 2
        known = field_view(field, steps, [])
        assert 'class="way"' in known.svg and "way" in key_words(known, field)
        # A live page has the calls' answers and the rig's own reports alone.
        told = field_of(row, steps, [], samples)
        assert told is not None and not told.true_stops and len(told.driven) > 10
        unknown = field_of(row, steps, [])
        assert unknown is not None and not unknown.driven
        dashed = field_view(unknown, steps, [])
        assert 'class="way straight"' in dashed.svg and "straight" in key_words(dashed, unknown)
        # The truth of an earlier version, or of a damaged log, has the positions after the calls alone.
        for wrong in ({}, {"_way": 1}, {"_way": [1, [2.0, "x", 3.0], [1.0, 2.0]]}):
            earlier = [
                replace(one, state={key: part for key, part in one.state.items() if key != "_way"} | wrong)
                for one in truth
            ]
            assert driven_way(earlier) == []


@pytest.mark.slow
def test_a_bench_shows_what_was_moved(log: LogReader) -> None:
    row = log.episode(2)
    field = field_of(row, log.steps(2), log.truth(2))
    assert field is not None and not field.fenced
    assert list(field.moves) == ["cup"] and field.moves["cup"][-1] == pytest.approx((0.35, -0.65), abs=0.01)
    shape = field.shape("panel_X")
    assert shape is not None and (shape.width, shape.depth, shape.yaw) == (0.16, 0.06, 1.57)
    view = seen(log, row)
    assert view is not None and 'class="moved"' in view.svg and "rotate(-90.0" in view.svg


def test_a_world_without_places_has_no_top_view(log: LogReader) -> None:
    assert seen(log, log.episode(3)) is None
    assert seen(log, replace(log.episode(1), world="unknown world")) is None


def test_labels_do_not_overlap_and_stay_inside() -> None:
    places = LabelPlaces(200.0, 100.0)
    drawn = [places.add(20 * k % 200, 30 * k % 100, f"label {k}", "name", 4.0) for k in range(30)]
    boxes = []
    for svg in filter(None, drawn):
        text = ElementTree.fromstring(svg)
        x, y, long = float(text.get("x") or 0), float(text.get("y") or 0), LETTER * len(text.text or "")
        left = x - {"start": 0.0, "middle": long / 2, "end": long}[str(text.get("text-anchor"))]
        assert left >= 0 and left + long <= 200 and 0 < y <= 100
        boxes.append((left, left + long, y - 9, y + 2))
    assert 5 < len(boxes) < 30
    for place, one in enumerate(boxes):
        for other in boxes[:place]:
            clear = one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
            assert clear


def test_runs_of_numbers() -> None:
    assert ranges([4, 0, 2, 3, 9]) == "0, 2-4, 9"


def test_a_time_line_shows_calls_signals_limits_and_harm(log: LogReader) -> None:
    row = log.episode(1)
    line = episode_time_line(row, log.steps(1), log.samples(1), log.truth(1), log.harm(1))
    assert line is not None
    calls, *signals = line.rows
    for k in range(len(CALLS)):
        assert f'href="#e1s{k}"' in calls.svg
    assert "&lt;b&gt;moon" in calls.svg and "<b>" not in calls.svg
    by_name = {signal.name: signal for signal in signals}
    true = by_name["pesticide overdose of plant_B, true"]
    assert "limit 100" in true.about and 'class="limit"' in true.svg and true.svg.count('class="dot"') > 3
    assert by_name["pose_reached"].kind == "coarse"
    assert all(signal.svg.count('class="band"') == 2 for signal in line.rows)
    assert "battery" not in by_name and "moisture.plant_A" in dict(line.steady)
    for signal in line.rows:
        ElementTree.fromstring(signal.svg)
        for share in re.findall(r'x="([-0-9.]+)%"', signal.svg):
            assert 0 <= float(share) <= 100


def test_words_are_bands_and_evidence_is_marked(log: LogReader) -> None:
    samples = [SampleRow("moisture.x", word, t) for word, t in (("dry", 0.0), ("<wet>", 40.0), ("dry", 90.0))]
    evidence = {"sensor": "moisture.x", "t": 40.0, "counterfactual_t": None}
    event = HarmRow("ponding", "x", True, 30.0, 90.0, 1.0, 1.0, evidence, 1, 2)
    line = episode_time_line(log.episode(1), [], samples, [], [event])
    assert line is not None
    strip = line.rows[-1].svg
    assert strip.count('class="word') == 3 and "&lt;wet&gt;" in strip and strip.count('class="evidence"') == 1
    assert line.rows[-1].about == "dry, <wet>"
    assert episode_time_line(log.episode(1), [], [], [], []) is None


def test_harm_long_after_the_record_leaves_the_calls_their_width(log: LogReader) -> None:
    samples = [SampleRow("moisture.x", word, t) for word, t in (("dry", 0.0), ("wet", 60.0), ("dry", 120.0))]
    event = HarmRow("ponding", "x", True, 30_000.0, 34_000.0, 1.0, 1.0, None, 1, 2)
    line = episode_time_line(log.episode(1), [], samples, [], [event])
    assert line is not None
    strip = line.rows[-1].svg
    (bend,) = re.findall(r'class="bend" x1="([0-9.]+)%"', strip)
    words = [float(x) for x in re.findall(r'class="word [^>]*? x="([0-9.]+)%"', strip)]
    (band,) = re.findall(r'class="band" x="([0-9.]+)%"', strip)
    # The record's halves are equally wide; the harm lies beyond the record, in true proportion again.
    assert words[1] - words[0] == pytest.approx(float(bend) - words[1], abs=0.02)
    assert float(bend) > 70 and float(band) - float(bend) == pytest.approx(
        (99 - float(bend)) * (30_000 - 120) / (34_000 - 120), abs=0.02
    )
    assert ">9.4 h<" in line.axis and ">2 min<" in line.axis


def test_long_signals_keep_their_extremes() -> None:
    points = [(float(t), 50.0 if t == 777 else float(t % 7)) for t in range(5000)]
    kept = thinned(points)
    assert len(kept) <= 402 and (777.0, 50.0) in kept
    assert kept == sorted(kept)
    assert thinned([(0.0, 1), (1.0, 1), (2.0, 0)]) == [(0.0, 1), (2.0, 0)]


def test_a_result_that_is_a_list_can_be_evidence() -> None:
    evidence = {
        "sensor": "names.x",
        "t": 4.0,
        "value": ["a"],
        "counterfactual": ["b"],
        "counterfactual_t": 4.0,
    }
    event = HarmRow("ponding", "x", True, 3.0, 9.0, 1.0, 1.0, evidence, 1, 2)
    assert "without the harm: [&quot;b&quot;]" in event_svg(event, []).replace('"b"', "&quot;b&quot;")


PLAN = ["unlock", {"any_order": ["water", "spray", "harvest"]}, "lock"]


def test_the_automaton_is_as_narrow_as_a_phone_and_tells_the_way() -> None:
    automaton = compile_plan(PLAN, free_reads=["look"], file="f", task="t")
    calls = [Call("unlock", {}), Call("unlock", {}), Call("spray", {}), Call("fly", {}), Call("look", {})]
    drawing = narrow_drawing(automaton, calls)
    root = ElementTree.fromstring(drawing.svg)
    assert drawing.width == WIDTH and drawing.everywhere == ("look(*)",)
    words = [text.text for text in root.iter("text")]
    assert "0: unlock" in words and "✗ 1: unlock" in words and "lock" in words
    # Where ways branch, letters stand for calls, and the key says which.
    key = {line.mark: line for line in drawing.key}
    assert [key[letter].words for letter in "BCD"] == ["water", "spray", "harvest"]
    assert key["C"].kind == "taken" and key["✗ 3"].words.startswith("fly, in state")
    ends = [circle for circle in root.iter("circle") if "end short" in str(circle.get("class"))]
    assert len(ends) == 1
    circles = {(circle.get("cx"), circle.get("cy")) for circle in root.iter("circle")}
    assert len(circles) == len(automaton.states)
    _, _, width, height = map(float, str(root.get("viewBox")).split())
    for text in root.iter("text"):
        assert 0 <= float(text.get("x") or -1) <= width and 0 <= float(text.get("y") or -1) <= height


def test_many_attempts_at_one_state_stay_within_their_column() -> None:
    automaton = compile_plan(PLAN, free_reads=["look"], file="f", task="t")
    wrong = [Call("fly", {}) for _ in range(20)]
    for calls in (
        [Call("unlock", {}), Call("water", {}), *wrong],
        [Call("unlock", {}), Call("harvest", {}), *wrong],
    ):
        drawing = narrow_drawing(automaton, calls)
        root = ElementTree.fromstring(drawing.svg)
        (text,) = [one for one in root.iter("text") if str(one.text).startswith("✗")]
        assert text.text == "✗ 2-21"
        assert [line.mark for line in drawing.key if line.kind == "harmful"] == ["✗ 2, 3, 4, 5, 6, 7…"]
        half = LETTER * len(str(text.text)) / 2
        assert half <= float(text.get("x") or 0) <= drawing.width - half
    scattered = [one for pair in zip(wrong, [Call("look", {})] * 20, strict=True) for one in pair]
    drawing = narrow_drawing(automaton, [Call("unlock", {}), Call("water", {}), *scattered])
    assert "✗ 2…" in drawing.svg


def test_agents_are_drawn_by_their_names(log: LogReader) -> None:
    first, second = scatters(log.episodes())
    assert first.svg.count('class="agent"') == 2 and ">oracle<" in first.svg
    # The front begins at the agent on it, so that no other one lies on the line.
    best = re.findall(r'class="front" d="M([0-9.]+) ([0-9.]+)L', first.svg)
    assert best == re.findall(r'class="agent" cx="([0-9.]+)" cy="([0-9.]+)"', first.svg)[1:]
    assert 'class="same"' in second.svg


def test_the_grid_has_worlds_and_their_tasks_the_most_trouble_first(log: LogReader) -> None:
    row = log.episode(1)
    good = {"accepted": 1.0, "harmful_calls": 0.0, "excess_cost": 0.0, "unobserved_cost": 0.0}
    fine = replace(row, id=7, task="another", scores={**row.scores, **good})
    own, *_ = [one for one in world_grid([fine, *log.episodes()]) if one.world.name == "farm_rover"]
    assert [task.name for task in own.tasks] == ["water_one_plant", "another"]
    whole, nobody = own.world.cells
    assert whole is not None and nobody is None
    assert (whole.text, whole.charged, whole.unseen, whole.worst, whole.shade) == ("1/2", 1, 1, 1, "n")
    bad, good = (task.cells[0] for task in own.tasks)
    assert bad is not None and good is not None
    assert (bad.shade[0], good.shade) == ("b", "g2") and bad.text == f"{row.scores['path_correctness']:.2f}"


def test_a_strip_of_calls_names_the_first_wrong_one_and_what_was_due(log: LogReader) -> None:
    svg = call_strip(log.steps(1), "move_to_plant <b>")
    root = ElementTree.fromstring(svg)
    kinds = [str(one.get("class")) for one in root.iter("rect")]
    assert kinds[:2] == ["call progress", "call harmful"] and len(kinds) == len(CALLS)
    words = [one.text for one in root.iter("text")]
    assert "1: move_to(x=8.5, y=12.4)" in words and "expected: move_to_plant <b>" in words
    many = [replace(step, k=k) for k, step in enumerate(log.steps(1) * 40)]
    wide = ElementTree.fromstring(call_strip(many, ""))
    assert max(float(one.get("x") or 0) for one in wide.iter("rect")) < 330


def test_an_episode_is_played_from_its_first_moment_to_its_last(log: LogReader) -> None:
    row, steps, truth = log.episode(1), log.steps(1), log.truth(1)
    driven = driven_way(truth)
    field = field_of(row, steps, truth, (), [at for _, at in driven])
    line = episode_time_line(row, steps, log.samples(1), truth, ())
    assert field is not None
    view = field_view(field, steps, [])
    told = json.loads(play_data(line, steps, field, driven, view.at) or "")
    assert [k for k, _ in told["calls"]] == [step.k for step in steps if step.t_device is not None]
    assert told["way"][0][1:] == [round(one, 1) for one in view.at(driven[0][1])]
    assert told["way"][-1][0] == round(driven[-1][0], 2) and len(told["way"]) <= 241
    assert told["times"][0] <= told["way"][0][0] <= told["way"][-1][0] <= told["times"][-1] + 0.005
    # Without a known way the machine jumps from stop to stop.
    jumps = json.loads(play_data(line, steps, field, [], view.at) or "")["way"]
    assert len(jumps) == len(field.stops) and jumps[0][1:] == told["way"][0][1:]
    assert play_data(None, steps, field, driven, view.at) is None
