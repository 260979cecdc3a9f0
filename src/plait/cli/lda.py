"""Commands for topic models."""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plait.cli.common import (
    check_run,
    checkpoint_option,
    claim_output,
    cluster_option,
    describe_run,
    input_argument,
    jobs_option,
    join_cluster,
    joint_likelihood,
    json_option,
    load_run,
    model_argument,
    output_option,
    overwrite_option,
    previous_option,
    print_run,
    quiet_option,
    raw_option,
    sampling,
    seed_option,
    sweeps_option,
)
from plait.cli.output import name_cell, print_json, print_lines, print_named_table, print_row
from plait.cli.reading import (
    describe_corpus,
    document_options,
    keep_columns_option,
    no_texts_option,
    note_empty,
    read_corpus,
    read_for_model,
    vocabulary_option,
)
from plait.cli.text_options import GroupedCommand, text_options
from plait.cli.topic_options import (
    alpha_option,
    eta_option,
    method_option,
    plan_option,
    read_plan,
    read_prior,
    read_seconds,
    time_option,
)
from plait.cli.watching import watch, watch_options
from plait.display import say, shell_word, visible
from plait.errors import PlaitError

if TYPE_CHECKING:
    from plait.plans import Plan
    from plait.run import Run

DEMO_TOPICS = 50
DEMO_SWEEPS = 300
SHOWN_IN_DEMO = 20


@click.command("lda", cls=GroupedCommand, short_help="Fit a topic model (latent Dirichlet allocation).")
@input_argument
@output_option
@click.option("--topics", type=int, default=100, show_default=True, help="Number of topics.")
@plan_option
@sweeps_option
@time_option
@click.option(
    "--tol",
    type=float,
    metavar="X",
    help="End a stage early when the log-likelihood per word gains less than X in 50 sweeps.",
)
@method_option
@alpha_option
@eta_option
@click.option(
    "--init",
    default="uniform",
    show_default=True,
    metavar="uniform|progressive|spectral|FILE",
    help="Topics to start from; FILE is a model, whose words are matched by name.",
)
@click.option(
    "--seeds",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Seed words of the first topics, as lines `tax: taxes revenue` or JSON.",
)
@click.option("--seed-weight", type=float, help="Strength of seed words.  [default: 1]")
@seed_option
@overwrite_option
@checkpoint_option
@previous_option
@vocabulary_option
@jobs_option
@cluster_option
@click.option(
    "--paths-in",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Keep the paths, and the words of an encoded corpus, in files in FOLDER instead of in memory.",
)
@document_options
@keep_columns_option
@text_options
@no_texts_option
@watch_options
@quiet_option
@json_option
def fit(
    input: Path,
    output: Path,
    topics: int,
    paths: str,
    sweeps: int,
    max_seconds: str | None,
    tol: float | None,
    method: str,
    alpha: str,
    eta: str,
    init: str,
    seeds: Path | None,
    seed_weight: float | None,
    seed: int,
    overwrite: bool,
    checkpoint_seconds: float,
    keep_previous: bool,
    jobs: int | None,
    cluster: str | None,
    paths_in: Path | None,
    quiet: bool,
    as_json: bool,
    vocabulary: Path | None,
    reading: dict[str, Any],
    keep_columns: tuple[str, ...] | None,
    watching: dict[str, Any],
    text: dict[str, Any],
    no_texts: bool,
) -> None:
    """Fit a topic model to the documents in INPUT.

    INPUT is a file with one document per line (.txt), a folder of .txt files, a table (.csv, .tsv, .jsonl,
    .xlsx, .parquet) or counts (UCI docword.*, LDA-C .ldac, Matrix Market .mtx); .gz is unpacked; or the
    folder of an encoded corpus, see `plait encode`. The output is also the checkpoint: if the run is stopped,
    `plait resume` resumes it.

    \b
    Example:
      plait fit lda speeches.csv -o speeches.plait --topics 100 --stem --min-count 2
    """
    from plait.checks import check_integer
    from plait.data.count_files import sibling_vocabulary
    from plait.data.seed_files import read_seeds
    from plait.inference.starts import check_init
    from plait.mapped import check_folder
    from plait.models.lda import MAX_TOPICS
    from plait.models.lda_starts import STARTS
    from plait.models.seeds import SEED_WEIGHT, check_weight
    from plait.sampler import sample
    from plait.topic_fits import TopicSettings

    join_cluster(cluster, jobs)
    check_integer("n_topics", topics, least=2, most=MAX_TOPICS)
    n_paths = read_plan(paths)
    priors = read_prior("--alpha", alpha), read_prior("--eta", eta)
    seconds = None if max_seconds is None else read_seconds("--time", max_seconds)
    check_run(
        output=output,
        inputs=(
            *(input, vocabulary, sibling_vocabulary(input), text["stop_words"], seeds),
            None if init in STARTS else init,
        ),
        overwrite=overwrite,
        sweeps=sweeps,
        seed=seed,
        jobs=jobs,
        checkpoint_seconds=checkpoint_seconds,
    )
    watch(output, watching)
    check_init("init", init)
    start = init if init in STARTS else load_run(Path(init), "lda", "give a topic model to start from")
    weight = SEED_WEIGHT if seed_weight is None else seed_weight
    check_weight("seed_weight", weight)
    words = None if seeds is None else read_seeds(seeds, reading["encoding"], reading["max_unpacked"])
    folder = check_folder("paths_in", paths_in)
    corpus = read_corpus(
        input,
        vocabulary,
        reading,
        text,
        keep_columns=keep_columns,
        keep_texts=not no_texts,
        words_in=folder,
    )
    fitting = TopicSettings(
        n_topics=topics,
        n_paths=n_paths,
        sampler=method,
        n_sweeps=sweeps,
        alpha=priors[0],
        eta=priors[1],
        init=start,
        seeds=words,
        seed_weight=weight,
    ).fit(corpus, jobs)
    _describe_plan(fitting.plan, seconds)
    with sampling(output, quiet, fitting.model.site_name) as callback:
        run = sample(
            fitting.model,
            n_paths=fitting.plan,
            names=fitting.names,
            seed=seed,
            max_seconds=seconds,
            tol=tol,
            n_jobs=jobs,
            callback=callback,
            checkpoint=output,
            checkpoint_seconds=checkpoint_seconds,
            keep_previous=keep_previous,
            overwrite=overwrite,
            paths_in=folder,
            cluster=cluster,
        )
    report(run, output, jobs, as_json)


@click.command()
@model_argument
@click.option("--words", type=click.IntRange(1), default=10, show_default=True, help="Words per topic.")
@click.option("--top", type=click.IntRange(1), help="Show only the largest topics.  [default: all]")
@click.option("--stems", is_flag=True, help="Show words as they are in the vocabulary.")
@json_option
def topics(model: Path, words: int, top: int | None, stems: bool, as_json: bool) -> None:
    """List the topics of a model, the largest first.

    Where words were reduced to stems, each stem is shown by its most frequent word.

    \b
    Examples:
      plait topics model.plait --top 20
      plait topics model.plait --json > topics.json
    """
    run = load_run(model, "lda", f"`plait states {shell_word(model)}` lists its states")
    _print_topics(run, words, top, as_json, stems=stems)


@click.command()
@model_argument
@input_argument
@click.option("--top", type=click.IntRange(1), default=3, show_default=True, help="Topics per document.")
@seed_option
@jobs_option
@document_options
@raw_option
@json_option
def infer(
    model: Path,
    input: Path,
    top: int,
    seed: int,
    jobs: int | None,
    raw: bool,
    as_json: bool,
    reading: dict[str, Any],
) -> None:
    """Infer the topics of the documents in INPUT.

    The text is processed as when the model was fitted: same words, stems, paragraphs and columns. Each
    document is one line: its name, its date if documents have dates, and its topics, separated by tabs. A
    topic has its number, its name or its first three words, and its share. Control characters in names are
    written as escapes, such as \\n, and a name of a document that a spreadsheet could take for a formula
    starts with an apostrophe. With --json there is one object per line, with the exact names, the date, the
    words of the topics and the whole topic distribution.

    \b
    Examples:
      plait infer model.plait new.txt
      plait infer model.plait new.csv --text-column body --json > topics.jsonl
    """
    from plait.evaluate.summary import summarise_topics
    from plait.inference.fitted import topic_model
    from plait.inference.topics import infer_theta

    instead = f"`plait decode {shell_word(model)} {shell_word(input)}` finds the states of sequences"
    run = load_run(model, "lda", instead)
    lda = topic_model(run)
    corpus = read_for_model(input, lda.corpus, reading)
    note_empty(corpus)
    theta = infer_theta(corpus, run.parameters(jobs), lda.alpha_vector, seed=seed, n_jobs=jobs)
    summaries = {summary.topic: summary for summary in summarise_topics(run, 3, n_jobs=jobs)}
    labels = {t: f"{t} ({visible(summary.label(), sys.stdout)})" for t, summary in summaries.items()}
    names = corpus.names or [str(d + 1) for d in range(corpus.n_documents)]
    for d, (name, row) in enumerate(zip(names, theta, strict=True)):
        best = row.argsort()[::-1][:top].tolist()
        date = None if corpus.dates is None else corpus.dates[d]
        if as_json:
            shares = [round(float(p), 6) for p in row]
            topics = [
                {"topic": t, "name": run.names.get(t), "words": summaries[t].words, "share": shares[t]}
                for t in best
            ]
            print_json({"document": name, "date": date, "theta": shares, "topics": topics})
        else:
            found = "  ".join(f"{labels[t]}:{row[t]:.3f}" for t in best)
            known = (name,) if date is None else (name, date)
            print_row(*(name_cell(cell, sys.stdout, raw=raw) for cell in known), found)


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default="plait-demo.plait",
    show_default=True,
    help="File for the model, replaced if it exists.",
)
@click.option("--sweeps", type=int, default=DEMO_SWEEPS, show_default=True, help="Number of sweeps.")
@jobs_option
@json_option
def demo(output: Path, sweeps: int, jobs: int | None, as_json: bool) -> None:
    """Fit topics to the State of the Union addresses, 1790 to 2013, and write a report.

    Takes a minute or two. The report is a page of HTML next to the model.

    \b
    Example:
      plait demo
    """
    from plait.datasets import sotu
    from plait.sampler import sample
    from plait.topic_fits import TopicSettings

    claim_output(output, overwrite=True)
    say("The State of the Union addresses, 1790 to 2013; each paragraph is a document.")
    corpus = sotu()
    describe_corpus(corpus)
    fitting = TopicSettings(DEMO_TOPICS, n_sweeps=sweeps).fit(corpus, jobs)
    say(
        f"Fitting {DEMO_TOPICS} topics. Ctrl-C stops and keeps the result.",
        "The first run on a machine also compiles the kernels, which takes about ten seconds.",
    )
    _describe_plan(fitting.plan, None)
    with sampling(output, quiet=False, site_name=fitting.model.site_name) as callback:
        run = sample(
            fitting.model,
            n_paths=fitting.plan,
            seed=1,
            n_jobs=jobs,
            callback=callback,
            checkpoint=output,
            overwrite=True,
        )
    _print_topics(run, 9, SHOWN_IN_DEMO, as_json)
    page = _write_demo_report(run, output, jobs)
    if as_json:
        return
    print_lines(
        "",
        f"The {SHOWN_IN_DEMO} largest of {DEMO_TOPICS} topics, by their share of all words."
        " Words are reduced to stems.",
        "",
        *([] if page is None else ["The report, to open in a browser:", f"  {page.resolve().as_uri()}", ""]),
        "What to do next:",
        f"  plait topics {shell_word(output)}",
        "      all topics",
        f"  plait resume {shell_word(output)} --sweeps {2 * sweeps}",
        "      make this run longer",
        "  plait fit lda YOUR.csv -o my.plait --topics 50",
        "      your own texts; plait fit lda --help lists formats and options",
    )


def _write_demo_report(run: Run, output: Path, jobs: int | None) -> Path | None:
    """Write a report next to the model, unless its library is missing or a file of others is in its place."""
    from plait.report import write_report

    page = output.with_suffix(".html")
    try:
        return write_report(run, page, title="State of the Union", n_jobs=jobs)
    except PlaitError as error:
        say(f"Note: there is no report: {error}")
        return None


def _describe_plan(plan: Plan, seconds: float | None) -> None:
    """Say what the stages of a fit will do, if there are several."""
    if len(plan.stages) > 1:
        shares = plan.shares()
        for k, stage in enumerate(plan.stages):
            length = f"{stage.sweeps} sweeps" if seconds is None else f"{shares[k]:.0%} of the time"
            say(f"Stage {k + 1} of {len(plan.stages)}: {stage.describe()}; {length}.")


def report(run: Run, output: Path, jobs: int | None, as_json: bool) -> None:
    """Print the result of a finished run."""
    from plait.inference.fitted import lda_model, note_of_changes

    if as_json:
        print_run(run, output)
        return
    changed = note_of_changes(run)
    if changed:
        say(f"Note: {changed}")
    describe_run(run, output, joint_likelihood(run))
    model = shell_word(output)
    say(
        f"Its topics:    plait topics {model}",
        f"Its documents: plait documents {model} --topic 0",
        f"In a browser:  plait report {model}",
        *([f"Over time:     plait timeline {model}"] if lda_model(run).corpus.dates else []),
    )


def _print_topics(run: Run, words: int, top: int | None, as_json: bool, *, stems: bool = False) -> None:
    from plait.evaluate.summary import summarise_topics

    summaries = summarise_topics(run, words)[:top]
    if as_json:
        objects = [
            {
                "topic": s.topic,
                "name": s.name,
                "share": round(s.share, 6),
                "words": list(s.words),
                "stems": list(s.stems),
                "probabilities": [round(p, 6) for p in s.probabilities],
            }
            for s in summaries
        ]
        print_json(objects)
        return
    rows = [
        [str(s.topic), f"{100 * s.share:.1f} %", s.name or "", " ".join(s.stems if stems else s.words)]
        for s in summaries
    ]
    print_named_table(["topic", "share", "name", "words"], rows)
