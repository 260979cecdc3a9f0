"""Who computes the sweeps of a run: threads in this process, or workers in other processes.

The partially collapsed sampler (Algorithm 1) needs little of a cluster. Given phi, the units of the data do
not depend on each other. So in each sweep

    driver                                    workers
    draw phi from the counts    -- phi -->
                                              draw the paths of their units given phi
                                <-- sums --   count them

The sampling loop, `plait.sampler`, asks an `Engine` for sweeps, and knows nothing else:

    local.InProcess              threads in this process; every sampler and every model
    distributed.Distributed      any `Workers`; partially collapsed stages of models that can be cut

`Workers` are three calls, `place`, `compute` and `gather`, and have two forms:

    dask_workers.DaskWorkers     a Dask cluster: elastic; workers may die and join
    mpi_workers.MpiWorkers       processes started by mpirun or srun; sums by Allreduce

**The bits are those of one process.** Random streams are keyed by the number of the sweep and the unit, so
paths do not depend on who draws them. Counts are whole numbers, and may be added in any order. Sums of real
numbers (Gaussian emissions, log-likelihoods) are computed for fixed ranges of the data, gathered, and added
in the order of the ranges; shares consist of whole ranges. See `plait.models.model.DivisibleModel`.

**What lasts is with the driver**: the model, the number of the sweep, and the paths of the last checkpoint.
Workers keep paths between sweeps, but when one is lost, the driver places the paths of the checkpoint again
and repeats the sweeps since then. A killed driver is resumed from its file like any run, on any engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from plait.checks import short_repr
from plait.engine.contract import Engine, Workers
from plait.engine.distributed import Distributed, check_stages
from plait.engine.local import InProcess
from plait.errors import Argument, PlaitError
from plait.run import Run

__all__ = [
    "Distributed",
    "Engine",
    "InProcess",
    "Workers",
    "check_cluster",
    "check_stages",
    "on_first_process",
    "use_workers",
]


def check_cluster(cluster: Any) -> None:
    """Raise an error unless `use_workers` takes the argument and its library is installed."""
    if cluster is None or _is_workers(cluster):
        return
    module, extra = ("mpi4py", "mpi") if cluster == "mpi" else ("distributed", "cluster")
    is_local = isinstance(cluster, str) and re.fullmatch("local:[1-9][0-9]{0,3}", cluster)
    is_address = isinstance(cluster, str) and re.fullmatch(r"([a-z]+://)?[^\s/:]\S*:[0-9]{1,5}", cluster)
    is_client = any(kind.__module__.startswith("distributed.") for kind in type(cluster).__mro__)
    if not (cluster == "mpi" or is_local or (is_address and not cluster.startswith("local:")) or is_client):
        raise PlaitError(
            Argument("cluster"),
            ' must be "local:N" for N workers on this machine, the address of a Dask scheduler such as'
            f' "tcp://host:8786", a Dask client, or "mpi", got {short_repr(cluster)}',
        )
    try:
        __import__(module)
    except ImportError as error:
        raise PlaitError(
            f"{Argument('cluster')} needs the package {module}: pip install 'plait[{extra}]'"
        ) from error


def _is_workers(cluster: Any) -> bool:
    return hasattr(cluster, "place") and hasattr(cluster, "compute")


@contextmanager
def use_workers(cluster: Any, n_jobs: int | None = None) -> Iterator[Workers | None]:
    """Yield workers for a `with` block, or None for None; existing workers are passed through.

    Parameters
    ----------
    cluster : None, str, distributed.Client or Workers
        "local:N" for N processes on this machine, the address of a Dask scheduler, a Dask client, or "mpi".
    n_jobs : int, optional
        Number of threads on this machine, which "local:N" workers share; with "mpi", of each process.
    """
    if cluster is None or _is_workers(cluster):
        yield cluster
        return
    check_cluster(cluster)
    workers: Workers
    if cluster == "mpi":
        from plait.engine import mpi_workers

        workers = mpi_workers.connect(n_jobs)
    else:
        from plait.engine import dask_workers

        workers = dask_workers.connect(cluster, n_jobs)
    try:
        yield workers
    finally:
        workers.close()


def on_first_process(cluster: Any, drive: Callable[[], Run]) -> Run:
    """Return what `drive` returns; under mpirun, only the first process calls it and the others help."""
    if cluster != "mpi":
        return drive()
    from plait.engine import mpi_workers

    return mpi_workers.on_first_process(drive)
