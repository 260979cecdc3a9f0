"""Ctrl-C, SIGTERM and SIGHUP: what is in hand is finished first."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading

import pytest

from plait import interrupts
from plait.interrupts import exit_status, handled_terminations, interrupt_flag

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends signals")

NUMBERS = (signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def default_handlers():
    """Start from the handlers of a new process, and restore those of the tests."""
    before = {number: signal.getsignal(number) for number in NUMBERS}
    for number in NUMBERS:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def in_a_child(work):
    """Run a function in a forked process; return the exit status, negative for a signal."""
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("number", NUMBERS)
def test_a_termination_ends_the_process_if_nothing_is_in_hand(number):
    def work():
        with handled_terminations():
            os.kill(os.getpid(), number)

    assert in_a_child(work) == -number


def test_the_exit_status_is_that_of_a_process_ended_by_the_signal():
    stopped = KeyboardInterrupt()
    assert exit_status(stopped) == 130
    stopped.number = signal.SIGTERM
    assert exit_status(stopped) == 143


def test_terminations_that_come_together_are_one(monkeypatch):
    with handled_terminations(), interrupt_flag() as flag:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTERM):
            os.kill(os.getpid(), number)
        assert flag.number == signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGINT, *NUMBERS])
def test_the_first_signal_sets_the_flag_and_the_second_stops(number, capfd, monkeypatch):
    monkeypatch.setattr(interrupts, "_ECHO_SECONDS", 0.0)

    def work():
        with interrupt_flag("sweep") as flag:
            assert not flag.is_set()
            os.kill(os.getpid(), number)
            assert flag.is_set()
            assert flag.number == number
            os.kill(os.getpid(), number)

    with handled_terminations():
        if number == signal.SIGINT:
            with pytest.raises(KeyboardInterrupt):
                work()
        else:
            assert in_a_child(work) == -number
        assert all(callable(signal.getsignal(n)) for n in NUMBERS)  # of the outer block
    assert "Finishing the sweep." in capfd.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, *NUMBERS])
def test_a_signal_sets_the_flags_of_all_blocks_around_it(number, capfd):
    with handled_terminations(), interrupt_flag("fit") as outer:
        with interrupt_flag("sweep") as inner:
            os.kill(os.getpid(), number)
            assert (inner.number, outer.number) == (number, number)
            assert inner.is_set()
        assert outer.is_set()
        with interrupt_flag() as later:
            assert later.is_set()
            assert later.number == number
    assert "Finishing the sweep." in capfd.readouterr().err
    with handled_terminations(), interrupt_flag() as another:
        assert not another.is_set()


def test_a_signal_between_inner_blocks_is_not_lost():
    with interrupt_flag("fit") as outer:
        with interrupt_flag() as first:
            pass
        os.kill(os.getpid(), signal.SIGINT)
        with interrupt_flag() as second:
            assert (first.is_set(), second.is_set(), outer.is_set()) == (False, True, True)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_block_that_is_finished_as_a_whole_protects_the_blocks_in_it(capfd):
    with handled_terminations(), interrupt_flag("loop") as loop:
        with interrupt_flag("fit", whole=True) as fit, interrupt_flag("sweep") as sweep:
            os.kill(os.getpid(), signal.SIGINT)
            assert not sweep.is_set()
        assert fit.is_set()
    assert loop.is_set()
    assert "Finishing the fit." in capfd.readouterr().err


def test_a_library_prints_nothing_on_ctrl_c_and_tells_the_logger(capfd, caplog):
    with interrupt_flag():
        os.kill(os.getpid(), signal.SIGINT)
    assert capfd.readouterr().err == ""
    with caplog.at_level("INFO", "plait"), interrupt_flag():
        os.kill(os.getpid(), signal.SIGINT)
    assert caplog.messages[-1] == "Finishing the sweep. Press Ctrl-C again to stop at once."
    assert capfd.readouterr().err == ""


def test_the_second_ctrl_c_leaves_nested_blocks_at_once():
    def work():
        with interrupt_flag("fit"), interrupt_flag():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            pytest.fail("the second signal was ignored")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("number", NUMBERS)
def test_python_programs_that_do_not_ask_for_it_keep_their_terminations(number):
    with interrupt_flag():
        assert signal.getsignal(number) == signal.SIG_DFL


@pytest.mark.parametrize("number", NUMBERS)
def test_ignored_signals_stay_ignored(number):
    signal.signal(number, signal.SIG_IGN)  # as under nohup
    with handled_terminations(), interrupt_flag() as flag:
        os.kill(os.getpid(), number)
        assert not flag.is_set()
    assert signal.getsignal(number) == signal.SIG_IGN


def test_the_handlers_of_a_program_stay():
    def own(number, frame):
        pass

    signal.signal(signal.SIGTERM, own)
    with handled_terminations(), interrupt_flag():
        assert signal.getsignal(signal.SIGTERM) is own
    assert signal.getsignal(signal.SIGTERM) is own


def test_a_closed_terminal_does_not_matter(monkeypatch):
    class Gone(io.StringIO):
        def write(self, text):
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("sys.stderr", Gone())
    with handled_terminations(), interrupt_flag() as flag:
        os.kill(os.getpid(), signal.SIGHUP)
        assert flag.is_set()


def test_outside_the_main_thread_nothing_changes():
    seen = []

    def work():
        with handled_terminations(), interrupt_flag() as flag:
            seen.append((signal.getsignal(signal.SIGTERM), flag.is_set()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(signal.SIG_DFL, False)]
