"""Run experiments and write the page."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Final

from plait.checks import check_choice, check_integer
from plait.errors import PlaitError, PlaitWarning
from plait.evaluate import figure_style as figures
from plait.outputs import replacing
from plait.paper.findings import Experiment, Section
from plait.paper.page import write_page
from plait.paper.results import write_rows
from plait.paper.work import collect, run_jobs
from plait.version import __version__

EXPERIMENTS: Final = ("table1", "hmm", "sotu", "ablation")

TITLE: Final = "Interdependent Gibbs samplers: the paper and plait"
FACTS: Final = (
    "Verdicts are computed from the numbers: all, some or none of the checks hold. Where the runs are too few"
    " or too short to decide, there is no verdict.",
    "Repeated runs have the seeds 0, 1, 2 and so on, unless a section says otherwise. The JSON and CSV files"
    " list them.",
)


def experiment_of(name: str, scale: str, n_sweeps: int | None = None) -> Experiment:
    """Return an experiment at a scale: "quick", "paper", or "tiny", which is for tests."""
    check_choice("experiment", name, EXPERIMENTS)
    check_choice("scale", scale, ("quick", "paper", "tiny"))
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

    Results that are already in the folder are not recomputed. The page is rewritten after each experiment.

    Parameters
    ----------
    names : sequence of str
        The experiments to run, from `EXPERIMENTS`.
    folder : Path
        Folder for the results.
    scale : {"quick", "paper"}
        Sizes that take minutes, or the paper's sizes.
    n_sweeps : int, optional
        Number of sweeps of all runs, instead of that of the scale.
    n_jobs : int, optional
        Number of simultaneous runs; all cores by default.
    quiet : bool
        Whether to hide progress.
    command : str
        The command that the page names as its origin.

    Returns
    -------
    list of Section
    """
    if n_sweeps is not None:
        check_integer("n_sweeps", n_sweeps, least=2)
    if folder.exists() and not folder.is_dir():
        raise PlaitError(f"{folder} is a file, not a folder: choose another place")
    figures.import_matplotlib()  # fail early if matplotlib is missing
    experiments = {name: experiment_of(name, scale, n_sweeps) for name in names}
    plans = {name: experiment.jobs() for name, experiment in experiments.items()}

    def report(name: str) -> None:
        rows = collect(plans[name], folder)
        write_rows(rows, folder, name)
        made_by = f"{command or 'plait.paper.reproduce'} (plait {__version__})"
        with figures.styled():
            section = replace(experiments[name].report(rows, folder), made_by=made_by)
        with replacing(_section_file(folder, name)) as temporary:
            temporary.write_text(json.dumps(section.to_dict()), encoding="utf-8")
        # The page also shows results of earlier commands in the folder.
        write_page(_read_sections(folder, EXPERIMENTS), folder, TITLE, FACTS)

    jobs = [job for plan in plans.values() for job in plan]
    run_jobs(jobs, folder, n_jobs=n_jobs, quiet=quiet, when_done=report)
    return _read_sections(folder, names)


def _section_file(folder: Path, name: str) -> Path:
    return folder / "work" / f"{name}.section"


def _read_sections(folder: Path, names: Sequence[str]) -> list[Section]:
    """Return the reports on those of the experiments that are in the folder."""
    sections = []
    for name in names:
        path = _section_file(folder, name)
        if path.exists():
            try:
                sections.append(Section.from_dict(json.loads(path.read_text(encoding="utf-8"))))
            except (ValueError, TypeError, KeyError):
                warnings.warn(
                    f"{path} was written by another version and is left out of the page: run {name} again",
                    PlaitWarning,
                    stacklevel=2,
                )
    return sections
