"""The broker that `pathrig rigs broker init` makes, run by mosquitto: who gets in, and who may do what."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_rig import ScriptedDevice, free_port, wait_until
from own_broker import made, may_be_opened, may_write

from core_eval.cli.main import main
from firmware_bridge.broker.files import BrokerFiles, write_broker_files
from firmware_bridge.broker.rigs import add_rig
from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import LinkError
from firmware_bridge.links import open_link
from firmware_bridge.mqtt.link import MqttPort

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerFiles]:
    files, broker = made(tmp_path_factory.mktemp("own") / "broker")
    with broker:
        yield files


def test_a_host_may_call_and_stop_and_no_more_and_a_rig_only_speaks_for_itself(own: BrokerFiles) -> None:
    host, rover = own.hosts[0], own.devices[0]
    assert may_write(own, host.user, host.password) == {
        f"{rig}/{channel}" for rig in ("rover", "arm") for channel in ("call", "estop", "lease")
    }
    assert may_write(own, rover.user, rover.password) == {
        f"rover/{channel}" for channel in ("result", "sample/x", "status", "truth")
    }


@pytest.mark.parametrize("version", ["", "&version=5"])
def test_a_host_drives_a_rig_through_it(own: BrokerFiles, version: str) -> None:
    with (
        DeviceEndpoint(ScriptedDevice(), MqttPort(own.devices[0].url + version)),
        RigClient(open_link(own.hosts[0].url + version)) as client,
    ):
        client.open()
        assert client.init({}, 1).status == "ok"
        assert client.call("echo", {"text": "x" * 20_000}).status == "ok"
        assert client.estop() and client.reset()


def test_a_rig_that_may_not_answer_is_one_clear_line_in_bounded_time(own: BrokerFiles) -> None:
    # the rover's account on the arm's topics: it may neither read its calls nor answer them
    url = own.devices[0].url.replace("/rover?", "/arm?")
    with (
        DeviceEndpoint(ScriptedDevice(), MqttPort(url)),
        RigClient(open_link(own.hosts[1].url)) as client,
        pytest.raises(LinkError, match=r"no response|access list"),
    ):
        client.open(0.4)


def test_a_publish_that_the_list_drops_is_told_at_once_by_a_broker_of_version_5(own: BrokerFiles) -> None:
    url = own.devices[1].url.replace("/arm?", "/rover?")
    with (
        RigClient(open_link(url + "&version=5")) as client,
        pytest.raises(LinkError, match=r"does not let us publish on pathrig/v1/rover/call; .*access list"),
    ):
        client.open(5.0)


@pytest.mark.parametrize("version", ["", "&version=5"])
def test_a_permission_that_is_taken_away_in_mid_run_is_a_fault_long_before_the_time_out(
    tmp_path: Path, version: str
) -> None:
    files, broker = made(tmp_path / "broker")
    with (
        broker,
        DeviceEndpoint(ScriptedDevice(), MqttPort(files.devices[0].url)),
        RigClient(open_link(files.hosts[0].url + version), retry_after=0.1) as client,
    ):
        client.open()
        acl = files.config.parent / "acl"
        acl.write_text(acl.read_text().replace("topic write pathrig/v1/+/call\n", ""))
        broker.reload()
        assert wait_until(lambda: client.call("echo", {}, timeout=0.5).status == "fault")
        start = time.monotonic()
        outcome = client.call("echo", {}, timeout=120.0)
        assert (outcome.status, outcome.code) == ("fault", "link")
        assert "does not let us publish" in str(outcome.message)
        assert time.monotonic() - start < 60.0


def test_a_broker_that_cannot_tell_what_it_drops_is_suspected_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firmware_bridge.mqtt.link.may_publish", lambda *_: None)
    files, broker = made(tmp_path / "broker")
    with (
        broker,
        DeviceEndpoint(ScriptedDevice(), MqttPort(files.devices[0].url)),
        RigClient(open_link(files.hosts[0].url), retry_after=0.1) as client,
    ):
        client.open()
        acl = files.config.parent / "acl"
        acl.write_text(acl.read_text().replace("topic write pathrig/v1/+/call\n", ""))
        broker.reload()
        assert wait_until(lambda: client.call("echo", {}, timeout=0.5).status == "fault")
        assert "access list drop" in str(client.call("echo", {}, timeout=0.5).message)


def test_without_the_password_nobody_gets_in_and_without_the_authority_no_tls(own: BrokerFiles) -> None:
    host = own.hosts[0]
    with pytest.raises(LinkError, match="refuses the connection"):
        open_link(host.url.replace(host.password, "wrong"))
    with pytest.raises(LinkError, match="certificate verify failed"):
        open_link(host.url.split("?")[0])


def test_client_certificates_are_asked_for(tmp_path: Path) -> None:
    files, broker = made(tmp_path / "broker", client_certificates=True)
    host = files.hosts[0]
    with broker, DeviceEndpoint(ScriptedDevice(), MqttPort(files.devices[0].url)):
        with RigClient(open_link(host.url)) as client:
            client.open()
        with pytest.raises(LinkError):
            open_link(host.url.split("&cert=")[0])
        with pytest.raises(LinkError, match=r"cannot use the certificates .*nowhere\.crt"):
            open_link(f"{host.url.split('&cert=')[0]}&cert=nowhere.crt&key=nowhere.key")


def test_the_command_prints_how_to_start_it_and_keeps_secrets_to_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "broker"
    assert main(["rigs", "broker", "init", str(folder), "--rig", "rover-7", "--host", "broker.local"]) == 0
    printed = capsys.readouterr().out
    assert f"mosquitto -c {folder / 'mosquitto.conf'}" in printed
    assert "@broker.local:8883/rover-7?ca=" in printed
    for name in ("passwd", "acl", "ca.key", "server.key", "urls.txt"):
        assert (folder / name).stat().st_mode & 0o077 == 0
    secret = printed.split("mqtts://host:")[1].split("@")[0]
    assert secret not in (folder / "passwd").read_text()
    assert "set_tcp_nodelay true" in (folder / "mosquitto.conf").read_text()
    assert main(["rigs", "broker", "init", str(folder)]) == 2
    assert "holds a broker already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a/b", "host", "with space", "a:b", ""])
def test_a_rig_needs_a_name_that_can_be_a_user(tmp_path: Path, name: str) -> None:
    with pytest.raises(LinkError):
        write_broker_files(tmp_path / "broker", [name])


@pytest.mark.parametrize("certificates", [False, True])
def test_a_rig_that_is_added_gets_in_and_the_others_stay(tmp_path: Path, certificates: bool) -> None:
    files, broker = made(tmp_path / "broker", client_certificates=certificates)
    with broker, DeviceEndpoint(ScriptedDevice(), MqttPort(files.devices[0].url)) as old:
        added = add_rig(files.config.parent, "rover-8")
        broker.reload()
        device, host = added.devices[0], added.hosts[0]
        assert may_be_opened(device.url)
        with DeviceEndpoint(ScriptedDevice(), MqttPort(device.url)), RigClient(open_link(host.url)) as client:
            client.open()
            assert client.call("echo", {"a": 1}).value == {"a": 1}
        with RigClient(open_link(files.hosts[0].url)) as client:
            client.open()
            assert client.call("echo", {"a": 2}).value == {"a": 2}
        assert old.state == "estop"
        if not certificates:
            assert may_write(files, device.user, device.password) == set()
    known = (files.config.parent / "urls.txt").read_text().splitlines()
    assert known[-2:] == [f"host {host.url}", f"device {device.url}"] and len(known) == 7
    for name in ("passwd", "acl", "urls.txt"):
        assert (files.config.parent / name).stat().st_mode & 0o077 == 0


def test_a_rig_is_not_added_twice_and_not_to_what_is_no_broker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "broker"
    made(folder)
    assert main(["rigs", "broker", "add-rig", str(folder), "crane", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told["hosts"]) == list(told["devices"]) == ["crane"]
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "mosquitto.conf").write_text("")
    for where, name, says in (
        (folder, "crane", "has a rig crane already"),
        (folder, "host", "cannot be a rig's user name"),
        (folder, "a/b", "no rig name"),
        (tmp_path / "nowhere", "x", "holds no broker"),
        (tmp_path / "half", "x", "passwd is missing"),
    ):
        assert main(["rigs", "broker", "add-rig", str(where), name]) == 2
        line = capsys.readouterr().err
        assert says in line and line.count("\n") == 1, line
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    (folder / "urls.txt").write_text("nothing of ours\n")
    with pytest.raises(LinkError, match="no line `host mqtts"):
        add_rig(folder, "other")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["/dev/null/broker"], "cannot be written to /dev/null/broker"),
        (["{tmp}/b", "--host", ""], "'' is no name or address"),
        (["{tmp}/b", "--host", "a,DNS:evil"], "'a,DNS:evil' is no name or address"),
        (["{tmp}/b", "--rig", "a/b"], "no rig name"),
        (["{tmp}"], "holds a broker already"),
    ],
)
def test_what_cannot_be_made_is_one_line_of_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    (tmp_path / "mosquitto.conf").touch()
    assert main(["rigs", "broker", "init", *(one.format(tmp=tmp_path) for one in arguments)]) == 2
    line = capsys.readouterr().err
    assert says in line and line.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["mosquitto.conf"]


def test_a_broker_may_be_reached_by_an_address_of_ipv6(tmp_path: Path) -> None:
    files = write_broker_files(tmp_path / "broker", ["rover"], hosts=["::1", "localhost"], port=free_port())
    assert "@[::1]:" in files.hosts[0].url
