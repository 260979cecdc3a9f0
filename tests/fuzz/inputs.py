"""An input that a target is tried on, and its form in JSON, in which findings are kept."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Edit = list[Any]
"""A change of a model file, in JSON: the name of the change and its arguments; see `forgery`."""


@dataclass(frozen=True)
class Input:
    """What a target is tried on: bytes, or a valid model file with edits.

    Attributes
    ----------
    target : str
        Name of the target.
    seed : str
        Name of the valid file that the input was made from; it also selects the options of the reader.
    data : bytes or None
        The contents of the file, for all but edited model files.
    edits : tuple of Edit
        The edits of the seed, if there is no data. A description by edits stays small and readable, and stays
        meaningful when the model files that the seeds are made into change.
    """

    target: str
    seed: str
    data: bytes | None = None
    edits: tuple[Edit, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible form; `from_json` reads it."""
        form: dict[str, Any] = {"target": self.target, "seed": self.seed}
        if self.data is None:
            return form | {"edits": list(self.edits)}
        try:
            text = self.data.decode("utf-8")
        except UnicodeDecodeError:
            return form | {"base64": base64.b64encode(self.data).decode("ascii")}
        return form | {"text": text}

    @classmethod
    def from_json(cls, form: dict[str, Any]) -> Input:
        """Return the input that `to_json` wrote."""
        if "edits" in form:
            return cls(form["target"], form["seed"], None, tuple(form["edits"]))
        data = form["text"].encode("utf-8") if "text" in form else base64.b64decode(form["base64"])
        return cls(form["target"], form["seed"], data)


def read_inputs(folder: Path) -> dict[str, Input]:
    """Return the inputs in the JSON files of a folder, by name."""
    files = sorted(folder.glob("*.json"))
    return {file.stem: Input.from_json(json.loads(file.read_text(encoding="utf-8"))) for file in files}
