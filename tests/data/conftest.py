"""Fixtures for tests that read files."""

import gzip

import pytest


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file in the test's folder, compressed for .gz, and returns its path."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write
