"""The checks of the MNIST lab take right answers of several kinds, and name what is wrong."""

import dataclasses
import math
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from course_build.answers import answers_of
from course_build.solutions import stripped
from course_build.source import read_source
from course_lib import accounting, population
from course_lib.data import load_mnist
from course_lib.dpsgd import DPSGD
from course_lib.exercises import Exercises
from course_lib.exercises.mnist_dpsgd import EXERCISES
from course_lib.models import MLP, initial_mlp

SOURCE = read_source(Path(__file__).parents[3] / "notebooks" / "source" / "mnist_dpsgd.py")
FUNCTIONS = (1, 2, 3)


class Lab:
    """The lab's training at its quick size, from the same seeds; what the solutions use."""

    def __init__(self):
        mnist = load_mnist()
        rng = np.random.default_rng(0)
        pool = rng.choice(len(mnist.x_train), 4_000, replace=False)
        self.is_member = rng.random(4_000) < 0.5
        self.X = _pixels(mnist.x_train[pool])
        self.y = torch.from_numpy(mnist.y_train[pool].astype(np.int64))
        self.test = {
            "X_test": _pixels(mnist.x_test),
            "y_test": torch.from_numpy(mnist.y_test.astype(np.int64)),
        }
        self.settings = DPSGD(0.05, 300, 1.0, 1.0, 100.0)

    def trained(self, seed=0, sigma=1.0, **changes):
        """A network by DP-SGD, with some of the lab's settings changed."""
        settings = dataclasses.replace(self.settings, **changes)
        model = population.train_mlps_dpsgd(
            self.X, self.y, self.is_member[None], [seed], [sigma], settings, workers=1
        )
        return next(model)[sigma]


def _pixels(images):
    return (torch.from_numpy(images).flatten(1).float() / 255 - 0.1307) / 0.3081


@pytest.fixture(scope="module")
def lab():
    return Lab()


@pytest.fixture
def told(capsys, lab):
    """What a student reads when the lab's cell checks an answer."""

    def told(number, answer, profile="quick"):
        extra = {3: {"sampling_rate": 0.05, "delta": 1e-5}, 5: lab.test}.get(number, {})
        session = Exercises(SimpleNamespace(name="mnist_dpsgd", profile=profile))
        session.check(number, answer, **extra)
        return capsys.readouterr().out

    return told


# The lab's own reference run of exercise 4, and that of the full pool, which its text quotes.
HALF = {"loss_auc": 0.6024, "cal_auc": 0.6869, "cal_tpr_1": 0.0879}
FULL = {"loss_auc": 0.5709, "cal_auc": 0.6336, "cal_tpr_1": 0.0745}


def solved(number, lab):
    """What the lab's own solution of an exercise gives."""
    names = {"np": np, "accounting": accounting, "population": population}
    names |= {"dataclasses": dataclasses, "POOL": 4_000, "SAMPLING_RATE": 0.05, "DELTA": 1e-5}
    names |= {"X": lab.X, "y": lab.y, "is_member": lab.is_member, "settings": lab.settings}
    names["overfit_experiment"] = {2_000: HALF, 4_000: FULL}.get
    exec(answers_of(SOURCE)[number], names)
    if number == 5:
        return names["train_with_clipping_norm"](0.1)
    return names[EXERCISES[number].name]


@pytest.mark.parametrize("number", EXERCISES)
def test_reference_answer_is_right_and_judged_in_a_moment(number, told, lab):
    answer = solved(number, lab)
    told(number, answer)  # Opacus takes a second to import
    began = time.monotonic()
    assert told(number, answer).startswith("✓")
    assert time.monotonic() - began < 2  # a third of a second on an idle core


@pytest.mark.parametrize("number", EXERCISES)
def test_stub_of_the_student_s_notebook_waits(number, told):
    student, _ = stripped(SOURCE)
    [cell] = [cell for cell in student.cells if f"exercise-{number}" in cell.tags]
    names = {"print": lambda *_: None, "np": np, "DELTA": 1e-5, "STEPS": 300}
    names |= {"audit": SimpleNamespace(tpr_ceiling=lambda *_: 0), "lab": SimpleNamespace()}
    names["lab"].record = lambda **_: None
    exec(cell.text, names)
    assert told(number, names[EXERCISES[number].name]).startswith("…")


def _on_each_row(gradients, max_norm):
    rows = []
    for row in gradients:
        length = math.sqrt(sum(x * x for x in row))
        rows.append([x * max_norm / length for x in row] if length > max_norm else list(row))
    return np.array(rows)


def _by_googles_library(steps):
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    step = dp_accounting.PoissonSampledDpEvent(0.05, dp_accounting.GaussianDpEvent(1.0))
    return RdpAccountant().compose(step, steps).get_epsilon(1e-5)


def _as_opacus_does(gradients, max_norm):
    lengths = np.linalg.norm(gradients, axis=1)
    return gradients * np.minimum(1, max_norm / (lengths + 1e-6))[:, None]


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        (1, lambda epsilon, delta, fpr: np.clip(fpr * np.e**epsilon + delta, 0, 1)),
        (1, lambda e, d, f: math.exp(e) * f + d if math.exp(e) * f + d < 1 else 1),
        (2, _on_each_row),
        (2, _as_opacus_does),
        (2, lambda g, c: g / np.maximum(1, np.sqrt((g**2).sum(1, keepdims=True)) / c)),
        (3, lambda steps: np.float64(accounting.epsilon(1, 0.05, steps, 1e-5))),
        (3, _by_googles_library),
        (4, {**HALF, "cal_tpr_1": np.float64(0.12)}),
    ],
)
def test_other_right_answers_are_right_too(number, answer, told):
    assert told(number, answer).startswith("✓")


def _safe_lengths(gradients, axis=1):
    return np.maximum(np.linalg.norm(gradients, axis=axis, keepdims=True), 1e-12)


def _shorter_in_place(gradients, max_norm):
    gradients *= np.minimum(1, max_norm / _safe_lengths(gradients))
    return gradients


def _last_row_forgotten(gradients, max_norm):
    clipped = gradients.copy()
    for i in range(len(gradients) - 1):
        clipped[i] *= min(1, max_norm / _safe_lengths(gradients)[i, 0])
    return clipped


def _endless(*_):
    while True:
        pass


def _rdp(steps, noise=1.0, rate=0.05, delta=1e-5):
    return accounting.epsilon(noise, rate, steps, delta)


WRONG_FUNCTIONS = [
    (1, lambda e, d, f: math.exp(e) * f + d, "probably is: The bound is not cut off at 1"),
    (1, lambda e, d, f: min(1, math.exp(e) * f), "probably is: δ is left out"),
    (1, lambda e, d, f: min(1, math.exp(e) * (f + d)), "probably is: δ stands outside of the fac"),
    (1, lambda e, d, f: min(1, math.exp(e) * f - d), "probably is: δ is subtracted"),
    (1, lambda e, d, f: min(1, e * f + d), "probably is: The factor is e to the power of ε"),
    (1, lambda e, d, f: min(1, math.exp(-e) * f + d), "probably is: The sign of the exponent"),
    (1, lambda e, d, f: max(1, math.exp(e) * f + d), "probably is: max keeps the larger"),
    (1, lambda e, d, f: min(1, math.exp(e) * d + f), "probably is: δ and the FPR have changed"),
    (
        1,
        lambda e, d, f: min(1, math.exp(e) * f + d, 1 - math.exp(-e) * (1 - d - f)),
        "probably is: This is the sharper, two-sided ceiling",
    ),
    (1, lambda e, d, f: min(1, math.exp(e) * f + 1e-5), "probably is: δ is the notebook's"),
    (1, lambda e, d, f: min(1, math.exp(e * f) + d), "probably is: The FPR stands in the exponent"),
    (1, lambda e, d, f: min(1, math.exp(e) * f) + d, "probably is: δ is added after the cut-off"),
    (1, lambda e, d, f: 0.116, "yours:    0.116"),  # a figure from the lab's table
    (1, lambda e, d, f: 1.0, "expected: 0.5"),
    (1, lambda e, d, f: float("nan"), "The result is NaN"),
    (1, lambda e, d, f: [min(1, math.exp(e) * f + d)], "One number is expected, and a list came"),
    (1, lambda e, d, f: print(min(1, math.exp(e) * f + d)), "returns None every time"),
    (1, lambda e, d, f: min(1, math.exp(e) * f + d) >= 0.5, "True or False came"),
    (1, lambda e, d: min(1, math.exp(e) + d), "called with 3 values (epsilon, delta, fpr)"),
    (1, lambda e, d, f: math.exp(e, f), "ended with an error: TypeError"),
    (1, _endless, "Does it loop without end?"),
    (2, lambda g, c: g, "probably is: Nothing is clipped"),
    (2, lambda g, c: g * c / _safe_lengths(g), "probably is: Rows that were already short"),
    (2, lambda g, c: g * c / np.linalg.norm(g, axis=1, keepdims=True), "zeros is divided by 0"),
    (
        2,
        lambda g, c: g / np.linalg.norm(g, axis=1)[:, None] * np.minimum(_safe_lengths(g), c),
        "probably is: A row of zeros has length 0",
    ),
    (2, lambda g, c: g * np.maximum(1, c / _safe_lengths(g)), "probably is: Short rows are made"),
    (2, lambda g, c: g * np.minimum(1, c / _safe_lengths(g, 0)), "probably is: The lengths are"),
    (2, lambda g, c: g * min(1, c / np.linalg.norm(g)), "probably is: The length of the whole"),
    (2, lambda g, c: np.clip(g, -c, c), "probably is: Each entry is cut off by itself"),
    (2, lambda g, c: g * np.minimum(1, c / _safe_lengths(g) ** 2), "probably is: The squared"),
    (2, lambda g, c: g / np.maximum(1, _safe_lengths(g)), "probably is: The rows are cut to leng"),
    (
        2,
        lambda g, c: np.where(_safe_lengths(g) > c, g / _safe_lengths(g), g),
        "probably is: The rows are cut to length 1",
    ),
    (2, lambda g, c: g * (_safe_lengths(g) <= c), "probably is: Long rows are thrown away"),
    (
        2,
        lambda g, c: g * np.minimum(1, c / np.maximum(abs(g).sum(1), 1e-12))[:, None],
        "probably is: The length is the sum of absolute values",
    ),
    (2, lambda g, c: -_on_each_row(g, c), "entries differ"),
    (2, lambda g, c: _on_each_row(g, c)[:-1], "(3, 2) is expected, and one of shape (2, 2) came"),
    (2, lambda g, c: _on_each_row(g, c).T, "of shape"),
    (2, lambda g, c: _on_each_row(g, c).tolist(), "a list came: np.array(...) converts it"),
    (2, lambda g, c: _on_each_row(g, c) * np.nan, "are NaN, not numbers"),
    (2, _last_row_forgotten, "entries differ"),
    (2, _shorter_in_place, "Your function changed its input gradients"),
    (2, lambda g, c: np.array([[0.6, 0.8], [0.3, 0.4], [0, 0]]), "of shape (3, 2) came"),
    (2, lambda g, c: None if c else g, "returns None every time"),
    (2, _endless, "Does it loop without end?"),
    (3, lambda steps: _rdp(300) * steps / 300, "probably is: ε is taken to grow in proportion"),
    (3, lambda steps: _rdp(300) * math.sqrt(steps / 300), "probably is: ε is taken to grow with"),
    (3, lambda steps: _rdp(300), "probably is: The number of steps that is given is not used"),
    (3, lambda steps: _rdp(2 * steps), "probably is: The number of steps is doubled"),
    (3, lambda steps: _rdp(steps, rate=1.0), "probably is: The sampling rate is 1"),
    (3, lambda steps: _rdp(steps, noise=0.6), "probably is: The noise multiplier is 0.6"),
    (3, lambda steps: _rdp(steps, noise=3.0), "probably is: The noise multiplier is 3"),
    (3, lambda steps: _rdp(steps, noise=0.05, rate=1.0), "have changed places"),
    (3, lambda steps: _rdp(steps + 1), "The number is another"),
    (3, lambda steps: _rdp(steps, delta=1e-6), "The number is another"),
    (3, lambda steps: 6.558, "The number is another"),  # the lab's own ε
    (3, lambda steps: -_rdp(steps), "The number is another"),
    (3, lambda steps: float("nan"), "The result is NaN"),
    (3, lambda steps: (steps, _rdp(steps)), "One number is expected, and a tuple came"),
    (3, lambda steps: str(_rdp(steps)), "a text came"),
    (3, lambda steps: steps.undefined, "AttributeError"),
    (3, _rdp(300), "takes the function itself, without parentheses"),
]


@pytest.mark.parametrize(("number", "answer", "says"), WRONG_FUNCTIONS)
def test_wrong_function_is_rejected_with_its_reason(number, answer, says, told, monkeypatch):
    quick = dataclasses.replace(EXERCISES[number], seconds=0.3 if answer is _endless else 5.0)
    monkeypatch.setitem(EXERCISES, number, quick)
    said = told(number, answer)
    assert said.startswith(f"✗ Exercise {number} ") and says in said
    assert "Traceback" not in said


def test_prv_in_place_of_rdp_is_named(told):
    said = told(3, lambda steps: accounting.epsilon(1.0, 0.05, steps, 1e-5, accountant="prv"))
    assert "probably is: This is the PRV accountant's value" in said


WRONG_POOLS = [
    (FULL, "The AUC of the calibrated attack is 0.6336. Between"),
    ({"loss_auc": 0.6676, "cal_auc": 0.7082, "cal_tpr_1": 0.1792}, "loss attack is 0.6676"),
    ({"loss_auc": 0.6869, "cal_auc": 0.6024, "cal_tpr_1": 0.0879}, "attack is 0.6024"),
    ({**HALF, "cal_auc": 1 - HALF["cal_auc"]}, "attack is 0.3131"),
    ({**HALF, "cal_tpr_1": 8.79}, "at 1% FPR is 8.79"),
    ({**HALF, "cal_auc": float("nan")}, "The AUC of the calibrated attack: The result is NaN"),
    ({**HALF, "cal_auc": "0.6869"}, "a text came"),
    ({"loss_auc": 0.6024}, "a dict with loss_auc, cal_auc and cal_tpr_1"),
    (0.6869, "a dict with loss_auc, cal_auc and cal_tpr_1"),
    ([0.6024, 0.6869, 0.0879], "a dict with loss_auc, cal_auc and cal_tpr_1"),
    (dict.fromkeys(HALF, 0.5), "attack is 0.5"),
]


@pytest.mark.parametrize(("answer", "says"), WRONG_POOLS)
def test_wrong_pool_is_rejected_with_its_reason(answer, says, told):
    said = told(4, answer)
    assert said.startswith("✗") and says in said


WRONG_NETWORKS = [
    (lambda lab: lab.trained(), "That is what C = 1 gives"),
    (lambda lab: lab.trained(max_grad_norm=0.1, learning_rate=10.0), "leave the learning rate"),
    (lambda lab: lab.trained(max_grad_norm=0.1, sigma=0.0), "what training without noise gives"),
    (lambda lab: lab.trained(max_grad_norm=0.1, sigma=3.0), "That is what σ = 3 gives"),
    (lambda lab: lab.trained(max_grad_norm=0.1, seed=1), "The exercise asks for the seed 0"),
    (lambda lab: lab.trained(max_grad_norm=0.2), "so does C = 0.2"),
    (lambda lab: lab.trained(max_grad_norm=0.01), "in proportion to σ, C"),
    (lambda lab: lab.trained(max_grad_norm=0.1, steps=150), "the square root of the number of st"),
    (lambda lab: initial_mlp(0, 784), "has not been trained at all"),
    (lambda lab: {1.0: initial_mlp(0, 784)}, "[1.0] the network at σ = 1"),
    (lambda lab: lab.trained, "should be a network"),
    (lambda lab: 0.8013, "should be a network"),  # the accuracy that the lab prints
    (lambda lab: MLP(*(part * math.nan for part in initial_mlp(0, 784).parameters)), "NaN"),
    (lambda lab: MLP(*(-part for part in initial_mlp(0, 784).parameters)), "in proportion to"),
]


@pytest.mark.parametrize(("answer", "says"), WRONG_NETWORKS)
def test_wrong_network_is_rejected_with_its_reason(answer, says, told, lab):
    said = told(5, answer(lab))
    assert said.startswith("✗") and says in said


@pytest.mark.parametrize("number", [4, 5])
def test_experiment_is_not_judged_at_the_size_of_smoke(number, told):
    answer = {4: FULL, 5: initial_mlp(0, 784)}[number]
    assert told(number, answer, profile="smoke").startswith("–")


@pytest.mark.parametrize("number", EXERCISES)
def test_there_are_hints_and_none_is_the_answer(number):
    hints = EXERCISES[number].hints()
    assert len(hints) >= 3
    lines = [line.strip() for line in answers_of(SOURCE)[number].split("\n")]
    assert not any(line in hint for hint in hints for line in lines)


def test_each_exercise_has_enough_wrong_answers():
    counts = {number: sum(n == number for n, *_ in WRONG_FUNCTIONS) for number in FUNCTIONS}
    counts |= {4: len(WRONG_POOLS), 5: len(WRONG_NETWORKS)}
    assert counts.keys() == EXERCISES.keys() and min(counts.values()) >= 6
