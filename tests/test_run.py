"""Files of runs: lossless, written whole or not at all, and clear about what is wrong with them."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy

import plait
from forging import rewrite
from plait.data.corpus import Corpus
from plait.errors import PlaitError, PlaitWarning
from plait.inference.slim import slim
from plait.models.lda import LdaModel, Topics
from plait.outputs import _temporary_name
from plait.run import MODELS, FitState, Run, load
from plait.storage import FORMAT
from plait.threads import Threads


@pytest.fixture(scope="module")
def run(annotated_corpus) -> Run:
    eta = np.full((3, annotated_corpus.n_words), 0.01)
    eta[1, 0] = 1 / 3
    model = LdaModel(annotated_corpus, 3, alpha=[0.1, 0.2, 0.3], eta=eta)
    return plait.sample(model, n_paths=2, n_sweeps=7, seed=2**63 - 1, thin=3, n_jobs=1)


@pytest.fixture
def path(run, tmp_path):
    path = tmp_path / "run.plait"
    run.save(path)
    return path


def fails(path, *parts):
    """Expect a one-line error that names the path, then says each of the parts."""
    rest = "".join(f"[^\n]*{part}" for part in parts)
    return pytest.raises(PlaitError, match=rf"\A[^\n]*{re.escape(str(path))}{rest}[^\n]*\Z")


class TestRoundTrip:
    def check(self, again, run):
        assert again.paths.dtype == run.paths.dtype
        assert np.array_equal(again.paths, run.paths)
        for name in ("sweep", "seconds", "log_joint"):
            mine, other = getattr(again.trace, name), getattr(run.trace, name)
            assert mine.dtype == other.dtype
            assert np.array_equal(mine, other)
        assert again.settings == run.settings
        assert (again.sweep, again.seconds, again.version) == (run.sweep, run.seconds, run.version)
        assert again.finished == run.finished
        model, other = again.model, run.model
        assert type(model) is type(other)
        assert model.n_topics == other.n_topics
        assert np.array_equal(model.alpha, other.alpha)
        assert np.array_equal(model.eta, other.eta)
        assert model.corpus.equals(other.corpus)
        for name in ("names", "dates", "columns", "recipe"):
            assert getattr(model.corpus, name) == getattr(other.corpus, name)

    def test_everything_comes_back(self, run, path):
        self.check(load(path), run)
        self.check(load(str(path)), run)
        self.check(Run.load(path, LdaModel), run)

    def test_saving_again_gives_the_same_file(self, path, tmp_path):
        load(path).save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == path.read_bytes()

    @pytest.mark.parametrize("collapsed", [False, True])
    def test_scalar_priors_and_a_bare_corpus_come_back(self, collapsed, tmp_path):
        corpus = Corpus.from_tokens([["a", "b"], []])
        run = plait.sample(LdaModel(corpus, 2), n_paths=1, n_sweeps=1, collapsed=collapsed, n_jobs=1)
        run.save(tmp_path / "x")
        self.check(load(tmp_path / "x"), run)

    def test_a_model_with_one_topic_comes_back(self, annotated_corpus, tmp_path):
        run = plait.sample(LdaModel(annotated_corpus, 1, least_topics=1), n_sweeps=1, n_jobs=1)
        run.save(tmp_path / "x")
        self.check(load(tmp_path / "x"), run)

    def test_a_run_without_a_trace_comes_back(self, run, tmp_path):
        stopped = plait.sample(run.model, n_paths=2, n_sweeps=3, n_jobs=1, callback=lambda _: True)
        stopped.save(tmp_path / "x")
        again = load(tmp_path / "x")
        assert (again.sweep, again.finished, len(again.trace)) == (1, False, 0)

    def test_the_file_is_nothing_but_numbers_and_json(self, run, path):
        data = path.read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        entries = json.loads(data[8 : 8 + size])
        metadata = entries.pop("__metadata__")
        assert list(metadata) == ["plait"]
        assert json.loads(metadata["plait"])["format"] == FORMAT
        end = 0
        for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
            assert entry["dtype"] in {"U8", "U16", "I32", "I64", "F64"}
            first, last = entry["data_offsets"]
            assert first == end
            end = last
            if entry["dtype"] == "U8":
                assert json.loads(data[8 + size + first : 8 + size + last]) is not None, name
        assert 8 + size + end == len(data)

    def test_a_user_s_model_needs_its_class(self, path):
        class Mine(LdaModel):
            pass

        rewrite(path, lambda header: header.update(kind="mine"))
        with fails(path, "the kind 'mine', which plait does not ship", r"load\(path, model_class\)"):
            load(path)
        assert type(load(path, Mine).model) is Mine


class TestForeignFiles:
    def test_a_missing_file_is_refused(self, tmp_path):
        with fails(tmp_path / "x", "No such file", "`plait fit` makes one"):
            load(tmp_path / "x")

    def test_a_folder_is_refused(self, tmp_path):
        with fails(tmp_path, "folder", "`plait fit`"):
            load(tmp_path)

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\0",
            b"The quick brown fox\n" * 50,
            b"\x89PNG\r\n\x1a\n" + bytes(100),
            bytes(1000),
            b"\xff" * 64,
        ],
        ids=["empty", "one byte", "text", "png", "zeros", "ones"],
    )
    def test_files_that_are_not_safetensors_are_refused(self, tmp_path, content):
        path = tmp_path / "x"
        path.write_bytes(content)
        with fails(path, "is not a plait model", "give a file that `plait fit` wrote"):
            load(path)

    @pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
    def test_safetensors_of_another_program_are_refused(self, tmp_path, metadata):
        safetensors.numpy.save_file({"weight": np.zeros(3)}, tmp_path / "x", metadata)
        with fails(tmp_path / "x", "is not a plait model", "give a file that `plait fit` wrote"):
            load(tmp_path / "x")

    def test_a_newer_format_is_refused(self, path):
        rewrite(path, lambda header: header.update(format=FORMAT + 1, version="9.9"))
        with fails(path, f"plait 9.9 in format {FORMAT + 1}", f"up to format {FORMAT}", "update plait"):
            load(path)


class TestDamagedFiles:
    def test_a_file_cut_short_is_refused(self, path):
        data = path.read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        for length in (1, 7, 8, 9, size // 2, size + 7, size + 8, size + 9, len(data) // 2, len(data) - 1):
            path.write_bytes(data[:length])
            with fails(path, "cut short or damaged", "give a file that `plait fit` wrote"):
                load(path)

    def test_a_file_with_something_appended_is_refused(self, path):
        path.write_bytes(path.read_bytes() + b"\0")
        with fails(path, "damaged", "give a file"):
            load(path)

    def test_a_changed_byte_of_any_array_is_noticed(self, run, path):
        data = path.read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        entries = json.loads(data[8 : 8 + size])
        del entries["__metadata__"]
        assert len(entries) == 12
        for name, entry in entries.items():
            first, last = entry["data_offsets"]
            for at in {first, (first + last) // 2, last - 1}:
                changed = bytearray(data)
                changed[8 + size + at] ^= 4
                path.write_bytes(changed)
                with fails(
                    path, f"is damaged: {re.escape(name)} is not what was written", "fit the model again"
                ):
                    load(path)

    def test_a_changed_byte_of_the_header_is_no_other_error(self, path):
        data = path.read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        messages = []
        for at in range(8 + size):
            changed = bytearray(data)
            changed[at] ^= (1, 2, 16, 128)[at % 4]
            path.write_bytes(changed)
            with suppress(PlaitError):  # and nothing else: spaces and the like may change unnoticed
                try:
                    load(path)
                except PlaitError as error:
                    messages.append(str(error))
                    raise
        assert [message for message in messages if str(path) not in message or "\n" in message] == []
        assert len(messages) > size // 2

    def test_a_changed_digit_of_the_seed_is_noticed(self, run, path):
        # Resumed, the run would silently end with other bits.
        seed = str(run.settings.seed).encode()
        path.write_bytes(path.read_bytes().replace(seed, seed[:-1] + b"6"))
        with fails(path, "is damaged", "fit the model again"):
            load(path)

    @pytest.mark.parametrize(
        "name",
        [
            "paths",
            "trace.sweep",
            "trace.seconds",
            "trace.log_joint",
            "model.alpha",
            "model.eta",
            "model.corpus.words",
            "model.corpus.offsets",
            "model.corpus.vocabulary",
            "model.corpus.columns",
        ],
    )
    def test_a_missing_array_is_refused(self, path, name):
        data = path.read_bytes()

        def without(tensors):
            del tensors[name]

        rewrite(path, None, without)
        with fails(path, "(lacks|damaged)", "fit the model again"):
            load(path)
        path.write_bytes(data)
        rewrite(path, None, without)
        rewrite(path, lambda header: header["checksums"].update({name: 0}))
        with fails(path, f"is damaged: {re.escape(name)}", "fit the model again"):
            load(path)

    @pytest.mark.parametrize("name", ["format", "kind", "model", "settings", "sweep", "seconds", "version"])
    def test_a_missing_part_of_the_header_is_refused(self, path, name):
        rewrite(path, lambda header: header.pop(name))
        with fails(path, f"({name}|header)", "(fit the model again|give a file)"):
            load(path)

    @pytest.mark.parametrize(
        "metadata", ["", "[]", "7", "null", "{}", '"x"', "[" * 100_000, '{"format": "1"}']
    )
    def test_a_header_of_another_form_is_refused(self, path, metadata):
        rewrite(path, metadata={"plait": metadata})
        with fails(path, "(damaged|lacks)", "(fit the model again|give a file)"):
            load(path)

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("sweep", "7"),
            ("sweep", -1),
            ("sweep", None),
            ("seconds", "long"),
            ("kind", ["lda"]),
            ("settings", {"n_paths": 2}),
            ("settings", []),
            ("model", {}),
            ("model", {"n_topics": 3, "corpus": {}}),
            ("model", {"n_topics": "3", "corpus": {"recipe": None}}),
            ("model", {"n_topics": 4, "corpus": {"recipe": None}}),
            ("model", {"n_topics": 3, "corpus": {"recipe": {"stemm": None}}}),
            ("checksums", []),
        ],
    )
    def test_impossible_values_in_the_header_are_refused(self, path, key, value):
        rewrite(path, lambda header: header.update({key: value}))
        with fails(path):
            load(path)

    @pytest.mark.parametrize(
        "change",
        [
            lambda tensors: tensors.update(paths=tensors["paths"][:1]),
            lambda tensors: tensors.update(paths=tensors["paths"][:, 1:]),
            lambda tensors: tensors.update(paths=tensors["paths"].ravel()),
            lambda tensors: tensors.update(paths=tensors["paths"].astype(np.float64)),
            lambda tensors: tensors.update(
                paths=tensors["paths"] + np.uint16(3)
            ),  # kernels would write beyond
            lambda tensors: tensors.update({"trace.sweep": tensors["trace.sweep"][1:]}),
            lambda tensors: tensors.update({"trace.log_joint": tensors["trace.log_joint"][:, 1:]}),
            lambda tensors: tensors.update({"model.alpha": -tensors["model.alpha"]}),
            lambda tensors: tensors.update({"model.corpus.words": tensors["model.corpus.words"] + 100}),
            lambda tensors: tensors.update({"model.corpus.names": np.frombuffer(b'["a"]', np.uint8)}),
        ],
        ids=[
            "fewer paths",
            "shorter paths",
            "flat paths",
            "paths of floats",
            "topics out of range",
            "shorter trace",
            "trace of fewer paths",
            "negative alpha",
            "words out of range",
            "too few names",
        ],
    )
    def test_impossible_arrays_of_a_run_are_refused(self, path, change):
        rewrite(path, None, change)
        with fails(path):
            load(path)


class TestSaving:
    def save_fails(self, run, path, *parts):
        with fails(path, *parts):
            run.save(path)

    def test_a_missing_folder_is_refused(self, run, tmp_path):
        self.save_fails(run, tmp_path / "no" / "x", f"there is no folder {re.escape(str(tmp_path / 'no'))}")
        assert list(tmp_path.iterdir()) == []

    def test_the_error_about_a_missing_folder_does_not_speak_of_space(self, run, tmp_path):
        with pytest.raises(PlaitError) as caught:
            run.save(tmp_path / "no" / "x")
        assert "space" not in str(caught.value)

    def test_the_name_of_a_folder_is_refused(self, run, tmp_path):
        self.save_fails(run, tmp_path, "it is a folder", "give the name of a file")

    def test_a_place_below_a_file_is_refused(self, run, tmp_path):
        (tmp_path / "file").write_text("kept")
        self.save_fails(run, tmp_path / "file" / "x", "there is no folder")
        assert (tmp_path / "file").read_text() == "kept"

    def test_denied_permission_leaves_the_old_file(self, run, path, monkeypatch):
        def deny(*args):
            raise PermissionError(13, "Permission denied")

        before = path.read_bytes()
        monkeypatch.setattr(os, "replace", deny)
        self.save_fails(
            run, path, "Permission denied", "the file that was there is unchanged", "Choose another place"
        )
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == [path.name]

    def test_an_interrupt_while_writing_leaves_nothing_behind(self, run, path, monkeypatch):
        def interrupt(*args):
            raise KeyboardInterrupt

        before = path.read_bytes()
        monkeypatch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run.save(path)
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == [path.name]

    def test_a_leftover_of_a_crash_is_replaced(self, run, path):
        leftover = _temporary_name(path)
        leftover.write_bytes(b"half a file")
        replace(run, seconds=99.0).save(path)
        assert load(path).seconds == 99.0
        assert os.listdir(path.parent) == [path.name]

    def test_a_name_may_be_as_long_as_the_file_system_allows(self, run, tmp_path):
        path = tmp_path / ("x" * 255)
        run.save(path)
        assert np.array_equal(load(path).paths, run.paths)

    def test_a_symbolic_link_still_points_to_its_file(self, run, path):
        link = path.with_name("link")
        link.symlink_to(path.name)
        replace(run, seconds=99.0).save(link)
        assert link.is_symlink()
        assert load(path).seconds == 99.0

    def test_the_file_gets_the_usual_permissions(self, path):
        (path.parent / "usual").touch()
        assert path.stat().st_mode == (path.parent / "usual").stat().st_mode

    @pytest.mark.skipif(sys.platform == "win32", reason="sets a limit that Windows does not have")
    @pytest.mark.parametrize("there", [True, False])
    def test_a_full_disk_leaves_the_old_file(self, path, there):
        before = path.read_bytes()
        other = path if there else path.with_name("new.plait")
        code = f"""
import resource, sys
from plait.run import load
run = load({str(path)!r})
resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before) // 2}, {len(before) // 2}))
try:
    run.save({str(other)!r})
except ValueError as error:
    sys.exit(type(error).__name__ + ": " + str(error))
"""
        # Coverage writes a file of its own as the process ends, which the limit would hit too.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment
        )
        kept = "; the file that was there is unchanged" if there else ""
        wanted = rf"PlaitError: cannot write {re.escape(str(other))}: [^\n]*{kept}. Free some space[^\n]*\n"
        assert re.fullmatch(wanted, result.stderr)
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == [path.name]


class TestPrevious:
    @pytest.fixture
    def both(self, run, path):
        """Return a file at sweep 7 whose previous checkpoint is at sweep 4."""

        def stop(progress):
            return progress.state.sweep == 4

        plait.sample(run.model, n_paths=2, n_sweeps=7, seed=1, n_jobs=1, callback=stop).save(path)
        run.save(path, keep_previous=True)
        assert load(path).sweep == 7
        return path

    @pytest.mark.parametrize("damage", ["cut short", "empty", "changed", "forged", "missing"])
    def test_a_damaged_file_falls_back_to_the_previous_one(self, both, damage):
        data = both.read_bytes()
        if damage == "missing":  # for a moment, where the file system has no hard links
            both.unlink()
        elif damage == "forged":
            rewrite(both, lambda header: header.update(sweep=-1))
        else:
            both.write_bytes({"cut short": data[:-9], "empty": b"", "changed": data[:-1] + b"!"}[damage])
        with pytest.warns(PlaitWarning, match=r"before it, .*run.plait.previous, at sweep 4 of 7, was read"):
            assert load(both).sweep == 4
        previous = both.with_name(f"{both.name}.previous")
        with pytest.warns(PlaitWarning, match="was read instead"):
            resumed = plait.resume(both, n_sweeps=4, n_jobs=1)
        assert resumed.sweep == load(both).sweep == 4
        assert load(previous).sweep == 4  # the damaged file did not take its place
        plait.resume(both, n_sweeps=7, n_jobs=1)
        assert load(both).sweep == 7
        assert load(previous).sweep == 4

    def test_two_damaged_files_are_an_error(self, both):
        both.write_bytes(b"")
        both.with_name(f"{both.name}.previous").write_bytes(b"")
        with fails(both, "cut short or damaged"):
            load(both)

    @pytest.mark.parametrize("keep", [False, True])
    def test_the_checkpoints_of_another_run_are_not_kept(self, both, run, keep):
        plait.sample(
            run.model, n_sweeps=3, checkpoint=both, overwrite=True, keep_previous=keep, checkpoint_seconds=0
        )
        previous = both.with_name(f"{both.name}.previous")
        assert previous.exists() == keep
        assert not keep or load(previous).settings == load(both).settings

    def test_a_file_that_is_no_checkpoint_is_not_replaced(self, run, tmp_path):
        (tmp_path / "x.previous").write_text("precious")
        with pytest.raises(
            PlaitError, match=r"x\.previous: it exists, and is not a checkpoint; move it away"
        ):
            plait.sample(run.model, n_sweeps=2, checkpoint=tmp_path / "x", keep_previous=True)
        plait.sample(run.model, n_sweeps=2, checkpoint=tmp_path / "x")
        assert (tmp_path / "x.previous").read_text() == "precious"

    def test_a_file_of_a_newer_format_is_not_taken_for_damaged(self, both):
        rewrite(both, lambda header: header.update(format=FORMAT + 1))
        with fails(both, "update plait"):
            load(both)

    def test_resuming_keeps_the_previous_one_only_if_there_is_one(self, both, run, tmp_path):
        plait.resume(both, n_sweeps=8, n_jobs=1)
        assert load(both.with_name(f"{both.name}.previous")).sweep == 7
        run.save(tmp_path / "alone")
        plait.resume(tmp_path / "alone", n_sweeps=8, n_jobs=1)
        assert not (tmp_path / "alone.previous").exists()


class TestUnusualPlaces:
    """Names that are no regular files get one line, at once."""

    @pytest.mark.parametrize("kind", ["pipe", "loop", "device", "long", "NUL", "here"])
    def test_they_are_refused(self, tmp_path, kind):
        path = tmp_path / "x"
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "loop":
            path.symlink_to("x")
        else:
            path = {"device": "/dev/zero", "long": "x" * 300, "NUL": "a\0b", "here": "."}[kind]
        with pytest.raises(PlaitError, match=r"\Acannot read the model [^\n]*; [^\n]*`plait fit`[^\n]*\Z"):
            load(path)
        with pytest.raises(PlaitError, match=r"\Acannot read the model"):
            plait.resume(path)

    @pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F8_E5M2"])
    def test_types_that_numpy_lacks_are_refused(self, path, dtype):
        """A file of another program may have them; its checksums can be made to fit."""
        data = path.read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        entries = json.loads(data[8 : 8 + size])
        entry = entries["trace.log_joint"]
        first, last = entry["data_offsets"]
        entry.update(dtype=dtype, shape=[(last - first) // (2 if dtype == "BF16" else 1)])
        text = json.dumps(entries).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])
        with fails(path, "damaged", "(trace.log_joint has the type|cut short)"):
            load(path)


def mean_and_type(kind):
    """Return a short run of a model of every kind, and the type of its parameters."""
    if kind == "slim-lda":
        run, parameters = mean_and_type("lda")
        return slim(run, 1), parameters
    rng = np.random.default_rng(0)
    values = plait.Sequences.from_values(rng.normal(size=(24, 1)))
    model, parameters = {
        "lda": (LdaModel(Corpus.from_tokens([["a", "b", "a"], ["c", "b"]]), 2), Topics),
        "hmm": (plait.HmmModel(plait.GaussianEmissions(values, 2)), plait.HmmParameters),
        "mixture": (plait.MixtureModel(plait.GaussianEmissions(values, 2)), plait.MixtureParameters),
        "potts": (plait.PottsModel(plait.GaussianEmissions(values, 2), (4, 6), 0.5), plait.PottsParameters),
        "factorial-hmm": (plait.FactorialHmmModel(values, 2, 2, search=0), plait.FactorialParameters),
    }[kind]
    assert model.kind == kind
    return plait.sample(model, n_paths=2, n_sweeps=3, n_jobs=1), parameters


class TestParameters:
    @pytest.mark.parametrize("kind", MODELS)
    def test_they_are_the_mean_given_the_paths_in_the_model_s_own_type(self, kind, tmp_path):
        run, parameters = mean_and_type(kind)
        found = run.parameters(1)
        assert type(found) is parameters
        with Threads(1) as threads:
            mean = run.model.mean_parameters(run.model.count(run.paths, threads), threads)
            again = run.parameters(threads)
        run.save(tmp_path / "x")
        loaded = load(tmp_path / "x").parameters()
        for other in (mean, again, loaded, run.parameters(n_jobs=2)):
            assert_same_parameters(found, other)

    def test_the_estimate_of_em_takes_their_place(self):
        run, _ = mean_and_type("hmm")
        estimate = run.parameters(1).permuted(np.array([1, 0]))
        assert replace(run, estimate=estimate).parameters() is estimate


def assert_same_parameters(mine, other):
    """Compare parameters of any type, field by field."""
    assert type(mine) is type(other)
    for name, value in vars(mine).items() if hasattr(mine, "__dict__") else mine._asdict().items():
        theirs = getattr(other, name)
        if isinstance(value, np.ndarray):
            assert np.array_equal(value, theirs), name
        elif hasattr(value, "to_arrays"):
            assert_same_parameters(value, theirs)


@pytest.fixture(scope="module")
def fits():
    """Return a fit with three restarts that is finished, and one that was stopped in the second."""
    sequences = plait.Sequences.from_values(np.random.default_rng(0).poisson(3, (30, 1)), [10, 20])
    model = plait.HmmModel(plait.PoissonEmissions(sequences, 2))
    run = plait.sample(model, n_paths=2, n_sweeps=4, seed=7, n_jobs=1)
    best = replace(run, estimate=run.parameters(1))
    state = FitState(((1, 7), (2, 8), (3, 9)), em_iterations=4, tol=0.01)
    finished = replace(best, fit=replace(state, scores=(-50.5, -60.25, -70.125)))
    stopped = plait.sample(model, n_paths=2, n_sweeps=4, seed=8, n_jobs=1, callback=lambda _: True)
    return finished, replace(stopped, fit=replace(state, scores=(-50.5,), best=best))


class TestFits:
    def check(self, again, run):
        assert np.array_equal(again.paths, run.paths)
        assert np.array_equal(again.trace.log_joint, run.trace.log_joint)
        assert (again.settings, again.sweep, again.finished) == (run.settings, run.sweep, run.finished)
        assert (again.estimate is None) == (run.estimate is None)
        if run.estimate is not None:
            assert_same_parameters(again.estimate, run.estimate)

    def test_estimate_and_state_come_back(self, fits, tmp_path):
        for run in fits:
            run.save(tmp_path / "x")
            again = load(tmp_path / "x")
            self.check(again, run)
            assert replace(again.fit, best=None) == replace(run.fit, best=None)
            assert (again.fit.best is None) == (run.fit.best is None)
            if run.fit.best is not None:
                self.check(again.fit.best, run.fit.best)
            again.save(tmp_path / "y")
            assert (tmp_path / "y").read_bytes() == (tmp_path / "x").read_bytes()

    def test_a_fit_is_finished_when_no_restart_is_left(self, fits):
        finished, stopped = fits
        assert finished.finished
        assert not stopped.finished
        assert not replace(finished, fit=replace(finished.fit, scores=(-50.5,))).finished
        assert (finished.fit.restart, stopped.fit.restart) == (3, 1)
        assert finished.fit.best_restart == 0
        assert replace(finished.fit, scores=(-2.0, -1.0, -1.0)).best_restart == 1

    def test_a_run_without_a_fit_is_finished_when_its_sweeps_or_em_are(self, fits):
        run = replace(fits[0], fit=None, estimate=None)
        assert run.finished
        assert not replace(run, sweep=3).finished
        assert replace(run, sweep=3, estimate=fits[0].estimate).finished

    @pytest.mark.parametrize(
        "change",
        [
            {"seeds": []},
            {"seeds": None},
            {"seeds": [1, 2, 3]},
            {"seeds": [[1], [2], [3]]},
            {"seeds": [[1, 2, 3]] * 3},
            {"seeds": [[-1, 7], [2, 8], [3, 9]]},
            {"seeds": [[1, 2**63], [2, 8], [3, 9]]},
            {"seeds": [[2**63, 7], [2, 8], [3, 9]]},
            {"seeds": [[1, -7], [2, 8], [3, 9]]},
            {"seeds": [[1.5, 7], [2, 8], [3, 9]]},
            {"seeds": [["1", 7], [2, 8], [3, 9]]},
            {"em_iterations": -1},
            {"em_iterations": True},
            {"em_iterations": 2.5},
            {"em_iterations": None},
            {"tol": -1},
            {"tol": "small"},
            {"tol": float("nan")},
            {"scores": [-1.0] * 4},
            {"scores": -50.5},
            {"scores": ["high"]},
            {"scores": [None]},
            {"scores": []},
            {"best": None},
            {"more": 1},
        ],
        ids=str,
    )
    def test_an_impossible_state_is_refused(self, change, fits, tmp_path):
        path = tmp_path / "x"
        fits[1].save(path)
        rewrite(path, lambda header: header["fit"].update(change))
        with fails(path, "is damaged", "fit the model again"):
            load(path)

    @pytest.mark.parametrize("name", ["seeds", "em_iterations", "tol", "scores"])
    def test_a_state_that_lacks_a_part_is_refused(self, name, fits, tmp_path):
        path = tmp_path / "x"
        fits[1].save(path)
        rewrite(path, lambda header: header["fit"].pop(name))
        with fails(path, "is damaged", "fit the model again"):
            load(path)

    def test_a_state_without_the_best_so_far_is_refused(self, fits, tmp_path):
        path = tmp_path / "x"
        fits[1].save(path)
        rewrite(path, lambda header: header.pop("best"))
        with fails(path, "is damaged", "fit the model again"):
            load(path)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("estimate.start", np.array([0.5, 0.6])),
            ("estimate.transitions", np.array([[1.0]])),
            ("estimate.emissions.rates", np.array([[-1.0], [2.0]])),
            ("best.estimate.start", np.array([0.5, 0.6])),
            ("best.paths", np.full((2, 30), 2, np.uint16)),
            ("best.trace.sweep", np.empty(0, np.int64)),
        ],
    )
    def test_impossible_arrays_are_refused(self, name, value, fits, tmp_path):
        path = tmp_path / "x"
        fits[name.startswith("best.")].save(path)

        def change(tensors):
            assert name in tensors
            tensors[name] = value

        rewrite(path, None, change)
        with fails(path):
            load(path)

    def test_a_file_of_the_first_format_can_be_read(self, run, tmp_path):
        run.save(tmp_path / "x")
        rewrite(tmp_path / "x", lambda header: header.update(format=1))
        assert np.array_equal(load(tmp_path / "x").paths, run.paths)
