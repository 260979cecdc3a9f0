"""Jobs run once and in parallel, resume after a stop, and lose no results."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest

import plait
from plait.datasets import bands
from plait.errors import PlaitError
from plait.paper import results, work
from plait.paper.results import write_rows
from plait.paper.work import Job, Stopped, collect, run_jobs

DATA = bands(20, seed=0)
MODEL = plait.LdaModel(DATA.corpus, 3)


def job(number, do, cost=1.0):
    return Job("toy", {"number": number}, cost, do)


def sampling(number, n_sweeps=30, slow=0.0, log=None):
    """Return a job that samples, and measures the number of tokens with topic 0."""

    def measure(progress):
        time.sleep(slow)
        if log is not None:
            log.append(progress.state.sweep)
        return float((progress.state.paths == 0).sum())

    def work(context):
        run, measured = context.sample(
            MODEL, n_sweeps=n_sweeps, n_paths=2, seed=number, measure=measure, every=5
        )
        return {"tokens": int((run.paths == 0).sum()), "course": sorted(measured.items())}

    return job(number, work)


def run(jobs, folder, n_jobs=2):
    run_jobs(jobs, folder, n_jobs=n_jobs, quiet=True)
    return collect(jobs, folder)


def test_results_have_the_order_of_the_jobs_and_are_computed_once(tmp_path):
    calls = []

    def work_of(number):
        def work(context):
            calls.append(number)
            return {"square": number**2}

        return work

    jobs = [job(number, work_of(number)) for number in (3, 1, 2)]
    rows = run(jobs, tmp_path)
    assert [(row["number"], row["square"]) for row in rows] == [(3, 9), (1, 1), (2, 4)]
    assert all(row["seconds"] >= 0 for row in rows)
    assert run(jobs, tmp_path) == rows
    assert sorted(calls) == [1, 2, 3]
    more = [*jobs, job(4, work_of(4))]
    assert [row["square"] for row in run(more, tmp_path)] == [9, 1, 4, 16]
    assert sorted(calls) == [1, 2, 3, 4]


def test_jobs_run_at_the_same_time(tmp_path):
    meeting = threading.Barrier(2)

    def work(context):
        meeting.wait(timeout=20)
        return {}

    run([job(1, work), job(2, work)], tmp_path)


def test_a_job_makes_the_run_that_sample_returns(tmp_path):
    (row,) = run([sampling(7)], tmp_path)
    direct = plait.sample(MODEL, n_sweeps=30, n_paths=2, seed=7, n_jobs=1)
    assert row["tokens"] == int((direct.paths == 0).sum())
    assert [sweep for sweep, _ in row["course"]] == [5, 10, 15, 20, 25, 30]
    assert row["course"][-1][1] == row["tokens"]
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["toy.jsonl"]


def test_stopped_jobs_resume_where_they_were(tmp_path):
    """Ctrl-C arrives in the main thread while two jobs sample."""
    whole = run([sampling(1), sampling(2)], tmp_path / "whole")
    log = []
    jobs = [sampling(1, slow=0.1, log=log), sampling(2, slow=0.1, log=log)]
    timer = threading.Timer(0.35, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(Stopped):
        run(jobs, tmp_path / "cut")
    assert collect(jobs, tmp_path / "cut") == []
    before = len(log)
    assert 0 < before < 12
    rows = run(jobs, tmp_path / "cut")
    assert [row["course"] for row in rows] == [row["course"] for row in whole]
    assert [row["tokens"] for row in rows] == [row["tokens"] for row in whole]
    assert len(log) <= 12 + 2  # at most one measurement of each was made twice


def busy(number, seconds, stop_at=None):
    """Return a job of 20 sweeps that compute for a while each; it stops all jobs after sweep `stop_at`."""

    def measure(progress):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
        if progress.state.sweep == stop_at:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            time.sleep(0.5)
        return 0.0

    def work(context):
        context.sample(MODEL, n_sweeps=20, n_paths=1, seed=number, measure=measure, checkpoint_seconds=0)
        return {"inherited": context.inherited, "share": context.share}

    return job(number, work)


def test_a_resumed_job_counts_the_time_of_all_attempts_and_tells_inherited_work_apart(tmp_path):
    """Work that an earlier attempt did must not make the present one look fast."""
    with pytest.raises(Stopped):
        run([busy(1, 0.02, stop_at=12)], tmp_path)
    (row,) = run([busy(1, 0.02)], tmp_path)
    assert row["seconds"] > 20 * 0.02
    assert 0.5 < row["inherited"] < 0.9
    assert row["share"] == 1.0


def test_truncated_notes_restart_the_job(tmp_path):
    whole = run([busy(1, 0.0)], tmp_path / "whole")
    with pytest.raises(Stopped):
        run([busy(1, 0.01, stop_at=12)], tmp_path / "cut")
    (notes,) = (tmp_path / "cut" / "work").glob("*.json")
    notes.write_text("")
    rows = run([busy(1, 0.0)], tmp_path / "cut")
    assert rows[0]["inherited"] == whole[0]["inherited"] == 0.0


def test_notes_of_later_runs_are_kept_while_the_first_run_resumes(tmp_path):
    options = {"n_sweeps": 5, "n_paths": 1, "seed": 0, "measure": lambda progress: 1.0}
    context = work.JobContext(job(1, None), tmp_path, threading.Event())
    for _ in range(2):
        context.sample(MODEL, **options)
    work.JobContext(job(1, None), tmp_path, threading.Event()).sample(MODEL, **options)
    (notes,) = tmp_path.glob("*.json")
    assert [len(run) for run in json.loads(notes.read_text())["runs"]] == [5, 5]


def test_lost_notes_restart_the_run(tmp_path):
    whole = run([sampling(3)], tmp_path / "whole")
    context = work.JobContext(sampling(3), tmp_path, threading.Event())
    context.sample(MODEL, n_sweeps=20, n_paths=2, seed=3)  # leaves a checkpoint without measurements
    rows = sampling(3).work(work.JobContext(sampling(3), tmp_path, threading.Event()))
    assert [list(point) for point in rows["course"]] == whole[0]["course"]


def test_a_failing_report_does_not_stop_other_experiments(tmp_path):
    jobs = [Job(name, {}, 1.0, lambda context: {"x": 1}) for name in ("a", "b")]

    def fail(name):
        raise PlaitError(f"cannot draw {name}")

    with pytest.raises(PlaitError, match="cannot draw a"):
        run_jobs(jobs, tmp_path, n_jobs=1, quiet=True, when_done=fail)
    assert len(collect(jobs, tmp_path)) == 2


def test_collecting_rows_does_not_write(tmp_path):
    jobs = [job(number, lambda context: {"x": 1}) for number in (1, 2)]
    run(jobs, tmp_path, n_jobs=1)
    path = tmp_path / "work" / "toy.jsonl"
    path.write_text(path.read_text()[:-9])
    before = path.stat()
    assert len(collect(jobs, tmp_path)) == 1
    assert path.stat() == before


def test_another_version_of_plait_runs_the_jobs_again(tmp_path, monkeypatch):
    jobs = [job(1, lambda context: {"x": 1})]
    run(jobs, tmp_path)
    other = partial(results.key_of, version="99")
    monkeypatch.setattr(work, "key_of", other)
    monkeypatch.setattr(results, "__version__", "99")
    assert collect(jobs, tmp_path) == []
    assert len(run(jobs, tmp_path)) == 1


def test_a_full_disk_loses_no_results(tmp_path, monkeypatch):
    jobs = [job(number, lambda context: {"x": 1}) for number in (1, 2)]
    run(jobs[:1], tmp_path)
    before = (tmp_path / "work" / "toy.jsonl").read_bytes()

    def fail(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(results.os, "fsync", fail)
        with pytest.raises(PlaitError, match=r"toy\.jsonl: No space left on device\. Free some space"):
            run(jobs, tmp_path)
    assert (tmp_path / "work" / "toy.jsonl").read_bytes() == before
    assert len(run(jobs, tmp_path)) == 2


def test_a_folder_that_cannot_be_created_raises_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PlaitError, match=r"cannot create .*work: Not a directory\. Choose another place"):
        run([job(1, lambda context: {})], tmp_path / "file")


def test_two_processes_cannot_work_in_one_folder(tmp_path):
    (tmp_path / "work").mkdir()
    code = """
import sys
from pathlib import Path
from plait.outputs import exclusive
with exclusive(Path(sys.argv[1]), "busy"):
    print("locked", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "work" / "lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(PlaitError, match=r"another process is working in .*: wait until it is done"):
            run([job(1, lambda context: {})], tmp_path)
        other.stdin.close()
    assert len(run([job(1, lambda context: {})], tmp_path)) == 1


def test_the_report_is_called_when_the_last_job_of_an_experiment_is_done(tmp_path):
    order = []

    def work_of(name):
        return lambda context: order.append(name) or {}

    jobs = [Job(name, {"k": k}, 1.0, work_of(name)) for name in ("a", "b") for k in range(2)]
    run_jobs(jobs, tmp_path, n_jobs=1, quiet=True, when_done=lambda name: order.append(name.upper()))
    assert sorted(order) == ["A", "B", "a", "a", "b", "b"]
    assert order.index("A") > order.index("a") + 1
    order.clear()
    run_jobs(jobs, tmp_path, n_jobs=1, quiet=True, when_done=lambda name: order.append(name.upper()))
    assert order == ["A", "B"]


def test_an_error_stops_all_jobs_and_keeps_finished_results(tmp_path):
    def fail(context):
        raise PlaitError("the disk is full")

    good = job(1, lambda context: {"ok": 1})
    with pytest.raises(PlaitError, match="the disk is full"):
        run([good, job(2, fail)], tmp_path, n_jobs=1)
    assert [row["ok"] for row in collect([good], tmp_path)] == [1]


def test_a_job_with_a_truncated_result_runs_again(tmp_path):
    jobs = [job(number, lambda context: {"x": 1}) for number in (1, 2)]
    run(jobs, tmp_path, n_jobs=1)
    path = tmp_path / "work" / "toy.jsonl"
    path.write_text(path.read_text()[:-9])
    assert len(collect(jobs, tmp_path)) == 1
    assert len(run(jobs, tmp_path)) == 2
    assert len(collect(jobs, tmp_path)) == 2


def test_a_damaged_file_of_results_is_named(tmp_path):
    jobs = [job(number, lambda context: {"x": 1}) for number in (1, 2)]
    run(jobs, tmp_path, n_jobs=1)
    path = tmp_path / "work" / "toy.jsonl"
    path.write_text("nonsense\n" + path.read_text())
    with pytest.raises(PlaitError, match=r"toy\.jsonl:1 is not a result"):
        collect(jobs, tmp_path)


def test_csv_leaves_out_columns_with_lists(tmp_path):
    rows = [{"m": 1, "x": 0.5, "course": [[1, 2]]}, {"m": 2, "x": np.float64(1.5).item(), "only": "here"}]
    write_rows(rows, tmp_path, "toy")
    assert json.loads((tmp_path / "toy.json").read_text()) == rows
    assert (tmp_path / "toy.csv").read_text().splitlines() == ["m,x,only", "1,0.5,", "2,1.5,here"]


def test_progress_is_shown(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("plait.progress.PLAIN_SECONDS", 0.0)
    run_jobs([sampling(1, slow=0.1)], tmp_path, n_jobs=1)
    assert "% done" in capsys.readouterr().err
