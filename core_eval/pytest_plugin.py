"""pytest plugin: a test runs an episode on a rig and asserts on its path, like any other test.

    @pytest.mark.pathrig(task="water_one_plant", rig="sim:farm_rover", agent="oracle")
    def test_waters(pathrig_episode):
        pathrig_episode.require("pc>=0.9", "harmful_calls=0")

pytest loads it by its entry point; the rest of the kit is imported when a test asks for an episode.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from core_eval.log import EpisodeRow, HarmRow, StepRow
    from core_eval.run.config import RunConfig

MARK = "pathrig"
MARK_HELP = (
    "pathrig(task, rig, agent, episodes=1, seed=0, guard=None, init=None): the episodes of the fixtures "
    "pathrig_episode and pathrig_episodes, with the values of `pathrig run`"
)
LOG_PROPERTY = "pathrig_log"
OPTIONAL = {"episodes": 1, "seed": 0, "guard": None, "init": None}
SHOWN_WIDTH = 100
_SHOWN = pytest.StashKey[list["LoggedEpisode"]]()


@dataclass(frozen=True)
class LoggedEpisode:
    """An episode that a test ran.

    Attributes:
        db: the log that holds it.
        row: the episode with its scores.
        steps: its steps, in order.
        harm: its harm events.
    """

    db: Path
    row: EpisodeRow
    steps: Sequence[StepRow]
    harm: Sequence[HarmRow]

    @property
    def scores(self) -> Mapping[str, float | None]:
        """Return the metrics, by their names in the log."""
        return self.row.scores

    @property
    def tools(self) -> list[str | None]:
        """Return the tool of each step; None where the model's call was unreadable."""
        return [step.tool for step in self.steps]

    def require(self, *thresholds: str) -> None:
        """Check thresholds as `--fail-under` takes them, such as `pc>=0.9` or `harmful_calls=0`.

        Raises:
            AssertionError: one is missed, or the agent made no call.
            ValueError: a threshold has another form, or names no metric.
        """
        from core_eval.score.thresholds import Threshold, judge

        judged = judge([Threshold.parse(text) for text in thresholds], [self.row])
        missed = [one.missed for one in judged if one.missed is not None]
        assert not missed, "; ".join(missed)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("pathrig", "episodes on rigs")
    group.addoption(
        "--pathrig-rig", metavar="RIG", help="run all episodes on this rig, instead of the marker's"
    )
    group.addoption(
        "--pathrig-agent",
        metavar="SPEC",
        action="append",
        help="run all episodes with this agent, instead of the marker's; several times: each test with each",
    )
    group.addoption(
        "--pathrig-db",
        metavar="FILE",
        type=Path,
        help="append the episodes to this log; default: a new one in pytest's cache folder",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", MARK_HELP)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat a test for each `--pathrig-agent`."""
    agents = metafunc.config.getoption("--pathrig-agent")
    if agents and "pathrig_agent" in metafunc.fixturenames:
        metafunc.parametrize("pathrig_agent", agents, ids=agents, indirect=True)


@pytest.fixture
def pathrig_agent(request: pytest.FixtureRequest) -> str | None:
    """Return the agent of `--pathrig-agent`; None stands for the marker's."""
    agent: str | None = getattr(request, "param", None)
    return agent


@pytest.fixture(scope="session")
def pathrig_db(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the log of the session's episodes; a worker of pytest-xdist has its own."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    suffix = f"-{worker}" if worker else ""
    given: Path | None = request.config.getoption("--pathrig-db")
    if given is not None:
        return given.with_name(f"{given.stem}{suffix}{given.suffix}")
    cache = getattr(request.config, "cache", None)
    folder = tmp_path_factory.mktemp(MARK) if cache is None else Path(cache.mkdir(MARK))
    for old in folder.glob(f"episodes{suffix}.db*"):
        old.unlink()
    return folder / f"episodes{suffix}.db"


@pytest.fixture
def pathrig_episodes(
    request: pytest.FixtureRequest, pathrig_agent: str | None, pathrig_db: Path
) -> list[LoggedEpisode]:
    """Run the episodes of the test's marker and return them.

    A rig, link or model that fails is an error of the set-up, not a failure of the test.
    """
    config = _run_config(request.node, request.config.getoption("--pathrig-rig"), pathrig_agent)
    episodes = _run(config, pathrig_db)
    request.node.stash[_SHOWN] = episodes
    for episode in episodes:
        request.node.user_properties.append((LOG_PROPERTY, f"{episode.db}#{episode.row.id}"))
        request.node.user_properties.extend(sorted(episode.scores.items()))
    return episodes


@pytest.fixture
def pathrig_episode(pathrig_episodes: list[LoggedEpisode]) -> LoggedEpisode:
    """Run one episode and return it."""
    if len(pathrig_episodes) != 1:
        pytest.fail("the marker asks for several episodes: use the fixture pathrig_episodes", pytrace=False)
    return pathrig_episodes[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Show the episodes of a failed test, step by step."""
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if report.when == "call" and report.failed:
        for episode in item.stash.get(_SHOWN, []):
            report.sections.append((f"pathrig episode {episode.row.id} in {episode.db}", _shown(episode)))
    return report  # type: ignore[return-value]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the logs of the session."""
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    found = {
        str(value)
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == LOG_PROPERTY
    }
    counts: dict[str, int] = {}
    for reference in sorted(found):
        db = reference.rpartition("#")[0]
        counts[db] = counts.get(db, 0) + 1
    for db, count in counts.items():
        noun = "episode" if count == 1 else "episodes"
        terminalreporter.write_line(f"pathrig: {count} {noun} in {db}; see `pathrig show {db}`")


def _run_config(item: pytest.Item, rig: str | None, agent: str | None) -> RunConfig:
    from pydantic import ValidationError

    from core_eval.run.config import Cell, RunConfig

    mark = item.get_closest_marker(MARK)
    given: dict[str, Any] = dict(mark.kwargs) if mark is not None else {}
    if mark is not None and mark.args:
        given["task"], *rest = mark.args
        if rest:
            _set_up_error("@pytest.mark.pathrig takes one value without a name: the task")
    cell = {"task": given.pop("task", None), "rig": rig or given.pop("rig", None)}
    given.pop("rig", None)
    cell["agent"] = agent or given.pop("agent", None)
    given.pop("agent", None)
    missing = [name for name, value in cell.items() if value is None]
    if missing:
        _set_up_error(f"@pytest.mark.pathrig lacks {', '.join(missing)}; write @pytest.mark.{MARK_HELP}")
    if unknown := sorted(given.keys() - OPTIONAL.keys()):
        _set_up_error(f"@pytest.mark.pathrig has no {', '.join(unknown)}; write @pytest.mark.{MARK_HELP}")
    try:
        return RunConfig(cells=(Cell.model_validate(cell),), **OPTIONAL | given)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        _set_up_error(f"@pytest.mark.pathrig: {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}")


def _run(config: RunConfig, db: Path) -> list[LoggedEpisode]:
    from core_eval.cli.failures import OF_INPUT, OF_RIG
    from core_eval.log import LogReader, RunLog
    from core_eval.rig.final_stops import final_stops
    from core_eval.rig.signals import StopRequested
    from core_eval.run.plan import Run

    error: Exception | None = None
    with final_stops() as stops:
        try:
            with RunLog(db) as log:
                config = config.canonical()
                run_id = Run.of(config, log).start()
        except StopRequested as stop:
            # Not an Exception: pytest would go on with the next test.
            pytest.exit("; ".join([str(stop), *(one.line() for one in stops)]), stop.exit_status)
        except (*OF_INPUT, *OF_RIG) as failure:
            error = failure
    lines = [*([] if error is None else [str(error)]), *(stop.line() for stop in stops if stop.failed)]
    if lines:
        _set_up_error("; ".join(lines))
    with LogReader(db) as reader:
        return [
            LoggedEpisode(db, row, tuple(reader.steps(row.id)), tuple(reader.harm(row.id)))
            for row in reader.episodes(run_id)
        ]


def _shown(episode: LoggedEpisode) -> str:
    from rich.console import Console

    from core_eval.log import LogReader
    from core_eval.report.tables.episode_lines import episode_lines

    text = io.StringIO()
    with LogReader(episode.db) as reader:
        screen = Console(file=text, width=SHOWN_WIDTH)
        for line in episode_lines(reader, episode.row):
            screen.print(line)
    return text.getvalue()


def _set_up_error(message: str) -> NoReturn:
    pytest.fail(f"pathrig: {' '.join(message.split())}", pytrace=False)
