"""`pathrig view`: a folder's logs by a browser's requests."""

from __future__ import annotations

import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from core_eval.cli.main import main
from core_eval.live.folder_view import FolderView
from core_eval.live.serving import Address, Authorizer, serve_page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("view") / "logs"
    (folder / "old").mkdir(parents=True)
    for name, agent in (("a", "oracle"), ("old/b", "mutated:0.9")):
        command = ["run", "--task", "users_change_and_verify", "--rig", "sim:crud", "--agent", agent]
        assert main([*command, "--db", str(folder / f"{name}.db")]) == 0
    (folder / "broken.db").write_text("no log")
    (folder / "board.html").write_text("<p>the board</p>")
    (folder.parent / "secret.html").write_text("secret")
    (folder / "link.html").symlink_to(folder.parent / "secret.html")
    return folder


@pytest.fixture
def url(folder: Path) -> Iterator[str]:
    address = Address("127.0.0.1", 0)
    authorizer = Authorizer(address)
    with serve_page(address, FolderView(folder, authorizer), authorizer) as url:
        yield url.partition("/?")[0] + f"/{authorizer.token}/"


def got(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_the_page_lists_every_log_with_its_outcome(url: str):
    status, page = got(url)
    assert status == 200 and "oracle passed 1 of 1" in page and "mutated:0.9 passed 0 of 1" in page
    assert "cannot be read" in page and "broken.db" in page and "board.html" in page
    assert "secret" not in page and "link.html" not in page


def test_a_link_leads_to_the_report_and_to_a_page(url: str):
    status, report = got(url + "log/old/b.db/")
    assert status == 200 and "users_change_and_verify" in report and "mutated:0.9" in report
    assert got(url + "page/board.html") == (200, "<p>the board</p>")
    assert got(url + "log/broken.db/")[1].startswith("<!doctype html>")


def test_two_logs_are_compared(url: str, folder: Path):
    shutil.copy(folder / "a.db", folder / "c.db")
    status, page = got(url + "compare?a=a.db&b=c.db")
    assert status == 200 and "1 pair" in page
    assert "cannot be read as a log" in got(url + "compare?a=a.db&b=broken.db")[1]
    assert got(url + "compare?a=a.db&b=none.db")[0] == 404


@pytest.mark.parametrize(
    "path",
    ["page/../secret.html", "page/%2e%2e/secret.html", "page/link.html", "log/none.db/", "log/a.db/none"],
)
def test_nothing_else_is_served(url: str, path: str):
    status, page = got(url + path)
    assert status in (403, 404) and "secret" not in page


def test_without_the_token_nothing_is_told(url: str):
    for path in ("", "x/", "x/page/board.html", "x/log/a.db/", "x/compare?a=a.db&b=a.db"):
        status, page = got(url.rpartition("/")[0].rpartition("/")[0] + "/" + path)
        assert status == 403 and "board" not in page


def test_a_folder_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]):
    assert main(["view", "no-such-folder"]) == 2
    assert "there is no such folder" in capsys.readouterr().err
