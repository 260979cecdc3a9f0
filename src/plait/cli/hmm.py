"""Commands for hidden Markov models."""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plait.cli.common import (
    check_run,
    checkpoint_option,
    claim_output,
    cluster_option,
    describe_run,
    encoding_option,
    input_argument,
    jobs_option,
    join_cluster,
    json_option,
    load_run,
    model_argument,
    output_option,
    overwrite_option,
    paths_option,
    previous_option,
    print_run,
    quiet_option,
    raw_option,
    sampling,
    seed_option,
    together,
)
from plait.cli.decoding import write_array, write_text
from plait.cli.hmm_models import families_of, model_of
from plait.cli.output import print_json, print_named_table
from plait.cli.reading import delimiter_option, max_unpacked_option, split_names
from plait.cli.watching import watch, watch_options
from plait.display import say, shell_word
from plait.errors import Argument, PlaitError
from plait.interrupts import exit_status

if TYPE_CHECKING:
    from plait.data.sequences import Sequences
    from plait.evaluate.states import StateSummary
    from plait.inference.states import Decoded
    from plait.run import Run


_reading = together(
    "reading",
    click.option("--id-column", metavar="NAME", help="Column with the id of the sequence of each row."),
    click.option(
        "--time-column",
        metavar="NAME",
        help="Column that says when; it is kept in the model, and `plait decode` shows it.",
    ),
    click.option(
        "--columns",
        metavar="A,B,C",
        callback=split_names,
        help="Columns with the observations.  [default: all but these]",
    ),
    click.option("--lengths", metavar="FILE", help="File with the length of each sequence (for .npy)."),
    click.option("--missing", is_flag=True, help="Take empty cells, NA and NaN as missing observations."),
    delimiter_option,
    encoding_option,
    max_unpacked_option,
)


@click.command("hmm", short_help="Fit a hidden Markov model.")
@input_argument
@output_option
@click.option("--states", type=int, required=True, help="Number of states.")
@click.option(
    "--emissions",
    metavar="FAMILY|COLUMN=FAMILY,...",
    required=True,
    help="Distribution of the observations in a state: bernoulli, categorical (symbols), exponential, gamma, "
    "gaussian, lognormal, negative-binomial, poisson or vonmises (angles in radians). Or one for each "
    "column, as in step=gamma,angle=vonmises; other columns are not used.",
)
@paths_option
@click.option(
    "--sweeps",
    type=int,
    default=1000,
    show_default=True,
    help="Number of sweeps (after a search 10); also the maximum number of iterations of EM.",
)
@click.option(
    "--method",
    type=click.Choice(["search", "blocked", "single-site", "collapsed", "em"]),
    default="search",
    show_default=True,
    help="search tries many starts and drops the weaker ones early; blocked draws whole paths; single-site "
    "draws one state at a time; collapsed integrates the parameters out (categorical emissions only); em is "
    "Baum-Welch, without sampling.",
)
@click.option(
    "--restarts", type=int, default=1, show_default=True, help="Number of random restarts; the best is kept."
)
@click.option(
    "--polish/--no-polish", default=True, help="End with EM, at the exact local maximum.  [default: polish]"
)
@click.option(
    "--covariance",
    type=click.Choice(["spherical", "diag", "full", "tied"]),
    help="Form of the covariance (gaussian).  [default: diag]",
)
@click.option("--left-right", is_flag=True, help="Start in state 0; a state leads to itself or to the next.")
@click.option(
    "--prior",
    type=float,
    default=1.0,
    show_default=True,
    help="Dirichlet prior of starts, transitions and symbols.",
)
@seed_option
@overwrite_option
@checkpoint_option
@previous_option
@jobs_option
@cluster_option
@_reading
@watch_options
@quiet_option
@json_option
def fit(
    input: Path,
    output: Path,
    states: int,
    emissions: str,
    paths: int,
    sweeps: int,
    method: str,
    restarts: int,
    polish: bool,
    covariance: str | None,
    left_right: bool,
    prior: float,
    seed: int,
    overwrite: bool,
    checkpoint_seconds: float,
    keep_previous: bool,
    jobs: int | None,
    cluster: str | None,
    quiet: bool,
    as_json: bool,
    reading: dict[str, Any],
    watching: dict[str, Any],
) -> None:
    """Fit a hidden Markov model to the sequences in INPUT.

    INPUT is a table with a header and a row for each observation (.csv, .tsv; .gz is unpacked), or an array
    (.npy). Symbols are whole numbers from 0 up, or texts. The output is also the checkpoint: if the fit is
    stopped, `plait resume` resumes it. plait's HMM estimators in Python give the same bits for the same
    data, settings and seed.

    \b
    Examples:
      plait fit hmm days.csv -o days.plait --states 3 --emissions gaussian --columns rain,wind
      plait fit hmm dna.csv -o dna.plait --states 2 --emissions categorical --id-column gene --restarts 10
      plait fit hmm walks.csv -o walks.plait --states 3 --emissions step=gamma,angle=vonmises
    """
    from plait.checks import check_integer
    from plait.data.sequence_files import read_sequences
    from plait.fitting.plan import Plan
    from plait.fitting.stored import MAX_RANDOM_STATE, fit_and_store

    join_cluster(cluster, jobs)
    _check_options(states, emissions, covariance, prior)
    check_integer("n_init", restarts, least=1)
    check_integer("seed", seed, least=0, most=MAX_RANDOM_STATE)
    check_run(
        output=output,
        inputs=(input, reading["lengths"]),
        overwrite=overwrite,
        paths=paths,
        sweeps=sweeps,
        seed=seed,
        jobs=jobs,
        checkpoint_seconds=checkpoint_seconds,
    )
    watch(output, watching)
    families = families_of(emissions)
    if isinstance(families, dict) and not reading["columns"]:
        reading["columns"] = tuple(families)
    kind = "symbols" if families == "categorical" else "numbers"
    sequences = read_sequences(input, kind=kind, **reading)
    _describe_sequences(sequences)
    if sequences.n_missing == sequences.n_sites:
        raise PlaitError(f"{input}: all observations are missing: pass data with some")
    try:
        model = model_of(sequences, states, families, covariance, prior, left_right, method)
    except PlaitError as error:  # the options have been checked, so the error is about the data
        raise PlaitError(f"{input}: ", error) from None
    if method == "collapsed":
        model.check_collapsed()
    plan = Plan.of_method(method, n_paths=paths, n_iter=sweeps, polish=polish)
    with sampling(output, quiet, model.site_name) as callback:
        run = fit_and_store(
            model,
            plan,
            output,
            seed=seed,
            n_init=restarts,
            n_jobs=jobs,
            callback=callback,
            checkpoint_seconds=checkpoint_seconds,
            keep_previous=keep_previous,
            cluster=cluster,
        )
    report(run, output, jobs, as_json)


@click.command()
@model_argument
@click.option("--symbols", type=click.IntRange(1), default=10, show_default=True, help="Symbols per state.")
@json_option
def states(model: Path, symbols: int, as_json: bool) -> None:
    """List the states of a model.

    For each state: its share of the observations, the probability of staying in it, and its most probable
    symbols, or its mean and standard deviation, or its rate. States are numbered by their mean symbol or
    number, the smallest first. With --json also the probabilities of the start and of each transition.

    \b
    Examples:
      plait states model.plait
      plait states model.plait --json > states.json
    """
    from plait.answers.wording import emissions_in_words
    from plait.evaluate.states import summarise_states

    run = load_run(model, "hmm", f"`plait topics {shell_word(model)}` lists its topics")
    summaries = summarise_states(run, symbols)
    if as_json:
        print_json([_as_object(summary) for summary in summaries])
        return
    header, _ = emissions_in_words(summaries[0].emissions)
    rows = [
        [
            str(s.state),
            f"{100 * s.share:.1f} %",
            f"{s.stay:.3f}",
            s.name or "",
            emissions_in_words(s.emissions)[1],
        ]
        for s in summaries
    ]
    print_named_table(["state", "share", "stay", "name", header], rows)


@click.command()
@model_argument
@click.argument("input", required=False, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File for the states, a table or, if its name ends in .npy, an array.  [default: standard output]",
)
@click.option(
    "--algorithm",
    type=click.Choice(["viterbi", "map"]),
    default="viterbi",
    show_default=True,
    help="viterbi finds the most probable path, map the most probable state of each observation.",
)
@click.option("--probabilities", is_flag=True, help="Add the probability of each state.")
@overwrite_option
@jobs_option
@_reading
@quiet_option
@raw_option
@json_option
def decode(
    model: Path,
    input: Path | None,
    output: Path | None,
    algorithm: str,
    probabilities: bool,
    overwrite: bool,
    jobs: int | None,
    quiet: bool,
    raw: bool,
    as_json: bool,
    reading: dict[str, Any],
) -> None:
    """Find the state of each observation in INPUT, or in the data that the model was fitted to.

    The result is a table with the columns sequence, position, time (with --time-column, here or in the fit),
    state and, if `plait name` named states, name. A sequence is shown by its id or, without ids, by its
    number. All numbers start at 0; states are numbered as in `plait states`. Control characters in ids, times
    and names are written as escapes, such as \\n, and one that a spreadsheet could take for a formula starts
    with an apostrophe. With --json there is one object per line, one for each sequence, with its exact id and
    times and the names by number.

    \b
    Examples:
      plait decode model.plait -o states.csv
      plait decode model.plait new.csv --id-column gene --probabilities > states.csv
      plait decode weather.plait may.csv --time-column day
    """
    from plait.data.matching import read_matching_sequences
    from plait.evaluate.states import hmm_model, state_names
    from plait.fitting.restarts import state_order
    from plait.inference.states import chain_of
    from plait.inference.states import decode as decode_sequences
    from plait.outputs import previous_name, replacing
    from plait.progress import show_count
    from plait.threads import Threads

    data = "INPUT" if input is None else shell_word(input)
    run = load_run(model, "hmm", f"`plait infer {shell_word(model)} {data}` finds the topics of documents")
    hmm = hmm_model(run)
    options = {"--probabilities": probabilities, "--raw": raw, "--json": as_json}
    _check_decoding(output, input, options, reading)
    if output is not None:
        inputs = (model, previous_name(model), input, reading["lengths"])
        claim_output(output, overwrite=overwrite, inputs=inputs)
    parameters = run.parameters(jobs)
    order = state_order(run, parameters)
    parameters, names = parameters.permuted(order), state_names(run, order)
    sequences = hmm.sequences
    if input is not None:
        n_symbols = getattr(hmm.emissions, "n_symbols", None)
        sequences = read_matching_sequences(input, sequences, n_symbols, **reading)
        try:
            chain_of(parameters, sequences)
        except PlaitError as error:
            raise PlaitError(f"{input}: ", error) from None
    _describe_sequences(sequences)
    # On a terminal the printed states show the progress themselves.
    shown = not quiet and not (output is None and sys.stdout.isatty())
    log_likelihood = 0.0

    def decoded() -> Iterator[Decoded]:
        nonlocal log_likelihood
        with show_count(sequences.n_sequences, "sequences decoded", shown) as count:
            for part in decode_sequences(
                parameters,
                sequences,
                algorithm=algorithm,
                probabilities=probabilities,
                likelihoods=True,
                n_jobs=threads,
            ):
                yield part
                assert part.log_likelihoods is not None
                log_likelihood += float(part.log_likelihoods.sum())
                count(part.first + part.sequences.n_sequences)

    with _stopping(output), Threads(jobs) as threads:
        if output is None:
            write_text(sys.stdout, decoded(), hmm.n_states, probabilities, raw, as_json, names)
        else:
            with replacing(output) as temporary:
                if output.suffix.lower() == ".npy":
                    with open(temporary, "wb") as file:
                        write_array(file, decoded(), sequences.n_sites)
                else:
                    with open(temporary, "w", encoding="utf-8", newline="") as stream:
                        write_text(stream, decoded(), hmm.n_states, probabilities, raw, as_json, names)
    kept = "" if output is None else f" States saved to {output}"
    mean = log_likelihood / sequences.n_sites
    say(f"Log-likelihood {log_likelihood:.4f}, {mean:.4f} per observation.{kept}")


# -----------------------------------------------------------------------------------------------------
# Fitting
# -----------------------------------------------------------------------------------------------------


def _check_options(states: int, emissions: str, covariance: str | None, prior: float) -> None:
    from plait.arrays import check_numbers
    from plait.checks import check_integer
    from plait.models.model import MAX_STATES
    from plait.models.priors import check_range

    check_integer("n_states", states, least=2, most=MAX_STATES)
    if covariance is not None and "gaussian" not in emissions:
        raise PlaitError(
            Argument("covariance"),
            f" must not be given for {emissions} emissions, got {covariance}",
        )
    check_range("prior", check_numbers("prior", prior))


def _describe_sequences(sequences: Sequences) -> None:
    import numpy as np

    from plait.checks import short_repr

    parts = [_number(sequences.n_sequences, "sequence"), _number(sequences.n_sites, "observation")]
    if sequences.n_missing:
        parts.append(f"{sequences.n_missing} of them missing")
    if sequences.partly_missing.any():
        parts.append(f"{sequences.partly_missing.sum()} of them partly missing")
    if sequences.is_symbols:
        n_present = len(np.unique(sequences.values)) - (sequences.n_missing > 0)
        parts.append(_number(n_present, "distinct symbol"))
        if sequences.labels is None and n_present < sequences.n_symbols:
            parts[-1] += f" of 0 to {sequences.n_symbols - 1}"
    else:
        parts.append(_number(sequences.n_features, "feature"))
    say(", ".join(parts) + ".")
    if sequences.labels and all(map(_is_number, sequences.labels)):
        say(
            f"Note: the symbols are numbers, such as {short_repr(sequences.labels[0])}, which are treated as"
            " names; if they measure something, use --emissions gaussian"
        )


def _number(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def report(run: Run, output: Path, jobs: int | None, as_json: bool) -> None:
    """Print the result of a finished run."""
    from plait.evaluate.states import hmm_model, summarise_states

    log_likelihood = hmm_model(run).log_likelihood(run.parameters(jobs), jobs)
    if as_json:
        print_run(run, output, log_likelihood=log_likelihood)
    else:
        mean = log_likelihood / run.model.n_sites
        describe_run(run, output, f"log-likelihood of the data {mean:.4f} per observation")
    _note_unused(summarise_states(run))
    if not as_json:
        if run.optimum is not None:
            say(f"{str(run.optimum).capitalize()}.")
        say(
            f"Look at its states with: plait states {shell_word(output)}",
            f"Find the state of each observation with: plait decode {shell_word(output)}",
        )


def _note_unused(summaries: list[StateSummary]) -> None:
    unused = [str(summary.state) for summary in summaries if not summary.n_observations]
    if unused:
        which = f"state {unused[0]} has no observation; its"
        if len(unused) > 1:
            which = f"states {', '.join(unused)} have no observation; their"
        say(f"Note: {which} parameters are those of the prior")


# -----------------------------------------------------------------------------------------------------
# States
# -----------------------------------------------------------------------------------------------------


def _as_object(summary: StateSummary) -> dict[str, Any]:
    return {
        "state": summary.state,
        "name": summary.name,
        "share": round(summary.share, 6),
        "stay": round(summary.stay, 6),
        "start": round(summary.start, 6),
        "transitions": [round(p, 6) for p in summary.transitions],
        **{name: list(values) for name, values in summary.emissions.items()},
    }


# -----------------------------------------------------------------------------------------------------
# Decoding
# -----------------------------------------------------------------------------------------------------


def _check_decoding(
    output: Path | None,
    input: Path | None,
    options: dict[str, bool],
    reading: dict[str, Any],
) -> None:
    if input is None:
        given = [name for name, value in reading.items() if value and (name, value) != ("encoding", "utf-8")]
        if given:
            option = "--" + given[0].replace("_", "-")
            raise PlaitError(
                f"{option} says how to read INPUT, but INPUT is missing: give INPUT, or remove {option}"
            )
    if output is None:
        return
    ending = output.suffix.lower()
    if ending == ".gz":
        raise PlaitError(f"{output}: the output is not compressed: choose a name without .gz")
    for option, chosen in options.items():
        if chosen and ending == ".npy":
            raise PlaitError(
                f"{output}: an array holds the states alone: remove {option}, or choose a name that does not"
                " end in .npy"
            )


@contextmanager
def _stopping(output: Path | None) -> Iterator[None]:
    """Report the state of the output after Ctrl-C, SIGTERM or SIGHUP."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        left = "The output is not complete." if output is None else f"Nothing was written to {output}."
        say(f"Stopped. {left}")
        sys.exit(exit_status(stopped))
