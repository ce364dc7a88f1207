"""Membership inference attacks: every score is larger for records that look more like members.

``phi`` holds one model's true-label logits on P records, φ = log p/(1 − p) for the probability p of
the record's label. ``PHI`` is M × P, one row a model; ``IN`` is M × P and bool, the membership of
each record in each model's training set. An attack on model ``t`` reads row ``t`` of ``PHI``, never
row ``t`` of ``IN``; the other rows are its shadow models.
"""

import numpy as np

from course_lib.metrics import advantage, roc_curve

_SD_OFFSET = 1e-6  # added to a shadow standard deviation, so that equal outputs divide by something
_CELLS_AT_ONCE = 1 << 17  # cells of the all-targets form that are worked on together
_SMALLEST_MEAN = 1e-300


# --- scores of one model -----------------------------------------------------------------------


def label_logit_from_logits(logits, labels):
    """Return the true-label logit φ = z_y − log Σ_{k ≠ y} exp z_k, in float64.

    It equals log p_y/(1 − p_y) for the softmax p, but does not pass through p: in float64 p_y
    rounds to 1 from a logit gap of about 37 on, in float32 from about 17 on.

    Args:
        logits: array of shape (..., P, K) with K ≥ 2 classes; leading axes may be models.
        labels: P integers in 0 … K − 1, the records' labels, shared by all leading axes.

    Returns:
        float64 array of shape (..., P).

    Raises:
        ValueError: for fewer than two classes, labels that do not match, or a logit that is not
            finite.
    Source: Carlini et al. (2022), section IV.
    """
    z, labels = np.array(logits, dtype=np.float64), np.asarray(labels)
    if z.ndim < 2 or z.shape[-1] < 2:
        raise ValueError(
            f"logits has shape {z.shape}: expected (..., records, classes), at least two classes"
        )
    if labels.shape != z.shape[-2:-1]:
        raise ValueError(
            f"labels has shape {labels.shape}: expected one label for each of {z.shape[-2]} records"
        )
    if not np.issubdtype(labels.dtype, np.integer) or not np.all(
        (labels >= 0) & (labels < z.shape[-1])
    ):
        raise ValueError(f"labels must be whole numbers from 0 to {z.shape[-1] - 1}")
    _check_finite("logits", z)
    where = np.broadcast_to(labels[:, None], (*z.shape[:-1], 1))
    of_label = np.take_along_axis(z, where, axis=-1)
    np.put_along_axis(z, where, -np.inf, axis=-1)
    top = z.max(axis=-1, keepdims=True)
    others = top + np.log(np.exp(z - top).sum(axis=-1, keepdims=True))
    return (of_label - others)[..., 0]


def loss_from_phi(phi):
    """Return the cross-entropy loss −log p = log(1 + e^−φ); it does not overflow at any φ."""
    phi = np.asarray(phi, dtype=np.float64)
    return np.log1p(np.exp(-np.abs(phi))) + np.maximum(-phi, 0.0)


def gap_scores(phi):
    """Return 1 where the label's probability is above one half, else 0.

    With two classes that is whether the model is right, and the attack's advantage is the gap
    between training and test accuracy (Yeom et al. 2018).
    """
    return (np.asarray(phi) > 0).astype(np.float64)


def loss_scores(phi):
    """Return minus the loss: a small loss looks like a member (Yeom et al. 2018)."""
    return -loss_from_phi(phi)


def gradnorm_scores(phi, A):
    """Return minus the log of the norm of a record's loss gradient, for logistic regression.

    The gradient of log(1 + e^−φ) in the weights is σ(−φ) times the record's features, up to sign.

    Args:
        phi: array (..., P).
        A: P × d features, with the column of ones if the model has one; no row is all zeros.
    """
    log_residual = -np.logaddexp(0.0, np.asarray(phi, dtype=np.float64))
    return -(log_residual + np.log(np.linalg.norm(A, axis=1)))


# --- scores that compare with shadow models ----------------------------------------------------


def default_shadows(n_models, t, k=None):
    """Return the shadow models of target ``t``: all others, or the ``k`` after ``t``, cyclically.

    Raises:
        ValueError: for fewer than two models, if ``t`` is not a model, or if ``k`` is not between 1
            and ``n_models`` − 1.
    """
    _check_several(n_models)
    _check_target(n_models, t)
    most = n_models - 1
    if k is None:
        k = most
    if not 1 <= k <= most:
        raise ValueError(
            f"k is {k}: {n_models} models leave a target with 1 to {most} shadow models"
        )
    return (t + 1 + np.arange(k)) % n_models


def calibrated_loss_scores(PHI, IN, t, shadow_ids=None):
    """Return how far a record's loss lies below its mean loss over the shadows without it.

    Args:
        PHI, IN, t: as in the module's description.
        shadow_ids: indices of the shadow models; all models but ``t`` when left out.

    Returns:
        P scores. A record that every shadow has seen takes its mean loss over these, moved by the
        average difference between the two sides.

    Source: Watson, Guo, Cormode and Sablayrolles (2022).
    """
    PHI, IN, shadows = _checked_shadows(PHI, IN, t, shadow_ids)
    losses = loss_from_phi(PHI[shadows])
    _, mean_out = _filled_means(*_moments(losses, IN[shadows]))
    return mean_out[0] - loss_from_phi(PHI[t])


def calibrated_loss_scores_all(PHI, IN):
    """Return the scores of ``calibrated_loss_scores`` for every target, all others as its shadows.

    Returns:
        M × P scores; row ``t`` equals ``calibrated_loss_scores(PHI, IN, t)`` to rounding.

    Raises:
        ValueError: as ``lira_scores``; also for fewer than two models.
    """
    PHI, IN = _checked_several(PHI, IN)
    losses = loss_from_phi(PHI)
    sides = [_LeaveOneOut(losses, IN), _LeaveOneOut(losses, ~IN)]
    scores = np.empty_like(losses)
    for rows in _row_blocks(losses):
        _, mean_out = _filled_means(*_moments_without(sides, rows))
        scores[rows] = mean_out - losses[rows]
    return scores


def lira_scores(
    PHI,
    IN,
    t,
    online=True,
    fixed_var=False,
    shadow_ids=None,
    stat=None,
    min_variance=None,
):
    """Return the likelihood ratio attack's scores of target ``t`` (LiRA).

    Per record, a Gaussian is fitted to the outputs of the shadows that saw the record (IN) and
    another to those of the shadows that did not (OUT), with means and variances over n − 1.
    Online, the score is log N(φ; IN) − log N(φ; OUT). Offline it is (φ − mean OUT)/sd OUT.

    Args:
        PHI, IN, t: as in the module's description.
        online: whether the attacker has shadow models that saw the record.
        fixed_var: use two variances in all, one for IN and one for OUT, each the mean of the
            records' variances: steadier when shadow models are few.
        shadow_ids: indices of the shadow models; all models but ``t`` when left out.
        stat: function applied to ``PHI`` before anything else, such as the sigmoid for the same
            attack on probabilities.
        min_variance: smallest variance used; when left out, 1e-6 is added to every standard
            deviation instead.

    Returns:
        P float64 scores, always finite. A side with one model takes that side's mean variance; a
        side with none also takes the other side's mean, moved by the average IN − OUT difference.

    Raises:
        ValueError: for shapes that differ, outputs that are not finite, or shadows that do not
            exist or include the target.
    Source: Carlini et al. (2022), section IV and Algorithm 1.
    """
    PHI, IN, shadows = _checked_shadows(PHI, IN, t, shadow_ids)
    values = PHI if stat is None else _stat_of(stat, PHI)
    moments = _moments(values[shadows], IN[shadows])
    return _lira(values[t][None], moments, online, fixed_var, min_variance)[0]


def lira_scores_all(PHI, IN, online=True, fixed_var=False, stat=None, min_variance=None):
    """Return the scores of ``lira_scores`` for every target at once, all others as its shadows.

    The sums over all models are formed once; for each target its own contribution is taken away.

    Returns:
        M × P scores; row ``t`` equals ``lira_scores(PHI, IN, t, ...)`` to rounding.

    Raises:
        ValueError: as ``lira_scores``; also for fewer than two models.
    """
    PHI, IN = _checked_several(PHI, IN)
    values = PHI if stat is None else _stat_of(stat, PHI)
    sides = [_LeaveOneOut(values, IN), _LeaveOneOut(values, ~IN)]
    scores = np.empty_like(values)
    for rows in _row_blocks(values):
        moments = _moments_without(sides, rows)
        scores[rows] = _lira(values[rows], moments, online, fixed_var, min_variance)
    return scores


def rmia_scores(PHI, IN, PHI_pop, t, online, gamma=2.0, a=0.3, shadow_ids=None):
    """Return the robust membership inference attack's scores of target ``t`` (RMIA).

    A record x is compared with population records z: the score is the share of the z with
    [p(x)/Pr(x)] / [p(z)/Pr(z)] ≥ γ, where p is the target's probability of the label, σ(φ), and
    Pr its average over models that have and have not seen the record. Online, Pr(x) is half the
    mean over the IN shadows plus half the mean over the OUT shadows. Offline there is no IN
    shadow, and its mean is taken to be a·mean OUT + 1 − a, so that
    Pr(x) = ½((1 + a)·mean OUT + 1 − a). No model saw a z, so its mean over all shadows is a mean
    OUT: online it serves as Pr(z), offline it is transformed as for x.

    Args:
        PHI, IN, t: as in the module's description.
        PHI_pop: M × Z true-label logits of the same models on records that no model trained on. The
            score has Z + 1 values: for a low FPR take Z of 10,000 or more.
        online: whether the attacker has shadow models that saw the record.
        gamma: how much better than a z the record must do, at least 1.
        a: slope of the offline guess, from 0 to 1, chosen on a shadow model.
        shadow_ids: indices of the shadow models; all models but ``t`` when left out.

    Returns:
        P float64 scores from 0 to 1. A record that lacks IN shadows is treated as offline, one that
        lacks OUT shadows takes the IN mean moved by the average difference between the two sides.

    Raises:
        ValueError: as ``lira_scores``; also for ``gamma`` or ``a`` outside their range.
    Source: Zarifzadeh, Liu and Shokri (2024), section 3, and the appendix on computing Pr(x).
    """
    PHI, IN, shadows = _checked_shadows(PHI, IN, t, shadow_ids)
    PHI_pop = _checked_rmia(PHI, PHI_pop, gamma, a)
    moments = _moments(_sigmoid(PHI[shadows]), IN[shadows])
    mean_pop = _sigmoid(PHI_pop[shadows]).mean(axis=0)
    return _rmia(PHI[t], moments, PHI_pop[t], mean_pop, online, gamma, a)


def rmia_scores_all(PHI, IN, PHI_pop, online, gamma=2.0, a=0.3):
    """Return the scores of ``rmia_scores`` for every target at once, all others as its shadows.

    Returns:
        M × P scores; row ``t`` equals ``rmia_scores(PHI, IN, PHI_pop, t, ...)`` to one z.

    Raises:
        ValueError: as ``rmia_scores``; also for fewer than two models.
    """
    PHI, IN = _checked_several(PHI, IN)
    PHI_pop = _checked_rmia(PHI, PHI_pop, gamma, a)
    signal, signal_pop = _sigmoid(PHI), _sigmoid(PHI_pop)
    sides = [_LeaveOneOut(signal, IN), _LeaveOneOut(signal, ~IN)]
    total_pop = signal_pop.sum(axis=0)
    scores = np.empty_like(signal)
    for t in range(len(PHI)):
        moments = _moments_without(sides, slice(t, t + 1))
        mean_pop = np.maximum(total_pop - signal_pop[t], 0) / (len(PHI) - 1)
        scores[t] = _rmia(PHI[t], moments, PHI_pop[t], mean_pop, online, gamma, a)
    return scores


def pooled_attack(score_fn, IN, targets):
    """Attack several models with one function and return all scores with their labels.

    Args:
        score_fn: function from a target's index to its P scores.
        IN: M × P bool array.
        targets: indices of the models to attack.

    Returns:
        ``(scores, is_member)``, both len(targets) × P; ``metrics`` reads them as one long list.
    """
    targets = list(targets)
    return np.stack([np.asarray(score_fn(t), dtype=np.float64) for t in targets]), IN[targets]


class ShokriAttack:
    """Membership from outputs, learned on shadow models: one classifier for each label.

    Each classifier is a logistic regression of membership on φ, φ² and φ³ (φ standardised on the
    shadows). Train it on shadow models whose pool shares no record with the target's: otherwise it
    has seen the answers.

    Args:
        lam: weight of the L2 penalty: the mean loss plus lam/2 times the squared norm is minimised.

    Source: Shokri, Stronati, Song and Shmatikov (2017), with logistic regression in place of their
    networks.
    """

    def __init__(self, lam):
        if not lam > 0:
            raise ValueError(f"lam is {lam}: expected a positive number")
        self.lam = lam

    def fit(self, PHI, IN, y):
        """Learn from the shadows' outputs (M × P), their membership and the P labels.

        Returns:
            the attack itself.

        Raises:
            ValueError: if the shapes differ, or a label has only members or only non-members.
        """
        from sklearn.linear_model import LogisticRegression

        PHI, IN = _checked_population(PHI, IN)
        y = np.asarray(y)
        if y.shape != PHI.shape[1:]:
            raise ValueError(f"y has shape {y.shape}: expected {PHI.shape[1]} labels")
        self._centre, self._scale = PHI.mean(), PHI.std() or 1.0
        self._classifiers = {}
        for label in np.unique(y):
            member = IN[:, y == label].ravel()
            if member.all() or not member.any():
                raise ValueError(f"the shadows with label {label} are all on one side: draw more")
            classifier = LogisticRegression(C=1 / (self.lam * member.size), max_iter=1000)
            classifier.fit(self._features(PHI[:, y == label].ravel()), member)
            self._classifiers[label.item()] = classifier
        return self

    def score(self, phi, y):
        """Return P scores, the log-odds of membership, for one model's outputs and P labels.

        Raises:
            ValueError: if a label was not among the shadows'.
        """
        phi, y = np.asarray(phi, dtype=np.float64), np.asarray(y)
        scores = np.empty(phi.shape)
        for label in np.unique(y):
            if label.item() not in self._classifiers:
                known = ", ".join(str(known) for known in self._classifiers)
                raise ValueError(f"label {label} was not among the shadows' labels ({known})")
            chosen = y == label
            classifier = self._classifiers[label.item()]
            scores[chosen] = classifier.decision_function(self._features(phi[chosen]))
        return scores

    def _features(self, phi):
        standard = (phi - self._centre) / self._scale
        return np.stack([standard, standard**2, standard**3], axis=1)


# --- one record at a time ----------------------------------------------------------------------


def ks_advantage(a_in, a_out):
    """Return the best advantage of a threshold on one record's outputs: max TPR − FPR.

    It is the one-sided Kolmogorov–Smirnov statistic of the outputs of models with the record
    (``a_in``) above those of models without it (``a_out``). It is biased upwards: without any
    signal its mean is (4ⁿ/C(2n, n) − 1)/2n for n models on each side: .256 with 8, .142 with 32,
    .075 with 128.
    """
    a_in, a_out = np.ravel(a_in), np.ravel(a_out)
    is_in = np.repeat([True, False], [a_in.size, a_out.size])
    return advantage(*roc_curve(np.append(a_in, a_out), is_in))


def per_record_ks(PHI, IN, rng=None):
    """Return every record's ``ks_advantage`` over the models, and what it would be by chance.

    Args:
        PHI, IN: M × P.
        rng: numpy Generator for the permutation null; left out, there is no null.

    Returns:
        P values; with ``rng``, ``(values, null)``, where each record's null value comes from its
        own outputs with the membership of the models shuffled. Compare a record, or a mean over
        records, with the null, not with zero. A record that no model or every model saw has the
        value 0.
    """
    PHI, IN = _checked_population(PHI, IN)
    order = np.argsort(-PHI, axis=0, kind="stable")
    ranked = np.take_along_axis(PHI, order, axis=0)
    last_of_tie = np.append(ranked[1:] != ranked[:-1], np.ones((1, PHI.shape[1]), bool), axis=0)

    def best(member):
        n_in = member.sum(axis=0)
        tpr = np.cumsum(member, axis=0) / np.maximum(n_in, 1)
        fpr = np.cumsum(~member, axis=0) / np.maximum(len(member) - n_in, 1)
        found = np.max(np.where(last_of_tie, tpr - fpr, 0), axis=0)
        return np.where((n_in > 0) & (n_in < len(member)), np.maximum(found, 0), 0.0)

    values = best(np.take_along_axis(IN, order, axis=0))
    if rng is None:
        return values
    return values, best(rng.permuted(IN, axis=0))


# --- moments of the two sides ------------------------------------------------------------------


def _moments(values, IN):
    """Return counts, means and variances (n − 1) of the IN side, then of the OUT side, each 1 × P.

    Means of empty sides and variances of sides with fewer than two models are 0 here.
    """
    found = []
    for side in (IN, ~IN):
        n = side.sum(axis=0)
        mean = np.where(side, values, 0).sum(axis=0) / np.maximum(n, 1)
        square = (np.where(side, values - mean, 0) ** 2).sum(axis=0)
        found += [n[None], mean[None], (square / np.maximum(n - 1, 1))[None]]
    return found


class _LeaveOneOut:
    """Moments of one side of every record, with any one model left out."""

    def __init__(self, values, side):
        self.values, self.side = values, side
        self.n = side.sum(axis=0)
        self.centre = np.where(side, values, 0).sum(axis=0) / np.maximum(self.n, 1)
        self.centred = np.where(side, values - self.centre, 0)
        self.total = self.centred.sum(axis=0)  # zero but for rounding
        self.square = (self.centred**2).sum(axis=0)

    def without(self, rows):
        """Return count, mean and variance of the side, R × P, without the model of each row."""
        own = self.centred[rows]
        n = self.n - self.side[rows]
        total = self.total - own
        square = self.square - own**2
        mean = total / np.maximum(n, 1)
        spread = square - total * mean
        # Where nearly everything was taken away, what is left is rounding: sum these few again.
        lost = (n > 1) & (spread < 1e-6 * self.square)
        for row, p in np.argwhere(lost):
            kept = self.side[:, p].copy()
            kept[rows.start + row] = False
            rest = self.values[kept, p]
            mean[row, p] = rest.mean() - self.centre[p]
            spread[row, p] = ((rest - rest.mean()) ** 2).sum()
        variance = np.where(n > 1, spread / np.maximum(n - 1, 1), 0)
        return n, np.where(n > 0, mean + self.centre, 0), variance


def _row_blocks(values):
    """Yield slices of rows, so many at a time that the work arrays stay small."""
    step = max(1, _CELLS_AT_ONCE // values.shape[1])
    for start in range(0, len(values), step):
        yield slice(start, start + step)


def _moments_without(sides, rows):
    """Return what ``_moments`` does, R × P, without the model of each row."""
    return [moment for side in sides for moment in side.without(rows)]


def _filled_means(n_in, mean_in, _var_in, n_out, mean_out, _var_out):
    """Return both sides' means, R × P, with those of empty sides put in from the other side."""
    both = (n_in > 0) & (n_out > 0)
    pooled_in, pooled_out = _row_mean(mean_in, n_in > 0), _row_mean(mean_out, n_out > 0)
    one_sided = ~(np.any(n_in > 0, axis=1) & np.any(n_out > 0, axis=1))
    # no record with both sides: the difference of the sides' overall means has to do
    difference = np.where(
        np.any(both, axis=1),
        _row_mean(mean_in - mean_out, both),
        np.where(one_sided, 0, pooled_in - pooled_out),
    )[:, None]
    return (
        np.where(n_in > 0, mean_in, mean_out + difference),
        np.where(n_out > 0, mean_out, mean_in - difference),
    )


def _mean_variances(n_in, mean_in, var_in, n_out, mean_out, var_out):
    """Return each side's mean variance over the records, R × 1.

    A side on which no record has two models takes the other side's; when neither has, the
    variance of the single outputs over the records.
    """
    means = [_row_mean(var_in, n_in > 1), _row_mean(var_out, n_out > 1)]
    known = [np.any(n_in > 1, axis=1), np.any(n_out > 1, axis=1)]
    single = np.append(n_in > 0, n_out > 0, axis=1)
    outputs = np.append(mean_in, mean_out, axis=1)
    around = outputs - _row_mean(outputs, single)[:, None]
    last_resort = _row_mean(around**2, single)
    return [
        np.where(known[i], means[i], np.where(known[1 - i], means[1 - i], last_resort))[:, None]
        for i in (0, 1)
    ]


def _row_mean(values, chosen):
    return np.where(chosen, values, 0).sum(axis=1) / np.maximum(chosen.sum(axis=1), 1)


def _lira(observed, moments, online, fixed_var, min_variance):
    n_in, _, var_in, n_out, _, var_out = moments
    mean_in, mean_out = _filled_means(*moments)
    pooled_in, pooled_out = _mean_variances(*moments)
    if fixed_var:
        var_in, var_out = pooled_in, pooled_out
    else:
        var_in = np.where(n_in > 1, var_in, pooled_in)
        var_out = np.where(n_out > 1, var_out, pooled_out)
    sd_in, sd_out = _sd(var_in, min_variance), _sd(var_out, min_variance)
    z_out = (observed - mean_out) / sd_out
    if not online:
        return z_out
    z_in = (observed - mean_in) / sd_in
    return np.log(sd_out / sd_in) + (z_out**2 - z_in**2) / 2


def _sd(variance, min_variance):
    if min_variance is None:
        return np.sqrt(variance) + _SD_OFFSET
    return np.sqrt(np.maximum(variance, min_variance))


def _rmia(phi, moments, phi_pop, mean_pop, online, gamma, a):
    n_in = moments[0][0]
    mean_in, mean_out = (side[0] for side in _filled_means(*moments))
    average = ((1 + a) * np.clip(mean_out, 0, 1) + 1 - a) / 2
    if online:
        average = np.where(
            n_in > 0, (np.clip(mean_in, 0, 1) + np.clip(mean_out, 0, 1)) / 2, average
        )
    else:
        mean_pop = ((1 + a) * mean_pop + 1 - a) / 2
    log_ratio = -loss_from_phi(phi) - np.log(np.maximum(average, _SMALLEST_MEAN))
    log_ratio_pop = -loss_from_phi(phi_pop) - np.log(np.maximum(mean_pop, _SMALLEST_MEAN))
    beaten = np.searchsorted(np.sort(log_ratio_pop), log_ratio - np.log(gamma), side="right")
    return beaten / phi_pop.size


def _sigmoid(phi):
    small = np.exp(-np.abs(phi))
    return np.where(phi >= 0, 1.0, small) / (1 + small)


# --- checks ------------------------------------------------------------------------------------


def _stat_of(stat, PHI):
    values = np.asarray(stat(PHI), dtype=np.float64)
    if values.shape != PHI.shape:
        raise ValueError(
            f"stat turned shape {PHI.shape} into {values.shape}: expected one value per output"
        )
    _check_finite("stat(PHI)", values)
    return values


def _checked_population(PHI, IN):
    PHI, IN = np.asarray(PHI, dtype=np.float64), np.asarray(IN)
    if IN.dtype != bool:
        raise TypeError(f"IN holds {IN.dtype} values: expected bool")
    if PHI.ndim != 2 or PHI.shape != IN.shape:
        raise ValueError(
            f"PHI has shape {PHI.shape}, IN has shape {IN.shape}: expected models × records, twice"
        )
    _check_finite("PHI", PHI)
    return PHI, IN


def _checked_several(PHI, IN):
    PHI, IN = _checked_population(PHI, IN)
    _check_several(len(PHI))
    return PHI, IN


def _check_several(n_models):
    if n_models < 2:
        raise ValueError(
            f"{n_models} model{'' if n_models == 1 else 's'} will not do: an attack needs at least "
            "one shadow model beside its target"
        )


def _checked_shadows(PHI, IN, t, shadow_ids):
    PHI, IN = _checked_population(PHI, IN)
    if shadow_ids is None:
        return PHI, IN, default_shadows(len(PHI), t)
    _check_target(len(PHI), t)
    shadows = np.asarray(shadow_ids)
    if shadows.ndim != 1 or shadows.size == 0 or not np.issubdtype(shadows.dtype, np.integer):
        raise ValueError("shadow_ids must be a list of at least one model index")
    if shadows.min() < 0 or shadows.max() >= len(PHI):
        raise ValueError(
            f"shadow_ids runs from {shadows.min()} to {shadows.max()}: the models are 0 to "
            f"{len(PHI) - 1}"
        )
    if t in shadows:
        raise ValueError(f"model {t} is the target and among its own shadows: leave it out")
    return PHI, IN, shadows


def _checked_rmia(PHI, PHI_pop, gamma, a):
    PHI_pop = np.asarray(PHI_pop, dtype=np.float64)
    if PHI_pop.ndim != 2 or len(PHI_pop) != len(PHI) or PHI_pop.shape[1] == 0:
        raise ValueError(
            f"PHI_pop has shape {PHI_pop.shape}: expected {len(PHI)} models × population records"
        )
    _check_finite("PHI_pop", PHI_pop)
    if not gamma >= 1:
        raise ValueError(f"gamma is {gamma}: expected at least 1")
    if not 0 <= a <= 1:
        raise ValueError(f"a is {a}: expected a number from 0 to 1")
    return PHI_pop


def _check_target(n_models, t):
    if not 0 <= t < n_models:
        raise ValueError(f"target {t} does not exist: the models are 0 to {n_models - 1}")


def _check_finite(name, values):
    finite = np.isfinite(values)
    if not finite.all():
        bad = np.argwhere(~finite)
        raise ValueError(
            f"{name} is not finite in {len(bad)} places (the first at {tuple(bad[0].tolist())}): "
            "look for a model that diverged"
        )
