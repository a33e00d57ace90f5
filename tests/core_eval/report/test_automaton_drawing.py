"""The pictures hold every state, every edge, and the path of the agent."""

from __future__ import annotations

from collections import Counter
from math import hypot
from random import Random
from xml.etree import ElementTree

from strategies_core import automaton_of, calls_of, graph, trace, with_loops

from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.path.plan import compile_plan
from core_eval.path.symbols import Symbol
from core_eval.report.pictures.automaton_dot import to_dot
from core_eval.report.pictures.automaton_drawing import WIDTH, narrow_drawing, to_svg
from core_eval.report.pictures.automaton_layout import TracePath, arrange, drawable, edges_of

AUTOMATON = compile_plan(
    ["unlock", {"any_order": ["water", "spray"]}, "lock"], free_reads=["look"], file="f", task="t"
)
TRACE = [Call("unlock", {}), Call("look", {"x": 1}), Call("unlock", {}), Call("spray", {}, "rejected"),
         Call("spray", {}), Call("fly", {})]  # fmt: skip
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    return [(t.text, t.get("class")) for t in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_the_path_of_a_trace():
    taken = TracePath.of(AUTOMATON, TRACE)
    assert taken.progress == {("s0", "s1"): [0], ("s1", "s3"): [4]}
    assert taken.loops == {"s1": [(1, "look(*)")]}
    assert taken.harmful == {"s1": [(2, "unlock"), (3, "spray [rejected]")], "s3": [(5, "fly")]}
    assert taken.visited == {"s0", "s1", "s3"}


def test_svg():
    written = texts(to_svg(AUTOMATON, TRACE))
    shown = [text for text, _ in written]
    for state in AUTOMATON.states:
        assert state in shown
    assert ("0: unlock", "taken-text") in written
    assert ("↻ 1: look(*)", "taken-text") in written
    assert ("✗ 3: spray [rejected]", "harmful-text") in written
    # The key below the picture: letters of the edges that branch, and what was made in a state beside others.
    assert ("B  water", "") in written and ("C  spray", "") in written
    assert ("✗ 5  fly, in state s3", "") in written
    assert [text for text, kind in texts(to_svg(AUTOMATON)) if "taken" in kind or "harmful" in kind] == []


def test_letters_in_a_row_are_one_span():
    delta = {("p", name): "q" for name in "abc"} | {("p", name): "r" for name in "de"} | {("r", "a"): "q"}
    symbols = [Symbol(name, name, {}) for name in "abcde"]
    automaton = TaskAutomaton(
        states=["p", "r", "q"], symbols=symbols, start="p", accepting=["q"], delta=delta
    )
    shown = {text for text, kind in texts(to_svg(automaton)) if "edge-text" in kind}
    assert {"A-C", "D,E"} <= shown


def test_dot():
    dot = to_dot(AUTOMATON, TRACE)
    assert '"s0" -> "s1" [label="unlock\\ncall 0"' in dot
    assert '"s4" [shape=circle' in dot
    assert dot.count("doublecircle") == 1
    assert '"s1" -> "harm 3" [label="3: spray [rejected]"' in dot


def test_names_are_escaped():
    odd = 'a "<&>" \\ b'
    automaton = TaskAutomaton(
        states=["p", odd],
        symbols=[Symbol(odd, "t", {})],
        start="p",
        accepting=[odd],
        delta={("p", odd): odd},
    )
    titles = [t.text for t in ElementTree.fromstring(to_svg(automaton)).iter(f"{SVG}title")]
    assert titles == ["p", odd]
    assert '"a \\"<&>\\" \\\\ b"' in to_dot(automaton)


def test_every_graph_fits_a_narrow_screen_and_no_two_states_overlap():
    for seed in range(150):
        rng = Random(seed)
        task = with_loops(rng, graph(rng, cyclic=seed % 2 == 0))
        automaton = automaton_of(task)
        calls = calls_of(trace(rng, task))
        assert to_dot(automaton, calls).endswith("}\n")
        file = ElementTree.fromstring(to_svg(automaton, calls))
        assert all(float(t.get("y")) < float(file.get("height")) for t in file.iter(f"{SVG}text"))
        drawing = narrow_drawing(automaton, calls)
        root = ElementTree.fromstring(drawing.svg)
        circles = {(float(c.get("cx")), float(c.get("cy"))) for c in root.iter("circle")}
        assert len(circles) == len(automaton.states)
        for one in circles:
            assert all(one == other or hypot(one[0] - other[0], one[1] - other[1]) >= 28 for other in circles)
        _, _, width, height = map(float, root.get("viewBox").split())
        # Six states beside each other fit; more of them make it wider.
        most = max(Counter(y for _, y in circles).values())
        assert width == WIDTH or most + len(automaton.states) > 6
        assert all(14 <= x <= width - 14 and 14 <= y <= height - 14 for x, y in circles)
        for text in root.iter("text"):
            assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height


def test_layers_follow_the_edges():
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "a")]
    layout = arrange(tuple("abc"), tuple(edges), 40.0)
    x = {node: place[0] for node, place in layout.places.items()}
    assert x["a"] < x["b"] < x["c"]
    assert layout.backward == {("c", "a")}
    assert len(layout.routes["a", "c"]) == 1
    assert layout.routes["a", "b"] == ()


def test_loops_of_every_state_are_told_once():
    automaton = compile_plan(["unlock", "lock"], free_reads=["look", "listen"], file="f", task="t")
    shown = [text for text, _ in texts(to_svg(automaton))]
    assert [text for text in shown if "look" in text] == ["in every state: ↻ look(*) ↻ listen(*)"]


def test_of_a_large_set_of_steps_the_path_is_drawn():
    steps = [f"step{number}" for number in range(20)]
    task = compile_plan([{"any_order": steps}, "lock"], free_reads=["look"], file="f", task="t")
    calls = [Call(name, {}) for name in ("step7", "look", "step3", "lock")]
    for picture in (to_svg(task, calls), narrow_drawing(task, calls).svg, to_svg(task)):
        ElementTree.fromstring(picture)
    dot = to_dot(task, calls)
    assert dot.count("shape=circle") - 1 == 21 and dot.count("doublecircle") == 1
    assert "call 0" in dot and "call 2" in dot and "3: lock" in dot


def test_of_an_automaton_with_many_edges_the_path_and_a_shortest_way_on_are_drawn():
    steps = [f"step{number}" for number in range(7)]
    task = compile_plan([{"any_order": steps}, "lock"], free_reads=[], file="f", task="t")
    assert task.stages is None and len(edges_of(task)) == 449
    part = drawable(task, TracePath.of(task, [Call("step3", {}), Call("step5", {})]))
    assert [[symbol for symbol, _ in out] for out in part.progress.values()][:2] == [["step3"], ["step5"]]
    assert len(part.states) == 9 and len(edges_of(part)) == 8 and part.accepting == task.accepting
    assert ("of many ways, the one taken, and one on to the end", "…") in {
        (line.words, line.mark) for line in narrow_drawing(task).key
    }


def test_of_a_large_automaton_with_a_dead_end_a_way_from_the_start_is_drawn_too():
    many = {(f"s{k}", f"to{n}"): f"s{k + 1}" if n else f"t{k}" for k in range(60) for n in range(3)}
    states = ["s0", *dict.fromkeys(many.values())]
    symbols = [Symbol(name, name, {}) for name in ("to0", "to1", "to2")]
    task = TaskAutomaton(states=states, symbols=symbols, start="s0", accepting=["s60"], delta=many)
    lost = TracePath.of(task, [Call("to0", {})])
    part = drawable(task, lost)
    assert lost.end == "t0" and "t0" in part.states and part.accepting == {"s60"}
    assert len(edges_of(task)) == 120 and part is task
    more = {**many, **{(f"s{k}", "to3"): f"u{k}" for k in range(60)}}
    states = ["s0", *dict.fromkeys(more.values())]
    large = TaskAutomaton(
        states=states, symbols=[*symbols, Symbol("to3", "to3", {})], start="s0", accepting=["s60"], delta=more
    )
    part = drawable(large, TracePath.of(large, [Call("to3", {})]))
    assert "u0" in part.states and len(part.states) == 62 and part.accepting == {"s60"}
    ElementTree.fromstring(to_svg(large, [Call("to3", {})]))
