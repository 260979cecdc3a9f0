"""The command that encodes corpora larger than memory."""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plait.cli.common import input_argument, json_option
from plait.cli.output import print_json
from plait.cli.reading import describe_corpus, streaming_options
from plait.cli.text_options import GroupedCommand, describe_language, recipe_of, text_options
from plait.display import say, shell_word


@click.command(cls=GroupedCommand)
@input_argument
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder for the corpus.")
@click.option("--overwrite", is_flag=True, help="Replace the output if it is an encoded corpus.")
@streaming_options
@text_options
@json_option
def encode(
    input: Path,
    output: Path,
    overwrite: bool,
    as_json: bool,
    reading: dict[str, Any],
    text: dict[str, Any],
) -> None:
    """Encode documents in a folder, for corpora larger than memory.

    INPUT is a file with one document per line (.txt), or a table (.csv with commas, .tsv, .jsonl, .parquet);
    .gz is unpacked. It is read twice, one document at a time. `plait fit lda` takes the folder instead of a
    file; on a cluster, each worker reads its part of it. Names and dates of documents are kept as they are
    written, other columns and the texts are not.

    \b
    Example:
      plait encode articles.jsonl -o articles --min-count 5
      plait fit lda articles -o articles.plait --topics 200 --paths 5 --paths-in /tmp
    """
    from plait.data.encoded import encode as encode_documents
    from plait.data.streams import Stream

    recipe = recipe_of(encoding=reading["encoding"], max_unpacked=reading["max_unpacked"], **text)
    corpus = encode_documents(Stream(input, **reading), output, recipe, overwrite=overwrite)
    assert corpus.recipe is not None
    describe_language(recipe, corpus.recipe)
    describe_corpus(corpus)
    if as_json:
        sizes = {"documents": corpus.n_documents, "tokens": corpus.n_tokens, "words": corpus.n_words}
        print_json({"corpus": str(output), **sizes})
    say(f"Fit topics: plait fit lda {shell_word(output)} -o {shell_word(output)}.plait --paths 5")
