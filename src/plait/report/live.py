"""The report while a fit goes on: a page on this machine, built from each checkpoint.

The fit knows nothing of it. A thread looks for a new checkpoint, has the page built from it by another
process (`plait.report.building`), and keeps the result; another thread serves it. So the run has the same
bits, and whatever goes wrong here cannot stop it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from plait.checks import check_integer
from plait.display import shell_word
from plait.errors import Argument, PlaitError
from plait.report.page import Live, render_waiting

ADDRESS: Final = "127.0.0.1"
"""The address that the server is bound to: no other machine reaches it."""

EVERY_SECONDS: Final = 5.0
"""Least time between two pages."""

SHARE: Final = 0.1
"""Largest share of the time of one processor in which pages are built, once there is one."""

_LOOK_SECONDS: Final = 0.5
_WAITING: Final = "0"  # the version of the page before there is a checkpoint
_HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the rest of the policy is in the page
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _Served(NamedTuple):
    version: str
    page: bytes


class LiveReport:
    """Serves the report on a model that is being fitted, at `url`, until it is closed.

    Parameters
    ----------
    model : Path
        The file that the fit writes its checkpoints to.
    port : int
        Port of the page; 0 takes one that is free.
    has_started : bool
        Whether the file holds the fit already; otherwise only what is written to it from now on is shown.

    Attributes
    ----------
    problem : str or None
        Why the last page could not be built.
    """

    def __init__(self, model: Path, port: int = 0, *, has_started: bool = False) -> None:
        port = check_integer("port", port, least=0, most=65535)
        self._model = model
        self._seen = None if has_started else _stamp(model)
        text = "Waiting for the first checkpoint of the fit."
        waiting = render_waiting(model.stem, text, Live(_WAITING, shell_word(model)))
        self._served = _Served(_WAITING, waiting.encode("utf-8", "replace"))
        self.problem: str | None = None
        try:
            self._server = _Server((ADDRESS, port), _Handler)
        except OSError as error:
            raise PlaitError(
                Argument("port"),
                f" {port} cannot be used on this machine ({error.strerror}): give another, or 0 for any that"
                " is free",
            ) from None
        self._server.live = self
        self._closing = threading.Event()
        self._child: subprocess.Popen[str] | None = None
        self._threads = [
            threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True),
            threading.Thread(target=self._watch, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def port(self) -> int:
        """The port of the page."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{ADDRESS}:{self.port}/"

    @property
    def served(self) -> _Served:
        """The page, and what tells it from others."""
        return self._served

    @property
    def has_report(self) -> bool:
        """Whether the page has been built from a checkpoint."""
        return self._served.version != _WAITING

    def close(self) -> None:
        """Stop; browsers keep the page that they show."""
        self._closing.set()
        child = self._child
        if child is not None:
            child.kill()
        self._server.shutdown()
        self._server.server_close()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _watch(self) -> None:
        """Build a page from each checkpoint, unless that would take too much of the time."""
        with tempfile.TemporaryDirectory(prefix="plait-live-") as folder:
            page, pause = Path(folder) / "page.html", 0.0
            while not self._closing.wait(max(_LOOK_SECONDS, pause)):
                pause, stamp = 0.0, _stamp(self._model)
                if stamp is None or stamp == self._seen:
                    continue
                self._seen = stamp
                begun, used = time.monotonic(), _seconds_of_children()
                try:
                    self._build(page, f"{stamp[0]}-{stamp[1]}")
                except OSError as error:
                    self.problem = str(error)
                used = _seconds_of_children() - used
                pause = max(EVERY_SECONDS, used / SHARE - (time.monotonic() - begun))

    def _build(self, page: Path, version: str) -> None:
        command = [sys.executable, "-m", "plait.report.building", str(self._model), str(page), version]
        # A session of its own: Ctrl-C is for the fit.
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as self._child:
            if self._closing.is_set():
                self._child.kill()
            _, complaint = self._child.communicate()
        if self._child.returncode == 0:
            self._served, self.problem = _Served(version, page.read_bytes()), None
        elif not self._closing.is_set():
            self.problem = complaint.strip().rpartition("\n")[2] or f"exit status {self._child.returncode}"


def _seconds_of_children() -> float:
    """Return the processor time of the processes that have built pages."""
    now = os.times()
    return now.children_user + now.children_system


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file is replaced; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    live: LiveReport

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a browser that leaves early is no concern of the fit."""


class _Handler(BaseHTTPRequestHandler):
    """Serves the page at / and nothing else, to this machine alone.

    A page of another site could make a browser ask for it under a name that it has had point to this machine,
    so the names in the headers Host and Origin must be of this machine, too.
    """

    server: _Server
    server_version = "plait"
    sys_version = ""
    timeout = 10

    def do_GET(self) -> None:
        """Send the page."""
        self._answer(with_page=True)

    def do_HEAD(self) -> None:
        """Send what tells the page from others."""
        self._answer(with_page=False)

    def _answer(self, *, with_page: bool) -> None:
        port = self.server.server_address[1]
        hosts = [f"{name}:{port}" for name in (ADDRESS, "localhost")]
        origins = [f"http://{host}" for host in hosts]
        host, origin = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        if len(host) != 1 or host[0] not in hosts or any(own not in origins for own in origin):
            self.send_error(403)
        elif self.path != "/":
            self.send_error(404)
        else:
            version, page = self.server.live.served
            self.send_response(200)
            for name, value in {**_HEADERS, "ETag": f'"{version}"', "Content-Length": len(page)}.items():
                self.send_header(name, str(value))
            self.end_headers()
            if with_page:
                self.wfile.write(page)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the terminal belongs to the progress of the fit."""
