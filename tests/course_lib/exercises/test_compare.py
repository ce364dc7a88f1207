"""What counts as the same, and how a difference is told."""

import numpy as np
import pytest

from course_lib.exercises.compare import Between, Near, difference, expected_text
from course_lib.exercises.shown import shown, type_name

ROWS = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("expected", "result"),
    [
        (0.5, 0.5 + 1e-8),
        (3, np.int64(3)),
        (3.0, 3),
        (np.float64(3.0), np.array(3.0)),
        (float("inf"), float("inf")),
        (None, None),
        (True, np.True_),
        ("member", "member"),
        (ROWS, ROWS.astype(np.float32)),
        (ROWS, ROWS.astype(int)),
        (np.array([np.nan, 1.0]), np.array([np.nan, 1.0])),
        (np.array([True, False]), np.array([True, False])),
        ((0.5, ROWS), [0.5, ROWS]),
        ((0.5, 1.0), np.array([0.5, 1.0])),
        ({"auc": 0.5}, {"auc": 0.5, "more": object()}),
        (Near(0.5, 0.1), 0.59),
        (Near(ROWS, 0.1), ROWS + 0.09),
        (Between(0.4, 0.6), 0.6),
        ((Between(0.4, 0.6), Near(1.0, 0.1)), (0.5, 1.05)),
    ],
)
def test_same_in_all_that_matters_is_no_difference(expected, result):
    assert difference(expected, result) == ""


@pytest.mark.parametrize(
    ("expected", "result", "says"),
    [
        (0.5, 0.5 + 1e-5, "The number is another."),
        (0.5, -0.5, "The number is another."),
        (0.5, float("inf"), "The number is another."),
        (float("inf"), 1e300, "The number is another."),
        (1.0, True, "True or False came"),
        (1.0, None, "None came"),
        (1.0, float("nan"), "The result is NaN"),
        (1.0, np.array([1.0]), "an array of shape (1,) came"),
        (None, 0.0, "None is expected."),
        (True, 1, "True or False is expected, and a whole number came."),
        (True, False, "The opposite is right."),
        ("member", "Member", "The text is another."),
        ("member", 1, "A text is expected"),
        (ROWS, ROWS.T, "2 of 4 entries differ, the first at [0, 1]: 2.0 is expected, and 3.0 came"),
        (ROWS, ROWS[:1], "shape (2, 2) is expected, and one of shape (1, 2) came"),
        (ROWS, ROWS * [[1, np.nan]], "2 of 4 entries are NaN"),
        (np.array([True]), np.array([1]), "type bool is expected, and one of type int64 came"),
        ((1.0, 2.0), 1.0, "2 values are expected, and a number came: return them as a, b."),
        ((1.0, 2.0), (1.0,), "2 values are expected, and 1 came."),
        ((1.0, 2.0), (2.0, 1.0), "Value 1 of 2: The number is another."),
        ((1.0, ROWS), (1.0, ROWS + 1), "Value 2 of 2: 4 of 4 entries differ"),
        ({"auc": 0.5}, {"gini": 0.5}, "The entry 'auc' is missing."),
        ({"auc": 0.5}, {"auc": 0.6}, "The entry 'auc': The number is another."),
        ({"auc": 0.5}, [0.5], "A dict is expected, and a list came."),
        (Near(0.5, 0.1), 0.61, "The number is another."),
        (Between(0.4, 0.6), 0.61, "outside of the range"),
        (Between(0.4, 0.6), "0.5", "a text came"),
        (Between(0.4, 0.6), float("nan"), "NaN"),
    ],
)
def test_difference_is_told(expected, result, says):
    assert says in difference(expected, result)


def test_tolerance_is_that_of_isclose():
    assert difference(100.0, 100.9, rtol=0.01, atol=0) == ""
    assert difference(100.0, 101.1, rtol=0.01, atol=0)
    assert difference(0.0, 0.009, rtol=0.01, atol=0.01) == ""
    assert difference(0.0, 0.011, rtol=0.01, atol=0.01)


@pytest.mark.parametrize(
    ("expected", "says"),
    [
        (Near(0.5, 0.01), "0.5 ± 0.01"),
        (Between(0.25, 1), "between 0.25 and 1"),
        ((Near(0.5, 0.01), 2.0), "(0.5 ± 0.01, 2.0)"),
        (ROWS, "[[1.0, 2.0], [3.0, 4.0]]"),
    ],
)
def test_expected_is_shown_in_words(expected, says):
    assert expected_text(expected) == says


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (1 / 3, "0.333333"),
        (2.0, "2.0"),
        (2, "2"),
        (np.float64(1e-12), "1e-12"),
        (np.int32(7), "7"),
        (True, "True"),
        ("x", "'x'"),
        ([1, 2.5], "[1, 2.5]"),
        ((1, None), "(1, None)"),
        ({"a": 1}, "{'a': 1}"),
        (np.arange(3), "[0, 1, 2]"),
        (np.array([True, False]), "[True, False]"),
        (np.array([5, -10]), "[5, -10]"),
        (10**400, "a very large whole number"),
        (np.random.default_rng(0), "np.random.default_rng(...)"),
    ],
)
def test_value_is_shown_as_a_student_writes_it(value, says):
    assert shown(value) == says


@pytest.mark.parametrize(
    "value",
    [np.zeros((100, 100)), "x" * 10**6, ["x" * 100] * 6, [[1.0] * 50] * 50, {1: "x" * 10**6}],
)
def test_large_value_is_abbreviated(value):
    assert len(shown(value)) < 320


def test_large_array_is_shown_with_its_shape():
    text = shown(np.zeros((20, 30)))
    assert text.startswith("[[0.0, 0.0, ..., 0.0, 0.0], ") and text.endswith("]] (20 × 30)")


def test_rows_of_an_array_stand_for_several_arrays():
    pair = (np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
    assert difference(pair, np.array(pair)) == ""
    assert "2 values are expected, and 3 came." in difference(pair, np.array(pair).T)


def test_one_array_in_place_of_two_is_told_as_what_it_is():
    pair = (np.array([1.0, 2.0]), np.array([4.0, 5.0]))
    assert difference(pair, pair[0]) == (
        "2 values are expected, and a NumPy array came: return them as a, b."
    )


@pytest.mark.parametrize(
    ("value", "name"),
    [(np.float64(1), "a number"), (np.int64(1), "a whole number"), (np.True_, "True or False")],
)
def test_numbers_of_numpy_have_the_names_of_pythons(value, name):
    assert type_name(value) == name
