"""Errors: one line for the user, in parts that know which words are arguments."""

from __future__ import annotations

import copy
import importlib
import pickle
import warnings

import pytest

import plait
from plait import errors
from plait.errors import Argument, NotSupported, PlaitError, rename_arguments

ERROR = PlaitError(Argument("n_paths"), " must be at least 1, got 0")
ADVICE = PlaitError("row 3 is empty: pass ", Argument("missing", True), " if it is missing")


class TestMessages:
    def test_arguments_read_as_in_python(self):
        assert str(ERROR) == "n_paths must be at least 1, got 0"
        assert str(ADVICE) == "row 3 is empty: pass missing=True if it is missing"
        assert str(Argument("format", "csv")) == "format='csv'"

    def test_arguments_are_named_as_the_caller_wishes(self):
        def name_of(argument):
            return f"--{argument.name}"

        assert ERROR.message(name_of) == "--n_paths must be at least 1, got 0"
        assert ADVICE.message(name_of) == "row 3 is empty: pass --missing if it is missing"

    def test_the_first_argument_is_the_error_s(self):
        assert ERROR.argument == "n_paths"
        assert ADVICE.argument == "missing"
        assert PlaitError(Argument("a"), " and ", Argument("b")).argument == "a"
        assert PlaitError("no argument").argument is None

    def test_words_that_look_like_arguments_are_words(self):
        error = PlaitError("n_paths.csv: no such file")
        assert error.argument is None
        assert error.message(lambda argument: "--x") == "n_paths.csv: no such file"

    def test_parts_of_an_error_within_an_error_stay_parts(self):
        outer = PlaitError("data.csv: ", ERROR, "; stop")
        assert outer.parts == ("data.csv: ", Argument("n_paths"), " must be at least 1, got 0", "; stop")
        assert outer.argument == "n_paths"
        assert str(PlaitError(outer)) == "data.csv: n_paths must be at least 1, got 0; stop"

    def test_an_error_is_a_value_error(self):
        assert isinstance(ERROR, ValueError)
        unsupported = NotSupported("there is no collapsed sampler")
        assert isinstance(unsupported, PlaitError)
        assert isinstance(unsupported, NotImplementedError)
        assert str(unsupported) == "there is no collapsed sampler"


class TestRenaming:
    def test_arguments_get_the_names_of_another_interface(self):
        error = PlaitError(
            "pass ", Argument("missing", True), " or lower ", Argument("alpha"), ": alpha is 0"
        )
        with pytest.raises(PlaitError) as caught, rename_arguments({"alpha": "doc_topic_prior"}):
            raise error
        assert caught.value is error
        assert str(error) == "pass missing=True or lower doc_topic_prior: alpha is 0"
        assert pickle.loads(pickle.dumps(error)).parts == error.parts

    def test_the_kind_of_the_error_stays(self):
        with pytest.raises(NotSupported), rename_arguments({"x": "y"}):
            raise NotSupported(Argument("x"), " is not supported")

    def test_other_errors_pass(self):
        with pytest.raises(ZeroDivisionError), rename_arguments({"x": "y"}):
            raise ZeroDivisionError


@pytest.mark.parametrize("error", [ERROR, ADVICE, NotSupported(Argument("x"), " is not supported")])
@pytest.mark.parametrize(
    "copied", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy], ids=["pickle", "copy"]
)
def test_a_copy_has_the_same_parts(error, copied):
    again = copied(error)
    assert type(again) is type(error)
    assert again.parts == error.parts
    assert str(again) == str(error)


def test_an_error_of_a_worker_process_keeps_its_argument():
    """joblib and multiprocessing send errors to the caller as pickles."""
    with pytest.raises(PlaitError) as caught:
        plait.CategoricalHMM(2, n_paths=0).fit([0, 1])
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.argument == "n_paths"


class TestDeprecatedNames:
    @pytest.mark.parametrize(
        ("module", "old", "new"),
        [
            ("plait.errors", "NotOffered", "NotSupported"),
            ("plait.models.emissions", "NormalLaw", "NormalParameters"),
            ("plait.models.emissions", "CategoricalLaw", "CategoricalParameters"),
            ("plait.models.emissions", "PoissonLaw", "PoissonParameters"),
            ("plait.models.emissions", "BernoulliLaw", "BernoulliParameters"),
        ],
    )
    def test_an_old_name_works_with_a_warning(self, module, old, new):
        home = importlib.import_module(module)
        with pytest.warns(DeprecationWarning, match=f"^{old} is called {new} now$") as caught:
            found = getattr(home, old)
        assert found is getattr(home, new)
        assert caught[0].filename == __file__

    @pytest.mark.parametrize("module", ["plait.errors", "plait.models.emissions"])
    def test_a_name_that_never_was_is_an_attribute_error(self, module):
        home = importlib.import_module(module)
        with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'Nothing'"):
            _ = home.Nothing

    def test_new_names_do_not_warn(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert errors.NotSupported is NotSupported
