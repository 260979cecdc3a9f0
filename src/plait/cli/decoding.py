"""How `plait decode` writes states."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from plait.cli.output import name_cell
from plait.display import json_text

if TYPE_CHECKING:
    from plait.inference.states import Decoded


def write_array(file: BinaryIO, parts: Iterator[Decoded], n_sites: int) -> None:
    """Write the states as a .npy file, one part at a time."""
    import numpy as np

    header = {"descr": "<i8", "fortran_order": False, "shape": (n_sites,)}
    np.lib.format.write_array_header_1_0(file, header)
    for part in parts:
        file.write(part.states.astype("<i8").tobytes())


def write_text(
    stream: TextIO,
    parts: Iterator[Decoded],
    n_states: int,
    probabilities: bool,
    raw: bool,
    as_json: bool,
    state_names: Mapping[int, str] | None = None,
) -> None:
    """Write the states as a table, or as JSON, one object per line; with their names, where given."""
    state_names = dict(state_names or {})
    plain = csv.writer(stream, lineterminator="\n")
    # Not every version of Python quotes a carriage return, which ends a row as a line feed does.
    quoting = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    labels = [name_cell(state_names.get(s, ""), stream, raw=raw) for s in range(n_states)]
    if not as_json:
        more = ["name"] if state_names else []
        more += [f"p{s}" for s in range(n_states)] if probabilities else []
        header = ["sequence", "position", "state", *more]
    for number, part in enumerate(parts):
        times = part.sequences.times
        if number == 0 and not as_json:
            plain.writerow(header if times is None else [*header[:2], "time", *header[2:]])
        names = part.sequences.names or [str(part.first + k) for k in range(part.sequences.n_sequences)]
        likelihoods = [] if part.log_likelihoods is None else part.log_likelihoods.tolist()
        for k, (first, last) in enumerate(pairwise(part.sequences.offsets.tolist())):
            states = part.states[first:last].tolist()
            rows = None
            if probabilities and part.probabilities is not None:
                rows = part.probabilities[first:last].round(6).tolist()
            if as_json:
                result = {"sequence": names[k], "log_likelihood": likelihoods[k]}
                result |= {} if times is None else {"times": times[first:last]}
                result |= {"states": states} | ({"names": state_names} if state_names else {})
                result |= {} if rows is None else {"probabilities": rows}
                stream.write(json_text(result, stream) + "\n")
            else:
                name = name_cell(names[k], stream, raw=raw)
                columns: list[Iterable[Any]] = [repeat(name), range(len(states)), states]
                shown = [name, *labels]
                if times is not None:
                    moments = [name_cell(time, stream, raw=raw) for time in times[first:last]]
                    columns.insert(2, moments)
                    shown += moments
                writer = quoting if any("\r" in text for text in shown) else plain
                if state_names:
                    columns.append(labels[s] for s in states)
                cells = zip(*columns, strict=False)
                if rows is None:
                    writer.writerows(cells)
                else:
                    writer.writerows((*cell, *row) for cell, row in zip(cells, rows, strict=True))
    stream.flush()  # fail before the summary, not after it
