"""The report in a real browser: filter, sort, open an episode, jump to a harmful step; on a phone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from page_measures import measured
from real_browser import chromium

from core_eval.cli.main import main

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CALLS = [
    ("unlock_safety_mode", {}),
    ("move_to", {"x": 3.5, "y": 12.5}),
    ("spray_pesticide", {"plant_id": "plant_B", "ml": 120.0}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report as one file `page.html` and as a folder `out`, of four episodes."""
    folder = tmp_path_factory.mktemp("report")
    script = folder / f"harmful_with_a_name_{'that_is_long_' * 6}.jsonl"
    script.write_text("\n".join(json.dumps({"name": name, "arguments": given}) for name, given in CALLS))
    db = str(folder / "log.db")
    run = ["run", "--task", "water_one_plant", "--rig", "sim", "--episodes", "2", "--db", db]
    assert main([*run, "--agent", "oracle", "--agent", f"scripted:{script}"]) == 0
    assert main(["report", db, "-o", str(folder / "page.html")]) == 0
    assert main(["report", db, "-o", str(folder / "out")]) == 0
    assert main(["compare", db, "-o", str(folder / "compared.html")]) == 0
    return folder


def test_one_file(folder: Path) -> None:
    page = (folder / "page.html").as_uri() + "#everything"
    found = "document.querySelectorAll('table.list tbody tr:not([hidden])')"
    rows = f"[...{found}].map((row) => row.cells[0].innerText)"
    with chromium(page) as tab:
        assert tab.run("document.querySelector('output').innerText") == "4 of 4 episodes"
        # Search, then show what harmed unseen.
        tab.run("{ const form = document.querySelector('form'); form.elements.words.value = 'overdose';"
                " form.dispatchEvent(new Event('input')); }")  # fmt: skip
        assert tab.run(rows) == ["3", "4"]
        shown = "[...document.querySelectorAll('details.story:not([hidden])')].length"
        assert tab.run(shown) == 2
        tab.run("document.querySelector('form button[type=reset]').click()")
        tab.wait(f"({rows}).length === 4")
        tab.run("{ const form = document.querySelector('form'); form.elements.mark.value = 'passed';"
                " form.dispatchEvent(new Event('input')); }")  # fmt: skip
        assert tab.run(rows) == ["1", "2"]
        tab.run("document.querySelector('form button[type=reset]').click()")
        tab.wait(f"({rows}).length === 4")
        tab.run("document.querySelector('table.list th button').click()")
        tab.run("document.querySelector('table.list th button').click()")
        assert tab.run(rows) == ["4", "3", "2", "1"]
        # Of very many rows the first are shown, in the order of the sort, until a person wants all.
        tab.run("most = 1; show()")
        assert tab.run(rows) == ["4"]
        assert tab.run("document.querySelector('output').innerText") == "4 of 4 episodes"
        tab.run("more.click()")
        assert tab.run(rows) == ["4", "3", "2", "1"] and tab.run("more.hidden")
        # A link opens the episode that it leads into, and the time line leads to the harmful step.
        assert not tab.run("document.querySelector('[data-episode=\"4\"]').open")
        tab.run("document.querySelector('table.list a[href=\"#episode-4\"]').click()")
        tab.wait("document.querySelector('[data-episode=\"4\"]').open")
        tab.run("document.querySelector('[data-episode=\"4\"] .time a[href=\"#e4s2\"]')"
                ".dispatchEvent(new MouseEvent('click', {bubbles: true}))")  # fmt: skip
        tab.wait("location.hash === '#e4s2'")
        place = "document.getElementById('e4s2').getBoundingClientRect().top"
        assert tab.wait(f"({place}) < innerHeight && ({place}) > -50")


def test_a_folder_of_pages(folder: Path) -> None:
    # As JUnit XML links: to the first page, with the episode's name.
    with chromium((folder / "out" / "index.html").as_uri() + "#episode-3") as tab:
        tab.wait("location.pathname.endsWith('/episodes/3.html')")
        tab.wait("document.querySelector('nav a[rel=next]') !== null")
        tab.run("document.querySelector('nav a[rel=next]').click()")
        tab.wait(
            "location.pathname.endsWith('/episodes/4.html') && document.querySelector('.field') !== null"
        )
        tab.run("document.querySelector('nav a').click()")
        tab.wait("location.pathname.endsWith('/index.html') && document.querySelector('.card') !== null")
        tab.run("document.querySelector('.card').click()")
        tab.wait("location.pathname.endsWith('/episodes/3.html')")


def test_the_first_page_tells_the_outcome_and_hides_the_rest(folder: Path) -> None:
    sections = "[...document.querySelectorAll('main > section')]"
    shown = f"{sections}.filter((one) => one.offsetHeight).map((one) => one.id)"
    with chromium((folder / "page.html").as_uri()) as tab:
        assert tab.run("document.querySelector('h1').innerText").startswith("oracle passed 2 of 2, ")
        assert tab.run(shown) == ["outcome"]
        rows = "[...document.querySelectorAll('.grid .row')].map((one) => one.innerText.trim().split(/\\s+/))"
        assert [row[:2] for row in tab.run(rows)][1:] == [["farm_rover", "1"], ["water_one_plant", "2/2"]]
        tab.run("document.querySelectorAll('.tabs a')[1].click()")
        tab.wait(f"({shown}).join() === 'everything'")
        tab.run("document.querySelector('#everything .tabs a').click()")
        tab.wait(f"({shown}).join() === 'outcome'")
        tab.run("document.querySelector('.card').click()")
        tab.wait(f"({shown}).join() === 'everything' && document.querySelector('[data-episode=\"3\"]').open")


def test_play_moves_map_signals_and_calls_together(folder: Path) -> None:
    at = (
        "(() => { const box = document.querySelector('.play');"
        " const dot = document.querySelector('svg.field .playing');"
        " const line = document.querySelector('.time .now');"
        " return [Number(box.dataset.t), Number(dot.getAttribute('cx')), parseFloat(line.style.left),"
        " document.querySelector('.steps > li.now').id]; })()"
    )
    with chromium((folder / "out" / "episodes" / "3.html").as_uri()) as tab:
        assert not tab.run("document.querySelector('.play').hidden")
        slide = (
            "{ const range = document.querySelector('.play input'); range.value = %d;"
            " range.dispatchEvent(new Event('input')); }"
        )
        # The first call begins some time after the record does: later on a busy machine.
        begun = tab.run(
            "(() => {"
            " const {times: [first, last], calls} = JSON.parse(document.querySelector('.play').dataset.play);"
            " return Math.ceil(1000 * (calls[0][1] - first) / (last - first)); })()"
        )
        tab.run(slide % begun)
        first = tab.run(at)
        assert first[3] == "e3s0"
        tab.run(slide % 1000)
        last = tab.run(at)
        assert last[3] == "e3s2" and first[0] < last[0] and first[2] < last[2] and first[1] != last[1]
        # From the end it begins again, and goes on by itself until it is stopped.
        tab.run("document.querySelector('.play button').click()")
        tab.wait(f"{at}[0] > 0.05 * {last[0]} && {at}[0] < 0.9 * {last[0]}")
        tab.run("document.querySelector('.play button').click()")
        assert tab.run("document.querySelector('.play button').innerText") == "Play"
        assert tab.run(at) == tab.run(at)


def test_a_folder_is_filtered_and_leads_to_a_harmful_step(folder: Path) -> None:
    found = "document.querySelectorAll('table.list tbody tr:not([hidden])')"
    rows = f"[...{found}].map((row) => row.cells[0].innerText)"
    with chromium((folder / "out" / "episodes" / "everything.html").as_uri()) as tab:
        tab.run("{ const form = document.querySelector('form'); form.elements.words.value = 'overdose';"
                " form.dispatchEvent(new Event('input')); }")  # fmt: skip
        assert tab.run(rows) == ["3", "4"]
        tab.run("document.querySelector('table.list tbody tr:not([hidden]) a').click()")
        tab.wait("location.pathname.endsWith('/episodes/3.html') && document.querySelector('.time') !== null")
        tab.run("document.querySelector('.time a[href=\"#e3s2\"]')"
                ".dispatchEvent(new MouseEvent('click', {bubbles: true}))")  # fmt: skip
        tab.wait("location.hash === '#e3s2'")
        place = "document.getElementById('e3s2').getBoundingClientRect().top"
        assert tab.wait(f"({place}) < innerHeight && ({place}) > -50")


def test_a_comparison_names_the_episodes_behind_a_change(folder: Path) -> None:
    with chromium((folder / "compared.html").as_uri()) as tab:
        rows = "[...document.querySelectorAll('.tall tbody tr')].map((row) => row.innerText.split('\\t'))"
        assert [row[:4] for row in tab.run(rows)] == [
            ["water_one_plant", "0", "#1", "#3"],
            ["water_one_plant", "1", "#2", "#4"],
        ]
        # What they name can be opened in the report of the same log.
        tab.run(f"location.href = '{(folder / 'out' / 'index.html').as_uri()}#episode-3'")
        tab.wait("location.pathname.endsWith('/episodes/3.html')")


@pytest.mark.parametrize(
    "page",
    [
        "page.html",
        "page.html#everything",
        "out/index.html",
        "out/episodes/everything.html",
        "out/episodes/4.html",
        "compared.html",
    ],
)
def test_pages_fit_phones_and_screens(folder: Path, page: str) -> None:
    path, _, tab_name = page.partition("#")
    with chromium((folder / path).as_uri() + f"#{tab_name}") as tab:
        assert (found := measured(tab, width=390)).good, found
        assert (found := measured(tab, width=1400, dark=True)).good, found
        assert tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(18, 23, 26)"
