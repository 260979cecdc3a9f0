"""Places for outputs: checked, claimed by one writer at a time, and replaced atomically."""

from __future__ import annotations

import errno
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from plait import outputs
from plait.errors import PlaitError
from plait.outputs import check_output, claimed, exclusive, previous_name, replacing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs pipes, devices and record locks")

HOLD = """
import sys
from pathlib import Path
from plait.outputs import claimed
with claimed(Path(sys.argv[1]), overwrite=True):
    print("claimed", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Return a function that starts another process which claims a place, until its input is closed."""
    started = []

    def start(path):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        started.append(process)
        assert process.stdout.readline() == b"claimed\n"
        return process

    yield start
    for process in started:
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=30)


def busy(path):
    return pytest.raises(
        PlaitError, match=rf"\Aanother process or thread is writing {re.escape(str(path))}: wait"
    )


class TestClaims:
    def test_another_process_is_refused_before_anything_is_written(self, tmp_path, holder):
        path = tmp_path / "model"
        process = holder(path)
        before = set(os.listdir(tmp_path))
        with busy(path), claimed(path, overwrite=True):
            pass
        with busy(path), replacing(path):
            pass
        assert set(os.listdir(tmp_path)) == before
        process.stdin.close()
        process.wait(timeout=30)
        with replacing(path) as temporary:
            temporary.write_text("free again")
        assert os.listdir(tmp_path) == ["model"]

    def test_a_link_and_its_target_are_one_place(self, tmp_path, holder):
        (tmp_path / "model").write_text("old")
        (tmp_path / "link").symlink_to("model")
        holder(tmp_path / "model")
        with busy(tmp_path / "link"), replacing(tmp_path / "link"):
            pass

    def test_another_thread_is_refused_and_the_same_thread_is_not(self, tmp_path):
        path, errors = tmp_path / "model", []

        def other():
            try:
                with claimed(path, overwrite=True):
                    pass
            except PlaitError as error:
                errors.append(error)

        with claimed(path, overwrite=True):
            with claimed(path, overwrite=True), replacing(path) as temporary:
                temporary.write_text("new")
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        assert "another process or thread" in str(errors[0])
        other()
        assert len(errors) == 1

    def test_a_killed_holder_leaves_nothing_that_matters(self, tmp_path, holder):
        path = tmp_path / "model"
        process = holder(path)
        leftover = tmp_path / f"{outputs._hidden_name(path)}-{process.pid}-1.tmp"
        leftover.write_text("half a file")
        process.kill()
        process.wait(timeout=30)
        assert len(os.listdir(tmp_path)) == 2  # the temporary file and the lock
        with replacing(path) as temporary:
            temporary.write_text("new")
        assert os.listdir(tmp_path) == ["model"]

    def test_leftovers_of_other_files_stay(self, tmp_path):
        other = tmp_path / f"{outputs._hidden_name(tmp_path / 'other')}-1-1.tmp"
        other.write_text("somebody is writing this")
        with claimed(tmp_path / "model", overwrite=True):
            pass
        assert other.exists()

    def test_a_forked_process_does_not_inherit_the_claim(self, tmp_path):
        path = tmp_path / "model"
        with claimed(path, overwrite=True):
            child = os.fork()
            if not child:
                try:
                    with claimed(path, overwrite=True):
                        os._exit(1)
                except PlaitError:
                    os._exit(0)
                finally:
                    os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            with claimed(path, overwrite=True):  # the child did not take it away
                pass

    def test_a_lock_file_that_was_removed_meanwhile_is_not_trusted(self, tmp_path, monkeypatch):
        lock, lockf, removed = tmp_path / "lock", outputs.fcntl.lockf, []

        def remove_first(descriptor, how):
            if not removed:
                removed.append(lock.unlink())
            return lockf(descriptor, how)

        monkeypatch.setattr(outputs.fcntl, "lockf", remove_first)
        with exclusive(lock, "busy") as is_alone:
            assert is_alone
            assert lock.exists()

    def test_a_lock_of_another_user_counts(self, tmp_path, holder, monkeypatch):
        path, real = tmp_path / "model", os.open
        holder(path)

        def read_only(name, flags, *mode, **options):
            if str(name).endswith(".lock") and flags & os.O_RDWR:
                raise PermissionError(errno.EACCES, "Permission denied")
            return real(name, flags, *mode, **options)

        monkeypatch.setattr(os, "open", read_only)
        with busy(path), claimed(path, overwrite=True):
            pass

    def test_a_private_file_is_never_readable_for_others(self, tmp_path):
        path = tmp_path / "model"
        path.write_text("secret")
        path.chmod(0o600)
        with replacing(path) as temporary:
            assert temporary.stat().st_mode & 0o777 == 0o600
            temporary.write_text("new secret")
        assert path.stat().st_mode & 0o777 == 0o600

    def test_a_file_system_without_locks_is_used_without(self, tmp_path, monkeypatch):
        def refuse(descriptor, how):
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(outputs.fcntl, "lockf", refuse)
        with replacing(tmp_path / "model") as temporary:
            temporary.write_text("new")
        assert (tmp_path / "model").read_text() == "new"

    def test_a_file_that_appears_after_the_check_is_not_replaced(self, tmp_path, monkeypatch):
        path, locked = tmp_path / "model", outputs._locked

        def slowly(place):
            path.write_text("precious")
            return locked(place)

        monkeypatch.setattr(outputs, "_locked", slowly)
        with pytest.raises(PlaitError, match="exists: replace it"), claimed(path, overwrite=False):
            pass


class TestPlaces:
    @pytest.mark.parametrize("kind", ["device", "pipe", "socket", "folder"])
    def test_only_regular_files_are_replaced(self, tmp_path, kind):
        path = tmp_path / "x"
        if kind == "device":
            path = Path("/dev/null")
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            os.chdir(tmp_path)  # the path of a socket must be short
            with socket.socket(socket.AF_UNIX) as unix:
                unix.bind("x")
        before = path.stat()
        for place in (path, tmp_path / "link"):
            if place != path:
                place.symlink_to(path)
            with pytest.raises(PlaitError, match=f"it is a {kind}; give the name of a file"):
                check_output(place, overwrite=True)
            with pytest.raises(PlaitError, match=f"it is a {kind}"), replacing(place):
                pass
        assert path.stat() == before

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("x" * 300, "File name too long. Choose a shorter name"),
            ("loop", "Too many levels of symbolic links"),
            ("a\0b", "embedded null"),
            ("gone/model", "there is no folder"),
            ("file/model", "there is no folder"),
        ],
    )
    def test_impossible_names_get_one_line(self, tmp_path, name, reason):
        (tmp_path / "loop").symlink_to("loop")
        (tmp_path / "file").touch()
        for check in (
            lambda path: check_output(path, overwrite=True),
            lambda path: replacing(path).__enter__(),
        ):
            with pytest.raises(PlaitError, match=rf"\Acannot write [^\n]*{reason}[^\n]*\Z"):
                check(tmp_path / name)

    def test_inputs_are_not_replaced(self, tmp_path):
        data = tmp_path / "data.csv"
        data.write_text("text\nprecious\n")
        (tmp_path / "link.csv").symlink_to("data.csv")
        os.link(data, tmp_path / "hard.csv")
        for output in ("data.csv", "link.csv", "hard.csv", "./data.csv"):
            with pytest.raises(PlaitError, match="it is part of the input, which would be lost"):
                check_output(tmp_path / output, overwrite=True, inputs=(None, data))
        check_output(tmp_path / "other.csv", overwrite=True, inputs=(None, data, tmp_path / "gone"))

    def test_texts_in_an_input_folder_are_not_replaced(self, tmp_path):
        texts = tmp_path / "texts" / "inner"
        texts.mkdir(parents=True)
        (texts / "a.txt").write_text("precious")
        (texts / "model.plait").write_text("an older model")
        with pytest.raises(PlaitError, match="part of the input"):
            check_output(texts / "a.txt", overwrite=True, inputs=[tmp_path / "texts"])
        check_output(texts / "model.plait", overwrite=True, inputs=[tmp_path / "texts"])

    def test_a_check_touches_nothing(self, tmp_path):
        path = tmp_path / "model"
        path.write_text("old")
        before = os.stat(tmp_path)
        check_output(path, overwrite=True)
        with pytest.raises(PlaitError, match="exists: resume it, replace it"):
            check_output(path, overwrite=False, resumable=True)
        assert os.stat(tmp_path) == before


class TestPrevious:
    def write(self, path, text):
        with replacing(path, keep_previous=True) as temporary:
            temporary.write_text(text)

    @pytest.mark.parametrize("links", [True, False])
    def test_the_two_newest_files_are_kept(self, tmp_path, monkeypatch, links):
        def refuse(*_):
            raise OSError(errno.EPERM, "no hard links here")

        if not links:
            monkeypatch.setattr(os, "link", refuse)
        path = tmp_path / "model"
        for text in ("1", "2", "3"):
            self.write(path, text)
        assert sorted(os.listdir(tmp_path)) == ["model", "model.previous"]
        assert (path.read_text(), previous_name(path).read_text()) == ("3", "2")

    def test_it_stands_next_to_the_file_and_not_to_a_link(self, tmp_path):
        (tmp_path / "far").mkdir()
        (tmp_path / "link").symlink_to("far/model")
        for text in ("1", "2"):
            self.write(tmp_path / "link", text)
        assert sorted(os.listdir(tmp_path / "far")) == ["model", "model.previous"]
        assert os.listdir(tmp_path) in (["far", "link"], ["link", "far"])
        assert previous_name(tmp_path / "link").read_text() == "1"

    def test_two_names_of_one_file_become_two_files_again(self, tmp_path):
        path = tmp_path / "model"
        self.write(path, "1")
        os.link(path, previous_name(path))
        self.write(path, "2")
        assert sorted(os.listdir(tmp_path)) == ["model", "model.previous"]
        assert (path.read_text(), previous_name(path).read_text()) == ("2", "1")

    def test_a_failed_write_changes_neither(self, tmp_path):
        path = tmp_path / "model"
        self.write(path, "1")
        self.write(path, "2")
        with pytest.raises(RuntimeError), replacing(path, keep_previous=True):
            raise RuntimeError
        assert (path.read_text(), previous_name(path).read_text()) == ("2", "1")
