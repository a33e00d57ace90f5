"""A broker's accounts over time, as mosquitto keeps them: taken away, renewed, never another's."""

from __future__ import annotations

import json
import secrets
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pytest
from bridge_rig import ScriptedDevice, python_child, wait_until
from own_broker import OwnBroker, made, may_be_opened, may_write
from paho.mqtt.enums import CallbackAPIVersion

from core_eval.cli.main import main
from firmware_bridge.broker.files import BrokerFiles
from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import LinkError
from firmware_bridge.links import open_link
from firmware_bridge.mqtt.address import parse_mqtt_url
from firmware_bridge.mqtt.link import MqttPort

pytestmark = pytest.mark.broker

SIM = """
import sys
from core_eval.cli.main import main
sys.exit(main(["sim", "farm_rover", "--mqtt", sys.argv[1]]))
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[BrokerFiles, OwnBroker]]:
    files, broker = made(tmp_path / "broker")
    with broker:
        yield files, broker


def drives(url: str) -> bool:
    with RigClient(open_link(url)) as client:
        client.open()
        client.reset()
        return client.call("echo", {}).status == "ok"


def command(*arguments: object) -> int:
    return main(["rigs", "broker", *(str(one) for one in arguments)])


def test_a_rig_that_was_taken_away_is_dropped_and_the_others_stay(
    own: tuple[BrokerFiles, OwnBroker], capsys: pytest.CaptureFixture[str]
) -> None:
    files, broker = own
    folder = files.config.parent
    rover, arm = (MqttPort(account.url) for account in files.devices)
    with DeviceEndpoint(ScriptedDevice(), rover), DeviceEndpoint(ScriptedDevice(), arm):
        assert command("remove-rig", folder, "rover") == 0
        broker.reload()
        assert rover._connection is not None and arm._connection is not None
        assert wait_until(lambda: not rover._connection.connected)  # type: ignore[union-attr]
        assert drives(files.hosts[1].url) and arm._connection.connected
        with pytest.raises(LinkError, match="refuses the connection"):
            open_link(files.devices[0].url)
    for name in ("passwd", "acl", "urls.txt"):
        assert "rover" not in (folder / name).read_text()
        assert "arm" in (folder / name).read_text()
    assert not (folder / "rover.password").exists()
    assert command("remove-rig", folder, "rover") == 2
    assert "has no rig 'rover'; there are arm" in capsys.readouterr().err
    assert command("remove-rig", folder, "host") == 2
    # and its name is free again
    assert command("add-rig", folder, "rover") == 0


def test_a_rigs_part_of_an_access_list_goes_and_no_other(tmp_path: Path) -> None:
    files, _ = made(tmp_path / "broker")
    folder = files.config.parent
    before = (folder / "acl").read_text()
    assert command("add-rig", folder, "rover-2") == 0
    assert command("remove-rig", folder, "rover-2") == 0
    assert (folder / "acl").read_text() == before


@pytest.mark.parametrize("account", ["arm", "host", "observer"])
def test_a_new_password_holds_and_the_old_one_no_more(
    own: tuple[BrokerFiles, OwnBroker], account: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files, broker = own
    folder = files.config.parent
    old = {"arm": files.devices[1], "host": files.hosts[1], "observer": files.observer}[account]
    assert old is not None
    assert command("rotate", folder, account, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    new = {"arm": "devices", "host": "hosts"}.get(account)
    url = told["observer"] if new is None else told[new]["arm"]
    broker.reload()
    assert wait_until(lambda: not logs_in(files, old.user, old.password))
    password = parse_mqtt_url(url).password
    assert password and password != old.password and logs_in(files, old.user, password)
    assert (folder / f"{account}.password").read_text() == f"{password}\n"
    assert old.password not in (folder / "urls.txt").read_text()
    for name in ("passwd", "urls.txt", f"{account}.password"):
        assert (folder / name).stat().st_mode & 0o077 == 0


def test_an_account_that_is_none_gets_no_password(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, _ = made(tmp_path / "broker")
    assert command("rotate", files.config.parent, "crane") == 2
    assert "has no account 'crane'; there are arm, host, observer, rover" in capsys.readouterr().err


def test_a_broker_from_before_there_were_observers_gets_one(own: tuple[BrokerFiles, OwnBroker]) -> None:
    files, broker = own
    folder = files.config.parent
    for name in ("passwd", "urls.txt"):
        kept = [line for line in (folder / name).read_text().splitlines() if not line.startswith("observer")]
        (folder / name).write_text("\n".join([*kept, ""]))
    acl = (folder / "acl").read_text()
    start, end = acl.index("\nuser observer"), acl.index("\nuser rover")
    (folder / "acl").write_text(acl[:start] + acl[end:])
    (folder / "observer.password").unlink()
    assert command("rotate", folder, "observer") == 0
    broker.reload()
    password = (folder / "observer.password").read_text().strip()
    assert wait_until(lambda: logs_in(files, "observer", password))
    assert may_write(files, "observer", password) == set()


def plain_client(files: BrokerFiles, user: str, password: str, client_id: str = "") -> mqtt.Client:
    client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=client_id)
    client.username_pw_set(user, password)
    client.tls_set(str(files.config.parent / "ca.crt"), cert_reqs=ssl.CERT_REQUIRED)
    return client


def port_of(files: BrokerFiles) -> int:
    return int(files.config.read_text().split("listener ")[1].split()[0])


def logs_in(files: BrokerFiles, user: str, password: str) -> bool:
    answer: list[bool] = []
    answered = threading.Event()

    def connected(_client: Any, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        answer.append(not reason.is_failure)
        answered.set()

    client = plain_client(files, user, password)
    client.on_connect = connected
    client.connect("127.0.0.1", port_of(files))
    client.loop_start()
    assert answered.wait(25)
    client.disconnect()
    client.loop_stop()
    return answer[0]


def test_an_observer_reads_all_but_the_truth_and_writes_nothing(own: tuple[BrokerFiles, OwnBroker]) -> None:
    files, _ = own
    observer = files.observer
    assert observer is not None and parse_mqtt_url(observer.url).rig == ""
    seen: set[str] = set()
    ready = threading.Event()
    client = plain_client(files, observer.user, observer.password)
    client.on_message = lambda _c, _d, message: seen.add(message.topic.split("/", 3)[3])
    client.on_subscribe = lambda *_: ready.set()
    client.connect("127.0.0.1", port_of(files))
    client.loop_start()
    client.subscribe("#", 1)
    assert ready.wait(25)
    truths: list[object] = []
    with (
        DeviceEndpoint(ScriptedDevice(), MqttPort(files.devices[0].url)),
        RigClient(open_link(files.hosts[0].url), on_truth=truths.append) as host,
    ):
        host.open()
        assert host.call("echo", {}).status == "ok"
        assert host.estop() and host.drain()
        assert truths
    expected = {"call", "estop", "result", "sample/moisture.plant_A", "status", "lease"}
    assert wait_until(lambda: seen >= expected)
    client.disconnect()
    client.loop_stop()
    assert "truth" not in seen
    assert may_write(files, observer.user, observer.password) == set()


def test_no_other_account_can_throw_a_rig_off_the_broker(own: tuple[BrokerFiles, OwnBroker]) -> None:
    files, _ = own
    rover, arm = files.devices
    downs: list[bool] = []
    port = MqttPort(rover.url)
    with (
        DeviceEndpoint(ScriptedDevice(), port, watchdog_ms=60_000),
        RigClient(
            open_link(files.hosts[0].url), on_status=lambda one: downs.append(one.state == "offline")
        ) as host,
    ):
        host.open()
        assert host.call("echo", {}).status == "ok"
        for guess in ("pathrig-device-rover", "rover", "pathrig-device-rover-", "pathrig-rover"):
            intruder = plain_client(files, arm.user, arm.password, guess)
            ready = threading.Event()
            intruder.on_subscribe = lambda *_, ready=ready: ready.set()
            heard: list[str] = []
            intruder.on_message = lambda _c, _d, message, heard=heard: heard.append(message.topic)
            intruder.connect("127.0.0.1", port_of(files))
            intruder.loop_start()
            # nor does it learn which client id would
            intruder.subscribe([("#", 0), ("$SYS/#", 0)])
            assert ready.wait(25)
            assert host.call("echo", {}).status == "ok"
            intruder.disconnect()
            intruder.loop_stop()
            assert not any("rover" in topic or "SYS" in topic for topic in heard)
        assert not any(downs)
    assert port._client_id not in ("", "pathrig-device-rover") and len(port._client_id) > 30
    assert MqttPort(rover.url)._client_id != port._client_id


def served(files: BrokerFiles) -> str:
    return ssl.get_server_certificate(("127.0.0.1", port_of(files)))


def test_a_renewed_certificate_is_for_the_names_that_it_is_to_be_for(
    own: tuple[BrokerFiles, OwnBroker], capsys: pytest.CaptureFixture[str]
) -> None:
    files, broker = own
    folder = files.config.parent
    before = served(files)
    assert command("renew", folder, "--days", "30") == 0
    assert "The certificate is for 127.0.0.1, valid for 30 days" in capsys.readouterr().out
    broker.reload()
    assert wait_until(lambda: served(files) != before)
    assert may_be_opened(files.hosts[0].url)
    with pytest.raises(LinkError, match="certificate verify failed"):
        open_link(files.hosts[0].url.replace("@127.0.0.1:", "@localhost:"))
    assert command("renew", folder, "--host", "localhost", "--host", "127.0.0.1", "--json") == 0
    url = json.loads(capsys.readouterr().out)["hosts"]["rover"]
    assert url == files.hosts[0].url.replace("@127.0.0.1:", "@localhost:")
    assert url in (folder / "urls.txt").read_text()
    broker.reload()
    assert may_be_opened(url) and may_be_opened(files.hosts[0].url)
    assert (folder / "server.key").stat().st_mode & 0o077 == 0
    assert not list(folder.glob(".*"))


def test_without_the_authoritys_key_no_certificate_is_made_and_none_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, _ = made(tmp_path / "broker", client_certificates=True)
    folder = files.config.parent
    (folder / "ca.key").unlink()
    before = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    assert command("renew", folder) == 2
    assert command("add-rig", folder, "crane") == 2
    assert capsys.readouterr().err.count("ca.key is missing") == 2
    assert {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()} == before


def test_the_folder_is_its_owners_alone(tmp_path: Path) -> None:
    files, _ = made(tmp_path / "new")
    assert files.config.parent.stat().st_mode & 0o777 == 0o700
    (tmp_path / "empty").mkdir(mode=0o755)
    files, _ = made(tmp_path / "empty")
    assert files.config.parent.stat().st_mode & 0o777 == 0o700
    (tmp_path / "used").mkdir(mode=0o755)
    (tmp_path / "used" / "something").touch()
    files, _ = made(tmp_path / "used")
    assert files.config.parent.stat().st_mode & 0o777 == 0o755


# Passwords that stand in no command.


def without(url: str, password: str) -> str:
    return url.replace(f":{password}@", "@")


def test_a_password_comes_from_a_file_or_from_the_environment(
    own: tuple[BrokerFiles, OwnBroker], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files, _ = own
    host, device = files.hosts[0], files.devices[0]
    folder = files.config.parent
    bare = without(host.url, host.password)
    with python_child(
        SIM, f"{without(device.url, device.password)}&password_file={folder}/rover.password"
    ) as sim:
        assert sim.stdout is not None and sim.stdout.readline() == "farm_rover is online as rig rover\n"
        assert main(["rigs", "check", f"{bare}&password_file={folder}/host.password", "--look"]) == 0
        with pytest.raises(LinkError, match="refuses the connection"):
            open_link(bare)
        monkeypatch.setenv("PATHRIG_MQTT_PASSWORD", host.password)
        assert main(["rigs", "check", bare, "--look"]) == 0
        # what stands in the URL goes first
        assert main(["rigs", "check", f"{bare}&password_file={folder}/arm.password", "--look"]) == 3
    output = capsys.readouterr()
    assert host.password not in output.out + output.err


def test_a_password_file_holds_one_line_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "word"
    url = f"mqtt://me@localhost/r?password_file={file}"
    with pytest.raises(LinkError, match="cannot be read: No such file"):
        parse_mqtt_url(url)
    file.write_text("s3 cret\n")
    file.chmod(0o640)
    with pytest.raises(LinkError, match=r"others may read .*chmod 600"):
        parse_mqtt_url(url)
    file.chmod(0o600)
    assert parse_mqtt_url(url).password == "s3 cret"
    for bad in (b"", b"\n", b"a\nb\n", b"\xff"):
        file.write_bytes(bad)
        with pytest.raises(LinkError, match=r"one line|cannot be read"):
            parse_mqtt_url(url)
    with pytest.raises(LinkError, match="not both"):
        parse_mqtt_url(f"mqtt://me:word@localhost/r?password_file={file}")
    with pytest.raises(LinkError, match="needs its user"):
        parse_mqtt_url(f"mqtt://localhost/r?password_file={file}")


def test_the_environments_password_is_for_urls_with_a_user_and_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATHRIG_MQTT_PASSWORD", "word")
    assert parse_mqtt_url("mqtt://me@localhost/r").password == "word"
    assert parse_mqtt_url("mqtt://me:mine@localhost/r").password == "mine"
    assert parse_mqtt_url("mqtt://localhost/r").password is None
    assert "word" not in repr(parse_mqtt_url("mqtt://me@localhost/r"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["rigs", "check", "mqtt://me:{secret}@127.0.0.1"],
        ["rigs", "check", "mqtt://me:{secret}@127.0.0.1:99999/r"],
        ["rigs", "check", "mqt://me:{secret}@127.0.0.1/r"],
        ["rigs", "check", "mqtt://me:{secret}@127.0.0.1/r?truth=perhaps"],
        ["rigs", "check", "mqtt://me:{secret}@127.0.0.1/r?driver=grbl"],
        ["sim", "farm_rover", "--mqtt", "mqtt://me:{secret}@127.0.0.1:99999/r"],
    ],
)
def test_what_is_wrong_with_a_url_is_told_without_its_password(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    secret = secrets.token_hex(8)
    assert main([one.format(secret=secret) for one in arguments]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1 and secret not in line


def test_a_simulator_takes_its_name_from_the_url_or_from_rig_and_not_two(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for arguments, says in (
        (["--mqtt", "mqtt://127.0.0.1:1"], "names no rig"),
        (["--mqtt", "mqtt://127.0.0.1:1/a", "--rig", "b"], "leave one out"),
    ):
        assert main(["sim", "farm_rover", *arguments]) == 2
        assert says in capsys.readouterr().err


def test_a_new_rig_file_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "rig.yaml"
    options = ["--driver", "pathrig-json", "--link", "mqtt", "--topic", "rover", "--device", "farm_rover"]
    assert (
        main(["rigs", "new", str(file), "--name", "r", "--broker", "mqtt://me:word@localhost", *options]) == 0
    )
    assert file.stat().st_mode & 0o077 == 0
