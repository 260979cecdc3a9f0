"""What all figures share: text as it is, and settings of matplotlib that stay the user's."""

from __future__ import annotations

import sys

import pytest

from plait.errors import PlaitError
from plait.evaluate import figure_style as style

matplotlib = pytest.importorskip("matplotlib")


def test_figures_change_nothing_outside_them(tmp_path):
    from matplotlib import pyplot

    before = dict(matplotlib.rcParams)
    with style.styled():
        figure, axes = style.new_figure(2)
        axes[0][0].plot([1, 2], label="a")
        assert [path.name for path in style.save(figure, tmp_path, "two")] == ["two.png", "two.svg"]
    assert dict(matplotlib.rcParams) == before
    assert pyplot.get_fignums() == []
    assert all(path.stat().st_size > 1000 for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("war", "war"),
        ("$x_1$ and \\$", "$x_1$ and \\$"),
        ("a\nb\x1b", "a\\nb\\x1b"),
        ("_hidden", " _hidden"),
        ("$_x", "$_x"),
        ("a" * 50, "a" * 39 + "…"),
    ],
)
def test_text_is_shown_as_it_is(text, shown):
    from matplotlib.figure import Figure

    figure = Figure()
    drawn = figure.text(0, 0, style.figure_text(text))
    figure.draw_without_rendering()
    preprocessed, is_math = drawn._preprocess_math(drawn.get_text())
    assert (preprocessed, bool(is_math)) == (shown, False)


def test_without_matplotlib_there_is_a_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PlaitError, match=r'figures need matplotlib: pip install "plait\[plot\]"'):
        style.new_figure()
    with pytest.raises(PlaitError, match="figures need matplotlib"), style.styled():
        pass
