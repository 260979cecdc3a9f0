"""Files of runs changed as another program could change them: with checksums that fit."""

from __future__ import annotations

import json
import zlib

import numpy as np
import safetensors.numpy
from safetensors import safe_open

from plait.storage import header_checksum


def header_of(path):
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["plait"])


def rewrite(path, change_header=None, change_tensors=None, metadata=None):
    """Change a file as another program could: checksums are made to fit."""
    header, tensors = header_of(path), safetensors.numpy.load_file(path)
    if change_tensors is not None:
        change_tensors(tensors)
        tensors = {name: np.asarray(array, order="C") for name, array in tensors.items()}
        header["checksums"] = {name: zlib.crc32(array.data) for name, array in tensors.items()}
    if change_header is not None:
        change_header(header)
    header["checksum"] = header_checksum(header)
    safetensors.numpy.save_file(tensors, path, metadata or {"plait": json.dumps(header)})
