import builtins
import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

from course_lib.lab import Lab


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("COURSE_PROFILE", "COURSE_RESULTS", "COURSE_LANG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Save a lab as the build has it done, and return what it wrote."""

    def save(lab):
        path = tmp_path / "results.json"
        monkeypatch.setenv("COURSE_RESULTS", str(path))
        lab.save()
        assert [p.name for p in tmp_path.iterdir()] == ["results.json"]
        return json.loads(path.read_text(encoding="utf-8"))

    return save


def test_the_environment_wins_over_the_notebooks_profile(monkeypatch):
    assert Lab("x", profile="full").profile == "full"
    monkeypatch.setenv("COURSE_PROFILE", "smoke")
    assert Lab("x", profile="full").profile == "smoke"


@pytest.mark.parametrize("where", ["argument", "environment"])
def test_an_unknown_profile_names_the_three(where, monkeypatch):
    if where == "environment":
        monkeypatch.setenv("COURSE_PROFILE", "huge")
    with pytest.raises(ValueError, match=r"'huge'; choose one of smoke, quick, full"):
        Lab("x", profile="huge" if where == "argument" else "quick")


def test_the_language_is_the_set_up_cells(monkeypatch):
    assert Lab("x").language == "en"
    monkeypatch.setenv("COURSE_LANG", "ja")
    assert Lab("x").language == "ja"


def test_pick_gives_the_value_of_the_profile():
    sizes = {"smoke": 1, "quick": 2, "full": 3}
    for profile, size in sizes.items():
        assert Lab("x", profile=profile).pick(**sizes) == size
    assert Lab("x", profile="full").pick(smoke=1, quick=2) == 2
    assert Lab("x", profile="full").pick(smoke=1, quick=2, full=0) == 0


def test_recorded_scalars_are_pythons(saved):
    lab = Lab("x")
    lab.record({"s06_eps": np.float64(1.5), "n": np.int64(3)}, held=np.bool_(True))
    lab.record(name="σ", k=2)
    results = saved(lab)["results"]
    assert results.pop("minutes_total") >= 0
    assert results == {"s06_eps": 1.5, "n": 3, "held": True, "name": "σ", "k": 2}
    assert type(results["n"]) is int and type(results["held"]) is bool


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        (float("nan"), ValueError, "'auc' is nan"),
        (np.float32("inf"), ValueError, "'auc' is inf"),
        (np.zeros(3), TypeError, "'auc' is of type ndarray.*lab.curve"),
        (torch.tensor(1.0), TypeError, "'auc' is of type Tensor.*item"),
        ([1.0], TypeError, "'auc' is of type list"),
        (None, TypeError, "'auc' is of type NoneType"),
        (1j, TypeError, "'auc' is of type complex"),
    ],
)
def test_a_value_that_no_results_file_holds_is_refused(value, error, says):
    lab = Lab("x")
    with pytest.raises(error, match=says):
        lab.record(before=1, auc=value)
    lab.record(before=1)  # nothing of the refused call was kept


@pytest.mark.parametrize("key", ["AUC", "1st", "tpr-1", "a.b", "", "é", 3])
def test_a_malformed_name_is_refused(key):
    lab = Lab("x")
    with pytest.raises(ValueError, match="the result name"):
        lab.record({key: 1})
    with pytest.raises(ValueError, match="the curve name"):
        lab.curve(key, [1])


def test_the_time_is_saves_to_record():
    with pytest.raises(ValueError, match="minutes_total"):
        Lab("x").record(minutes_total=1)


def test_a_name_that_comes_up_twice_is_refused():
    lab = Lab("x")
    lab.record(auc=0.5)
    lab.curve("roc", [0])
    lab.claim("above", "Above.", True)
    with pytest.raises(ValueError, match="'auc' is recorded twice"):
        lab.record(auc=0.5)
    with pytest.raises(ValueError, match="'eps' is recorded twice"):
        lab.record({"eps": 1}, eps=2)
    with pytest.raises(ValueError, match="'roc' is kept twice"):
        lab.curve("roc", [0])
    with pytest.raises(ValueError, match="'above' is made twice"):
        lab.claim("above", "Above.", True)


def test_a_student_may_run_a_cell_again(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: object()))
    lab = Lab("x")
    for auc in (0.5, 0.6):
        lab.record(auc=auc)
        lab.curve("roc", [auc])
        lab.claim("above", "Above.", auc > 0.55)
    monkeypatch.setenv("COURSE_RESULTS", str(tmp_path / "results.json"))
    with pytest.raises(ValueError, match="twice"):  # but the author, in the build, may not
        lab.record(auc=0.7)
    lab.save()
    contents = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert contents["results"]["auc"] == 0.6
    assert contents["data"] == {"roc": [[0.6]]}
    assert contents["claims"] == [{"id": "above", "text": "Above.", "holds": True}]


def test_curves_are_lists(saved):
    lab = Lab("x")
    lab.curve("roc", np.array([0.0, 1.0]), torch.tensor([0, 1]), [[1, 2], [3, 4]], (True, False))
    assert saved(lab)["data"] == {"roc": [[0.0, 1.0], [0, 1], [[1, 2], [3, 4]], [True, False]]}


@pytest.mark.parametrize(
    ("array", "error"),
    [
        ([0.0, np.nan], ValueError),
        (np.array([np.inf]), ValueError),
        (0.5, TypeError),
        (["a"], TypeError),
        ([[1], [1, 2]], TypeError),
        (torch.ones(2, requires_grad=True), TypeError),
    ],
)
def test_a_curve_of_anything_but_finite_numbers_is_refused(array, error):
    with pytest.raises(error, match="'roc'"):
        Lab("x").curve("roc", [0.0, 1.0], array)


def test_a_curve_without_arrays_is_refused():
    with pytest.raises(ValueError, match="'roc' has no array"):
        Lab("x").curve("roc")


def test_a_claim_that_holds_prints_its_sentence(capsys):
    assert Lab("x").claim("a", "A is above B.", np.bool_(True)) is None
    assert capsys.readouterr().out == "✓ A is above B.\n"


def test_a_claim_that_does_not_hold_is_a_finding_not_an_error(capsys, saved):
    lab = Lab("x")
    lab.claim("a", "A is above B.", False)
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert "your settings" in printed and "A is above B." in printed
    assert "not an error" in printed and "✓" not in printed
    assert saved(lab)["claims"] == [{"id": "a", "text": "A is above B.", "holds": False}]


def test_smoke_does_not_judge_but_records(capsys, saved):
    lab = Lab("x", profile="smoke")
    lab.claim("a", "A is above B.", False)
    assert capsys.readouterr().out == "– Not judged at this size: A is above B.\n"
    assert saved(lab)["claims"][0]["holds"] is False


def test_braces_in_a_sentence_stay(capsys):
    Lab("x").claim("a", "A set {a, b} and {0}.", True)
    assert capsys.readouterr().out == "✓ A set {a, b} and {0}.\n"


@pytest.mark.parametrize(
    "condition", [1, "yes", None, np.array([True, True]), np.array([True]), torch.tensor(True)]
)
def test_a_condition_is_true_or_false(condition):
    with pytest.raises(TypeError, match="claim 'a' is of type"):
        Lab("x").claim("a", "A.", condition)


@pytest.mark.parametrize("id", ["A", "a_b", "1a", "", None])
def test_a_malformed_claim_id_is_refused(id):
    with pytest.raises(ValueError, match="the claim id"):
        Lab("x").claim(id, "A.", True)


@pytest.mark.parametrize("sentence", ["", "  ", None])
def test_a_claim_says_something(sentence):
    with pytest.raises(ValueError, match="'a' has no sentence"):
        Lab("x").claim("a", sentence, True)


def test_a_student_gets_one_line_at_the_end(capsys):
    lab = Lab("x")
    lab.record(a=1, b=2)
    lab.claim("a", "A.", True)
    lab.claim("b", "B.", False)
    capsys.readouterr()
    lab.save()
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert "2 figures" in printed and "1 of 2 statements" in printed


def test_save_says_where_it_cannot_write(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COURSE_RESULTS", str(tmp_path / "file" / "results.json"))
    with pytest.raises(OSError, match=r"results cannot be written to .*results\.json"):
        Lab("x").save()


def test_save_leaves_the_earlier_file_when_it_fails(tmp_path, monkeypatch):
    path = tmp_path / "results.json"
    path.write_text("earlier", encoding="utf-8")
    monkeypatch.setenv("COURSE_RESULTS", str(path))

    def full(*arguments, **options):
        file = real_open(*arguments, **options)
        file.write = lambda text: (_ for _ in ()).throw(OSError(28, "No space left on device"))
        return file

    real_open = builtins.open
    monkeypatch.setattr(builtins, "open", full)
    with pytest.raises(OSError, match="No space left"):
        Lab("x").save()
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["results.json"]
    assert path.read_text(encoding="utf-8") == "earlier"


def test_what_takes_long_is_kept_by_a_student_and_never_by_the_build(monkeypatch, tmp_path):
    assert Lab("a_lab").keep_in(tmp_path) == tmp_path
    assert Lab("a_lab").keep_in("~/kept") == Path.home() / "kept"
    assert Lab("a_lab", profile="smoke").keep_in(tmp_path) is None
    monkeypatch.setenv("COURSE_RESULTS", str(tmp_path / "results.json"))
    assert Lab("a_lab").keep_in(tmp_path) is None


def test_progress_is_one_line_that_says_what_is_done_now(monkeypatch):
    lines = []

    class Handle:
        def update(self, data, raw):
            lines.append(data["text/plain"])

    monkeypatch.setattr("course_lib.lab._in_a_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", lambda *data, **options: Handle())
    show = Lab("a_lab").progress(label="Epochs")
    show(1, 4, "network 1 in epoch 2")
    show(2, 4)
    show(4, 4)
    assert lines[0].startswith("Epochs: 1 of 4, about 0 s left (network 1 in epoch 2)")
    assert lines[1].endswith("s left") and lines[2] == "Epochs: 4 of 4, 0 s"
