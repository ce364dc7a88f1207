"""What a student meets: checks, hints, answers and progress, whatever they pass."""

import dataclasses
import json
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from course_lib.exercises import Exercise, Exercises, Near, session
from course_lib.language import _


def right(values, scale):
    return scale * np.array([row.sum() / len(row) for row in values])


def returned(value):
    """A function that ignores its inputs."""
    return lambda values, scale: value


def test_right_answer_is_told_so_in_one_line(told):
    assert told(1, right) == "✓ Exercise 1 (row_means): right in all 4 cases.\n"


def documented_stub(values, scale):
    """The scaled mean of each row."""
    return None


def passing_stub(values, scale):
    pass


@pytest.mark.parametrize("stub", [documented_stub, passing_stub, None])
def test_stub_is_waiting(stub, told):
    assert told(1, stub) == "… Exercise 1 (row_means) is waiting for your code.\n"


def test_function_that_forgets_to_return_is_no_stub(told):
    def forgets(values, scale):
        scale * values.mean(axis=1)

    said = told(1, forgets)
    assert said.startswith("✗") and "returns None every time. Is there a return" in said


def test_one_none_among_results_is_shown_as_what_it_is(told):
    said = told(1, lambda values, scale: None if len(values) == 3 else right(values, scale))
    assert "A NumPy array is expected, and None came." in said and "every time" not in said


def test_failure_shows_input_expected_result_and_how_many(told):
    assert told(1, lambda values, scale: values.mean(axis=1) * max(scale, 2)) == (
        "✗ Exercise 1 (row_means): not yet.\n"
        "  With values = [[1.0, 3.0], [5.0, 7.0]], scale = 1.0\n"
        "  expected: [2.0, 6.0]\n"
        "  yours:    [4.0, 12.0]\n"
        "  2 of 2 entries differ, the first at [0]: 2.0 is expected, and 4.0 came.\n"
        "  Cases that are right: 3 of 4.\n"
        "  ex.hint(1) gives a hint.\n"
    )


def test_digits_are_shown_until_the_difference_is_seen(exercises, told):
    def check(trial):
        trial.case({"x": 1.0}, 0.123456789012, rtol=0, atol=1e-13)

    exercises[3] = Exercise("digits", check, lambda: ())
    said = told(3, lambda x: 0.123456789013)
    assert "expected: 0.123456789012\n" in said and "yours:    0.123456789013\n" in said


def test_known_mistake_that_explains_every_failure_is_named(told):
    said = told(1, lambda values, scale: scale * values.mean(axis=0))
    assert "What it probably is: The mean is taken over the wrong axis." in said


def test_known_mistake_that_explains_one_case_only_is_called_possible(told):
    def by_luck(values, scale):
        return scale * values.mean(axis=0) if len(values) == 2 else values[0]

    said = told(1, by_luck)
    assert "What it may be, from this case alone: The mean is taken over the wrong axis." in said
    assert "probably" not in said


def test_mistake_that_would_fail_where_the_answer_is_right_is_not_suspected(told):
    def by_luck(values, scale):
        wrong = len(values) == 2
        return scale * (values.mean(axis=0) if wrong else values.mean(axis=1))

    said = told(1, by_luck)
    assert "What it" not in said


class Hostile:
    """An object whose every comparison, conversion and text is an error."""

    def _fails(self, *arguments):
        raise RuntimeError("no")

    __eq__ = __repr__ = __str__ = __array__ = __float__ = __len__ = __bool__ = _fails
    __hash__ = __getattr__ = _fails


async def coroutine(values, scale):
    return 0


def generator(values, scale):
    yield 0


HAND = np.array([2.0, 6.0])


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (returned(Hostile()), "an object of type Hostile came"),
        (returned([2.0, 6.0]), "a list came: np.array(...) converts it"),
        (returned(torch.tensor([2.0, 6.0])), "a torch tensor came: .numpy()"),
        (returned(2.0), "A NumPy array is expected, and a number came"),
        (returned(HAND[:, None]), "shape (2,) is expected, and one of shape (2, 1) came"),
        (returned(np.array(2.0)), "one of shape () came"),
        (returned(HAND * np.nan), "2 of 2 entries are NaN"),
        (returned(HAND.astype(complex)), "type float64 is expected, and one of type complex128"),
        (returned(HAND.astype(object)), "one of type object came"),
        (returned(HAND > 3), "one of type bool came"),
        (returned(np.array(["2", "6"])), "one of type <U1 came"),
        (returned(np.broadcast_to(0.0, (10**6, 10**6))), "shape (1000000, 1000000) came"),
        (returned(right), "and a function came"),
        (returned(Hostile), "and a class came"),
        (coroutine, "and a coroutine came"),
        (generator, "and a generator came"),
        (lambda values: values, "called with 2 values (values, scale), and cannot take them"),
        (lambda values, scale: exit(), "ended with an error: SystemExit"),
        (Hostile, "A class came instead of the function: write ex.check(1, row_means)"),
        (HAND, "takes the function itself, without parentheses: write ex.check(1, row_means)"),
    ],
)
def test_odd_answer_is_told_what_it_is(answer, says, told):
    said = told(1, answer)
    assert said.startswith("✗ Exercise 1 (row_means): not yet.") and says in said
    assert len(said) < 1500 and "Traceback" not in said


@pytest.mark.parametrize(("number", "says"), [(1, "takes the function"), (2, "of type Hostile")])
def test_object_whose_every_method_fails_is_told_too(number, says, told):
    assert says in told(number, Hostile())


def test_whole_numbers_where_fractions_belong_are_named(told):
    said = told(1, lambda values, scale: (scale * values.mean(axis=1)).astype(int))
    assert "holds whole numbers only, so that fractions are cut off" in said


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.longdouble])
def test_right_answer_in_another_precision_is_right(kind, told):
    assert told(1, lambda values, scale: right(values, scale).astype(kind)).startswith("✓")


def test_exception_is_told_with_the_line_of_the_student(told):
    def crashes(values, scale):
        rows = len(values)
        return np.linalg.inv(values.reshape(rows, -1, 1)[0])  # the error arises inside NumPy

    said = told(1, crashes)
    line = crashes.__code__.co_firstlineno + 2
    assert "ended with an error: LinAlgError: Last 2 dimensions" in said
    assert f"Line {line} of its cell: return np.linalg.inv(values" in said


def test_exception_whose_text_fails_is_told_by_its_name(told):
    class Vicious(Exception):  # noqa: N818 (not one of ours)
        def __str__(self):
            raise RuntimeError("no")

    def crashes(values, scale):
        raise Vicious

    assert "ended with an error: Vicious." in told(1, crashes).replace(". Line", ".")


def scales_in_place(values, scale):
    values *= scale
    return values.mean(axis=1)


def sorts_in_place(values, scale):
    means = right(values, scale)
    values.sort(axis=0)
    return means


@pytest.mark.parametrize("answer", [scales_in_place, sorts_in_place])
def test_changed_input_is_told_by_name(answer, told):
    assert "Your function changed its input values" in told(1, answer)


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ([1.0, 2.0], lambda x: x.append(3.0)),
        ([1.0, float("nan")], lambda x: x.reverse()),
        ({"a": np.zeros(2)}, lambda x: x["a"].fill(1)),
        ({"a": 1}, lambda x: x.update(a="1")),
        (torch.zeros(2), lambda x: x.add_(1)),
        ([np.zeros(2)], lambda x: x.__setitem__(0, [0.0, 0.0])),
    ],
)
def test_input_of_any_kind_is_watched(before, change, exercises, told):
    def check(trial):
        trial.case({"record": before}, 0.0)

    exercises[3] = Exercise("steady", check, lambda: ())

    def changes(record):
        change(record)
        return 0.0

    assert "changed its input record" in told(3, changes)
    assert told(3, lambda record: 0.0).startswith("✓")


def test_random_generator_may_be_drawn_from(exercises, told):
    def check(trial):
        for _number in range(2):  # it is copied anew for each
            expected = np.random.default_rng(5).random()
            trial.case({"rng": np.random.default_rng(5)}, expected)

    exercises[3] = Exercise("draw", check, lambda: ())
    assert told(3, lambda rng: rng.random()).startswith("✓")


def loops(values, scale):
    while True:
        pass


def loops_and_catches(values, scale):
    while True:
        try:
            time.sleep(0.01)
        except:  # noqa: E722 (what a student writes)
            print("again")


@pytest.mark.parametrize("answer", [loops, loops_and_catches])
def test_endless_loop_is_stopped_and_ends_the_check(answer, told):
    began = time.monotonic()
    said = told(1, answer)
    assert "had not ended after" in said and "Does it loop without end?" in said
    assert time.monotonic() - began < 6
    assert "again" not in said and "Cases that are right" not in said  # there was but one


def test_slow_function_ends_the_check_before_all_its_cases(exercises, told):
    def check(trial):
        for _number in range(100):
            trial.case({"x": 1.0}, 1.0)

    def slow(x):
        time.sleep(0.15)
        return x

    exercises[3] = Exercise("slow", check, lambda: (), seconds=0.2)
    began = time.monotonic()
    assert "took too long over all its cases" in told(3, slow)
    assert time.monotonic() - began < 1


def test_ctrl_c_ends_the_check(session):
    def interrupted(values, scale):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.check(1, interrupted)


def test_what_the_function_prints_is_held_back(session, capsys):
    def prints(values, scale):
        print("secret")
        sys.stderr.write("secret")
        return right(values, scale)

    session.check(1, prints)
    out, err = capsys.readouterr()
    assert (out, err) == ("✓ Exercise 1 (row_means): right in all 4 cases.\n", "")


def test_warning_is_a_fault_only_where_the_check_says_so(exercises, told):
    def check(trial, no_warnings):
        trial.case({"x": 800.0}, float("inf"), no_warnings=no_warnings)

    exercises[3] = Exercise("exponential", check, lambda: ())
    assert told(3, np.exp, no_warnings=False).startswith("✓")
    assert "A warning came up that should not: overflow" in told(3, np.exp, no_warnings=True)


def test_function_of_another_exercise_is_noticed(exercises, told):
    exercises[3] = Exercise("column_means", lambda trial: None, lambda: ())

    def column_means(values, scale):
        return values.mean(axis=0)

    said = told(1, column_means)
    assert "the function of another exercise: write ex.check(1, row_means)" in said


def test_check_that_tries_nothing_passes_nobody(exercises, told):
    exercises[3] = Exercise("empty", lambda trial: None, lambda: ())
    assert told(3, right).startswith("✗")


def test_check_that_breaks_is_told_and_raises_nothing(exercises, told):
    def check(trial):
        return 1 / 0

    exercises[3] = Exercise("broken", check, lambda: ())
    assert "could not judge what came: ZeroDivisionError" in told(3, right)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (0.75, "✓ Exercise 2 (accuracy): right.\n"),
        (np.float32(0.75), "✓"),
        (np.array(0.75), "✓"),
        (0.9, "The accuracy is 0.9. Between 0.7 and 0.8 is expected. Twenty seeds"),
        (-0.75, "The accuracy is -0.75."),
        (float("nan"), "The accuracy: The result is NaN"),
        (float("inf"), "The accuracy is inf."),
        (10**400, "too large to be compared"),
        (True, "The accuracy: One number is expected, and True or False came."),
        ("0.75", "and a text came"),
        (0.75 + 0j, "and a complex one came"),
        (np.array([0.75]), "an array of shape (1,) came"),
        (torch.tensor(0.75), ".item() makes a number of it"),
        ({}, "and a dict came"),
        (None, "… Exercise 2 (accuracy) is waiting for your code.\n"),
    ],
)
def test_measured_value_is_judged_by_its_range(value, says, told):
    assert says in told(2, value)


def test_experiment_is_not_judged_in_smoke_but_its_type_is(exercises, capsys):
    small = Exercises(SimpleNamespace(name="demonstration", profile="smoke"))
    small.check(2, 0.1)
    small.check(2, "0.1")
    first, second = capsys.readouterr().out.split("\n", 1)
    assert first == "– Exercise 2 (accuracy): not judged at this size of the experiment."
    assert "a text came" in second


def test_hints_come_one_after_another_and_end(session, capsys):
    for _number in range(3):
        session.hint(1)
    assert capsys.readouterr().out.splitlines() == [
        "Hint 1 of 2: Think.",
        "Hint 2 of 2: Use axis=1.",
        "There is no further hint for exercise 1. ex.solution(1) shows a reference answer.",
    ]


def test_solution_shows_the_code_of_the_answers_file(session, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("course_lib.exercises.session.ANSWERS", tmp_path)
    (tmp_path / "demonstration.json").write_text('{"1": "answer = 1"}', encoding="utf-8")
    session.solution(1)
    session.solution(2)
    assert capsys.readouterr().out.splitlines() == [
        "A reference answer to exercise 1:",
        "",
        "answer = 1",
        "The reference answer of exercise 2 should stand in demonstration.json and does not: "
        "fetch the course anew.",
    ]


@pytest.mark.parametrize("ask", ["check", "hint", "solution"])
@pytest.mark.parametrize("number", [0, 7, "1", 1.0, True, None, [1]])
def test_wrong_number_is_told_kindly(ask, number, session, capsys):
    getattr(session, ask)(number)
    said = capsys.readouterr().out
    assert said == "There is no such exercise here. The numbers are: 1, 2.\n"


def test_check_without_a_value_says_what_to_write(session, capsys):
    session.check(1)
    assert capsys.readouterr().out == ("Say what is to be checked: write ex.check(1, row_means).\n")


def test_progress_counts_the_last_outcome_of_each_exercise(session, capsys):
    session.check(2, 0.75)
    session.check(1, right)
    session.check(1, loops.__class__)
    capsys.readouterr()
    session.progress()
    assert capsys.readouterr().out == "Exercises done: 1 of 2.   1 ✗   2 ✓\n"
    session.check(1, right)
    session.check(2, None)
    capsys.readouterr()
    session.progress()
    assert capsys.readouterr().out == "Exercises done: 1 of 2.   1 ✓   2 …\n"


def test_outcomes_are_appended_for_who_collects_them(told, session, tmp_path, monkeypatch):
    path = tmp_path / "checks.jsonl"
    monkeypatch.setenv("COURSE_CHECKS", str(path))
    messages = [told(1, right), told(1, returned(0)), told(1, None), told(2, 0.75)]
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["exercise"] for line in lines] == [1, 1, 1, 2]
    assert [line["passed"] for line in lines] == [True, False, None, True]
    assert [line["status"] for line in lines] == ["passed", "failed", "waiting", "passed"]
    assert [line["message"] + "\n" for line in lines] == messages


def test_outcome_that_cannot_be_written_is_told(told, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_CHECKS", str(tmp_path / "missing" / "checks.jsonl"))
    said = told(1, right)
    assert said.startswith("✓") and "could not be written" in said


def test_texts_are_in_the_language_in_use_when_they_are_shown(
    exercises, session, capsys, monkeypatch
):
    exercises[3] = Exercise("first", lambda trial: None, lambda: (_("Start with the rows."),))
    french = {
        "Hint {given} of {hints}: {hint}": "Indice {given} sur {hints} : {hint}",
        "Start with the rows.": "Commencez par les lignes.",
        "… Exercise {number} ({name}) is waiting for your code.": "… {name} attend votre code.",
    }
    catalog = SimpleNamespace(gettext=lambda text: french.get(text, text))
    monkeypatch.setattr("course_lib.language._catalog", lambda code: catalog)
    session.hint(3)
    session.check(1, None)
    assert capsys.readouterr().out.splitlines() == [
        "Indice 1 sur 1 : Commencez par les lignes.",
        "… row_means attend votre code.",
    ]


def test_models_of_one_sentence_are_one_mistake_where_they_are_of_one_case(exercises, told):
    def check(trial):
        for x, off in ((1.0, 0.5), (2.0, -0.5)):
            trial.case({"x": x}, x, mistakes=[(x + 9, "Off."), (x + off, "Off.")])

    exercises[3] = Exercise("same", check, lambda: ())
    assert "What it probably is: Off." in told(3, lambda x: x + (0.5 if x < 2 else -0.5))
    assert "Off." not in told(3, lambda x: x + 7)


def test_lab_without_checks_is_refused():
    with pytest.raises(ValueError, match=r'"no_such_lab" has no exercises'):
        Exercises(SimpleNamespace(name="no_such_lab", profile="quick"))


def test_every_status_has_a_sign():
    assert set(session._SIGNS) == {"passed", "failed", "waiting", "not judged"}


def test_stub_of_another_exercise_is_told_apart_from_one_that_waits(exercises, told):
    exercises[3] = dataclasses.replace(exercises[1], name="other")

    def other(values, scale):
        return None

    assert "the function of another exercise: write ex.check(1, row_means)" in told(1, other)
    assert "waiting" in told(3, other)


@pytest.mark.parametrize("extra", [{"trainer": 1}, {}])
def test_check_that_misses_something_of_its_cell_says_which_cell_to_run(exercises, told, extra):
    def needs_rows(trial, rows):
        trial.require(rows, "There are rows.")

    exercises[1] = dataclasses.replace(exercises[1], check=needs_rows)
    said = told(1, right, **extra)
    assert said.startswith("✗") and "Run the cell that came with the exercise" in said
    assert told(1, right, rows=True).startswith("✓")


def test_third_value_without_a_name_is_told_and_does_not_raise(session, capsys):
    session.check(1, right, 3)
    assert "Run the cell that came with the exercise" in capsys.readouterr().out


def test_what_is_special_about_a_case_is_said_where_the_function_fails_too(exercises, told):
    def check(trial):
        trial.case({"values": np.zeros(0), "scale": 1.0}, 0.0, about="There are no values.")

    exercises[1] = dataclasses.replace(exercises[1], check=check)
    said = told(1, lambda values, scale: max(values.tolist()))
    assert "ValueError" in said and "There are no values." in said


def test_function_that_prints_and_fails_once_still_misses_its_return(told):
    def prints(values, scale):
        if len(values) == 3:
            raise ValueError("three")
        print(right(values, scale))

    assert "returns None every time" in told(1, prints)


def test_list_of_the_right_numbers_is_shown_without_their_last_digits(told):
    said = told(1, lambda values, scale: list(right(values, scale) * 1.0))
    assert "[2.0, 6.0]" in said and "a list came" in said


def test_random_mistake_says_nothing_where_it_gives_what_is_right(exercises, told):
    def check(trial):
        for _number in range(2):
            value = Near(1.0, 0.1)
            trial.case({"values": 1, "scale": 1}, value, mistakes=[(Near(1.02, 0.5), "This.")])

    exercises[1] = dataclasses.replace(exercises[1], check=check)
    assert "This." not in told(1, returned(1.4))


def test_what_holds_printing_back_is_a_file_in_all_else(told):
    kept = []

    def keeps(values, scale):
        kept.append(sys.stderr)
        assert not sys.stdout.isatty() and not sys.stdout.closed
        sys.stdout.writelines(["a", "b"])
        return right(values, scale)

    assert told(1, keeps).startswith("✓ Exercise 1")
    kept[0].flush()
    kept[0].close()
