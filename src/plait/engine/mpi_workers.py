"""Workers under MPI: the processes that mpirun or srun started, the first of which drives and works, too.

Whole numbers are added by one Allreduce for each array. All else, such as terms for ranges of the data, is
small, and is gathered by the first process. If a process dies, MPI ends them all; the run is resumed from its
file.

Processes that wait for an order sleep, so that the first one has the cores of a machine that they share.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from mpi4py import MPI
from mpi4py.util import pkl5

from plait.engine.cutting import Cut, cut_ranges
from plait.engine.orders import Held, Order, arrays_in
from plait.models.model import DivisibleModel, Paths
from plait.run import Run
from plait.threads import Threads, count_threads

_WORLD: Final = pkl5.Intracomm(MPI.COMM_WORLD)  # sends arrays without copies, and more than 2 GB
_ON_THIS_MACHINE: Final = MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED).size  # all processes ask at once
_SLEEP_SECONDS = 2e-4  # between two looks for an order
_PLACE, _ORDER, _GATHER, _END = range(4)


class MpiWorkers:
    """`Workers` under MPI, as the first process sees them.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads of this process.
    """

    can_be_lost = False

    def __init__(self, n_jobs: int | None = None) -> None:
        self._member = _Member(n_jobs)
        self._cuts: list[Cut] = []

    def place(self, model: DivisibleModel[Any, Any], paths: Paths, sweep: int) -> None:
        """Give each process its share; small data leave some without one."""
        self._cuts = cut_ranges(model.site_ranges(), [1.0] * _WORLD.size)
        _announce(_PLACE)
        _announce(len(self._cuts))
        self._member.join(len(self._cuts))
        for rank, cut in reversed(list(enumerate(self._cuts))):
            own = paths[:, cut.begin : cut.end].copy()
            given = model.share(cut.first, cut.last), own, sweep
            if rank:
                _WORLD.send(given, rank)
            else:
                self._member.hold(given)

    def compute(self, order: Order) -> Any:
        """Let all processes carry out an order, and return their answers in one."""
        _announce(_ORDER)
        return self._member.carry_out(order)

    def gather(self, paths: Paths) -> None:
        """Fill `paths` (m, N) with those of all processes."""
        _announce(_GATHER)
        for rank, cut in enumerate(self._cuts):
            paths[:, cut.begin : cut.end] = _WORLD.recv(source=rank) if rank else self._member.paths

    def has_joined(self) -> bool:
        """Return False: the number of processes is fixed."""
        return False

    def close(self) -> None:
        """Do nothing: the processes wait for orders until the first one ends."""


class _Member:
    """A process and its share."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self._threads = Threads(_threads_of_process() if n_jobs is None else n_jobs)
        self._held: Held | None = None
        self._sharing: Any = None

    def join(self, n_shares: int) -> None:
        """Join the processes that get one of so many shares, the first ones."""
        self._held = None
        has_share = _WORLD.rank < n_shares
        group = MPI.COMM_WORLD.Split(0 if has_share else MPI.UNDEFINED, _WORLD.rank)
        self._sharing = pkl5.Intracomm(group) if has_share else None

    @property
    def has_share(self) -> bool:
        return self._sharing is not None

    def hold(self, given: tuple[Any, Paths, int]) -> None:
        """Keep a share."""
        self._held = Held(*given, self._threads)

    @property
    def paths(self) -> Paths:
        """The paths of the share."""
        assert self._held is not None
        return self._held.paths

    def carry_out(self, order: Order | None) -> Any:
        """Return the answer of all processes to an order, which the first one gives and the others receive.

        If it is not exact, only the first process gets all of it.
        """
        order = self._sharing.bcast(order)
        assert order is not None
        answer, error = None, None
        try:
            assert self._held is not None
            answer = self._held.carry_out(order)
        except Exception as own:  # the first process raises it: if this one ended here, the others would wait
            error = own
        errors = [other for other in self._sharing.allgather(error) if other is not None]
        if errors:
            raise errors[0]
        if order.exact:
            for array in arrays_in(answer):
                self._sharing.Allreduce(MPI.IN_PLACE, array, op=MPI.SUM)
            return answer
        answers = self._sharing.gather(answer)
        return None if answers is None else [part for own in answers for part in own]


def connect(n_jobs: int | None = None) -> MpiWorkers:
    """Return the processes, for the first of them, which drives."""
    return MpiWorkers(n_jobs)


def is_first_process() -> bool:
    """Return whether this is the process that drives; the others are let go when it ends, however it does."""
    if _WORLD.rank == 0:
        atexit.unregister(_end)
        atexit.register(_end)
    return bool(_WORLD.rank == 0)


def on_first_process(drive: Callable[[], Run]) -> Run:
    """Return what `drive` returns; the other processes work for it and get the result."""
    if not is_first_process():
        run = serve(wants_run=True)
        if run is None:
            sys.exit(1)  # without a word: the first process says what is wrong
        return run
    run = None
    try:
        run = drive()
    finally:
        _end(run)
    return run


def serve(n_jobs: int | None = None, *, wants_run: bool = False) -> Run | None:
    """Carry out orders until the first process ends, or its run; return the run if it is wanted.

    Signals are for the first process, which finishes its sweep.
    """
    member = _Member(n_jobs)
    with _signals_ignored():
        return _serve(member, wants_run)


def _serve(member: _Member, wants_run: bool) -> Run | None:
    while True:
        what = _awaited()
        if what == _END:
            return _exchanged(None, wants_run)
        if what == _PLACE:
            member.join(_awaited())
            if member.has_share:
                member.hold(_WORLD.recv(source=0))
        elif member.has_share and what == _ORDER:
            try:
                member.carry_out(None)
            except Exception:  # the first process raises it, too
                continue
        elif member.has_share:
            _WORLD.send(member.paths, 0)


@contextmanager
def _signals_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # where signals cannot be set
        yield
        return
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), signal.SIG_IGN) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def _end(run: Run | None = None) -> None:
    """Let the other processes go."""
    atexit.unregister(_end)
    _announce(_END)
    _exchanged(run, False)


def _exchanged(run: Run | None, wants_run: bool) -> Run | None:
    """Return the run of the first process, if any process wants it."""
    if not _WORLD.allreduce(wants_run, op=MPI.LOR):
        return None
    shared: Run | None = _WORLD.bcast(run)
    return shared


def _announce(number: int) -> None:
    """Send a number to all other processes."""
    _WORLD.Ibcast(np.array([number])).Wait()


def _awaited() -> int:
    """Return the number that the first process announces next; sleep until it does."""
    number = np.empty(1, int)
    request = _WORLD.Ibcast(number)
    while not request.Test():
        time.sleep(_SLEEP_SECONDS)
    return int(number[0])


def _threads_of_process() -> int:
    """Return the number of cores of this process: its own, or its share of those of the machine."""
    cores = count_threads(None)
    if hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) < (os.cpu_count() or 1):
        return cores
    return max(1, cores // _ON_THIS_MACHINE)
