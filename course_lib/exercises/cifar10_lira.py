"""The exercises of the CIFAR-10 lab: one score, one ratio, a threshold, an ε, and the shadows."""

import math

import numpy as np
from scipy.special import logsumexp

from course_lib import accounting, attacks, metrics
from course_lib.exercises import Between, Exercise, Near
from course_lib.language import _

_DELTA = 1e-5
_ORDERS = [1 + k / 4 for k in range(4, 40)] + list(range(11, 64))  # of the Rényi divergence


def check_true_label_logit(trial):
    """Try φ against SciPy's logsumexp, on tame and on wild logits."""
    trial.mistake(
        lambda z, label: z[label] - logsumexp(z),
        _("The label itself must be left out of the sum; with it, this is the log of p, not φ."),
    )
    trial.mistake(
        lambda z, label: logsumexp(np.delete(z, label)) - z[label],
        _("The sign is turned around: φ is large when the network is sure of the label."),
    )
    trial.mistake(
        lambda z, label: z[label] - np.delete(z, label).max(),
        _(
            "Only the largest of the other logits is taken off, not the log of the sum of their "
            "exponentials."
        ),
    )
    trial.mistake(
        lambda z, label: z[label] - np.log(np.exp(np.delete(z, label)).sum()),
        _("The exponentials overflow or vanish. Take the largest logit out before you use exp."),
    )
    trial.mistake(
        lambda z, label: z[label] - z.max() - np.log(np.exp(np.delete(z, label) - z.max()).sum()),
        _(
            "The largest of all logits is taken out. Where it is the label's own, the other "
            "exponentials vanish: take the largest of the others."
        ),
    )
    trial.mistake(
        lambda z, label: z[label] - logsumexp(z[z != z[label]]),
        _("Other logits that equal the label's are left out too. Leave out the label's alone."),
    )
    trial.mistake(
        lambda z, label: z[label] - np.delete(z, label).sum(),
        _("The sum of the other logits is taken off, not the log of the sum of exponentials."),
    )
    trial.mistake(
        _through_probabilities,
        _(
            "It goes through the probabilities, and p rounds to one or to zero. "
            "Start from the logits."
        ),
    )
    trial.mistake(
        lambda z, label: z[label] - np.delete(z, label).mean(),
        _("The mean of the other logits is taken off, not the log of the sum of exponentials."),
    )
    trial.mistake(
        lambda z, label: z[0] - logsumexp(z[1:]),
        _("The label is taken to be 0, whatever it is."),
    )
    hand = [([2.0, 1.0, -1.0], 0), ([2.0, 1.0, -1.0], 2), ([1.0, 3.0, 1.0], 2)]
    hand += [(5 * trial.rng.normal(size=10), int(trial.rng.integers(1, 10))) for _k in range(4)]
    wild = [([40.0, 0.0, 0.0], 0), ([-800.0, 0.0, 900.0], 0), ([900.0, 0.0, -800.0], 0)]
    for z, label in hand + wild:
        z = np.array(z)
        trial.case({"z": z, "label": label}, float(z[label] - logsumexp(np.delete(z, label))))


def _through_probabilities(z, label):
    shares = np.exp(z - np.max(z))
    p = shares[label] / shares.sum()
    return np.log(p / (1 - p))


def check_log_ratio(trial):
    """Try the ratio against the two normal densities written out, near and far from both."""
    trial.mistake(
        lambda phi_in, phi_out, observed: _log_ratio(phi_in, phi_out, observed, ddof=0),
        _("The variances are divided by n. Asked is n − 1."),
    )
    trial.mistake(
        lambda phi_in, phi_out, observed: _log_ratio(phi_out, phi_in, observed),
        _("IN and OUT are swapped: the ratio is large where the image looks like a member."),
    )
    trial.mistake(
        lambda phi_in, phi_out, observed: np.exp(_log_ratio(phi_in, phi_out, observed)),
        _("This is the ratio itself; its logarithm is asked for."),
    )
    trial.mistake(
        _quotient_of_logarithms,
        _("One logarithm is divided by the other. The log of a ratio is their difference."),
    )
    trial.mistake(
        lambda phi_in, phi_out, observed: (
            _exponent(phi_in, observed) - _exponent(phi_out, observed)
        ),
        _("The factor 1/σ in front of the densities is missing; the two deviations differ."),
    )
    trial.mistake(
        _with_variance_as_deviation,
        _("The variance stands where the standard deviation belongs. Is a square root missing?"),
    )
    trial.case(
        {
            "phi_in": np.array([2.0, 3.0, 4.0]),
            "phi_out": np.array([0.0, 1.0, 2.0]),
            "observed": 2.5,
        },
        1.0,
    )
    too_far = _(
        "So far from both means the densities themselves round to zero. Work with their logarithms."
    )
    for n_in, n_out, observed, about in (
        (5, 8, 1.0, ""),
        (9, 4, -2.0, ""),
        (2, 7, 3.0, ""),
        (8, 8, 300.0, too_far),
    ):
        phi_in, phi_out = trial.rng.normal(3, 2, n_in), trial.rng.normal(0, 1, n_out)
        inputs = {"phi_in": phi_in, "phi_out": phi_out, "observed": observed}
        trial.case(inputs, _log_ratio(phi_in, phi_out, observed), about=about)


def _exponent(sample, observed, ddof=1):
    mean = sum(sample) / len(sample)
    variance = sum((value - mean) ** 2 for value in sample) / (len(sample) - ddof)
    return -((observed - mean) ** 2) / (2 * variance)


def _log_deviation(sample, ddof=1):
    mean = sum(sample) / len(sample)
    return 0.5 * math.log(sum((value - mean) ** 2 for value in sample) / (len(sample) - ddof))


def _log_ratio(phi_in, phi_out, observed, ddof=1):
    log_in = _exponent(phi_in, observed, ddof) - _log_deviation(phi_in, ddof)
    return log_in - (_exponent(phi_out, observed, ddof) - _log_deviation(phi_out, ddof))


def _quotient_of_logarithms(phi_in, phi_out, observed):
    logs = [
        _exponent(sample, observed) - _log_deviation(sample) - math.log(2 * math.pi) / 2
        for sample in (phi_in, phi_out)
    ]
    return logs[0] / logs[1]


def _with_variance_as_deviation(phi_in, phi_out, observed):
    parts = []
    for sample in (phi_in, phi_out):
        variance = np.var(sample, ddof=1)
        parts.append(-((observed - np.mean(sample)) ** 2) / (2 * variance**2) - np.log(variance))
    return parts[0] - parts[1]


def check_shadow_threshold(trial):
    """Try the threshold against a search through every score, with ties and at both ends."""
    trial.mistake(
        lambda scores, members, alpha: _threshold(scores[members], alpha),
        _(
            "It is chosen on the members' scores. A false positive is a non-member that passes: "
            "use ~shadow_members."
        ),
    )
    trial.mistake(
        lambda scores, members, alpha: _threshold(scores.ravel(), alpha),
        _("It is chosen on all scores. Only non-members can be false positives."),
    )
    trial.mistake(
        lambda scores, members, alpha: np.quantile(scores[~members], 1 - alpha),
        _(
            "The quantile is interpolated between two scores. An observed score is asked for, "
            "the smallest that at most the share alpha exceeds."
        ),
    )
    trial.mistake(
        lambda scores, members, alpha: np.quantile(scores[~members], alpha),
        _("This is the lower end: it lets all but the share alpha pass."),
    )
    trial.mistake(
        lambda scores, members, alpha: _by_rank(scores[~members], alpha, 1),
        _("One score too far down: more than the share alpha lies above it."),
    )
    for too_far_up in (
        lambda scores, members, alpha: _by_rank(scores[~members], alpha, -1),
        lambda scores, members, alpha: np.quantile(scores[~members], 1 - alpha, method="higher"),
    ):
        trial.mistake(
            too_far_up,
            _(
                "One score too far up: a smaller threshold keeps to the share alpha, too, since "
                "only scores above it count."
            ),
        )
    trial.mistake(
        lambda scores, members, alpha: _smallest(scores[~members], alpha, ties_pass=True),
        _(
            "It counts the scores at the threshold as above it. Above means larger, not equal, "
            "here; the difference shows in what share passes."
        ),
    )
    hand_scores = np.array([[5.0, 1.0, 3.0, 9.0], [2.0, 8.0, 4.0, 7.0]])
    hand_members = np.array([[False, False, False, True], [False, True, False, False]])
    tied_scores = np.array([[1.0, 2.0, 3.0, 0.0], [2.0, 2.0, 3.0, 9.0]])
    tied_members = np.array([[False, False, False, False], [False, False, False, True]])
    cases = [(hand_scores, hand_members, alpha) for alpha in (0.25, 0.0, 0.7)]
    cases += [(tied_scores, tied_members, alpha) for alpha in (0.3, 0.5)]
    for alpha in (0.013, 0.107, 0.31):
        cases.append((trial.rng.normal(size=(6, 40)), trial.rng.random((6, 40)) < 0.5, alpha))
    for scores, members, alpha in cases:
        inputs = {"shadow_scores": scores, "shadow_members": members, "alpha": alpha}
        trial.case(inputs, _smallest(scores[~members], alpha))


def _smallest(scores, alpha, ties_pass=False):
    """The smallest of the scores that at most a share alpha of them exceeds, by trying each."""
    for threshold in np.unique(scores):
        above = (scores >= threshold) if ties_pass else (scores > threshold)
        if above.mean() <= alpha:
            return float(threshold)
    return None


def _threshold(scores, alpha):
    return _by_rank(scores, alpha, 0)


def _by_rank(scores, alpha, further):
    return np.sort(scores)[::-1][int(alpha * len(scores)) + further]


def check_batch_epsilon(trial):
    """Try q, the steps and ε against Google's accountant, where the last batch is smaller."""

    def mistake(rate, steps, sentence):
        def model(batch_size, n, epochs):
            values = {"size": batch_size, "n": n, "batches": math.ceil(n / batch_size)}
            return rate(**values), steps(**values, epochs=epochs), Between(0, math.inf)

        trial.mistake(model, sentence)

    def whole(batches, **_rest):
        return 1 / batches

    mistake(
        lambda size, n, **_rest: size / n,
        lambda batches, epochs, **_rest: batches * epochs,
        _("In Opacus q is 1 over the number of batches, which is not batch size over n."),
    )
    mistake(
        lambda size, n, **_rest: 1 / (n // size),
        lambda size, n, epochs, **_rest: n // size * epochs,
        _("The number of batches is rounded down; a DataLoader keeps the last, smaller batch."),
    )
    mistake(
        whole,
        lambda batches, **_rest: batches,
        _("These are the steps of one epoch."),
    )
    mistake(
        whole,
        lambda epochs, **_rest: epochs,
        _("An epoch has more than one step: one for each batch."),
    )
    mistake(
        lambda **_rest: 1.0,
        lambda batches, epochs, **_rest: batches * epochs,
        _("The sampling rate is taken to be 1, as if every image were in every batch."),
    )
    for batch_size, n, epochs in ((512, 25_000, 30), (256, 25_000, 30), (100, 4_050, 7)):
        batches = math.ceil(n / batch_size)
        inputs = {"batch_size": batch_size, "n": n, "epochs": epochs}
        expected = _mechanism(1 / batches, batches * epochs)
        one_epoch = _mechanism(1 / batches, batches)

        def with_epsilon(found, right=expected):
            return *right[:2], Near(found, 2e-3 * found)

        trial.case(
            inputs,
            expected,
            rtol=2e-3,
            mistakes=[
                (with_epsilon(one_epoch[2]), _("This is the ε of one epoch.")),
                (
                    lambda size, n, epochs, batches=batches, as_result=with_epsilon: as_result(
                        accounting.epsilon(1 / batches, 1.0, batches * epochs, _DELTA)
                    ),
                    _("The noise multiplier and the sampling rate have changed places."),
                ),
                (
                    lambda size, n, epochs, batches=batches, as_result=with_epsilon: as_result(
                        accounting.epsilon(1.0, 1 / batches, batches * epochs, _DELTA, "prv")
                    ),
                    _("This is the PRV accountant's value. The exercise asks for RDP."),
                ),
            ],
        )


def _mechanism(rate, steps):
    """(q, steps, ε) by RDP at σ = 1, by another implementation than the course's."""
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(1.0))
    accountant = RdpAccountant(_ORDERS).compose(
        dp_accounting.SelfComposedDpEvent(step, round(steps))
    )
    return rate, steps, accountant.get_epsilon(_DELTA)


def check_tpr_with_shadows(trial):
    """Try the TPR against scikit-learn's ROC of scores made for one target after the other."""

    def by_bench(phi, members, online=True, fixed_var=True):
        scores = attacks.lira_scores_all(phi, members, online=online, fixed_var=fixed_var)
        return metrics.attack_metrics(scores, members)["tpr_1"]

    trial.mistake(
        lambda PHI, IN, k: by_bench(PHI[:k], IN[:k]),
        _("With k shadows there are k + 1 networks: the target is not its own shadow."),
    )
    trial.mistake(
        lambda PHI, IN, k: by_bench(PHI, IN),
        _("All networks are used, whatever k is."),
    )
    trial.mistake(
        lambda PHI, IN, k: by_bench(PHI[: k + 1], IN[: k + 1], fixed_var=False),
        _("Each image has a variance of its own here. Fixed variances are asked for."),
    )
    trial.mistake(
        lambda PHI, IN, k: by_bench(PHI[: k + 1], IN[: k + 1], online=False),
        _("This is the offline attack; the online one is asked for."),
    )
    trial.mistake(
        lambda PHI, IN, k: metrics.attack_metrics(PHI[: k + 1], IN[: k + 1])["tpr_1"],
        _("This is the loss attack: φ itself, without any shadow."),
    )
    trial.mistake(
        lambda PHI, IN, k: np.mean(
            [
                metrics.attack_metrics(scores, own)["tpr_1"]
                for scores, own in zip(
                    attacks.lira_scores_all(PHI[: k + 1], IN[: k + 1], online=True, fixed_var=True),
                    IN[: k + 1],
                    strict=True,
                )
            ]
        ),
        _("This is the mean of one TPR for each target. Pool all scores, and take one TPR."),
    )
    trial.mistake(_tpr_of_the_first, _("Only network 0 is attacked. Each of them is a target."))
    for key, sentence in (
        ("auc", _("This is the AUC. The TPR at an FPR of 1% is asked for.")),
        ("tpr_01", _("This is the TPR at an FPR of 0.1%. The one at 1% is asked for.")),
    ):
        trial.mistake(
            lambda PHI, IN, k, key=key: metrics.attack_metrics(
                attacks.lira_scores_all(PHI[: k + 1], IN[: k + 1], online=True, fixed_var=True),
                IN[: k + 1],
            )[key],
            sentence,
        )
    for n_networks, k in ((7, 4), (9, 6), (6, 5)):
        members = trial.rng.random((n_networks, 150)) < 0.5
        hardness, deviation = trial.rng.normal(0, 3, 150), trial.rng.uniform(0.3, 2.5, 150)
        phi = hardness + 2.0 * members + deviation * trial.rng.normal(size=members.shape)
        trial.case({"PHI": phi, "IN": members, "k": k}, _tpr_by_scikit_learn(phi, members, k))


def _tpr_of_the_first(PHI, IN, k):
    scores = attacks.lira_scores(PHI[: k + 1], IN[: k + 1], 0, online=True, fixed_var=True)
    return metrics.attack_metrics(scores, IN[0])["tpr_1"]


def _tpr_by_scikit_learn(phi, members, k):
    from sklearn.metrics import roc_curve

    chosen_phi, chosen = phi[: k + 1], members[: k + 1]
    scores = [
        attacks.lira_scores(chosen_phi, chosen, t, online=True, fixed_var=True)
        for t in range(k + 1)
    ]
    fpr, tpr, _thresholds = roc_curve(
        chosen.ravel(), np.concatenate(scores), drop_intermediate=False
    )
    return float(tpr[fpr <= 0.01].max())


EXERCISES = {
    1: Exercise(
        name="true_label_logit",
        check=check_true_label_logit,
        hints=lambda: (
            _("φ is the label's logit minus one number, which is made of the other logits only."),
            _("np.delete(z, label) is the vector without the label's entry."),
            _(
                "The log of a sum of exponentials does not change if you take the largest number "
                "out of all exponents and add it again outside the logarithm."
            ),
        ),
    ),
    2: Exercise(
        name="log_ratio",
        check=check_log_ratio,
        hints=lambda: (
            _("Fit one normal distribution to each of the two samples: a mean and a deviation."),
            _("np.std(sample, ddof=1) divides by n − 1."),
            _(
                "norm.logpdf(x, mean, deviation) is the log of the density. The log of a ratio is "
                "the difference of the logs."
            ),
        ),
    ),
    3: Exercise(
        name="shadow_threshold",
        check=check_shadow_threshold,
        hints=lambda: (
            _("Only the non-members' scores matter: ~shadow_members picks them."),
            _("Sort them. How many of n may lie above the threshold?"),
            _(
                "int(alpha * n) may lie above it. So it is the next one after these, counted "
                "from the largest."
            ),
        ),
    ),
    4: Exercise(
        name="batch_epsilon",
        check=check_batch_epsilon,
        hints=lambda: (
            _("How many batches does a DataLoader make of n images, the last one included?"),
            _("q is 1 over that number, and an epoch has as many steps."),
            _(
                "math.ceil rounds up. Pass q and the steps of all epochs to accounting.epsilon, "
                "with σ = 1."
            ),
        ),
    ),
    5: Exercise(
        name="tpr_with_shadows",
        check=check_tpr_with_shadows,
        hints=lambda: (
            _("PHI and IN have one row for each network. Take the first k + 1 rows of both."),
            _(
                "attacks.lira_scores_all attacks each network with the others as shadows; look at "
                "its arguments online and fixed_var."
            ),
            _('metrics.attack_metrics(scores, membership) returns a dict with an entry "tpr_1".'),
        ),
    ),
}
