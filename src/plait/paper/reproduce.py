"""All experiments: run what is asked for, then write the page."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from plait.checks import check_integer
from plait.errors import PlaitError
from plait.paper.findings import Experiment, Section
from plait.paper.page import write_page
from plait.paper.work import collect, run_jobs, write_rows
from plait.progress import describe_seconds
from plait.version import __version__

EXPERIMENTS: Final = ("table1", "hmm", "sotu", "ablation")
SCALE_NAMES: Final = ("quick", "paper")


def experiment_of(name: str, scale: str, n_sweeps: int | None = None) -> Experiment:
    """Return an experiment at a scale: "quick", "paper", or "tiny", which is for tests."""
    experiment: Experiment = import_module(f"plait.paper.{name}").SCALES[scale]
    return experiment if n_sweeps is None else experiment.with_sweeps(n_sweeps)


def reproduce(
    names: Sequence[str],
    folder: Path,
    *,
    scale: str = "quick",
    n_sweeps: int | None = None,
    n_jobs: int | None = None,
    quiet: bool = False,
    command: str = "",
) -> list[Section]:
    """Run experiments of the paper, and write results, figures and a page into a folder.

    What is in the folder already is not run again.

    Parameters
    ----------
    names : sequence of str
        Which ones, of `EXPERIMENTS`.
    folder : Path
        Where to.
    scale : {"quick", "paper"}
        Minutes, or the paper's sizes.
    n_sweeps : int, optional
        Another number of sweeps than that of the scale, for all runs.
    n_jobs : int, optional
        How many runs at a time; all cores by default.
    quiet : bool
        Whether to show no progress.
    command : str
        How the page says that it was made.

    Returns
    -------
    list of Section
    """
    if n_sweeps is not None:
        check_integer("the number of sweeps", n_sweeps, least=2)
    if folder.exists() and not folder.is_dir():
        raise PlaitError(f"{folder} is not a folder: choose another place")
    experiments = [experiment_of(name, scale, n_sweeps) for name in names]
    plans = [experiment.jobs() for experiment in experiments]
    run_jobs([job for jobs in plans for job in jobs], folder, n_jobs=n_jobs, quiet=quiet)
    sections = []
    for experiment, jobs in zip(experiments, plans, strict=True):
        rows = collect(jobs, folder)
        write_rows(rows, folder, experiment.name)
        sections.append(experiment.tell(rows, folder))
    seconds = sum(section.seconds for section in sections)
    facts = [
        f"Made by: {command}" if command else "",
        f"plait {__version__}, scale: {scale}; the runs of a kind have the seeds 0, 1, 2, ...",
        f"All runs together took {describe_seconds(seconds)} of one core.",
        "Verdicts are computed from the numbers: all, some or none of the checks hold.",
    ]
    title = "Interdependent Gibbs samplers: the paper and plait"
    write_page(sections, folder, title, [fact for fact in facts if fact])
    return sections
