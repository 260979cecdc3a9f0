"""What a run says on the terminal and in log files."""

from __future__ import annotations

import io
import re
import sys

import numpy as np
import pytest
from numba import njit

import plait
from plait import progress
from plait.models.lda import LdaModel
from plait.progress import describe_seconds, show_count, show_progress
from plait.sampler import Progress, State
from plait.trace import Trace


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (44.6, "45 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (200.0, "3 min 20 s"),
        (3599.6, "1 h 0 min"),
        (7500.0, "2 h 5 min"),
        (360000.0, "100 h 0 min"),
    ],
)
def test_seconds_are_described_in_two_units(seconds, text):
    assert describe_seconds(seconds) == text


def run(small_bands, *, thin=2, shown=True, n_runs=1, **options):
    with show_progress(shown, **options) as callback:
        for seed in range(n_runs):
            model = LdaModel(small_bands.corpus, 3)
            plait.sample(model, n_paths=2, n_sweeps=3, seed=seed, thin=thin, n_jobs=1, callback=callback)


LINE = re.compile(r"sweep (\d) of 3(, \d+ s left)?(, log P\(words, topics\) -\d+\.\d{4} per token)?")


class TestLogFile:
    def test_lines_are_written_at_intervals(self, small_bands, monkeypatch, capsys):
        monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
        run(small_bands)
        out, err = capsys.readouterr()
        lines = [LINE.fullmatch(line) for line in err.splitlines()]
        assert out == ""
        assert [line[1] for line in lines] == ["1", "2", "3"]
        assert [line[2] is None for line in lines] == [True, False, False]  # no estimate from the first sweep
        assert [line[3] is None for line in lines] == [True, False, False]  # no likelihood before its record

    def test_a_short_run_gets_its_last_line_only(self, small_bands, capsys):
        run(small_bands)
        assert re.fullmatch(
            r"sweep 3 of 3, 0 s left, log P\(words, topics\) -[\d.]+ per token\n", capsys.readouterr().err
        )

    def test_sites_have_the_name_the_model_gives_them(self, small_bands, capsys):
        run(small_bands, site_name="observation")
        assert re.search(r"log P\(observations, states\) -[\d.]+ per observation\n", capsys.readouterr().err)

    def test_nothing_is_shown_if_quiet(self, small_bands, capsys):
        run(small_bands, shown=False)
        assert capsys.readouterr() == ("", "")

    def test_one_display_serves_several_runs(self, small_bands, capsys):
        run(small_bands, n_runs=2)
        assert capsys.readouterr().err.count("sweep 3 of 3") == 2


class TestLogger:
    def test_a_program_that_listens_gets_the_progress_and_nothing_is_printed(
        self, small_bands, caplog, capsys, monkeypatch
    ):
        monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
        for shown in (True, False):
            caplog.clear()
            with caplog.at_level("INFO", "plait"):
                run(small_bands, shown=shown)
            assert [LINE.fullmatch(line)[1] for line in caplog.messages] == ["1", "2", "3"]
            assert {(record.name, record.levelname) for record in caplog.records} == {("plait", "INFO")}
        assert capsys.readouterr() == ("", "")

    def test_estimators_tell_it_too_without_being_verbose(self, caplog, capsys):
        symbols = np.random.default_rng(0).integers(2, size=(20, 1))
        counts = symbols.astype(float)
        for estimator, X in (
            (plait.CategoricalHMM(2, n_iter=3, polish=False, n_jobs=1), symbols),
            (plait.PoissonMixture(1, max_iter=3, polish=False, n_jobs=1), counts),
        ):
            caplog.clear()
            with caplog.at_level("INFO", "plait"):
                estimator.fit(X)
            assert caplog.messages[-1].startswith("sweep 3 of 3")
            estimator.fit(X)
        assert capsys.readouterr() == ("", "")


def search(n_jobs=1):
    sequences = plait.Sequences.from_values([[0.0], [1.0], [0.5], [3.0]])
    model = plait.FactorialHmmModel(sequences, 2, 2, search=1)
    with show_progress(site_name=model.site_name) as callback:
        plait.sample(model, n_paths=2, n_sweeps=3, seed=0, thin=1, n_jobs=n_jobs, callback=callback)


class TestSearch:
    def test_a_log_file_gets_a_line_when_a_search_starts(self, capsys):
        search()
        first, last = capsys.readouterr().err.splitlines()
        assert first == "Searching for a starting point"
        assert last.startswith("sweep 3 of 3, 0 s left")

    def test_a_log_file_gets_the_share_done_and_the_time_left(self, capsys, monkeypatch):
        monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
        search()
        lines = capsys.readouterr().err.splitlines()
        steps = [re.fullmatch(r"Searching for a starting point: (\d+)%, \d+ s left", x) for x in lines[1:-3]]
        shares = [int(step[1]) for step in steps]
        assert shares == sorted(shares)
        assert shares[-1] == 100
        assert re.fullmatch(r"sweep 1 of 3, log P\(data, paths\) -?[\d.]+ per state", lines[-3])

    def test_a_terminal_gets_a_bar(self, monkeypatch):
        screen = put_terminal(monkeypatch)
        search()
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
        assert re.search(r"sweep 3 of 3 \S+ 0 s left log P\(data, paths\) -?\d+\.\d{4} per state", text)

    def test_the_bar_names_the_search(self, monkeypatch):
        screen = put_terminal(monkeypatch)
        trace = Trace.empty(1)
        state = State(0, np.empty((1, 0), np.uint16))
        with show_progress() as callback:
            for done in (1, 5):
                callback(Progress(state, 10, float(done), trace, search=(done, 9)))
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
        assert re.search(r"Searching for a starting point \S+ 4 s left", text)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def put_terminal(monkeypatch):
    """Put a terminal in the place of standard error, from within the test: pytest sets its own before it."""
    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


class TestTerminal:
    def test_one_line_is_updated(self, small_bands, monkeypatch, capsys):
        screen = put_terminal(monkeypatch)
        run(small_bands, thin=1)
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
        assert re.search(r"sweep 3 of 3 \S+ 0 s left log P\(words, topics\) -\d+\.\d{4} per token", text)
        assert capsys.readouterr().out == ""

    def test_the_cursor_is_shown_again_when_the_run_fails(self, small_bands, monkeypatch):
        def run_and_fail():
            with show_progress() as show:

                def show_and_fail(now):
                    show(now)
                    raise ZeroDivisionError

                plait.sample(LdaModel(small_bands.corpus, 3), n_sweeps=3, n_jobs=1, callback=show_and_fail)

        screen = put_terminal(monkeypatch)
        with pytest.raises(ZeroDivisionError):
            run_and_fail()
        hidden, shown = (screen.getvalue().rfind(f"\x1b[?25{end}") for end in "lh")
        assert -1 < hidden < shown

    def test_stages_and_names_are_shown_literally(self, monkeypatch):
        screen = put_terminal(monkeypatch)
        state = State(1, np.zeros((1, 1), np.uint16))
        trace = Trace(np.array([1]), np.array([1.0]), np.array([[-1.0]]))
        with show_progress(site_name="[i]\x1b[5m") as callback:
            callback(Progress(state, 2, 1.0, trace, stage="[red]\x1b[5m\n"))
        assert "[red]\\x1b[5m\\n, sweep 1 of 2" in screen.getvalue()
        assert "per [i]\\x1b[5m" in screen.getvalue()
        assert "\x1b[5m" not in screen.getvalue()

    def test_sites_have_the_name_the_model_gives_them(self, small_bands, monkeypatch):
        screen = put_terminal(monkeypatch)
        run(small_bands, thin=1, site_name="observation")
        assert "per observation" in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())


def count(n=3, **options):
    with show_count(n, "sequences decoded", **options) as done:
        for i in range(n):
            done(i + 1)


class TestCount:
    def test_quick_work_shows_nothing(self, capsys, monkeypatch):
        count()
        assert capsys.readouterr() == ("", "")
        screen = put_terminal(monkeypatch)
        count()
        assert "decoded" not in screen.getvalue()

    def test_lines_are_written_to_a_log_file(self, capsys, monkeypatch):
        monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
        count()
        assert capsys.readouterr().err.splitlines() == [f"{i} of 3 sequences decoded" for i in (1, 2, 3)]

    def test_one_line_is_updated_on_a_terminal(self, monkeypatch):
        monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
        screen = put_terminal(monkeypatch)
        count()
        assert "3 of 3 sequences decoded" in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())

    def test_nothing_is_shown_if_quiet(self, capsys, monkeypatch):
        monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
        count(shown=False)
        assert capsys.readouterr() == ("", "")


def test_a_lost_terminal_does_not_end_the_work(monkeypatch):
    class Gone(io.StringIO):
        def isatty(self):
            return True

        def write(self, text):
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(sys, "stderr", Gone())
    with show_count(3, "sequences decoded") as count:
        count(3)
    with show_progress() as callback:
        assert callback is not None


class TestCompilation:
    """The first fit after the installation compiles kernels, which takes seconds."""

    def compile_within(self, *, new: bool) -> None:
        def add_one(x):
            return x + 1

        compiled = njit(add_one)  # without a cache
        if not new:
            compiled(1)
        with show_progress():
            compiled(1)

    def test_a_terminal_says_that_kernels_are_compiled(self, monkeypatch):
        screen = put_terminal(monkeypatch)
        self.compile_within(new=True)
        assert progress.COMPILING in screen.getvalue()

    def test_a_terminal_does_not_say_so_if_they_are_ready(self, monkeypatch):
        screen = put_terminal(monkeypatch)
        self.compile_within(new=False)
        assert progress.COMPILING not in screen.getvalue()

    def test_a_log_file_does_not_get_it(self, capsys):
        self.compile_within(new=True)
        assert capsys.readouterr().err == ""
