"""Runs of topic models to report on: an ordinary one, and one whose texts try to break the page."""

from __future__ import annotations

import numpy as np

import plait

THEMES = {
    "farm": ["apples", "pears", "orchard", "harvest", "farm", "trees", "plums", "cherries", "garden", "ripe"],
    "city": ["trains", "trams", "station", "rails", "buses", "city", "streets", "bridge", "tickets", "late"],
    "war": ["army", "navy", "soldiers", "peace", "treaty", "cannon", "leader", "battle", "fortress", "siege"],
}

HOSTILE = [
    "<script>window.hacked = true</script>",
    "\"'><img src=x onerror=window.hacked=true>",
    "</script><script>window.hacked=true</script>",
    "\u202eevil\u202c \u0000\u0007\u001b[31mred",
    "שלום עולם مرحبا",
    "👩‍👩‍👧‍👦🎉",
    "{{7*7}}${7*7}",
    "javascript:window.hacked=true",
]


def themed_run(n_documents=60, **changes):
    """Return a run on documents that mix three themes, with names, dates, columns and texts."""
    rng = np.random.default_rng(1)
    texts, themes = [], []
    for _ in range(n_documents):
        theme = list(THEMES)[rng.integers(3)]
        own = [THEMES[theme][k] for k in rng.integers(0, 10, 14)]
        other = [THEMES["farm"][k] for k in rng.integers(0, 10, 3)]
        texts.append("The " + " of the ".join([*own, *other]) + ".")
        themes.append(theme)
    corpus = plait.Corpus.from_texts(
        texts,
        recipe=plait.TextRecipe(language="en", stem="english"),
        names=[f"Letter {d}" for d in range(n_documents)],
        dates=[f"{1900 + d // 3}-05-{1 + d % 28:02d}" for d in range(n_documents)],
        columns={"theme": themes, "half": ["first", "second"] * (n_documents // 2)},
        keep_texts=True,
    )
    settings = {"n_paths": 3, "n_sweeps": 60, "seed": 1, "n_jobs": 1, **changes}
    return plait.sample(plait.LdaModel(corpus, 4, 0.3, 0.1), **settings)


def hostile_run():
    """Return a run with markup, controls, other directions and endless words wherever text can be."""
    words = [*HOSTILE, "x" * 10_000]
    documents = [[words[(d + k) % len(words)] for k in range(7)] for d in range(len(words))]
    corpus = plait.Corpus.from_tokens(
        documents,
        names=[*words[:-1], "y" * 10_000],
        dates=["1900", "</title>", "<b>", "1901", "", "1902", "1903", "1904", "1905"],
        columns={
            "<script>window.hacked=true</script>": [words[d % 4] for d in range(len(words))],
            "$array": [str(d % 2) for d in range(len(words))],
        },
    )
    run = plait.sample(plait.LdaModel(corpus, 3, 0.3, 0.1), n_paths=2, n_sweeps=5, n_jobs=1)
    return run.named({0: HOSTILE[0], 1: HOSTILE[3], 2: "z" * 1000})
