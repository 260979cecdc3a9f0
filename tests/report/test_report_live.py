"""The page that is served while a fit goes on."""

from __future__ import annotations

import http.client
import socket
import time

import numpy as np
import pytest

import plait
from plait.errors import PlaitError
from plait.report import building
from plait.report.live import ADDRESS, LiveReport


@pytest.fixture
def live(tmp_path):
    with LiveReport(tmp_path / "<b>.plait") as live:
        yield live


def answer(live, path="/", method="GET", **headers):
    """Return the status, the headers and the text of an answer."""
    connection = http.client.HTTPConnection(ADDRESS, live.port, timeout=10)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    got = connection.getresponse()
    found = got.status, got.headers, got.read().decode("utf-8")
    connection.close()
    return found


def awaited(condition, seconds=120):
    """Wait for something that another process does; its own time does not matter."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_the_page_and_nothing_else_is_served(live):
    status, headers, text = answer(live)
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "Waiting for the first checkpoint" in text
    for path in ("/b.plait", "/../etc/passwd", "/?a", "*"):
        assert answer(live, path)[0] == 404, path
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        assert answer(live, method=method)[0] == 501, method


def test_a_title_is_text(live):
    _, _, text = answer(live)
    assert "<b>" not in text
    assert "&lt;b&gt;" in text


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "example.com"},
        {"Host": "example.com:{port}"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Host": "127.0.0.1:{port}.example.com"},
        {"Host": ""},
        {"Origin": "http://example.com"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
def test_other_hosts_and_origins_are_refused(live, headers):
    own = {name: value.format(port=live.port) for name, value in headers.items()}
    status, _, text = answer(live, **own)
    assert status == 403
    assert "Waiting" not in text


def test_this_machine_is_answered_by_either_of_its_names(live):
    for name in ("127.0.0.1", "localhost"):
        host = f"{name}:{live.port}"
        assert answer(live, Host=host, Origin=f"http://{host}")[0] == 200


def test_a_request_without_a_host_is_refused(live):
    with socket.create_connection((ADDRESS, live.port), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert b" 403 " in connection.recv(100)


def test_no_other_machine_reaches_it(live):
    assert live._server.server_address[0] == "127.0.0.1"
    assert live.url == f"http://127.0.0.1:{live.port}/"


def test_a_port_in_use_is_refused_in_one_line(live, tmp_path):
    with pytest.raises(PlaitError, match=f"port {live.port} cannot be used on this machine"):
        LiveReport(tmp_path / "b.plait", live.port)
    with pytest.raises(PlaitError, match="port must be a whole number from 0 to 65535"):
        LiveReport(tmp_path / "b.plait", 70_000)


def test_the_page_follows_the_checkpoints_and_problems_are_kept_apart(run, tmp_path):
    file = tmp_path / "letters.plait"
    file.write_bytes(b"an older file is not shown")
    with LiveReport(file) as live:
        first = answer(live, method="HEAD")[1]["ETag"]
        run.save(file)
        awaited(lambda: live.has_report)
        _, headers, text = answer(live)
        assert headers["ETag"] != first
        assert f'name="plait-version" content={headers["ETag"]}' in text
        assert "<title>letters</title>" in text
        assert live.problem is None
        version = live.served.version
        file.write_bytes(b"damaged")
        awaited(lambda: live.problem is not None)
        assert "letters.plait" in live.problem
        assert live.served.version == version  # the last good page stays
    with pytest.raises(ConnectionRefusedError):
        answer(live)


def test_closing_does_not_wait_for_a_page_that_is_being_built(run, tmp_path):
    run.save(tmp_path / "letters.plait")
    with LiveReport(tmp_path / "letters.plait", has_started=True) as live:
        awaited(lambda: live._child is not None)
        child = live._child
    assert child.poll() is not None
    assert not any(thread.is_alive() for thread in live._threads)


def test_a_live_page_is_the_report_of_the_checkpoint(run, tmp_path):
    run.save(tmp_path / "letters.plait")
    building.build(tmp_path / "letters.plait", tmp_path / "live.html", "1-2")
    ordinary = run.report(tmp_path / "letters.html", title="letters").read_text("utf-8")
    text = (tmp_path / "live.html").read_text("utf-8")
    data = ordinary[
        ordinary.index('id="data-main">') : ordinary.index("</script>", ordinary.index('id="data-main">'))
    ]
    assert data in text
    assert "fetch(" in text
    assert "fetch(" not in ordinary


def test_a_watched_fit_has_the_bits_of_another(tmp_path):
    from click.testing import CliRunner

    from plait.cli import main

    source = tmp_path / "texts.txt"
    source.write_text("apples pears plums\ntrains trams rails\n" * 10)
    fit = [
        "fit",
        "lda",
        str(source),
        "--topics",
        "2",
        "--sweeps",
        "20",
        "--paths",
        "2",
        "--checkpoint-every",
        "0",
    ]
    for name, more in {"a": [], "b": ["--watch", "--port", "0"]}.items():
        result = CliRunner().invoke(main, [*fit, "-q", "-o", str(tmp_path / f"{name}.plait"), *more])
        assert result.exit_code == 0, result.output
        assert ("http://127.0.0.1:" in result.stderr) == bool(more)
    a, b = (plait.load(tmp_path / f"{name}.plait") for name in "ab")
    assert np.array_equal(a.paths, b.paths)
    result = CliRunner().invoke(main, [*fit, "-o", str(tmp_path / "c.plait"), "--port", "8000"])
    assert result.exit_code == 2
    assert "add --watch" in result.stderr
