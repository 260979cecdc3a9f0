"""The command `plait`: thin faces of the library.

Modules are imported inside the commands, so that `plait --help` answers at once.
"""

from __future__ import annotations

import functools
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, TypeVar, cast

import click

from plait.errors import PlaitError, PlaitWarning
from plait.version import __version__

if TYPE_CHECKING:
    from plait.data.corpus import Corpus
    from plait.data.text import TextRecipe
    from plait.run import Run
    from plait.sampler import Callback

F = TypeVar("F", bound=Callable[..., Any])

DEMO_TOPICS = 50
DEMO_PATHS = 5
DEMO_SWEEPS = 300
SHOWN_IN_DEMO = 20


_OPTIONS = {
    "n_jobs": "--jobs",
    "format=": "--format ",
    "text_column": "--text-column",
    "id_column": "--id-column",
    "date_column": "--date-column",
    "encoding=": "--encoding ",
    "stop_words=": "--stop-words ",
    "min_count": "--min-count",
    "min_df": "--min-df",
    "max_df": "--max-df",
    "remove_top": "--remove-top",
}
"""How the command calls what the library's messages call by the names of arguments."""

# Not within the name of a file.
_ARGUMENT = re.compile(rf"(?<![\w./\\-])({'|'.join(_OPTIONS)})(?![\w./\\-]*\.\w)")


class _Commands(click.Group):
    """A group that turns plait's errors into one line and exit status 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", PlaitWarning)
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except PlaitError as error:
            _fail(str(error))
        except MemoryError as error:
            _fail(f"not enough memory ({error}): take fewer topics or paths, or a smaller vocabulary")


def _fail(message: str) -> NoReturn:
    message = _ARGUMENT.sub(lambda found: _OPTIONS[found[1]], message)
    click.echo(f"Error: {message}", err=True)
    sys.exit(2)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    kind = "Note" if issubclass(category, PlaitWarning) else category.__name__
    click.echo(f"{kind}: {message}", err=True)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="plait")
def main() -> None:
    """Topic models that do not get stuck, by multipath Gibbs sampling.

    \b
    Try it:       plait demo
    Fit a model:  plait fit lda texts.csv -o model.plait --topics 100
    Look at it:   plait topics model.plait
    """


_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs to read.")
_quiet = click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
_jobs = click.option("--jobs", type=int, help="Number of threads.  [default: all cores]")


def _together(keyword: str, *options: Callable[[F], F]) -> Callable[[F], F]:
    """Add options to a command, which is given their values together, as a dict called `keyword`."""

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


_reading = _together(
    "reading",
    click.option(
        "--format",
        type=click.Choice(["lines", "folder", "csv", "jsonl", "uci", "ldac", "mtx"]),
        help="Format of INPUT.  [default: by its name]",
    ),
    click.option("--text-column", metavar="NAME", help="Column with the text (csv, jsonl).  [default: text]"),
    click.option("--id-column", metavar="NAME", help="Column with the name of the document."),
    click.option("--date-column", metavar="NAME", help="Column with its date."),
    click.option("--encoding", default="utf-8", show_default=True, help="Encoding of the text."),
)

_text = _together(
    "text",
    click.option(
        "--stop-words",
        default="english",
        show_default=True,
        metavar="english|none|FILE",
        help="Words to leave out; a file has one a line.",
    ),
    click.option("--stem", metavar="LANGUAGE", help="Reduce words to their stems, e.g. english."),
    click.option("--keep-case", is_flag=True, help="Do not turn words to lower case."),
    click.option(
        "--min-count", type=int, default=1, metavar="N", help="Leave out words that occur fewer times."
    ),
    click.option("--min-df", default="1", metavar="N|SHARE", help="... or in fewer documents: 3, or 0.01."),
    click.option("--max-df", default="1.0", metavar="N|SHARE", help="... or in more documents: 900, or 0.5."),
    click.option("--remove-top", type=int, default=0, help="Leave out the N most common words.", metavar="N"),
    click.option("--paragraphs", is_flag=True, help="Make every paragraph a document."),
)


@main.group()
def fit() -> None:
    """Fit a model and keep it in a file.

    \b
    Example:
      plait fit lda texts.csv -o model.plait --topics 100
    """


@fit.command("lda", short_help="Fit a topic model (latent Dirichlet allocation).")
@click.argument("input", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="File for the model.")
@click.option("--topics", type=int, default=100, show_default=True, help="Number of topics.")
@click.option("--paths", type=int, default=5, show_default=True, help="Number of paths; 1 is plain Gibbs.")
@click.option("--sweeps", type=int, default=1000, show_default=True, help="Number of sweeps.")
@click.option(
    "--method",
    type=click.Choice(["partially-collapsed", "collapsed"]),
    default="partially-collapsed",
    show_default=True,
    help="partially-collapsed uses all cores; collapsed is sequential.",
)
@click.option("--alpha", type=float, help="Prior of topics in a document.  [default: 10/topics, at most 1]")
@click.option("--eta", type=float, help="Prior of words in a topic.  [default: 0.01]")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same result.")
@click.option("--overwrite", is_flag=True, help="Replace the output if it exists.")
@click.option(
    "--vocabulary", type=click.Path(path_type=Path), metavar="FILE", help="The words to use, one a line."
)
@_jobs
@_reading
@_text
@_quiet
@_json
def fit_lda(
    input: Path,
    output: Path,
    topics: int,
    paths: int,
    sweeps: int,
    method: str,
    alpha: float | None,
    eta: float | None,
    seed: int,
    overwrite: bool,
    jobs: int | None,
    quiet: bool,
    as_json: bool,
    vocabulary: Path | None,
    reading: dict[str, Any],
    text: dict[str, Any],
) -> None:
    """Fit a topic model to the documents in INPUT.

    INPUT is a file with one document a line (.txt), a folder of .txt files, a table (.csv, .tsv, .jsonl) or
    counts (UCI docword.*, LDA-C .ldac, Matrix Market .mtx); .gz is unpacked. The output is at the same time
    the checkpoint: if the run is stopped, `plait resume` goes on from there.

    \b
    Example:
      plait fit lda speeches.csv -o speeches.plait --topics 100 --stem english --min-count 2
    """
    from plait.data.corpus import Corpus
    from plait.models.lda import LdaModel
    from plait.run import Settings
    from plait.sampler import sample
    from plait.threads import count_threads

    _check_topics(topics)
    _check_output(output, overwrite)
    Settings(n_paths=paths, n_sweeps=sweeps, seed=seed, collapsed=False, thin=1)  # before a long read
    count_threads(jobs)
    recipe = _recipe(encoding=reading["encoding"], **text)
    corpus = Corpus.read(input, recipe=recipe, vocabulary=vocabulary, **reading)
    _describe_corpus(corpus)
    model = LdaModel(corpus, topics, alpha, eta)
    with _sampling(output, quiet) as callback:
        run = sample(
            model,
            n_paths=paths,
            n_sweeps=sweeps,
            seed=seed,
            collapsed=method == "collapsed",
            n_jobs=jobs,
            callback=callback,
            checkpoint=output,
            overwrite=overwrite,
        )
    _describe_run(run, output, as_json)


@main.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--sweeps", type=int, help="Number of sweeps in all.  [default: as planned]")
@_jobs
@_quiet
@_json
def resume(model: Path, sweeps: int | None, jobs: int | None, quiet: bool, as_json: bool) -> None:
    """Go on with a run that was stopped, or make a finished one longer.

    The result is the same, to the last bit, as if the run had never been stopped.

    \b
    Examples:
      plait resume model.plait
      plait resume model.plait --sweeps 2000
    """
    from plait.sampler import resume as resume_run

    made, planned = _sweeps_of(model)
    if made == planned and sweeps is None:
        raise PlaitError(
            f"{model} is finished, with {made} sweeps: give a larger number, --sweeps {2 * made}"
        )
    click.echo(f"Going on from sweep {made}.", err=True)
    with _sampling(model, quiet) as callback:
        run = resume_run(model, n_sweeps=sweeps, n_jobs=jobs, callback=callback)
    _describe_run(run, model, as_json)


@main.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--words", type=click.IntRange(1), default=10, show_default=True, help="Words a topic.")
@click.option("--top", type=click.IntRange(1), help="Show only the largest topics.  [default: all]")
@_json
def topics(model: Path, words: int, top: int | None, as_json: bool) -> None:
    """List the topics of a model, the largest first.

    \b
    Examples:
      plait topics model.plait --top 20
      plait topics model.plait --json > topics.json
    """
    from plait.run import load

    run = load(model)
    _remark_unfinished(run, model)
    _print_topics(run, words, top, as_json)


@main.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("input", type=click.Path(path_type=Path))
@click.option("--top", type=click.IntRange(1), default=3, show_default=True, help="Topics shown a document.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same result.")
@_jobs
@_reading
@_json
def infer(
    model: Path,
    input: Path,
    top: int,
    seed: int,
    jobs: int | None,
    as_json: bool,
    reading: dict[str, Any],
) -> None:
    """Infer the topics of the documents in INPUT.

    The text is treated as it was when the model was fitted: same words, stems and paragraphs. With --json
    there is one object a line, with the whole topic distribution.

    \b
    Examples:
      plait infer model.plait new.txt
      plait infer model.plait new.csv --text-column body --json > topics.jsonl
    """
    from plait.data.readers import read
    from plait.data.text import DEFAULT_RECIPE
    from plait.evaluate.summary import lda_model
    from plait.inference import infer_theta
    from plait.run import load
    from plait.threads import Threads

    run = load(model)
    _remark_unfinished(run, model)
    lda = lda_model(run)
    recipe = lda.corpus.recipe or DEFAULT_RECIPE
    corpus = read(input, recipe=recipe, vocabulary=lda.corpus.vocabulary, **reading)
    if lda.corpus.recipe is None and corpus.recipe is not None:
        click.echo("Note: the model was fitted to counts; text is read with the default recipe", err=True)
    _remark_empty(corpus)
    with Threads(jobs) as threads:
        phi = lda.as_topics(lda.topic_word(lda.count(run.paths, threads)), threads)
    theta = infer_theta(corpus, phi, lda.alpha_vector, seed=seed, n_jobs=jobs)
    names = corpus.names or [str(d + 1) for d in range(corpus.n_documents)]
    for name, row in zip(names, theta, strict=True):
        if as_json:
            click.echo(json.dumps({"document": name, "theta": [round(float(p), 6) for p in row]}))
        else:
            best = row.argsort()[::-1][:top]
            click.echo(f"{name}\t" + "  ".join(f"{t}:{row[t]:.3f}" for t in best))


@main.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default="plait-demo.plait",
    show_default=True,
    help="File for the model, replaced if it exists.",
)
@click.option("--sweeps", type=int, default=DEMO_SWEEPS, show_default=True, help="Number of sweeps.")
@_jobs
def demo(output: Path, sweeps: int, jobs: int | None) -> None:
    """Fit topics to the State of the Union addresses, 1790 to 2013.

    Takes a minute or two.

    \b
    Example:
      plait demo
    """
    from plait.datasets import sotu
    from plait.models.lda import LdaModel
    from plait.sampler import sample

    click.echo("The State of the Union addresses, 1790 to 2013, a paragraph a document.", err=True)
    corpus = sotu()
    _describe_corpus(corpus)
    click.echo(
        f"Fitting {DEMO_TOPICS} topics with {DEMO_PATHS} paths. Ctrl-C stops and keeps them.", err=True
    )
    click.echo("The first run on a machine also compiles, for half a minute.", err=True)
    with _sampling(output, quiet=False) as callback:
        run = sample(
            LdaModel(corpus, DEMO_TOPICS),
            n_paths=DEMO_PATHS,
            n_sweeps=sweeps,
            seed=1,
            n_jobs=jobs,
            callback=callback,
            checkpoint=output,
            overwrite=True,
        )
    _print_topics(run, 9, SHOWN_IN_DEMO, as_json=False)
    click.echo(
        f"""
The {SHOWN_IN_DEMO} largest of {DEMO_TOPICS} topics, by their share of all words. Words are reduced to stems.

What to do next:
  plait topics {output}
      all topics
  plait resume {output} --sweeps {2 * sweeps}
      go on where this run ended
  plait fit lda YOUR.csv -o my.plait --topics 50
      your own texts; plait fit lda --help lists formats and options"""
    )


def _sweeps_of(model: Path) -> tuple[int, int]:
    """Return the sweeps made and planned; the run itself does not stay in memory."""
    from plait.run import load

    run = load(model)
    return run.sweep, run.settings.n_sweeps


def _check_topics(topics: int) -> None:
    if topics < 2:
        raise PlaitError(f"--topics is {topics}: take at least 2")


def _check_output(output: Path, overwrite: bool) -> None:
    from plait.storage import check_place

    check_place(output)
    if output.exists() and not overwrite:
        raise PlaitError(
            f"{output} exists: go on with it by `plait resume {output}`, replace it with --overwrite,"
            " or choose another name"
        )


def _recipe(
    *,
    encoding: str,
    stop_words: str,
    stem: str | None,
    keep_case: bool,
    min_count: int,
    min_df: str,
    max_df: str,
    remove_top: int,
    paragraphs: bool,
) -> TextRecipe:
    from plait.data.files import read_text
    from plait.data.text import TextRecipe

    chosen: Any = {"english": "english", "none": None}.get(stop_words, stop_words)
    if chosen is not None and chosen != "english":
        lines = (line.strip() for line in read_text(chosen, encoding).splitlines())
        chosen = tuple(dict.fromkeys(line for line in lines if line))
    return TextRecipe(
        lowercase=not keep_case,
        stop_words=chosen,
        stem=stem,
        min_count=min_count,
        min_df=_number("--min-df", min_df),
        max_df=_number("--max-df", max_df),
        remove_top=remove_top,
        split_paragraphs=paragraphs,
    )


def _number(option: str, text: str) -> int | float:
    """Read a whole number as a count, any other as a share."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise PlaitError(f"{option} is {text!r}: give a number of documents (3) or a share of them (0.01)")


def _describe_corpus(corpus: Corpus) -> None:
    click.echo(
        f"{corpus.n_documents} documents, {corpus.n_tokens} words, {corpus.n_words} of them different.",
        err=True,
    )
    _remark_empty(corpus)


def _remark_empty(corpus: Corpus) -> None:
    if corpus.n_empty:
        click.echo(
            f"Note: {corpus.n_empty} of {corpus.n_documents} documents are empty; they are kept, with a"
            " uniform topic distribution",
            err=True,
        )


def _remark_unfinished(run: Run, model: Path) -> None:
    if not run.finished:
        click.echo(
            f"Note: the run stands at sweep {run.sweep} of {run.settings.n_sweeps};"
            f" `plait resume {model}` goes on with it",
            err=True,
        )


@contextmanager
def _sampling(output: Path, quiet: bool) -> Iterator[Callback | None]:
    """Show progress, and after Ctrl-C say how to go on."""
    from plait.progress import show_progress
    from plait.sampler import Interrupted

    try:
        with show_progress(not quiet) as callback:
            yield callback
    except Interrupted as stopped:
        click.echo(f"Stopped: {stopped}. It is kept in {output}; to go on:", err=True)
        more = f" --sweeps {2 * stopped.run.sweep}" if stopped.run.finished else ""
        click.echo(f"  plait resume {output}{more}", err=True)
        sys.exit(130)
    except KeyboardInterrupt:
        click.echo(
            f"Stopped at once. {output} is as the last checkpoint left it, or, if there was none yet, as it"
            f" was before; to go on from there:\n  plait resume {output}",
            err=True,
        )
        sys.exit(130)


def _describe_run(run: Run, output: Path, as_json: bool) -> None:
    from plait.progress import describe_seconds

    log_joint = run.trace.log_joint[-1]
    if as_json:
        summary = {
            "model": str(output),
            "kind": run.model.kind,
            "sweeps": run.sweep,
            "paths": run.settings.n_paths,
            "seed": run.settings.seed,
            "collapsed": run.settings.collapsed,
            "seconds": round(run.seconds, 3),
            "log_joint": [float(value) for value in log_joint],
            "sites": run.model.n_sites,
            "version": run.version,
        }
        click.echo(json.dumps(summary))
        return
    click.echo(
        f"{run.sweep} sweeps in {describe_seconds(run.seconds)}, log-likelihood"
        f" {log_joint.mean() / run.model.n_sites:.4f} per token. Model kept in {output}",
        err=True,
    )
    click.echo(f"Look at it with: plait topics {output}", err=True)


def _print_topics(run: Run, words: int, top: int | None, as_json: bool) -> None:
    from plait.evaluate.summary import summarise_topics

    summaries = summarise_topics(run, words)[:top]
    if as_json:
        rows = [
            {
                "topic": s.topic,
                "share": round(s.share, 6),
                "words": list(s.words),
                "probabilities": [round(p, 6) for p in s.probabilities],
            }
            for s in summaries
        ]
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("topic", justify="right")
    table.add_column("share", justify="right")
    table.add_column("words", overflow="fold")
    for s in summaries:
        table.add_row(str(s.topic), f"{100 * s.share:.1f} %", " ".join(s.words))
    width = None if sys.stdout.isatty() else 1000  # for programs, a topic a line
    Console(highlight=False, markup=False, emoji=False, width=width).print(table)
