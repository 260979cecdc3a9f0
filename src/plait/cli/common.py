"""Shared parts of the commands: errors, options, and messages about runs and files."""

from __future__ import annotations

import functools
import json
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import click

from plait.cli.output import print_json, writing_output
from plait.display import one_line, say, shell_word, visible
from plait.errors import Argument, PlaitError, PlaitWarning
from plait.interrupts import exit_status, handled_terminations

if TYPE_CHECKING:
    from plait.run import Run
    from plait.sampler import Callback

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = {
    "checkpoint_seconds": "--checkpoint-every",
    "covariance_type": "--covariance",
    "initial": "--init",
    "n_init": "--restarts",
    "n_jobs": "--jobs",
    "n_particles": "--particles",
    "n_seeds": "--seeds",
    "n_paths": "--paths",
    "n_states": "--states",
    "n_sweeps": "--sweeps",
    "n_tokens": "--tokens",
    "n_topics": "--topics",
    "split_paragraphs": "--paragraphs",
    "start_prior": "--prior",
    "transition_prior": "--prior",
}
"""Options whose names differ from those of the arguments in Python."""


def options_below(group: click.Group) -> dict[str, str]:
    """Return all options of the commands of a group, by the names of the arguments in Python."""
    found: dict[str, str] = {}
    for command in group.commands.values():
        if isinstance(command, click.Group):
            found |= options_below(command)
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                found[str(parameter.name)] = max(parameter.opts, key=len)
    return found | _OPTIONS


def option_text(argument: Argument, options: Mapping[str, str]) -> str:
    """Return the option for an argument: n_jobs is --jobs, missing=True is --missing."""
    option = options.get(argument.name)
    if option is None:
        return str(argument)
    return option if argument.value is None or argument.value is True else f"{option} {argument.value}"


_TYPED = "plait.typed"


def typed_command() -> str:
    """Return the command as it was typed, for pasting into a shell."""
    context = click.get_current_context()
    words = (shlex.quote(word) if word.startswith("-") else shell_word(word) for word in context.meta[_TYPED])
    return " ".join(["plait", *words])


_KINDS = {"hmm": "a hidden Markov model", "lda": "a topic model", "slim-lda": "a topic model"}


class Commands(click.Group):
    """A group that turns plait's errors into one line and exit status 2."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the arguments; `--help` and `--version` print and end here."""
        typed = list(args[1] if len(args) > 1 else kwargs["args"])  # parsing takes arguments off the list
        with writing_output(), _visible_usage_errors():
            context = super().make_context(*args, **kwargs)
        context.meta[_TYPED] = typed
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Invoke the command."""
        with writing_output(), _visible_usage_errors():
            return self._invoke(ctx)

    def _invoke(self, ctx: click.Context) -> Any:
        try:
            with handled_terminations(), warnings.catch_warnings():
                warnings.simplefilter("always", PlaitWarning)
                warnings.showwarning = _show_once(set())
                return super().invoke(ctx)
        except PlaitError as error:
            options = options_below(self)
            _fail(error.message(lambda argument: option_text(argument, options)))
        except OSError as error:
            if error.filename is None:  # standard output, which the caller handles, or a bug
                raise
            _fail(one_line(f"{error.filename}: {error.strerror}: check the path and the disk"))
        except MemoryError as error:
            _fail(f"not enough memory{_in_brackets(error)}: free some, or use a machine with more")
        except KeyboardInterrupt as stopped:  # nothing was being written, or the command would have said so
            say("Stopped.")
            sys.exit(exit_status(stopped))


@contextmanager
def _visible_usage_errors() -> Iterator[None]:
    """Escape control characters in click's errors, which repeat what was typed."""
    try:
        yield
    except click.UsageError as error:
        # These repeat nothing, and have several lines: the choices, or the whole help.
        if isinstance(error, click.MissingParameter) or type(error).show is not click.UsageError.show:
            raise
        message = visible(one_line(error.format_message()), sys.stderr)
        raise click.UsageError(message, error.ctx) from None


def _in_brackets(error: MemoryError) -> str:
    """Return what an error says for a message; Python's own says nothing."""
    return f" ({error})" if str(error) else ""


def _fail(message: str) -> NoReturn:
    say(f"Error: {message}")
    sys.exit(2)


def _show_once(shown: set[str]) -> Callable[..., None]:
    """Return a function that shows warnings, each text once."""

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        kind = "Note" if issubclass(category, PlaitWarning) else category.__name__
        text = f"{kind}: {message}"
        if text not in shown:
            shown.add(text)
            say(text)

    return show


# -----------------------------------------------------------------------------------------------------
# Options
# -----------------------------------------------------------------------------------------------------

model_argument = click.argument("model", type=click.Path(path_type=Path))
input_argument = click.argument("input", type=click.Path(path_type=Path))
output_option = click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="File for the model."
)
paths_option = click.option(
    "--paths", type=int, default=5, show_default=True, help="Number of paths; 1 is plain Gibbs."
)
sweeps_option = click.option("--sweeps", type=int, default=1000, show_default=True, help="Number of sweeps.")
seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same result.")
checkpoint_option = click.option(
    "--checkpoint-every",
    "checkpoint_seconds",
    type=float,
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between two checkpoints; 0 writes one after every sweep.",
)
previous_option = click.option(
    "--keep-previous",
    is_flag=True,
    help="Also keep the checkpoint before the newest, which is used if the newest is damaged.",
)
overwrite_option = click.option("--overwrite", is_flag=True, help="Replace the output if it exists.")
jobs_option = click.option("--jobs", type=int, help="Number of threads.  [default: all cores]")
cluster_option = click.option(
    "--cluster",
    metavar="local:N|ADDRESS|mpi",
    help="Compute on N processes, on the Dask cluster at ADDRESS, or under mpirun.",
)
encoding_option = click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the text.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
raw_option = click.option(
    "--raw", is_flag=True, help="Write names exactly as they are: no escapes, no apostrophes."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs to read.")


def together(keyword: str, *options: Callable[[F], F]) -> Callable[[F], F]:
    """Add options to a command, which receives their values as one dict called `keyword`."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def command(**values: Any) -> Any:
            values[keyword] = {name: values.pop(name) for name in names}
            return function(**values)

        before = len(getattr(function, "__click_params__", ()))
        for option in reversed(options):
            command = option(command)
        added = command.__click_params__[before:]  # type: ignore[attr-defined]
        names = [parameter.name for parameter in added]
        return cast(F, command)

    return decorate


# -----------------------------------------------------------------------------------------------------
# Runs
# -----------------------------------------------------------------------------------------------------


def check_run(
    *,
    output: Path,
    inputs: Sequence[str | Path | None],
    overwrite: bool,
    paths: int = 1,
    sweeps: int = 1,
    seed: int,
    jobs: int | None,
    checkpoint_seconds: float,
) -> None:
    """Fail early, before a long read, if the sampler would refuse its settings or its output.

    The output is claimed until the command ends, so that no other command writes to it meanwhile.
    """
    from plait.checks import check_integer
    from plait.plans import Settings
    from plait.sampler import Checkpoints
    from plait.threads import count_threads

    Settings(n_paths=paths, n_sweeps=sweeps, seed=seed, collapsed=False, thin=1)
    check_integer("n_paths", paths, least=1)
    Checkpoints(seconds=checkpoint_seconds)
    count_threads(jobs)
    claim_output(output, overwrite=overwrite, resumable=True, inputs=inputs)


def join_cluster(cluster: str | None, jobs: int | None) -> None:
    """Check `--cluster`; under mpirun, all processes but the first work for it here, and end with it."""
    from plait.engine import check_cluster

    check_cluster(cluster)
    if cluster == "mpi":
        from plait.engine.mpi_workers import is_first_process, serve

        if not is_first_process():
            serve(jobs)
            sys.exit(0)


def claim_output(
    output: Path, *, overwrite: bool, resumable: bool = False, inputs: Sequence[str | Path | None] = ()
) -> None:
    """Check the place of an output, and keep other writers out until the command ends."""
    from plait.outputs import claimed

    sources = [None if source is None else Path(source) for source in inputs]
    claim = claimed(output, overwrite=overwrite, resumable=resumable, inputs=sources)
    click.get_current_context().with_resource(claim)


@contextmanager
def sampling(output: Path, quiet: bool, site_name: str) -> Iterator[Callback | None]:
    """Show progress, and after Ctrl-C, SIGTERM or SIGHUP say how to resume."""
    from plait.progress import show_progress
    from plait.sampler import Interrupted

    try:
        with show_progress(not quiet, site_name) as callback:
            yield callback
    except KeyboardInterrupt as stopped:
        if isinstance(stopped, Interrupted):
            more = f" --sweeps {2 * stopped.run.sweep}" if stopped.run.finished else ""
            say(
                f"Stopped: {stopped}. The run is saved in {output}; to resume it:",
                f"  plait resume {shell_word(output)}{more}",
            )
        else:
            say(
                f"Stopped at once. {output} holds the last checkpoint, if there is one; to resume it:",
                f"  plait resume {shell_word(output)}",
            )
        sys.exit(exit_status(stopped))
    except MemoryError as error:
        raise PlaitError(
            f"not enough memory to sample{_in_brackets(error)}: take fewer topics, states or paths, or a"
            " smaller vocabulary"
        ) from None


def read_json(source: Path, example: str) -> Any:
    """Return what a JSON file holds; if it is none, say what to write, by an example."""
    from plait.data.files import error_at, read_text

    text = read_text(source)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise error_at(source, None, f"it is not JSON ({error}): write {example}") from None


def load_run(model: Path, kind: str, instead: str) -> Run:
    """Load a run of a kind of model; for another kind, say what to do `instead`."""
    from plait.run import load

    run = load(model)
    if run.model.kind not in _KINDS:
        raise PlaitError(
            f"{model} holds a model of the kind {run.model.kind}, which has no command for this: read it in"
            " Python with plait.load"
        )
    if _KINDS[run.model.kind] != _KINDS[kind]:
        raise PlaitError(f"{model} holds {_KINDS[run.model.kind]}: {instead}")
    note_unfinished(run, model)
    return run.best


def note_unfinished(run: Run, model: Path) -> None:
    """Say so if a run is not finished."""
    if not run.finished:
        of_best = "" if run.best is run else "; what follows is of the best restart that is finished"
        say(f"Note: the run is at {run.position}; `plait resume {shell_word(model)}` resumes it{of_best}")


def describe_run(run: Run, output: Path, likelihood: str) -> None:
    """Print the result of a finished run."""
    from plait.progress import describe_seconds

    what = "sweeps" if run.settings.n_paths else "iterations of EM"
    best = ""
    if run.fit is not None and len(run.fit.seeds) > 1:
        best = f"Best of {len(run.fit.seeds)} restarts: "
    polished = " and EM" if run.settings.n_paths and run.em_history else ""
    say(
        f"{best}{run.sweep} {what}{polished} in {describe_seconds(run.seconds)}, {likelihood}."
        f" Model saved to {output}"
    )
    say(verdict_text(run, output))


def verdict_text(run: Run, output: Path) -> str:
    """Return whether a fit has converged and, if it may not have, the command that resumes it."""
    if run.settings.n_paths and not run.finished:
        return f"The fit is not finished: plait resume {shell_word(output)}"
    verdict = run.verdict()
    text = verdict.describe(run.model.site_name)
    if verdict.has_settled or verdict.what == "EM" or not run.settings.n_paths:
        return f"{text}."
    return f"{text}: plait resume {shell_word(output)} --sweeps {2 * run.sweep}"


def joint_likelihood(run: Run) -> str:
    """Return the last record of a trace in words: what it is the log-likelihood of, and how large it is."""
    from plait.progress import joint_of

    mean = run.trace.mean_log_joint()[-1] / max(1, run.model.n_sites)
    site_name = run.model.site_name
    return f"log-likelihood of {' and '.join(joint_of(site_name))} {mean:.4f} per {site_name}"


def print_run(run: Run, output: Path, **more: float) -> None:
    """Print a finished run as JSON."""
    from plait.answers.describing import verdict_as_json

    summary = {
        "model": str(output),
        "kind": run.model.kind,
        "sweeps": run.sweep,
        "paths": run.settings.n_paths,
        "seed": run.settings.seed if run.fit is None else run.fit.seed,
        "collapsed": run.settings.collapsed,
        "seconds": round(run.seconds, 3),
        "log_joint": [float(value) for value in run.trace.log_joint[-1]] if len(run.trace) else [],
        "sites": run.model.n_sites,
        "version": run.version,
        "verdict": verdict_as_json(run),
        **more,
    }
    if run.fit is not None:
        summary |= {"em": run.estimate is not None, "restarts": list(run.fit.scores)}
    print_json(summary)
