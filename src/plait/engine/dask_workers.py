"""Workers of a Dask cluster: one task for each worker and order.

A worker keeps its share between tasks in `_HELD`, by the name of the run. It is lost when the worker dies;
`plait.engine.distributed` then places the shares again, on the workers that there are. Dask's own means would
not do: actors are lost with their worker, and a chain of futures is computed again from its start.

What all workers need, such as phi, is sent to each of them under a name of its own, because Dask removes
copies of a broadcast that it thinks are too many. It is sent from here to the workers, and answers come back
in the same way, not through the scheduler. Workers on this machine map the driver's memory instead, and the
driver theirs; see `plait.engine.passing`.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from typing import Any, Final, NamedTuple

import distributed
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from plait.engine.contract import WorkersLost
from plait.engine.cutting import Cut, cut_ranges
from plait.engine.orders import Held, Order, ShareLost, joined
from plait.engine.passing import can_receive, passed, received
from plait.errors import PlaitError, PlaitWarning
from plait.models.model import DivisibleModel, Paths
from plait.models.shares import Share
from plait.threads import Threads, count_threads

NOTICE_SECONDS: Final = 30.0
"""Time without an answer after which a run says what it waits for."""

LIMIT_SECONDS: Final = 600.0
"""Time without an answer after which a run fails; longer if answers have taken long before."""

_SLOWEST_TIMES = 20  # that many times as long as for the slowest answer so far is waited
_CHECK_SECONDS = 0.5  # between looks at which workers there are
_IDLE_SECONDS = 3600.0  # after which a worker forgets the share of another run: its driver may be dead
_GONE = (CommClosedError, KilledWorker, ShareLost, OSError, CancelledError)


class _Place(NamedTuple):
    """A worker and its cut of the data."""

    address: str
    cut: Cut
    is_here: bool
    """Whether it is on this machine."""


class DaskWorkers:
    """`Workers` of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        A client of the cluster.
    on_close : iterable of callable
        What is called in the end.
    """

    can_be_lost = True

    def __init__(self, client: distributed.Client, on_close: Iterable[Callable[[], object]] = ()) -> None:
        self._client, self._on_close = client, tuple(on_close)
        self._run = uuid.uuid4().hex
        self._places: list[_Place] = []
        self._most_places = 0
        self._slowest = 0.0

    def place(self, model: DivisibleModel[Any, Any], paths: Paths, sweep: int) -> None:
        """Give each worker that there is its share."""
        found = self._wait_for_workers()
        ranges = model.site_ranges()
        self._most_places = len(ranges)
        cuts = cut_ranges(ranges, list(found.values()))
        places = [_Place(address, cut, False) for address, cut in zip(found, cuts, strict=False)]
        secret = uuid.uuid4().hex
        token = passed(secret, 0)
        are_here = self._ask(places, _can_receive, lambda place: (token, secret))
        self._places = [place._replace(is_here=here) for place, here in zip(places, are_here, strict=True)]

        def share(place: _Place) -> Any:
            own = paths[:, place.cut.begin : place.cut.end].copy()
            return model.share(place.cut.first, place.cut.last), own, sweep

        for part in self._places:  # one after another, so that there is a copy of one share only
            self._ask([part], _hold, share)

    def compute(self, order: Order) -> Any:
        """Let all workers carry out an order, and return their answers in one."""
        shared = passed(order) if any(place.is_here for place in self._places) else None

        def own(place: _Place) -> Any:
            return (shared, True) if place.is_here else (order, False)

        answers = self._ask(self._places, _carry_out, own)
        try:
            return joined([received(answer) for answer in answers], order.exact)
        except OSError as error:  # the worker died after its answer
            raise WorkersLost from error

    def gather(self, paths: Paths) -> None:
        """Fill `paths` (m, N) with those of all workers."""
        for place in self._places:
            (own,) = self._ask([place], _paths_of, lambda place: None)
            paths[:, place.cut.begin : place.cut.end] = own

    def has_joined(self) -> bool:
        """Return whether there are workers that have no share, but could have one."""
        others = self._found().keys() - {place.address for place in self._places}
        return bool(others) and len(self._places) < self._most_places

    def close(self) -> None:
        """Let the workers forget their shares, and end those that were started for the run."""
        alive = self._client.status == "running"
        if alive:
            for place in self._places:
                self._client.submit(_forget, self._run, workers=[place.address], pure=False)
        for close in self._on_close:
            close()

    # ---------------------------------------------------------------------------------------------
    # Tasks
    # ---------------------------------------------------------------------------------------------

    def _ask(
        self, places: Sequence[_Place], task: Callable[..., Any], what: Callable[[_Place], Any]
    ) -> list[Any]:
        """Return the results of a task on some workers, each of which is sent something."""

        async def ask(place: _Place) -> Any:
            # Under a name of its own, and not as an argument: those go through the scheduler.
            options = {"workers": [place.address], "direct": True, "hash": False, "asynchronous": True}
            (sent,) = await self._client.scatter([what(place)], **options)
            future = self._client.submit(task, self._run, sent, workers=[place.address], pure=False)
            del sent
            return await self._client.gather(future, direct=True, asynchronous=True)

        async def ask_all() -> list[Any]:
            return await asyncio.gather(*map(ask, places))

        asked = asyncio.run_coroutine_threadsafe(ask_all(), self._client.loop.asyncio_loop)  # type: ignore[union-attr]
        begun, noticed = time.monotonic(), False
        while True:
            try:
                answers = asked.result(_CHECK_SECONDS)
                break
            except TimeoutError:
                if asked.done():  # it is the error of a connection
                    raise WorkersLost from None
            except _GONE as error:
                raise WorkersLost from error
            addresses = [place.address for place in places]
            try:
                if not self._found().keys() >= set(addresses):
                    raise WorkersLost
                noticed = self._be_patient(begun, noticed, f"an answer of {' or '.join(addresses)}")
            except BaseException:
                asked.cancel()
                raise
        self._slowest = max(self._slowest, time.monotonic() - begun)
        return answers

    def _wait_for_workers(self) -> dict[str, int]:
        """Return the numbers of threads of all workers by their addresses, once there are any."""
        begun, noticed = time.monotonic(), False
        while not (found := self._found()):
            noticed = self._be_patient(begun, noticed, "a worker to join")
            time.sleep(_CHECK_SECONDS)
        return found

    def _found(self) -> dict[str, int]:
        """Return the numbers of threads of all workers by their addresses."""
        try:
            return dict(sorted(self._client.nthreads().items()))
        except (*_GONE, TimeoutError, RuntimeError) as error:
            raise PlaitError(
                "the Dask scheduler does not answer any more: start a cluster, and resume the run from its"
                " checkpoint"
            ) from error

    def _be_patient(self, begun: float, noticed: bool, what: str) -> bool:
        """Say what is waited for after a while, and raise an error after a long while."""
        waited = time.monotonic() - begun
        limit = max(LIMIT_SECONDS, _SLOWEST_TIMES * self._slowest)
        if waited > limit:
            raise PlaitError(
                f"waited {limit:.0f} s for {what}: look at the cluster, and resume the run from its"
                " checkpoint"
            )
        if waited > NOTICE_SECONDS and not noticed:
            message = f"waiting for {what}, for {waited:.0f} s so far, and for {limit:.0f} s at most"
            warnings.warn(message, PlaitWarning, stacklevel=2)
            return True
        return noticed


def connect(address: Any, n_jobs: int | None = None) -> DaskWorkers:
    """Return the workers of a client, of a cluster's scheduler, or "local:N" workers on this machine."""
    if isinstance(address, distributed.Client):
        return DaskWorkers(address)
    if address.startswith("local:"):
        n_workers = int(address.removeprefix("local:"))
        threads = max(1, count_threads(n_jobs) // n_workers)
        cluster = distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=threads,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit=0,  # Dask would restart workers whose memory it cannot account for
            silence_logs=logging.CRITICAL,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # what little is left of it without one
        )
        client = distributed.Client(cluster)
        return DaskWorkers(client, (client.close, cluster.close))
    try:
        client = distributed.Client(address)
    except (OSError, ValueError, TimeoutError) as error:
        raise PlaitError(
            f"there is no Dask scheduler at {address} ({error}): start one with `dask scheduler`"
        ) from error
    return DaskWorkers(client, (client.close,))


# -----------------------------------------------------------------------------------------------------
# Tasks, which run on the workers
# -----------------------------------------------------------------------------------------------------


class _Lease:
    """A share on this worker, and when it was used last."""

    def __init__(self, held: Held) -> None:
        self.held, self.used = held, time.monotonic()
        self.answer: Any = None  # kept until the next order, so that the driver can receive it


_HELD: dict[str, _Lease] = {}
"""The shares that this worker holds, by the names of runs."""


def _hold(run: str, given: tuple[Share, Paths, int]) -> None:
    """Keep a share."""
    now = time.monotonic()
    for other, lease in list(_HELD.items()):
        if other == run or now - lease.used > _IDLE_SECONDS:
            del _HELD[other]
    share, paths, sweep = given
    threads = Threads(distributed.get_worker().state.nthreads)
    _HELD[run] = _Lease(Held(share, paths if paths.flags.writeable else paths.copy(), sweep, threads))


def _lease(run: str) -> _Lease:
    lease = _HELD.get(run)
    if lease is None:
        raise ShareLost
    lease.used = time.monotonic()
    return lease


def _can_receive(run: str, given: tuple[Any, str]) -> bool:
    return can_receive(*given)


def _carry_out(run: str, given: tuple[Any, bool]) -> Any:
    lease, (order, is_here) = _lease(run), given
    lease.answer = None
    answer = lease.held.carry_out(received(order))
    lease.answer = passed(answer) if is_here else answer
    return lease.answer


def _paths_of(run: str, _: None) -> Paths:
    return _lease(run).held.paths


def _forget(run: str) -> None:
    _HELD.pop(run, None)
