"""Real Dask clusters: workers in processes of their own, which are killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import engine_cases
import psutil
import pytest
from engine_cases import LEARNING, assert_same_run, hmm, lda, mixture, walks

import plait
from plait.engine import dask_workers, distributed, use_workers
from plait.errors import PlaitError, PlaitWarning


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Start two workers, which all tests share; Dask starts those that are killed again."""
    workers = dask_workers.connect("local:2", n_jobs=2)
    try:
        yield workers._client
    finally:
        workers.close()


@pytest.fixture(autouse=True)
def two_workers(request: pytest.FixtureRequest) -> None:
    if "client" in request.fixturenames:
        request.getfixturevalue("client").wait_for_workers(2, timeout=300)


def test_dask_has_the_bits_of_one_process(client: Any) -> None:
    cloudpickle.register_pickle_by_value(engine_cases)  # the workers do not find the tests
    for model, plan in [(lda(), LEARNING), (hmm("gaussian"), 2), (mixture(), 2), (walks(), 2)]:
        options: dict[str, Any] = {"n_paths": plan, "seed": 3}
        options |= {} if plan is LEARNING else {"n_sweeps": 3}
        assert_same_run(plait.sample(model, **options), plait.sample(model, cluster=client, **options))


def test_a_worker_that_is_killed_does_not_change_the_bits(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributed, "KEEP_SECONDS", 0.3)  # so that workers that join later get a share again
    pids = client.run(os.getpid)
    victim = sorted(pids.values())[0]
    seen = set()

    def kill(progress: Any) -> None:
        seen.add(progress.state.sweep)
        if progress.state.sweep == 10:
            os.kill(victim, signal.SIGKILL)

    killed = plait.sample(lda(), n_paths=2, n_sweeps=40, seed=5, cluster=client, callback=kill)
    assert_same_run(plait.sample(lda(), n_paths=2, n_sweeps=40, seed=5), killed)
    assert seen == set(range(1, 41))


def test_a_driver_that_is_killed_is_resumed_on_another_engine(client: Any, tmp_path: Path) -> None:
    texts, output = tmp_path / "texts.txt", tmp_path / "run.plait"
    corpus = lda().corpus
    texts.write_text("\n".join(" ".join(corpus.tokens(d)) for d in range(corpus.n_documents)))
    address = client.scheduler.address
    command = [str(Path(sys.executable).with_name("plait")), "fit", "lda", str(texts), "-o", str(output)]
    command += ["--topics", "5", "--paths", "2", "--sweeps", "100000", "--language", "none", "--alpha", "0.1"]
    command += ["--eta", "0.1", "--checkpoint-every", "0", "-q", "--cluster", address]
    driver = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 120
        while not output.exists() or plait.load(output).sweep < 3:
            assert driver.poll() is None, driver.stderr and driver.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        driver.kill()
        driver.communicate()
    stopped = plait.load(output)
    n_sweeps = stopped.sweep + 10
    whole = plait.sample(stopped.model, n_paths=2, n_sweeps=n_sweeps, seed=0)
    resumed = plait.resume(stopped, n_sweeps=n_sweeps, cluster=client)
    assert_same_run(whole, resumed)
    assert_same_run(whole, plait.resume(stopped, n_sweeps=n_sweeps))


def test_a_stalled_worker_is_waited_for_but_not_for_ever(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_workers, "NOTICE_SECONDS", 0.2)
    monkeypatch.setattr(dask_workers, "LIMIT_SECONDS", 2.0)
    monkeypatch.setattr(dask_workers, "_SLOWEST_TIMES", 0)
    stalled = psutil.Process(sorted(client.run(os.getpid).values())[0])

    def stall(progress: Any) -> None:
        if progress.state.sweep == 2:
            stalled.suspend()

    try:
        with (
            pytest.warns(PlaitWarning, match="waiting for an answer of tcp://127"),
            pytest.raises(PlaitError, match=r"waited 2 s for an answer of tcp://.* resume the run"),
        ):
            plait.sample(mixture(), n_paths=2, n_sweeps=5, cluster=client, callback=stall)
    finally:
        stalled.resume()


def test_local_workers_can_be_reached_from_this_machine_alone(client: Any) -> None:
    own = psutil.Process()
    sockets = [c for process in (own, *own.children(recursive=True)) for c in process.net_connections("inet")]
    listening = [c for c in sockets if c.status == psutil.CONN_LISTEN]
    assert listening
    assert {c.laddr.ip for c in listening} == {"127.0.0.1"}
    assert client.cluster.scheduler_info.get("services", {}).keys().isdisjoint({"bokeh"})


def test_a_scheduler_that_is_not_there_is_an_error() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(PlaitError, match="there is no Dask scheduler at"),
        use_workers(address),
    ):
        pass
