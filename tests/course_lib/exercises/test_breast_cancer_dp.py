"""The breast cancer lab's checks take every right answer, and say what a wrong one probably is."""

import ast
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy.optimize import brentq
from scipy.stats import laplace, rankdata
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from course_build.answers import answers_of
from course_build.source import read_source
from course_lib import accounting, metrics
from course_lib.data import load_breast_cancer
from course_lib.exercises import Exercises, breast_cancer_dp

SOURCE = read_source(Path(__file__).parents[3] / "notebooks/source/breast_cancer_dp.py")
NUMBERS = sorted(breast_cancer_dp.EXERCISES)


def functions_of(cell_id):
    """The functions that a cell defines, as code."""
    (text,) = [cell.text for cell in SOURCE.cells if cell.id == cell_id]
    kept = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return ast.unparse(ast.Module(kept, type_ignores=[]))


def notebook():
    """What the lab has made by the time of its exercises, as far as they use it."""
    patients = load_breast_cancer()
    raw_train, raw_test, y_train, y_test = train_test_split(
        patients.x, patients.y, test_size=0.2, random_state=42, stratify=patients.y
    )
    scaler = StandardScaler().fit(raw_train)
    made = {"np": np, "math": math, "metrics": metrics, "accounting": accounting}
    made |= {"STEPS": 30, "CLIP": 1.0, "LEARNING_RATE": 2.0, "SEEDS": range(50), "DELTA": 1e-5}
    for cell in ("train-models", "dpsgd-by-hand"):
        exec(functions_of(cell), made)
    made["A_train"] = made["with_constant"](scaler.transform(raw_train))
    made["A_test"] = made["with_constant"](scaler.transform(raw_test))
    made |= {"y_train": y_train, "y_test": y_test}
    made["A_all"] = np.vstack([made["A_train"], made["A_test"]])
    made["y_all"] = np.concatenate([y_train, y_test])
    made["is_member"] = np.arange(len(made["y_all"])) < len(y_train)
    return made


NB = notebook()
EXTRA = {
    2: {
        "trainer": NB["train_dpsgd"],
        "rows": NB["A_all"],
        "labels": NB["y_all"],
        "n_members": len(NB["A_train"]),
    }
}


def told(capsys, number, answer, profile="quick"):
    """What a student reads."""
    exercises = Exercises(SimpleNamespace(name="breast_cancer_dp", profile=profile))
    capsys.readouterr()
    exercises.check(number, answer, **EXTRA.get(number, {}))
    return capsys.readouterr().out


def defined(code, number):
    """The function of an exercise, from code that defines it among the notebook's names."""
    names = dict(NB)
    exec(code, names)
    return names[breast_cancer_dp.EXERCISES[number].name]


# --- right answers --------------------------------------------------------------------------------


@pytest.mark.parametrize("number", NUMBERS)
def test_the_reference_answer_is_right(capsys, number):
    answer = defined(answers_of(SOURCE)[number], number)
    assert told(capsys, number, answer).startswith("✓")


def by_sorting(epsilons, accuracies, threshold):
    order = np.argsort(epsilons)
    good = np.asarray(accuracies)[order] >= threshold
    return np.asarray(epsilons)[order][np.argmax(good)] if good.any() else None


def by_loop(epsilons, accuracies, threshold):
    smallest = None
    for position in range(len(epsilons)):
        if accuracies[position] < threshold:
            continue
        if smallest is None or epsilons[position] < smallest:
            smallest = epsilons[position]
    return smallest


def by_mask(epsilons, accuracies, threshold):
    found = np.array(epsilons, dtype=float)[np.array(accuracies) >= threshold]
    if len(found) == 0:
        return None
    return found.min()


def with_sklearn(noise_multiplier, seed):
    weights = NB["train_dpsgd"](NB["A_train"], NB["y_train"], noise_multiplier, seed)
    p = NB["probability"](NB["A_all"], weights)
    score = [a if label else 1 - a for a, label in zip(p, NB["y_all"], strict=True)]
    found = roc_auc_score(NB["is_member"], score)
    return [found, found * 2 - 1]


def by_logits(noise_multiplier, seed):
    weights = NB["train_dpsgd"](NB["A_train"], NB["y_train"], noise_multiplier, seed)
    phi = (2 * NB["y_all"] - 1) * (NB["A_all"] @ weights)
    curve = metrics.roc_curve(phi, NB["is_member"])
    return np.array([metrics.auc(*curve), metrics.gini(*curve)])


def by_ranks(noise_multiplier, seed):
    weights = NB["train_dpsgd"](NB["A_train"], NB["y_train"], noise_multiplier, seed)
    minus_loss = -np.logaddexp(0, -(2 * NB["y_all"] - 1) * (NB["A_all"] @ weights))
    n_in = NB["is_member"].sum()
    u = rankdata(minus_loss)[NB["is_member"]].sum() - n_in * (n_in + 1) / 2
    found = u / n_in / (~NB["is_member"]).sum()
    return found, 2 * found - 1


def draws_one_by_one(flags, epsilon, draws, rng):
    total = 0.0
    for _draw in range(draws):
        total += abs(rng.laplace(scale=1 / len(flags) / epsilon))
    return total / draws


def by_inverse_distribution(flags, epsilon, draws, rng):
    noise = laplace.ppf(rng.random(draws), scale=1 / (flags.size * epsilon))
    released = np.clip(flags.sum() / flags.size + noise, 0, 1)  # clipping afterwards is allowed
    return np.abs(released - flags.mean()).mean()


def by_two_exponentials(flags, epsilon, draws, rng):
    scale = 1 / (flags.size * epsilon)
    noise = rng.exponential(scale, draws) - rng.exponential(scale, draws)
    return np.float32(np.mean(np.abs(noise)))


def by_pld(epsilon, adjacency, steps):
    return accounting.noise_multiplier(epsilon, 1, steps, 1e-5, "pld", adjacency)


def by_one_gaussian(epsilon, adjacency, steps):
    one = accounting.noise_multiplier(epsilon, 1, 1, 1e-5, "gaussian", "add/remove")
    return one * (2 if adjacency == "replace-one" else 1) * steps**0.5


def by_composed_mechanisms(epsilon, adjacency, steps):
    moves = 2 if adjacency == "replace-one" else 1

    def surplus(z):
        one = privacy_loss_distribution.from_gaussian_mechanism(
            z / math.sqrt(steps), sensitivity=moves, value_discretization_interval=1e-3
        )
        return one.get_delta_for_epsilon(epsilon) - 1e-5

    return brentq(surplus, 0.3 * moves * math.sqrt(steps), 100 * math.sqrt(steps), rtol=1e-5)


def mean_of_few(rows, labels, noise_multiplier, seeds):
    trained = [NB["train_dpsgd"](rows, labels, noise_multiplier, seed) for seed in seeds]
    return float(np.mean([NB["accuracy"](w, NB["A_test"], NB["y_test"]) for w in trained]))


def first_patients(n_patients, noise_multiplier, seeds=range(50)):
    rows, labels = NB["A_train"][:n_patients], NB["y_train"][:n_patients]
    return mean_of_few(rows, labels, noise_multiplier, seeds)


def patients_at_random(n_patients, noise_multiplier):
    chosen = np.random.default_rng(5).permutation(len(NB["A_train"]))[:n_patients]
    return mean_of_few(NB["A_train"][chosen], NB["y_train"][chosen], noise_multiplier, range(50))


RIGHT = [
    *((1, answer) for answer in (by_sorting, by_loop, by_mask)),
    *((2, answer) for answer in (with_sklearn, by_logits, by_ranks)),
    *((3, answer) for answer in (draws_one_by_one, by_inverse_distribution, by_two_exponentials)),
    *((4, answer) for answer in (by_pld, by_one_gaussian, by_composed_mechanisms)),
    (5, patients_at_random),
    (5, lambda n, z: first_patients(n, z, range(100, 140))),
    (5, lambda n, z: np.float64(first_patients(n, z, range(7, 27)))),
]


@pytest.mark.parametrize(("number", "answer"), RIGHT)
def test_a_right_answer_of_another_kind_is_right(capsys, number, answer):
    assert told(capsys, number, answer).startswith("✓")


@pytest.mark.parametrize("number", NUMBERS)
def test_an_answer_that_prints_leaves_no_trace_in_the_verdict(capsys, number):
    right = next(answer for n, answer in RIGHT if n == number)

    def chatty(*inputs):
        print("chatter")
        return right(*inputs)

    assert "chatter" not in told(capsys, number, chatty)


# --- wrong answers --------------------------------------------------------------------------------


def sorts_in_place(epsilons, accuracies, threshold):
    accuracies.sort()
    return by_loop(epsilons, accuracies, threshold)


def never_ends(*inputs):
    while True:
        pass


def attacked(noise_multiplier, seed, score):
    """AUC and Gini of a score, a function of the probability of label 1 and of the labels."""
    weights = NB["train_dpsgd"](NB["A_train"], NB["y_train"], noise_multiplier, seed)
    found = roc_auc_score(
        NB["is_member"], score(NB["probability"](NB["A_all"], weights), NB["y_all"])
    )
    return found, 2 * found - 1


def own_class(p, y):
    return np.where(y == 1, p, 1 - p)


def trained_on_everybody(noise_multiplier, seed):
    weights = NB["train_dpsgd"](NB["A_all"], NB["y_all"], noise_multiplier, seed)
    score = own_class(NB["probability"](NB["A_all"], weights), NB["y_all"])
    found = roc_auc_score(NB["is_member"], score)
    return found, 2 * found - 1


def with_advantage(noise_multiplier, seed):
    weights = NB["train_dpsgd"](NB["A_train"], NB["y_train"], noise_multiplier, seed)
    score = own_class(NB["probability"](NB["A_all"], weights), NB["y_all"])
    curve = metrics.roc_curve(score, NB["is_member"])
    return metrics.auc(*curve), metrics.advantage(*curve)


def released(scale_of, error=lambda noise: np.abs(noise).mean()):
    """An answer that draws Laplace noise of some scale and sums its errors up in some way."""

    def answer(flags, epsilon, draws, rng):
        return float(error(rng.laplace(0, scale_of(len(flags), epsilon), draws)))

    return answer


def right_scale(n, epsilon):
    return 1 / (n * epsilon)


def scale_by_theory(flags, epsilon, draws, rng):
    return 1 / (len(flags) * epsilon)


def noise_of_its_own(flags, epsilon, draws, rng):
    noise = np.random.default_rng().laplace(0, 1 / (len(flags) * epsilon), draws)
    return np.abs(noise).mean()


def ten_thousand_draws(flags, epsilon, draws, rng):
    return np.abs(rng.laplace(0, 1 / (len(flags) * epsilon), 10_000)).mean()


def normal_noise(flags, epsilon, draws, rng):
    return np.abs(rng.normal(0, 1 / (len(flags) * epsilon), draws)).mean()


def asked(**changed):
    """An answer that asks the accountant for something else."""

    def answer(epsilon, adjacency, steps):
        settings = {"epsilon": epsilon, "adjacency": adjacency, "steps": steps}
        settings |= {"sampling_rate": 1, "delta": 1e-5, "accountant": "gaussian"}
        return accounting.noise_multiplier(**(settings | changed))

    return answer


def scores_as_a_curve(noise_multiplier, seed):
    weights = NB["train_dpsgd"](NB["A_train"], NB["y_train"], noise_multiplier, seed)
    score = own_class(NB["probability"](NB["A_all"], weights), NB["y_all"])
    return metrics.auc(score, NB["is_member"]), metrics.gini(score, NB["is_member"])


def told_by_diagnosis(noise_multiplier, seed):
    weights = NB["train_dpsgd"](NB["A_train"], NB["y_train"], noise_multiplier, seed)
    found = roc_auc_score(NB["y_all"], NB["probability"](NB["A_all"], weights))
    return found, 2 * found - 1


def scaled_to_the_flagged(flags, epsilon, draws, rng):
    return np.abs(rng.laplace(0, 1 / (flags.sum() * epsilon), draws)).mean()


WRONG = [
    (2, scores_as_a_curve, "is: metrics.auc and metrics.gini take"),
    (2, told_by_diagnosis, "benign from malignant"),
    (3, scaled_to_the_flagged, "is: The result is too large by a factor"),
    (3, released(lambda n, epsilon: 1 / (455 * epsilon)), "is: The number of all training"),
    (1, lambda e, a, t: min((x for x, y in zip(e, a, strict=True) if y > t), default=None), ">="),
    (1, lambda e, a, t: next((x for x, y in zip(e, a, strict=True) if y >= t), None), "smallest"),
    (1, lambda e, a, t: max((x for x, y in zip(e, a, strict=True) if y >= t), default=None), "lar"),
    (1, lambda e, a, t: e[int(np.argmax(a))], "highest accuracy"),
    (1, lambda e, a, t: min((y for y in a if y >= t), default=None), "accuracy is returned"),
    (1, lambda e, a, t: by_loop(sorted(e), a, t), "sorted"),
    (1, lambda e, a, t: by_loop(e, a, t) or max(e), "instead of None"),
    (1, lambda e, a, t: by_loop(e, a, t) or math.nan, "None is expected"),
    (1, lambda e, a, t: str(by_loop(e, a, t)), "a text came"),
    (1, lambda e, a, t: 1, "expected: 2"),
    (1, sorts_in_place, "changed its input accuracies"),
    (1, lambda e, a, t: e[a >= t], "TypeError"),
    (1, never_ends, "had not ended after 5 seconds"),
    (1, lambda e, a: min(e), "cannot take them"),
    (2, lambda z, s: attacked(z, s, lambda p, y: 1 - own_class(p, y)), "one minus the right one"),
    (2, lambda z, s: attacked(z, s, lambda p, y: p), "probability of a benign tumour"),
    (2, lambda z, s: attacked(z, s, lambda p, y: 1 - p), "probability of a malignant tumour"),
    (2, lambda z, s: attacked(z, s, lambda p, y: np.maximum(p, 1 - p)), "knows the diagnosis"),
    (2, lambda z, s: attacked(z, s, lambda p, y: (p > 0.5) == y), "whether the model is right"),
    (2, lambda z, s: attacked(z, s, own_class)[::-1], "swapped"),
    (2, lambda z, s: attacked(z, s, own_class)[0], "2 values are expected, and a number came"),
    (2, lambda z, s: attacked(z, 0, own_class), "always trained with seed 0"),
    (2, lambda z, s: attacked(0, s, own_class), "without noise"),
    (2, trained_on_everybody, "trained on all patients"),
    (2, with_advantage, "is the advantage"),
    (2, lambda z, s: (0.528, 0.056), "expected: (0.5"),  # the published figures
    (2, lambda z, s: (math.nan, math.nan), "NaN"),
    (2, lambda z, s: {"auc": attacked(z, s, own_class)[0]}, "a dict came"),
    (3, released(lambda n, e: 2 * right_scale(n, e)), "1/n and not 2/n"),
    (3, released(lambda n, e: 1 / e), "made for a count"),
    (3, released(lambda n, e: 1 / ((n - 1) * e)), "n − 1"),
    (3, released(lambda n, e: e / n), "Δ times ε"),
    (3, released(lambda n, e: 1 / n), "does not depend on ε"),
    (3, released(lambda n, e: n / e), "moves by 1/n"),
    (3, released(right_scale, lambda x: np.sqrt((x**2).mean())), "mean squared error. Asked"),
    (3, released(right_scale, lambda x: (x**2).mean()), "This is the mean squared error"),
    (3, released(right_scale, lambda x: np.median(np.abs(x))), "median"),
    (3, released(right_scale, lambda x: abs(x.mean())), "errors of both signs cancel"),
    (3, normal_noise, "The noise is normal"),
    (3, scale_by_theory, "does not draw from rng"),
    (3, ten_thousand_draws, "another number of times"),
    (3, noise_of_its_own, "comes from elsewhere"),
    (3, lambda flags, epsilon, draws, rng: 0.0044, "expected: 0.0333"),  # the notebook's figure
    (3, released(right_scale, lambda x: math.nan), "NaN"),
    (3, lambda flags, e, draws, rng: np.abs(rng.laplace(0, 1 / flags.size / e, draws)), "array"),
    (4, asked(accountant="rdp"), "what RDP asks for"),
    (4, lambda e, a, steps: accounting.classical_noise_multiplier(e, steps, 1e-5), "classical"),
    (4, asked(adjacency="add/remove"), "always add/remove"),
    (4, asked(adjacency="replace-one"), "always replace-one"),
    (4, asked(steps=30), "always 30"),
    (4, lambda e, a, steps: accounting.noise_multiplier(e, 1, steps, 1e-5), "Give the function"),
    (
        4,
        lambda e, a, steps: asked()(e, a, steps) * (2 if a == "replace-one" else 1),
        "is: Δ = 2C is counted twice",
    ),
    (4, asked(steps=1), "for one step only"),
    (4, lambda e, a, steps: steps * asked(steps=1)(e, a, steps), "√T"),
    (4, asked(epsilon=1), "always the one for ε = 1"),
    (4, lambda e, a, steps: accounting.epsilon(e, 1, steps, 1e-5, "gaussian", a), "way back"),
    (
        4,
        lambda e, a, steps: asked(adjacency={"a": "replace-one"}.get(a[0], "add/remove"))(
            e, a, steps
        ),
        "other adjacency",
    ),
    (4, lambda e, a, steps: 40.86702200262141, "expected: 20.4335"),  # the published noise
    (4, asked(delta=1e-6), "The number is another"),
    (4, asked(sampling_rate=0.1), "ValueError"),
    (4, lambda e, a, steps: math.nan, "NaN"),
    (4, lambda e, a, steps: (40.9, 57.8), "a tuple came"),
    (5, lambda n, z: first_patients(455, z), "All patients give about this"),
    (5, lambda n, z: 100 * first_patients(n, z), "and no percentage"),
    (5, lambda n, z: first_patients(n, 0), "training without noise gives"),
    (5, lambda n, z: first_patients(n, 40.9), "passed on"),
    (5, lambda n, z: first_patients(n, 4 * z), "all SEEDS"),
    (5, lambda n, z: 0.82, "without noise is 0.82"),  # what a quarter gives, typed in
    (5, lambda n, z: first_patients(113, z), "Section 4 has measured the same"),
    (5, lambda n, z: [first_patients(n, z, [s]) for s in range(3)], "a list came"),
    (5, lambda n, z: math.nan, "NaN"),
    (5, lambda n, z: NB["no_such_name"], "KeyError"),
]


@pytest.mark.parametrize(("number", "answer", "says"), WRONG)
def test_a_wrong_answer_is_refused_with_what_is_wrong(capsys, number, answer, says):
    text = told(capsys, number, answer)
    assert text.startswith("✗")
    assert says in text
    assert answers_of(SOURCE)[number] not in text


@pytest.mark.parametrize("number", NUMBERS)
def test_every_exercise_is_tried_with_at_least_six_wrong_answers(number):
    assert sum(n == number for n, _answer, _says in WRONG) >= 6


@pytest.mark.parametrize("number", NUMBERS)
def test_a_value_instead_of_the_function_is_explained(capsys, number):
    name = breast_cancer_dp.EXERCISES[number].name
    assert f"write ex.check({number}, {name}" in told(capsys, number, 0.9)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [*breast_cancer_dp._epsilon_mistakes()],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_each_known_mistake_of_exercise_1_is_called_by_its_name(capsys, model, sentence):
    def answer(epsilons, accuracies, threshold):
        try:
            return model(epsilons, accuracies, threshold)
        except ValueError:  # the smallest of nothing
            return None

    assert f"What it probably is: {sentence}" in told(capsys, 1, answer)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [*breast_cancer_dp._noise_mistakes()],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_each_known_mistake_of_exercise_4_is_called_by_its_name(capsys, model, sentence):
    assert f"What it probably is: {sentence}" in told(capsys, 4, model)


def test_the_experiment_is_not_judged_in_a_small_run(capsys):
    assert told(capsys, 5, lambda n, z: 0.5, profile="smoke").startswith("–")


def test_noise_by_the_formula_is_the_noise_that_the_accountant_finds():
    for epsilon, adjacency, steps in ((1, "replace-one", 30), (0.3, "add/remove", 200)):
        found = breast_cancer_dp._exact_noise(epsilon, adjacency, steps)
        assert found == pytest.approx(asked()(epsilon, adjacency, steps), rel=1e-6)
        bound = breast_cancer_dp._renyi_noise(epsilon, adjacency, steps)
        assert bound == pytest.approx(asked(accountant="rdp")(epsilon, adjacency, steps), rel=1e-3)
