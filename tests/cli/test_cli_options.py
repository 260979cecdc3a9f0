"""How the command calls the arguments of Python functions in its messages."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from plait.cli import main
from plait.cli.common import _OPTIONS, Commands, option_text, options_below, sampling
from plait.errors import Argument, PlaitError

OPTIONS = options_below(main)


def all_options(group):
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from all_options(command)
        for parameter in command.params:
            yield from (*parameter.opts, *parameter.secondary_opts)


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        (Argument("n_jobs"), "--jobs"),
        (Argument("n_init"), "--restarts"),
        (Argument("n_sweeps"), "--sweeps"),
        (Argument("n_states"), "--states"),
        (Argument("n_topics"), "--topics"),
        (Argument("seed"), "--seed"),
        (Argument("covariance_type"), "--covariance"),
        (Argument("missing", True), "--missing"),
        (Argument("overwrite", True), "--overwrite"),
        (Argument("format", "csv"), "--format csv"),
        (Argument("encoding", "latin-1"), "--encoding latin-1"),
        (Argument("text_column"), "--text-column"),
        (Argument("id_column"), "--id-column"),
        (Argument("min_df"), "--min-df"),
        (Argument("remove_top"), "--remove-top"),
        (Argument("split_paragraphs", True), "--paragraphs"),
        (Argument("columns"), "--columns"),
        (Argument("lengths"), "--lengths"),
        (Argument("alpha"), "--alpha"),
        (Argument("collapsed", True), "collapsed=True"),
        (Argument("thin"), "thin"),
    ],
    ids=str,
)
def test_an_argument_is_called_by_its_option_if_there_is_one(argument, text):
    assert option_text(argument, OPTIONS) == text


def test_every_option_that_a_message_may_name_exists():
    assert set(_OPTIONS.values()) <= set(all_options(main))
    assert set(OPTIONS.values()) <= set(all_options(main))


def failing(error):
    """Return what the command says when it fails with this error."""

    @click.group(cls=Commands)
    def group():
        pass

    @group.command()
    @click.option("--missing", is_flag=True)
    def work(missing):
        raise error

    done = CliRunner().invoke(group, ["work"])
    assert done.exit_code == 2
    assert done.stdout == ""
    return done.stderr


def test_only_arguments_are_rewritten_not_words_or_names_of_files():
    error = PlaitError(
        "n_jobs/missing=True.csv:2: empty: pass ",
        Argument("missing", True),
        ", or lower ",
        Argument("n_jobs"),
    )
    said = "Error: n_jobs/missing=True.csv:2: empty: pass --missing, or lower --jobs\n"
    assert failing(error) == said


def test_an_error_within_an_error_is_rewritten_too():
    error = PlaitError("data.csv: ", PlaitError(Argument("n_paths"), " must be at least 1, got 0"))
    assert failing(error) == "Error: data.csv: --paths must be at least 1, got 0\n"


def test_a_lack_of_memory_is_explained():
    assert failing(MemoryError("8 EiB")) == (
        "Error: not enough memory (8 EiB): free some, or use a machine with more\n"
    )


def test_fewer_topics_are_advised_only_if_sampling_takes_the_memory():
    says = r"not enough memory to sample \(8 EiB\): take fewer topics"
    with pytest.raises(PlaitError, match=says), sampling(Path("x"), quiet=True, site_name="token"):
        raise MemoryError("8 EiB")
