# untranslated: "outside lower center" (a place in a figure)

# %% [markdown] id="title"
# # Who was in the training set?
#
# ## A test bench for membership inference, in a synthetic credit world
#
# A bank trains a model on past loans. Somebody who can query it wants to know whether *your* loan was among them. Many attacks have been proposed for this. Which one should you fear? Papers are hard to compare: their data and models differ, and often they attack only a few models.
#
# Here everything is cheap. The world is made by us, so the truth is known. The models are logistic regressions, so hundreds of them train in a second. You will attack all of them with all attacks, compare the attacks fairly, and find out which *records* are at risk. At the end, differential privacy puts a ceiling over every attack.
#
# The notebook runs in about half a minute. Reading takes longer. In a hurry? Run everything, and read sections 1 to 6, 10, 12 and 13.

# %% [markdown] id="ground-rules"
# ### The ground rules
#
# | what | in this lab |
# |---|---|
# | unit of privacy | one loan file with its outcome: one *record*. Somebody with several files is less protected (section 12) |
# | adjacency | no privacy is promised before section 13. There it is add/remove: two training sets are neighbours when one holds one record more than the other |
# | public | the pool of candidate records, the scaling of the features, the kind of model, and every setting of the training |
# | private | who of the pool is a member of which training set |
# | what our attacker sees | the output of the finished model for any record; in section 9 also the weights |
# | what our attacker can do | a lot: train models of the same kind, on records of the same pool. These are *shadow models* |
# | what differential privacy guards against | much more: someone who watches the noisy gradient sum of every single step, and knows all records but one |
#
# You need not know these words yet. Come back when a section uses them.
#
# The noise in this lab comes from an ordinary random generator with a published seed. Whoever knows the seed can subtract the noise, and the promise is void. Real protection needs a secret seed and a cryptographically secure generator.

# %% [markdown] id="reference-run"
# **About the numbers.** Figures quoted in the text come from the reference run of {{ meta.date }} (Python {{ meta.versions.python }}, NumPy {{ meta.versions.numpy }}, profile {{ meta.profile }}). Yours may differ in the last digit or two. The main statements are checked on *your* numbers by the code nearby, which prints ✓ or ✗. With another `WORLD_SEED` in the next cell, see which statements survive in another world.

# %% id="parameters" tags=["parameters"]
import dataclasses

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from course_lib import accounting, attacks, audit, credit, metrics, models, plots, population
from course_lib.dpsgd import DPSGD
from course_lib.exercises import Exercises
from course_lib.lab import Lab
from course_lib.language import padded

# The lab keeps your figures with lab.record and lab.curve, for the course's pages: you can skip over
# those lines. lab.claim checks a statement of the text on your numbers.
lab = Lab("credit_lira", profile="quick")  # or "smoke": everything tiny, to see whether it runs
ex = Exercises(lab)  # checks, hints and reference answers of section 14

POOL = lab.pick(smoke=80, quick=400)  # P: candidate records
N_IN = POOL // 2  # members of each model
N_MODELS = lab.pick(smoke=12, quick=256)  # M: each is a target, and a shadow of all the others
N_FRESH = lab.pick(smoke=500, quick=10_000)  # records that no model was trained on
DEGREE = lab.pick(smoke=2, quick=3)  # of the polynomial features
LAM = 1e-3  # λ: weight of the penalty on large model weights
WORLD_SEED = 4
MODELS_SEED = 1
N_BOOTSTRAP = lab.pick(smoke=20, quick=400)  # resamples behind an interval
ALPHAS = (0.01, 0.001)  # the false positive rates at which attacks are judged
plt.rcParams.update(plots.STYLE)
threadpool_limits(1)  # the matrices here are too small to share between cores

lab.record(pool=POOL, n_models=N_MODELS, n_in=N_IN, n_pairs=N_MODELS * POOL, n_fresh=N_FRESH)
lab.record(degree=DEGREE, lam=LAM, n_bootstrap=N_BOOTSTRAP, low_fpr=ALPHAS[1])

# %% [markdown] id="world"
# ## 1. The world, and what may be used to decide
#
# Our world produces loan files in the order in which things happen:
#
# - A person has a credit **history** of some years. **Income** grows with it.
# - Existing **debts** take a share of the income. Where they take a lot, and where the history is short, payments are missed: **arrears**.
# - The person asks for an **amount**.
# - These five decide, with some luck, whether the loan is **repaid**. Income and history help. Arrears hurt, less so in a long history.
#
# There is a sixth column, the **officer flag**. It says whether the file lies with a collections officer. Watch this one.

# %% id="draw-world"
world = credit.make_credit(POOL, np.random.default_rng(WORLD_SEED))
y = world["y"]

print("column             5%  median     95%")
for name, unit, column in zip(credit.COLUMNS, credit.UNITS, world["X"].T, strict=True):
    low, middle, high = np.quantile(column, [0.05, 0.5, 0.95])
    print(f"{name:13} {low:7.1f} {middle:7.1f} {high:7.1f}   {unit}")
print("(5% of the files lie below the first number, half below the second, 95% below the third)\n")

check = credit.self_check(100_000, np.random.default_rng(0))
print(f"share that repays {check['repaid']:.3f}")
print(f"AUC of the true probability {check['bayes_auc']:.3f}, accuracy {check['bayes_acc']:.3f}")
print(f"AUC of the officer flag alone {check['flag_auc']:.3f}")
lab.record({f"world_{key}": value for key, value in check.items()})
lab.claim(
    "flag-beats-the-truth",
    "The officer flag predicts repayment better than the true probability does.",
    check["flag_auc"] > check["bayes_auc"],
)

# %% [markdown] id="world-reading"
# {{ world_repaid:.0% }} of all loans are repaid, so a model that always says *repaid* is right as often. We made the world, so we know everybody's true probability of repaying. It ranks loans with an **AUC** of {{ world_bayes_auc:.3f }}: in {{ world_bayes_auc:.0% }} of all pairs of a repaid and a failed loan, the repaid one has the larger probability. No honest model does better on average: the rest is luck.
#
# The officer flag alone reaches {{ world_flag_auc:.3f }}. Better than the truth? It is no prediction. A file goes to collections *because* the loan failed. On the day of the decision the column is empty. A model that learned from it would shine on old files and fail on new ones. This is **target leakage**, not the leak that this lab is about. We use the other five columns, `credit.LEGIT`.

# %% [markdown] id="features"
# The model gets the five columns, their squares and cubes, and all products of up to three of them: {{ n_features:d }} numbers for each record, one of them a constant. They are scaled by means and standard deviations of a *public* reference sample. A scaler fitted to the training set would depend on private records, and could leak, too.

# %% id="features-of-the-pool"
features = credit.Featurizer(degree=DEGREE)
A = features(world["X"])
fresh = credit.make_credit(N_FRESH, np.random.default_rng(77))  # nobody trains on these
A_fresh = features(fresh["X"])
lab.record(n_features=A.shape[1])
print(f"{A.shape[0]} records with {A.shape[1]} features each")

# %% [markdown] id="target"
# ## 2. A target that overfits
#
# A random half of the pool, {{ n_in:d }} records, trains the model under attack, the **target**. They are its **members**. With {{ n_features:d }} weights for {{ n_in:d }} records it has much room to adapt to single ones.

# %% id="train-target"
IN_target, PHI_target, THETA_target = population.train_population(
    A, y, 1, N_IN, LAM, np.random.default_rng(MODELS_SEED)
)
is_member, phi, theta = IN_target[0], PHI_target[0], THETA_target[0]


def accuracy(phi):
    """The share of records whose true label the model finds more likely than not."""
    return (phi > 0).mean()


phi_fresh = models.true_label_logit(theta, A_fresh, fresh["y"])
target_accuracies = [accuracy(phi[is_member]), accuracy(phi[~is_member]), accuracy(phi_fresh)]
print(f"accuracy on members {target_accuracies[0]:.3f}, on non-members {target_accuracies[1]:.3f}")
print(f"on {N_FRESH:,} fresh records {target_accuracies[2]:.3f}")
lab.record(target_acc_in=target_accuracies[0], target_acc_out=target_accuracies[1])
lab.record(target_acc_fresh=target_accuracies[2])

# %% [markdown] id="phi"
# On its members the model is right for {{ target_acc_in:.1% }}, on fresh records, which come from the same world and train no model, for {{ target_acc_fresh:.1% }}.
#
# What an attacker reads off a model is how sure it is of a record's true label. We measure it by the **true-label logit**. With labels $y \in \{0, 1\}$, features $a$ and weights $\theta$,
#
# $$\varphi = (2y - 1)\, a \cdot \theta = \log \frac{p}{1 - p}, \qquad \text{loss} = -\log p = \log(1 + e^{-\varphi}),$$
#
# where $p$ is the probability that the model gives to the true label. A large φ means sure and right, a negative one means wrong.

# %% id="plot-phi"
plots.show(
    plots.score_histograms(
        [(None, phi.clip(-10, 15), is_member)],
        bins=30,
        xlabel="true-label logit φ (cut at −10 and 15)",
    ),
    alt="Histograms of the true-label logit of members and non-members of one model. They overlap "
    "almost everywhere. Non-members have more mass below zero, where the model is wrong.",
)

# %% [markdown] id="phi-reading"
# The two histograms overlap almost everywhere. Non-members have a longer tail to the left: there the model is wrong about records it has not seen. At the far right, where an attacker would look for the surest cases, there is no lack of non-members. So a single threshold on φ cannot do much here, which may say more about the attack than about the model.

# %% [markdown] id="population"
# ## 3. {{ n_models:d }} models
#
# One target is one draw of luck. We train {{ n_models:d }} models, each on its own random half of the same pool. Each will be a target once, and a shadow model for all the others. That makes {{ n_pairs:,d }} pairs of a model and a record, half of them members.
#
# Our library, the *bench*, keeps three arrays. `IN` says which record trained which model. `PHI` holds all true-label logits, of members and non-members. `THETA` holds the weights. Newton's method solves all models together.
#
# Each half is drawn by itself. Do not *balance* the design, so that every record is in exactly half of the models: whoever knows the other models' memberships could then count, and would know the target's.

# %% id="train-population"
IN, PHI, THETA = population.train_population(
    A, y, N_MODELS, N_IN, LAM, np.random.default_rng(MODELS_SEED)
)
PHI_fresh = models.true_label_logit(THETA, A_fresh, fresh["y"])

print(f"IN {IN.shape}, PHI {PHI.shape}, THETA {THETA.shape}")
acc_in, acc_out = accuracy(PHI[IN]), accuracy(PHI[~IN])
print(f"mean accuracy on members {acc_in:.3f}, on non-members {acc_out:.3f}")
lab.record(acc_in=acc_in, acc_out=acc_out, acc_fresh=accuracy(PHI_fresh))
print(f"model 0 is the target of section 2: {np.allclose(PHI[0], phi)}")
lab.claim(
    "models-overfit",
    "The models are more accurate on members than on non-members, by at least five points.",
    acc_in - acc_out > 0.05,
)

# %% [markdown] id="optimum-idea"
# Is it really the optimum that Newton's method finds? Let us ask scikit-learn about model 0.

# %% id="check-optimum"
from sklearn.linear_model import LogisticRegression

reference = LogisticRegression(C=1 / (LAM * N_IN), tol=1e-10, max_iter=20_000)
reference.fit(A[is_member, 1:], y[is_member])
expected = np.append(reference.intercept_, reference.coef_[0])
print(f"largest difference to scikit-learn's weights: {np.abs(THETA[0] - expected).max():.1e}")

# %% [markdown] id="judging"
# ## 4. Gap and loss: what one threshold for all can do
#
# An attack gives each pair a **score**: the larger, the more it believes in *member*. A threshold turns scores into guesses. The **true positive rate** (TPR) is the share of members that are called members, the **false positive rate** (FPR) the share of non-members that are, wrongly. Sliding the threshold from high to low traces the **ROC curve**. The area under it is the attack's AUC, the probability that a random member outscores a random non-member.
#
# We report the AUC, and the TPR at an FPR of at most 1% and {{ low_fpr:.1% }}. The low end counts: an attacker who points at a few and is almost always right does more harm than one who is a little better than a coin on all (Carlini et al. 2022).
#
# Three rules keep us honest.
#
# 1. **Ties enter together.** A threshold cannot separate two equal scores.
# 2. **A noise floor.** A score that knows nothing also gets an AUC, and a *best* threshold. We shuffle and look.
# 3. **Intervals that know what was drawn.** The {{ n_pairs:,d }} pairs are not {{ n_pairs:,d }} independent facts: they share {{ pool:d }} records and {{ n_models:d }} models. Each of our {{ n_bootstrap:d }} resamples draws models *and* records anew, and keeps the scores. (They leave out the luck of the shadow models.)

# %% id="noise-floor"
floor = metrics.noise_floor(IN, np.random.default_rng(0))
chance = {alpha: metrics.chance_tpr(alpha, (~IN).sum()) for alpha in ALPHAS}
lab.record(chance_tpr_1=chance[0.01], chance_tpr_01=chance[0.001])
metric_labels = {
    "auc": "AUC",
    "bal_acc": "best balanced accuracy",
    "tpr_1": "TPR at 1% FPR",
    "tpr_01": "TPR at 0.1% FPR",
}
print("A score that knows nothing, over 200 shuffles:")
for name, (mean, q95) in floor.items():
    lab.record({f"floor_{name}": mean, f"floor_{name}_q95": q95})
    print(
        f"  {padded(metric_labels[name], 24)} mean {mean:.4f}, 95% of the shuffles below {q95:.4f}"
    )

# %% id="judge"
GRID = np.geomspace(1e-4, 1, 200)
found, attack_labels = {}, {}


def judge(scores, key, label):
    """Measure an attack on all targets, keep its figures as results, and print one line."""
    figures = metrics.attack_metrics(scores, IN)
    limits = metrics.pair_intervals(scores, IN, np.random.default_rng(0), N_BOOTSTRAP)
    for name in metrics.METRICS:
        lab.record({f"{key}_{name}": figures[name]})
        lab.record({f"{key}_{name}_lo": limits[name][0], f"{key}_{name}_hi": limits[name][1]})
    tpr = metrics.tpr_at_fpr(figures["fpr"], figures["tpr"], GRID)
    lab.curve(f"roc_{key}", GRID, tpr)
    found[key] = {name: figures[name] for name in metrics.METRICS}
    found[key] |= {"limits": limits, "tpr": tpr, "scores": scores}
    attack_labels[key] = label
    print(metrics.metrics_row(label, figures))


print(metrics.metrics_header())
judge(attacks.gap_scores(PHI), "gap", label="gap")
judge(attacks.loss_scores(PHI), "loss", label="loss")
lab.claim(
    "loss-leaks-but-not-at-low-fpr",
    "The loss attack's AUC lies above one half with its whole interval; at a low FPR its interval does not lie wholly above chance.",
    found["loss"]["limits"]["auc"][0] > 0.5
    and found["loss"]["limits"]["tpr_1"][0] <= chance[0.01]
    and found["loss"]["limits"]["tpr_01"][0] <= chance[0.001],
)

# %% [markdown] id="global-reading"
# The **gap attack** says "member" when the model is right. It has one threshold only, with far too many false alarms for an FPR of 1%. The **loss attack** (Yeom et al. 2018) says "member" when the loss is small. Its AUC is {{ loss_auc:.3f }}, clearly above ½: something leaks. But at an FPR of 1% it finds {{ loss_tpr_1:.2% }} of the members, where chance finds {{ chance_tpr_1:.2% }}.
#
# The reason is in the histogram. The records with the smallest loss are the *easy* ones. They have a small loss whether they were trained on or not. An attacker who must be sure points at them first.
#
# (Balanced accuracy is the mean of TPR and 1 − FPR, here for the best threshold on these very records. Even random scores get {{ floor_bal_acc:.4f }}, not ½; with a hundred records it would be much more.)

# %% [markdown] id="calibration"
# ## 5. Compare each record with itself
#
# The way out: judge a record not by its loss, but by how its loss *differs from what it would be without it in training*. Shadow models that have not seen the record show what that is:
#
# $$\text{score} = \text{mean loss over the models without the record} - \text{loss of the target}.$$
#
# This is **difficulty calibration** (Watson et al. 2022). Sablayrolles et al. (2019) and Ye et al. (2022) also give each record a threshold of its own.

# %% id="calibrated-by-hand"
loss = attacks.loss_from_phi(PHI)
by_hand = np.empty(POOL)
for i in range(POOL):
    without = ~IN[:, i]
    without[0] = False  # the target is not its own shadow
    by_hand[i] = loss[without, i].mean() - loss[0, i]

calibrated = attacks.calibrated_loss_scores_all(PHI, IN)
print(f"largest difference to the bench, target 0: {np.abs(by_hand - calibrated[0]).max():.1e}")
print(metrics.metrics_header())
judge(calibrated, "cal", label="calibrated loss")
lab.claim(
    "calibration-helps",
    "At 1% FPR the calibrated attack finds at least twice as many members as the loss attack.",
    found["cal"]["tpr_1"] > 2 * found["loss"]["tpr_1"],
)

# %% [markdown] id="calibration-reading"
# The same targets, and now shadow models beside them: {{ cal_tpr_1:.1% }} instead of {{ loss_tpr_1:.1% }} of the members at 1% FPR. (The bench sums over all models once, and takes each target's own contribution away. The cell above shows that this gives the same.)

# %% [markdown] id="lira"
# ## 6. The likelihood ratio attack
#
# Calibration uses one number per record, a mean. But records also differ in how much their outputs *vary*. Here are three, picked where the two sides separate hardly, somewhat, and clearly. Each panel shows the φ of one record in all {{ n_models:d }} models, those trained with it and those trained without.

# %% id="plot-three-records"
advantage = attacks.per_record_ks(PHI, IN)  # how well the two sides separate, record by record
ranked = np.argsort(advantage)
shown = ranked[[int(0.1 * POOL), int(0.6 * POOL), int(0.97 * POOL)]]

figure, panels = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
fit_labels = {False: "normal fit, without", True: "normal fit, with"}
titles = ["hardly any trace", "some trace", "a clear trace"]
for axes, i, title in zip(panels, shown, titles, strict=True):
    sides = {True: PHI[IN[:, i], i], False: PHI[~IN[:, i], i]}
    low, high = np.quantile(PHI[:, i], [0.005, 0.995])
    span = np.linspace(low, high, 200)
    edges = np.linspace(low, high, 26)
    axes.hist(sides[False], edges, density=True, color="0.8", label="models without it")
    axes.hist(sides[True], edges, density=True, histtype="step", color="C0", label="models with it")
    for side, style in ((False, "k--"), (True, "C0-")):
        fitted = norm.pdf(span, sides[side].mean(), sides[side].std(ddof=1))
        axes.plot(span, fitted, style, label=fit_labels[side])
    axes.set_title(title)
    axes.set_xlabel("true-label logit φ")
panels[0].set_ylabel("density")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
plots.show(
    figure,
    alt="Three panels, one record each: histograms of the true-label logit over the models trained "
    "without the record, in grey, and with it, in outline, each with a fitted normal curve. In the "
    "first panel the curves coincide, in the second they are shifted against each other a little. In "
    "the third the grey one is broad, and the outline is narrow and stands mostly to its right.",
)

# %% [markdown] id="lira-idea"
# The curves are normal distributions, fitted to each side. In the first panel this record's φ tells next to nothing. In the third, one look at it says a lot.
#
# Which of two distributions does the target's φ come from? The best test between two known distributions thresholds their **likelihood ratio** (Neyman and Pearson 1933). Carlini et al. (2022) fit the two normal distributions on shadow models and take the log of the ratio:
#
# $$\text{score} = \log \frac{\mathcal N(\varphi;\, \mu_\text{in}, \sigma_\text{in}^2)}{\mathcal N(\varphi;\, \mu_\text{out}, \sigma_\text{out}^2)} .$$
#
# This is **LiRA**. Training shadows *with* the record makes it *online*. *Offline* there are only the models without it, and the score is how far φ lies above their mean, $(\varphi - \mu_\text{out})/\sigma_\text{out}$. With **fixed variance**, all records share two variances, one for each side. Here is the online attack on target 0, a record at a time.

# %% id="lira-by-hand"
lira_by_hand = np.empty(POOL)
for i in range(POOL):
    seen, unseen = IN[:, i].copy(), ~IN[:, i]
    seen[0] = unseen[0] = False  # the target is not its own shadow
    with_it, without_it = PHI[seen, i], PHI[unseen, i]
    lira_by_hand[i] = norm.logpdf(PHI[0, i], with_it.mean(), with_it.std(ddof=1)) - norm.logpdf(
        PHI[0, i], without_it.mean(), without_it.std(ddof=1)
    )

online = attacks.lira_scores_all(PHI, IN)
one_target = attacks.lira_scores(PHI, IN, 0)
print(f"by hand and one target of the bench: {np.abs(lira_by_hand - one_target).max():.1e}")
print(f"one target and all targets at once:  {np.abs(one_target - online[0]).max():.1e}")
lab.claim(
    "lira-by-hand-agrees",
    "By hand, one target, all targets at once: the three agree to three decimals.",
    max(np.abs(lira_by_hand - one_target).max(), np.abs(one_target - online[0]).max()) < 1e-3,
)

# %% id="lira-variants"
print(metrics.metrics_header())
judge(online, "lira_on", label="LiRA online")
judge(
    attacks.lira_scores_all(PHI, IN, fixed_var=True),
    "lira_on_fixed",
    label="LiRA online, fixed variance",
)
offline = attacks.lira_scores_all(PHI, IN, online=False)
judge(offline, "lira_off", label="LiRA offline")
judge(
    attacks.lira_scores_all(PHI, IN, online=False, fixed_var=True),
    "lira_off_fixed",
    label="LiRA offline, fixed variance",
)

lab.claim(
    "online-lira-leads",
    "At 0.1% FPR online LiRA finds at least ten times as many members as chance, and more than offline LiRA, calibration and loss.",
    found["lira_on"]["tpr_01"]
    >= max(10 * chance[0.001], *(found[other]["tpr_01"] for other in ("lira_off", "cal", "loss"))),
)

# %% [markdown] id="lira-reading"
# Online LiRA finds {{ lira_on_tpr_01:.1% }} of the members at one false positive in a thousand. Chance is {{ chance_tpr_01:.1% }}, the loss attack gets {{ loss_tpr_01:.1% }}. The models have not changed since section 3. *They looked harmless because we asked badly.*
#
# Fixed variance is worse here. With {{ n_shadows:d }} shadows, each record's own spread is known well, and throwing it away costs. With eight it is different (section 11).
#
# Offline LiRA disappoints: {{ lira_off_tpr_1:.1% }} at 1% FPR, about half of what plain calibration got. Why?

# %% [markdown] id="prob-idea"
# ### Why the logit? And is it always the right scale?
#
# LiRA fits normal distributions, so its input should be roughly normal. The logit often is; the probability, squeezed between 0 and 1, is not. What is that worth? We run the same attacks on probabilities.

# %% id="probabilities"
print(metrics.metrics_header())
judge(
    attacks.lira_scores_all(PHI, IN, stat=models.sigmoid),
    "lira_prob",
    label="LiRA online, probabilities",
)
offline_prob = attacks.lira_scores_all(PHI, IN, online=False, stat=models.sigmoid)
judge(offline_prob, "lira_off_prob", label="LiRA offline, probabilities")

tails = {
    "logit": (np.quantile(offline[~IN], 0.999), np.quantile(offline[IN], 0.99)),
    "prob": (np.quantile(offline_prob[~IN], 0.999), np.quantile(offline_prob[IN], 0.99)),
}
for scale, (out_tail, in_tail) in tails.items():
    lab.record({f"tail_out_{scale}": out_tail, f"tail_in_{scale}": in_tail})
print("offline scores, in standard deviations of the models without the record:")
print(f"  logits:        one non-member in 1,000 above {tails['logit'][0]:.1f},", end=" ")
print(f"one member in 100 above {tails['logit'][1]:.1f}")
print(f"  probabilities: one non-member in 1,000 above {tails['prob'][0]:.1f},", end=" ")
print(f"one member in 100 above {tails['prob'][1]:.1f}")
wrong_without = np.array([(PHI[~IN[:, i], i] < 0).mean() for i in range(POOL)])
best_scored = np.nonzero(IN & (offline_prob > tails["prob"][1]))[1]  # the records of these pairs
lab.record(normal_q999=norm.ppf(0.999), tail_hard_prob=wrong_without[best_scored].mean())
print(
    f"  on those members, models without them are wrong in {wrong_without[best_scored].mean():.0%}"
)
lab.claim(
    "the-scale-matters",
    "At 1% FPR, logits beat probabilities online, and probabilities beat logits offline.",
    found["lira_on"]["tpr_1"] > found["lira_prob"]["tpr_1"]
    and found["lira_off_prob"]["tpr_1"] > found["lira_off"]["tpr_1"],
)

# %% [markdown] id="prob-reading"
# Online, the logit wins at 1% FPR: {{ lira_on_tpr_1:.1% }} against {{ lira_prob_tpr_1:.1% }}. (At {{ low_fpr:.1% }} it need not: {{ lira_on_tpr_01:.1% }} against {{ lira_prob_tpr_01:.1% }}.)
#
# **Offline it is the other way round**, and by a lot: {{ lira_off_prob_tpr_1:.1% }} on probabilities against {{ lira_off_tpr_1:.1% }} on logits. The printed tails show why.
#
# - *False alarms.* On logits, one non-member in a thousand exceeds {{ tail_out_logit:.1f }} standard deviations, where a normal distribution would allow {{ normal_q999:.1f }}. On probabilities it is {{ tail_out_prob:.1f }}.
# - *Members.* This matters more. Take a record that models without it get wrong, as in the third panel above. On logits these models differ widely, so a member that has moved far still lies only a few standard deviations out. Their probabilities are all close to zero, with a tiny spread. One member in a hundred scores above {{ tail_in_prob:.1f }} on probabilities, against {{ tail_in_logit:.1f }} on logits. On these, models without the record are wrong in {{ tail_hard_prob:.0% }} of the cases.
#
# Online LiRA does not need this help. It *knows* from the IN side how far a member moves. No scale is right as such: a score is as good as the distribution it assumes, and the tails decide.

# %% [markdown] id="rmia"
# ## 7. RMIA: compare with other people, too
#
# **RMIA** (Zarifzadeh, Liu and Shokri 2024) asks how a record's probability under the target compares with its average over models, and then compares that ratio with the ratio of *other people's* records $z$, on which no model was trained:
#
# $$\text{score} = \text{share of the } z \text{ with } \frac{p(x)/\Pr(x)}{p(z)/\Pr(z)} \ge \gamma .$$
#
# Online, $\Pr(x)$ averages over models with and without $x$. Offline there are only the latter. Call their mean $m$. The mean over models with $x$ is guessed as $a \cdot m + 1 - a$, and $\Pr(x)$ is the average of the guess and $m$. At $a = 0$ the guess is that a member's probability becomes 1. At $a = 1$ it is that nothing changes, and $\Pr(x) = m$.
#
# We take γ = {{ rmia_gamma:.0f }}, as the paper does. The score has as many steps as there are $z$. To resolve one false positive in a thousand we take {{ n_fresh:,d }} of them.
#
# How does an attacker choose $a$? Not on our targets, that would be cheating. They draw a pool *of their own*, and attack models that they trained on it.

# %% id="own-pool"
N_OWN = lab.pick(smoke=8, quick=32)
GAMMA = 2.0
own_world = credit.make_credit(POOL, np.random.default_rng(WORLD_SEED + 100))
IN_own, PHI_own, THETA_own = population.train_population(
    features(own_world["X"]), own_world["y"], N_OWN, N_IN, LAM, np.random.default_rng(6)
)
PHI_own_fresh = models.true_label_logit(THETA_own, A_fresh, fresh["y"])

own_tpr = {}
for a in (0.0, 0.3, 0.6, 0.8, 1.0):
    scores = attacks.rmia_scores_all(PHI_own, IN_own, PHI_own_fresh, False, GAMMA, a)
    own_tpr[a] = metrics.attack_metrics(scores, IN_own)["tpr_1"]
    print(f"a = {a}: TPR at 1% FPR on the attacker's own models {own_tpr[a]:.4f}")
best_a = max(own_tpr, key=own_tpr.get)
lab.record(n_own=N_OWN, rmia_gamma=GAMMA, rmia_a=best_a)

# %% id="rmia-scores"
print(metrics.metrics_header())
judge(attacks.rmia_scores_all(PHI, IN, PHI_fresh, True, GAMMA), "rmia_on", label="RMIA online")
rmia_offline = attacks.rmia_scores_all(PHI, IN, PHI_fresh, False, GAMMA, best_a)
judge(rmia_offline, "rmia_off", label="RMIA offline")

probability_of_label = models.sigmoid(PHI)
out_total, out_count = (probability_of_label * ~IN).sum(axis=0), (~IN).sum(axis=0)
# the mean over the other models without the record: a target that is without it leaves the sum
mean_without = (out_total - probability_of_label * ~IN) / (out_count - ~IN)
ratio_label = "log p(x)/m, without any z"
ratio_figures = metrics.attack_metrics(np.log(probability_of_label / mean_without), IN)
print(metrics.metrics_row(ratio_label, ratio_figures))
lab.record(ratio_tpr_1=ratio_figures["tpr_1"], ratio_tpr_01=ratio_figures["tpr_01"])
lab.claim(
    "rmia-offline-beats-online",
    "Here, offline RMIA finds more than online RMIA at both low false positive rates.",
    found["rmia_off"]["tpr_1"] > found["rmia_on"]["tpr_1"]
    and found["rmia_off"]["tpr_01"] > found["rmia_on"]["tpr_01"],
)
lab.claim(
    "the-ratio-is-enough",
    "The ratio alone lies within offline RMIA's intervals at both low false positive rates, or above.",
    all(
        ratio_figures[name] >= found["rmia_off"]["limits"][name][0] for name in ("tpr_1", "tpr_01")
    ),
)

# %% [markdown] id="rmia-reading"
# The attacker's own pool picks $a$ = {{ rmia_a:.1f }}. With it, offline RMIA finds {{ rmia_off_tpr_1:.1% }} of the members at 1% FPR and {{ rmia_off_tpr_01:.1% }} at {{ low_fpr:.1% }}. That is level with online LiRA, and it never needed a model that saw the record. (It had a parameter to tune, and other people's records.)
#
# Surprisingly, the online form is weaker. Look at the ratio: if $p(x)$ is close to its mean over models with $x$, then $p(x)/\Pr(x)$, with an average of both sides below the line, can hardly exceed two, even for a record that the models without it find hopeless. With $\Pr(x) = m$ it can be a hundred.
#
# And what do the other people contribute? At $a = 1$, leave them out, and $\log p(x) - \log m$ remains: difficulty calibration once more, but by the mean *probability* instead of the mean loss. The last line of the table shows that this alone finds {{ ratio_tpr_1:.1% }} and {{ ratio_tpr_01:.1% }}. In this world the strength lies in the ratio. On the data of the paper that need not be so, and other values of $a$ may be best.

# %% [markdown] id="shokri"
# ## 8. Shokri's shadow models
#
# The attack that made the subject known in machine learning (Shokri et al. 2017) *learns* what members look like. Shadow models are trained on other data of the same source: for us, the attacker's own pool of section 7. A classifier for each label is fitted to tell their members' outputs from their non-members'. Ours is a logistic regression on φ, φ² and φ³.

# %% id="shokri-attack"
shokri = attacks.ShokriAttack(lam=1e-3).fit(PHI_own, IN_own, own_world["y"])
print(metrics.metrics_header())
judge(np.stack([shokri.score(row, y) for row in PHI]), "shokri", label="Shokri's shadow attack")
lab.claim(
    "shokri-between-loss-and-lira",
    "Shokri's attack has a larger AUC than the loss, and at 0.1% FPR finds less than a fifth of what online LiRA finds.",
    found["shokri"]["auc"] > found["loss"]["auc"]
    and found["shokri"]["tpr_01"] < found["lira_on"]["tpr_01"] / 5,
)

# %% [markdown] id="shokri-reading"
# Its AUC, {{ shokri_auc:.3f }}, beats the loss attack's {{ loss_auc:.3f }}. It can learn that a *very* large φ is no sign of membership. At {{ low_fpr:.1% }} FPR it finds {{ shokri_tpr_01:.2% }}. It still asks the same question of everybody with the same label, and never what is normal *for this record*.

# %% [markdown] id="white-box"
# ## 9. With the weights in hand
#
# So far the attacker could only query. Does it help to have the weights? A natural white-box score is the norm of a record's gradient, small for what the model has been fitted to. For logistic regression it is $\lVert \nabla \text{loss} \rVert = \sigma(-\varphi)\, \lVert a \rVert$, with $\sigma(t) = 1/(1 + e^{-t})$.

# %% id="gradient-norm"
print(metrics.metrics_header())
judge(attacks.gradnorm_scores(PHI, A), "gradnorm", label="gradient norm")
print(metrics.metrics_row(attack_labels["loss"], found["loss"]))
lab.claim(
    "gradient-adds-nothing",
    "The gradient norm is not better than the loss by more than the loss's interval, in AUC or at a low FPR.",
    all(
        found["gradnorm"][name] <= found["loss"]["limits"][name][1]
        for name in ("auc", "tpr_1", "tpr_01")
    ),
)

# %% [markdown] id="white-box-reading"
# It adds nothing to the loss. Sablayrolles et al. (2019) proved something in this direction. If training draws the weights at random, from a certain distribution that depends on the members through their total loss only, then the best attack needs nothing but the record's loss and a threshold of its own.
#
# **That is no comfort.** The theorem is about an attacker who does not know the other members, and about training that is random in just that way. Ours is deterministic. Take an attacker who knows *everyone else* in the training set and wonders about the last one. At the optimum, the gradients balance:
#
# $$\frac1n \sum_{i \in \text{members}} \nabla \text{loss}_i(\theta) + \lambda\, \theta_{\text{(without intercept)}} = 0 .$$
#
# They put each candidate into the gap and look at what is left over.

# %% id="informed-adversary"
N_INFORMED = lab.pick(smoke=3, quick=50)
penalty = LAM * np.append(0.0, np.ones(A.shape[1] - 1))
left_true, left_wrong, named = [], [], 0
for m in range(N_INFORMED):
    pull = -models.sigmoid(-PHI[m])[:, None] * (2 * y - 1)[:, None] * A  # each record's gradient
    missing, *known = np.flatnonzero(IN[m])
    without_missing = pull[known].sum(axis=0) / N_IN + penalty * THETA[m]
    candidates = np.append(missing, np.flatnonzero(~IN[m]))
    left = np.abs(without_missing + pull[candidates] / N_IN).max(axis=1)
    left_true.append(left[0])
    left_wrong.append(left[1:].min())
    named += left.argmin() == 0
print(
    f"the true record leaves at most {max(left_true):.0e}, the best wrong one {min(left_wrong):.0e}"
)
print(f"named correctly: {named} of {N_INFORMED} times, among {POOL - N_IN + 1} candidates")
lab.record(n_informed=N_INFORMED, informed_named=named, n_candidates=POOL - N_IN + 1)
lab.record(informed_left_true=max(left_true), informed_left_wrong=min(left_wrong))
lab.claim(
    "informed-adversary-always-right",
    "The informed adversary names the missing record every time.",
    named == N_INFORMED and max(left_true) < min(left_wrong) / 1000,
)

# %% [markdown] id="informed-reading"
# {{ informed_named:d }} times of {{ n_informed:d }}. The true record leaves nothing but rounding error, {{ informed_left_true:.0e }}. The best wrong candidate of all leaves {{ informed_left_wrong:.0e }}. One model, no shadow models, no statistics. Balle, Cherubin and Hayes (2022) call this the *informed adversary*, and even reconstruct the record.
#
# Training without noise hides no record from *every* attacker. In the language of section 13: its ε is infinite. Keep two questions apart: *how well do known attacks do?* and *what could any attacker do?*

# %% [markdown] id="all-attacks"
# ## 10. All attacks, side by side
#
# One table, the same {{ n_pairs:,d }} pairs, sorted by the last column.

# %% id="table"
print(metrics.metrics_header())
for key in sorted(found, key=lambda name: found[name]["tpr_01"]):
    print(metrics.metrics_row(attack_labels[key], found[key]))

# %% id="plot-roc"
drawn = [
    "lira_on",
    "lira_off_prob",
    "rmia_off",
    "rmia_on",
    "lira_on_fixed",
    "cal",
    "lira_off",
    "shokri",
    "loss",
]
plots.show(
    plots.roc([(attack_labels[key], GRID, found[key]["tpr"]) for key in drawn]),
    alt="ROC curves of nine attacks on log axes. Online LiRA, offline LiRA on probabilities and offline "
    "RMIA lie together, far above the chance line at the left end. Below them come online RMIA, then "
    "online LiRA with fixed variance and the calibrated loss, then offline LiRA and Shokri's attack, "
    "which end near chance. The loss follows the chance line.",
)

# %% [markdown] id="roc-reading"
# The legend lists the curves roughly from top to bottom. An AUC is made at the right, where false alarms are cheap and most curves lie close together. At the left end they fan out, and the loss, Shokri's attack and offline LiRA on logits end at the line of chance. The attacks at the top all ask what is normal for *this* record. (Where a curve drops straight down, a few non-members have the highest scores of all, or share them.)
#
# How sure are we of the low end? Here are 95% intervals at {{ low_fpr:.1% }} FPR, over models and records.

# %% id="plot-intervals"
rows = [
    (attack_labels[key], *(100 * np.array([figures["tpr_01"], *figures["limits"]["tpr_01"]])))
    for key, figures in sorted(found.items(), key=lambda item: -item[1]["tpr_01"])
    if figures["tpr_01"] > 0
]
plots.show(
    plots.intervals(
        rows,
        reference=("chance", 100 * chance[0.001]),
        xlabel="TPR at 0.1% FPR, in percent, with 95% interval",
    ),
    alt="Dots with intervals, one attack a line, sorted. Offline LiRA on probabilities, offline "
    "RMIA, and online LiRA on logits and on probabilities lead, with long intervals that overlap "
    "almost entirely. Online RMIA follows at about half their rate. The intervals of the others "
    "reach down to the dashed line of chance, on which the loss and the gradient norm lie.",
)
strictest = np.quantile(online[~IN], 1 - ALPHAS[1])
hits = (IN & (online > strictest)).sum(axis=0)
top_ten = np.argsort(hits)[-10:]
top_share = hits[top_ten].sum() / max(hits.sum(), 1)
top_found = hits[top_ten].sum() / IN[:, top_ten].sum()
print(f"ten records make {top_share:.0%} of online LiRA's hits at 0.1% FPR;", end=" ")
print(f"they are found in {top_found:.0%} of the models trained on them")
lab.record(top_ten_share=top_share, top_ten_found=top_found)

rivals, others = ("lira_prob", "lira_off_prob", "rmia_off"), ("rmia_on", "lira_on_fixed", "cal")
difference = {}
print("online LiRA's TPR at 0.1% FPR minus that of ..., 95% interval in percent:")
for key in (*rivals, *others):
    limits = metrics.pair_difference_intervals(
        online, found[key]["scores"], IN, np.random.default_rng(0), N_BOOTSTRAP
    )
    difference[key] = limits["tpr_01"]
    print(
        f"  {padded(attack_labels[key], 28)} {100 * limits['tpr_01'][0]:6.2f} {100 * limits['tpr_01'][1]:6.2f}"
    )
lab.claim(
    "few-records-make-the-hits",
    "Ten records account for over half of the members that online LiRA finds at 0.1% FPR.",
    top_share > 0.5,
)
lab.claim(
    "leaders-not-told-apart",
    "Online LiRA's differences to the other three leaders contain zero, those to the next three lie above it.",
    all(difference[key][0] <= 0 <= difference[key][1] for key in rivals)
    and all(difference[key][0] > 0 for key in others),
)

# %% [markdown] id="intervals-reading"
# The intervals are wide. Online LiRA's runs from {{ lira_on_tpr_01_lo:.1% }} to {{ lira_on_tpr_01_hi:.1% }}, although {{ n_pairs:,d }} pairs stand behind it. The reason: few *records* produce these hits. Ten account for {{ top_ten_share:.0% }}, and those ten are found in {{ top_ten_found:.0% }} of the models that were trained on them. So it matters which {{ pool:d }} records happen to be in the pool, and more models on the same pool would help little.
#
# All attacks share these records, so two intervals may overlap although one attack is clearly better. The right question is how their *difference* varies over the resamples: see the lines above. At {{ low_fpr:.1% }} online LiRA cannot be told apart from the other three leaders. Of the next three it is clear. With thirteen attacks some are lucky: read no more into the ranks.

# %% [markdown] id="shadows"
# ## 11. How many shadow models?
#
# {{ n_shadows:d }} shadows are a luxury: for a large network even a few dozen are expensive. We give each target only the next $k$ models as shadows, about half of which have seen any given record.

# %% id="few-shadows"
COUNTS = lab.pick(smoke=[4, 8, 11], quick=[4, 8, 16, 32, 64, 128, 255])
some_targets = range(0, N_MODELS, 4)  # RMIA with many shadows takes longer: every fourth target
few = {"lira_on": [], "lira_on_fixed": [], "rmia_off": []}
print(metrics.metrics_header())
for k in COUNTS:
    if k in (COUNTS[1], COUNTS[-1]):
        print(f"with {k} shadows:")

    def shadows(t, k=k):
        """The k models after t."""
        return attacks.default_shadows(N_MODELS, t, k)

    for key, targets, score in (
        (
            "lira_on",
            range(N_MODELS),
            lambda t: attacks.lira_scores(PHI, IN, t, shadow_ids=shadows(t)),
        ),
        (
            "lira_on_fixed",
            range(N_MODELS),
            lambda t: attacks.lira_scores(PHI, IN, t, fixed_var=True, shadow_ids=shadows(t)),
        ),
        (
            "rmia_off",
            some_targets,
            lambda t: attacks.rmia_scores(
                PHI, IN, PHI_fresh, t, False, GAMMA, best_a, shadow_ids=shadows(t)
            ),
        ),
    ):
        figures = metrics.attack_metrics(*attacks.pooled_attack(score, IN, targets))
        few[key].append((figures["tpr_1"], figures["tpr_01"]))
        if k in (COUNTS[1], COUNTS[-1]):  # the figure below shows all counts
            print(metrics.metrics_row(attack_labels[key], figures))
        lab.record({f"{key}_tpr_1_k{k}": figures["tpr_1"], f"{key}_tpr_01_k{k}": figures["tpr_01"]})
few = {key: np.array(values).T for key, values in few.items()}
scores, inside = attacks.pooled_attack(
    lambda t: attacks.rmia_scores(
        PHI, IN, PHI_fresh, t, False, GAMMA, best_a, attacks.default_shadows(N_MODELS, t, 8)
    ),
    IN,
    some_targets,
)
tied = np.mean(scores[~inside] == 1)
print(f"with 8 shadows, {tied:.3%} of the non-members beat every z in RMIA")
lab.record(rmia_tied_k8=tied)
lab.record(n_shadows=N_MODELS - 1)
lab.curve("shadows_curve", COUNTS, *(row for values in few.values() for row in values))

# %% id="plot-shadows"
figure, panels = plt.subplots(1, 2, figsize=(9.2, 4.1), sharex=True, layout="constrained")
titles = ["TPR at 1% FPR", "TPR at 0.1% FPR"]
for axes, rate, title in zip(panels, (0, 1), titles, strict=True):
    for (key, values), style in zip(few.items(), ("o-", "s--", "^:"), strict=True):
        axes.plot(COUNTS, values[rate], style, label=attack_labels[key])
    axes.axhline(ALPHAS[rate], color="0.4", lw=1, label="chance")
    axes.set_xscale("log", base=2)
    axes.set_xticks(COUNTS, [f"{k}" for k in COUNTS])
    axes.set_ylim(bottom=0)
    axes.set_title(title)
    axes.set_xlabel("number of shadow models")
    axes.yaxis.set_major_formatter(lambda value, _position: plots.percent(value))
panels[0].set_ylabel("true positive rate (TPR)")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
plots.show(
    figure,
    alt="True positive rate at a false positive rate of 1% and 0.1% over the number of shadow models. "
    "Online LiRA stays close to chance with few shadows and then rises steeply. Its fixed-variance "
    "form starts a little higher and rises little. Offline RMIA is far ahead with few shadows at 1%; "
    "at 0.1% it drops to zero with eight shadows and then rises early. In the end LiRA draws level.",
)
if lab.profile != "smoke":
    eight = COUNTS.index(8)
    lab.claim(
        "fixed-variance-wins-with-few",
        "At 1% FPR, LiRA with fixed variance beats LiRA with each record's own for 8 shadows, and loses for all of them.",
        few["lira_on_fixed"][0][eight] > few["lira_on"][0][eight]
        and few["lira_on_fixed"][0][-1] < few["lira_on"][0][-1],
    )
    lab.claim(
        "rmia-wins-with-few",
        "With 8 shadows, offline RMIA beats both at 1% FPR; at 0.1% it finds less than half of what all shadows give it.",
        few["rmia_off"][0][eight] > max(few["lira_on_fixed"][0][eight], few["lira_on"][0][eight])
        and few["rmia_off"][1][eight] < few["rmia_off"][1][-1] / 2,
    )

# %% [markdown] id="shadows-reading"
# With eight shadows, online LiRA finds {{ lira_on_tpr_1_k8:.1% }} of the members at 1% FPR, hardly more than chance. A variance from about four numbers is mostly noise, and one that comes out too small makes the attack *sure* of nonsense. Sharing the variances helps: {{ lira_on_fixed_tpr_1_k8:.1% }}. That is why Carlini et al. (2022) recommend it for few shadows. With {{ n_shadows:d }} the order is reversed, {{ lira_on_tpr_1_k255:.1% }} against {{ lira_on_fixed_tpr_1_k255:.1% }}.
#
# Offline RMIA needs only a mean per record. It reaches {{ rmia_off_tpr_1_k8:.1% }} with eight shadows: its authors built it for few models. But see the right panel: at {{ low_fpr:.1% }} FPR its TPR with eight shadows is {{ rmia_off_tpr_01_k8:.1% }}. Four of eight models make a shaky mean. Where it comes out far too small by accident, a non-member beats nearly all of the $z$. {{ rmia_tied_k8:.3% }} of them beat *every* $z$ and score 1: just too many for the strictest threshold, for ties enter together.
#
# So the best attack depends on what the attacker can afford. An evaluation that only runs LiRA with eight shadows would have called these models safe.

# %% [markdown] id="risk"
# ## 12. Who is at risk?
#
# All figures so far average over records. Nobody is an average. With {{ n_models:d }} models we can ask of each record: how well does the best threshold on *its* φ tell the models with it from those without? That is the largest difference TPR − FPR, its **advantage**, which is also a one-sided Kolmogorov–Smirnov (KS) statistic.
#
# A maximum over thresholds is almost never zero. So we need a **null** to compare with: the same statistic with memberships shuffled.

# %% id="per-record"
advantage, advantage_null = attacks.per_record_ks(PHI, IN, np.random.default_rng(0))
null_q95 = np.quantile(advantage_null, 0.95)
probability = np.where(y == 1, world["repay_prob"], 1 - world["repay_prob"])  # of the own label
surprising, expected_label = probability < 0.2, probability > 0.8
lab.record(
    ks_mean=advantage.mean(),
    ks_null_mean=advantage_null.mean(),
    ks_null_q95=null_q95,
    ks_max=advantage.max(),
    ks_null_max=advantage_null.max(),
    n_surprising=surprising.sum(),
)
lab.record(ks_share_above=(advantage > null_q95).mean(), ks_median=np.median(advantage))
lab.record(ks_surprising=advantage[surprising].mean(), ks_expected=advantage[expected_label].mean())
print(f"advantage: mean {advantage.mean():.3f}, largest {advantage.max():.3f}")
print(f"shuffled:  mean {advantage_null.mean():.3f}, largest {advantage_null.max():.3f}")
print(f"{(advantage > null_q95).mean():.1%} of the records above 95% of the shuffled ones")
for i in np.argsort(-advantage)[:5]:
    print(
        f"  advantage {advantage[i]:.2f}: label {y[i]}, true probability of it {probability[i]:.2f}"
    )
lab.claim(
    "surprising-labels-are-at-risk",
    "Records with a surprising outcome have at least twice the advantage of those with an expected one.",
    advantage[surprising].mean() > 2 * advantage[expected_label].mean(),
)

# %% id="plot-per-record"
figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
edges = np.linspace(0, 1, 41)
left.hist(advantage_null, edges, color="0.8", label="memberships shuffled")
left.hist(advantage, edges, histtype="step", color="C0", lw=1.8, label="this population")
left.set_xlabel("advantage of the best threshold on one record")
left.set_ylabel("number of records")
left.legend(fontsize=9)
right.scatter(probability, advantage, s=12, facecolor="none", edgecolor="C0")
right.axhline(null_q95, color="0.4", ls="--", lw=1, label="95% of the shuffled lie below")
right.set_xlabel("true probability of the record's own outcome")
right.set_ylabel("advantage")
right.legend(fontsize=9)
plots.show(
    figure,
    alt="Left, a histogram of the advantage over records: with shuffled memberships it is concentrated "
    "near zero, in the population most records are a little further right, with a tail up to one. "
    "Right, the advantage of each record over the true probability of its own outcome: high for "
    "improbable outcomes, low for probable ones, with wide scatter.",
)

# %% [markdown] id="risk-reading"
# Half of the records have an advantage below {{ ks_median:.2f }}, where 95% of the shuffled ones lie below {{ ks_null_q95:.2f }}. But the largest is {{ ks_max:.2f }}, and that is no accident of picking one record of {{ pool:d }}: the largest of the shuffled ones is {{ ks_null_max:.2f }}. For that record one threshold on φ separates nearly all models with it from those without.
#
# The right panel says which records these are. Where the outcome was to be expected, the advantage is {{ ks_expected:.2f }} on average. Where it was a surprise, a solid borrower who failed or a doubtful one who paid, it is {{ ks_surprising:.2f }} ({{ n_surprising:d }} records). A model cannot guess this outcome from the other records. To fit it, *it must have seen it.*
#
# An audit that reports a mean hides exactly these records (Aerni, Zhang and Tramèr 2024).

# %% [markdown] id="outlier-idea"
# ### Outliers
#
# Are the rich at risk? Take {{ n_outliers:d }} records, one at a time. Give each an income of {{ outlier_factor:d }} times the mean, train a population, and measure the advantage: once with each outcome on the very same row.

# %% id="outliers"
N_OUTLIER_MODELS = lab.pick(smoke=12, quick=128)
FACTOR = 5
rich = FACTOR * credit.make_credit(20_000, np.random.default_rng(900))["X"][:, 0].mean()
chosen = np.random.default_rng(1).choice(POOL, lab.pick(smoke=2, quick=6), replace=False)
outlier_ks, outlier_null = {True: [], False: []}, []  # by whether the outcome is a surprise
for i in chosen:
    changed = world["X"].copy()
    changed[i, 0] = rich
    A_changed = features(changed)
    for outcome in (1, 0):
        y_changed = y.copy()
        y_changed[i] = outcome
        IN_changed, PHI_changed, _ = population.train_population(
            A_changed, y_changed, N_OUTLIER_MODELS, N_IN, LAM, np.random.default_rng(99)
        )
        values, null = attacks.per_record_ks(PHI_changed, IN_changed, np.random.default_rng(0))
        surprise = bool(PHI_changed[~IN_changed[:, i], i].mean() < 0)  # to models without it
        outlier_ks[surprise].append(values[i])
        outlier_null.append(np.quantile(null, 0.95))
outlier_q95 = max(outlier_null)
print("advantage with the outcome that models expect:", np.round(outlier_ks[False], 2))
print("advantage with the opposite outcome:          ", np.round(outlier_ks[True], 2))
print(f"shuffled memberships stay below {outlier_q95:.2f} for 95% of the records")
lab.record(outlier_factor=FACTOR, n_outliers=len(chosen), outlier_null_q95=outlier_q95)
lab.record(ks_outlier=np.mean(outlier_ks[True]), ks_outlier_expected=np.mean(outlier_ks[False]))
lab.record(ks_outlier_min=min(outlier_ks[True]), ks_outlier_expected_min=min(outlier_ks[False]))
lab.claim(
    "contradicting-outliers-exposed",
    "Every outlier with the surprising outcome exceeds the null, and the same row with the expected one.",
    min(outlier_ks[True]) > outlier_q95
    and bool(np.all(np.array(outlier_ks[True]) > outlier_ks[False])),
)

# %% [markdown] id="outlier-reading"
# With the outcome that models without the record expect, the mean advantage is {{ ks_outlier_expected:.2f }}. (Under shuffled memberships at least 95% of the advantages lie below {{ outlier_null_q95:.2f }}.) With the opposite outcome the mean is {{ ks_outlier:.2f }}. *These outliers are at risk when they contradict the model*, not because they lie far out. What agrees with it, the model has learned from others.

# %% [markdown] id="copies-idea"
# ### Duplicated records
#
# Duplicates are common in real files. We let {{ n_duplicated:d }} records stand several times in each training set that has them, and train again.

# %% id="copies"
N_DUPLICATED = lab.pick(smoke=6, quick=20)
duplicated = np.random.default_rng(1).choice(POOL, N_DUPLICATED, replace=False)
ks_of_copies = {}
for count in (1, 2, 4, 8):
    copies = np.ones(POOL, dtype=int)
    copies[duplicated] = count
    IN_copies, PHI_copies, _ = population.train_population(
        A, y, N_MODELS, N_IN, LAM, np.random.default_rng(98), copies
    )
    ks_of_copies[count] = attacks.per_record_ks(PHI_copies, IN_copies)[duplicated].mean()
    lab.record({f"ks_dup{count}": ks_of_copies[count]})
    print(f"copies: {count}, mean advantage {ks_of_copies[count]:.3f}")
lab.record(n_duplicated=N_DUPLICATED)
lab.claim(
    "copies-raise-the-risk",
    "The mean advantage of duplicated records rises with the number of copies.",
    bool(np.all(np.diff(list(ks_of_copies.values())) > 0)),
)

# %% [markdown] id="copies-reading"
# From {{ ks_dup1:.2f }} for one copy to {{ ks_dup8:.2f }} for eight. A differential privacy guarantee of ε for one record is a guarantee of $k\varepsilon$ for a group of $k$: **group privacy** (Dwork and Roth 2014; with a δ, that grows even faster). Eight copies of you are a group of eight. Deduplicate before you train, and let the unit of privacy be a person, not a row.

# %% [markdown] id="base-rate-idea"
# ### What a positive is worth
#
# Here half of all pairs are members. A real attacker may have a list of candidates of whom one in a hundred was in the training set. This **base rate** decides what an alarm is worth. **Precision** is the share of alarms that are right. At a base rate π,
#
# $$\text{precision} = \frac{\pi\, \text{TPR}}{\pi\, \text{TPR} + (1 - \pi)\, \text{FPR}} .$$

# %% id="base-rate"
for base in (0.5, 0.1, 0.01):
    line = []
    for alpha, name in ((0.01, "tpr_1"), (0.001, "tpr_01")):
        tpr = found["lira_on"][name]
        precision = base * tpr / (base * tpr + (1 - base) * alpha)
        lab.record({f"precision_{name}_b{round(100 * base)}": precision})
        line.append(f"{precision:.3f}")
    print(
        f"base rate {base:4}: precision of online LiRA at 1% FPR {line[0]}, at 0.1% FPR {line[1]}"
    )

# %% [markdown] id="base-rate-reading"
# Where half are members, an alarm of online LiRA at {{ low_fpr:.1% }} FPR is right {{ precision_tpr_01_b50:.0% }} of the time. Where one in a hundred is, {{ precision_tpr_01_b1:.0% }}, and at 1% FPR {{ precision_tpr_1_b1:.0% }}: wrong about nineteen times in twenty. Whether an alarm can be believed depends on the list, too.

# %% [markdown] id="dp-idea"
# ## 13. What differential privacy has to do with it
#
# LiRA estimates a likelihood ratio: how much likelier is what I see, if you were a member? Differential privacy bounds *that very ratio*. Training is ε-private when for every record, whatever the others are, and for every outcome
#
# $$e^{-\varepsilon} \le \frac{\Pr[\text{outcome} \mid \text{you are in}]}{\Pr[\text{outcome} \mid \text{you are out}]} \le e^{\varepsilon} .$$
#
# This is for δ = 0. With (ε, δ) it holds up to an additive slack of δ. Under a small ε there is no large ratio to be found, by this attack or any other, for *any* record.
#
# To get there, we train by **DP-SGD** (Abadi et al. 2016): every record's gradient is clipped to length $C$, and Gaussian noise of standard deviation $zC$ is added to the sum. Every step takes all members. Three details make the promise true.
#
# - **Membership is by independent coins.** In sections 3 to 12 every model had exactly {{ n_in:d }} members. One more of *you* was one less of someone else, which is another adjacency, with another ε.
# - **The divisor is public**: half of the pool, not the number of members.
# - **The settings are public constants**: $C$, $z$, the number of steps and their length. Tuning them on the private records would leak, too.
#
# We also clip the rows of features to a public length $R$, in all models of this section. The promise does not need it; it tames the cubes.

# %% id="dp-settings"
EPSILONS = (8.0, 1.0)
DELTA = 1e-5
STEPS = 30
ROW_NORM = 4.0  # R: the length to which a record's features are cut, the constant left aside
settings = DPSGD(
    sampling_rate=1.0,
    steps=STEPS,
    max_grad_norm=1.0,
    learning_rate=1.0,
    expected_batch_size=POOL / 2,
)


def clip_rows(features):
    """The features with all but the constant first one cut to length ROW_NORM."""
    length = np.linalg.norm(features[:, 1:], axis=1, keepdims=True)
    return np.column_stack([features[:, :1], features[:, 1:] * np.minimum(1, ROW_NORM / length)])


A_clipped, A_fresh_clipped = clip_rows(A), clip_rows(A_fresh)
coins = np.random.default_rng(8)
IN_coins = np.stack([population.coin_membership(POOL, coins) for _ in range(N_MODELS)])
z_of, mu_of = {}, {}
for eps in EPSILONS:
    z_of[eps] = accounting.noise_multiplier(eps, 1.0, STEPS, DELTA, accountant="gaussian")
    mu_of[eps] = np.sqrt(STEPS) / z_of[eps]
    print(f"ε = {eps:g}: noise multiplier {z_of[eps]:.2f}")
lab.record(dp_steps=STEPS, dp_delta=DELTA, dp_row_norm=ROW_NORM, dp_clip=settings.max_grad_norm)

# %% [markdown] id="ceiling-idea"
# The ceiling. A guess "member" is an outcome, so $\text{TPR} \le e^\varepsilon\, \text{FPR} + \delta$. But we can do better. {{ dp_steps:d }} full-batch steps with Gaussian noise hide a record at least as well as *one* look at a number with normal noise of standard deviation 1, shifted by $\mu = \sqrt T / z$ if you are a member ($T$ steps). The best test of such a shift has (Dong, Roth and Su 2022)
#
# $$\text{TPR} = \Phi\!\left(\Phi^{-1}(\text{FPR}) + \mu\right),$$
#
# where Φ is the normal distribution function. On average over the noise of the training, no attack on our models does better than that.


# %% id="train-privately"
def attack_population(PHI_any, THETA_any):
    """Online LiRA on a population, and what its models are good for on the fresh records."""
    scores = attacks.lira_scores_all(PHI_any, IN_coins)
    figures = metrics.attack_metrics(scores, IN_coins)
    logits = THETA_any @ A_fresh_clipped.T
    repaid = fresh["y"] == 1
    ranking = [metrics.attack_metrics(row, repaid)["auc"] for row in logits[::4]]  # every fourth
    return figures | {
        "scores": scores,
        "on_grid": metrics.tpr_at_fpr(figures["fpr"], figures["tpr"], GRID),
        "acc": ((logits > 0) == repaid).mean(),
        "rank_auc": np.mean(ranking),
    }


def keep(key, figures):
    """Add the intervals, and keep a population's figures as results."""
    figures["limits"] = metrics.pair_intervals(
        figures["scores"], IN_coins, np.random.default_rng(0), N_BOOTSTRAP
    )
    lab.record({f"{key}_acc": figures["acc"], f"{key}_rank_auc": figures["rank_auc"]})
    for name in ("auc", "tpr_1", "tpr_01"):
        low, high = figures["limits"][name]
        lab.record(
            {f"{key}_{name}": figures[name], f"{key}_{name}_lo": low, f"{key}_{name}_hi": high}
        )
    lab.curve(f"roc_{key}", GRID, figures["on_grid"])


private, THETA_private = {}, {}
for eps in EPSILONS:
    PHI_private, THETA_private[eps] = population.train_logistic_dpsgd(
        A_clipped, y, IN_coins, z_of[eps], settings, np.random.default_rng(1)
    )
    private[eps] = attack_population(PHI_private, THETA_private[eps])
    keep(f"dp{eps:g}", private[eps])
    ceilings = norm.cdf(norm.ppf(ALPHAS) + mu_of[eps])
    lab.record({f"dp{eps:g}_z": z_of[eps], f"dp{eps:g}_mu": mu_of[eps]})
    lab.record({f"dp{eps:g}_ceiling_1": ceilings[0], f"dp{eps:g}_ceiling_01": ceilings[1]})
    lab.record({f"dp{eps:g}_point_1": audit.tpr_ceiling(0.01, eps, DELTA)})
    print(f"ε = {eps:g}: accuracy {private[eps]['acc']:.3f}, LiRA's TPR", end=" ")
    print(f"{private[eps]['tpr_1']:.4f} at 1% FPR (ceiling {ceilings[0]:.4f}),", end=" ")
    print(f"{private[eps]['tpr_01']:.4f} at 0.1% (ceiling {ceilings[1]:.4f})")

lab.claim(
    "lira-below-the-ceiling",
    "At both false positive rates and at either ε, LiRA stays below the ceiling.",
    all(
        private[eps][name] < norm.cdf(norm.ppf(alpha) + mu_of[eps])
        for eps in EPSILONS
        for alpha, name in zip(ALPHAS, ("tpr_1", "tpr_01"), strict=True)
    ),
)

# %% [markdown] id="control-idea"
# At 1% FPR LiRA finds {{ dp8_tpr_1:.1% }} of the members for ε = 8, and {{ dp1_tpr_1:.1% }} for ε = 1. But maybe only because the models *learned less*? A model that learns nothing leaks nothing. So we need **controls**: models without noise, on the same clipped rows, with the same coins, that are just as useful.
#
# The accuracy at ε = 1 is {{ dp1_acc:.1% }}. That sounds fine, but answering *repaid* to everybody is right in {{ majority:.1% }} of the cases. So we also look at how well a model *ranks* borrowers, its AUC on fresh records (not the attack's): {{ dp8_rank_auc:.3f }} at ε = 8, {{ dp1_rank_auc:.3f }} at ε = 1.
#
# One kind of control is the same clipped descent without noise. It differs from private training by nothing but the noise and the number of steps: for each ε we pick the number that ranks equally well. The other kind is Newton's optimum, with the penalty λ turned up and down.

# %% id="controls"
PENALTIES = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)  # λ, up to a heavy one
STEP_COUNTS = (1, 2, 4, 8, 15, 20, 25, 30, 60)
newton, silent, THETA_newton = {}, {}, {}
for lam in PENALTIES:
    THETA_newton[lam] = models.fit_logistic_newton(A_clipped, y, lam, weights=IN_coins)
    PHI_newton = models.true_label_logit(THETA_newton[lam], A_clipped, y)
    newton[lam] = attack_population(PHI_newton, THETA_newton[lam])
for steps in STEP_COUNTS:
    silent[steps] = attack_population(
        *population.train_logistic_dpsgd(
            A_clipped,
            y,
            IN_coins,
            0.0,
            dataclasses.replace(settings, steps=steps),
            np.random.default_rng(1),
        )
    )

control, gap = {}, {}
for eps in EPSILONS:
    steps = min(STEP_COUNTS, key=lambda n: abs(silent[n]["rank_auc"] - private[eps]["rank_auc"]))
    control[eps] = silent[steps]
    lab.record({f"control{eps:g}_steps": steps})
    keep(f"control{eps:g}", control[eps])
    labels = (f"ε = {eps:g}", f"no noise, steps: {steps}")
    for label, figures in zip(labels, (private[eps], control[eps]), strict=True):
        print(
            f"{padded(label, 24)} accuracy {figures['acc']:.3f}, ranking {figures['rank_auc']:.3f};",
            end=" ",
        )
        print(f"LiRA's TPR at 1% FPR {figures['tpr_1']:.4f}, AUC {figures['auc']:.3f}")
    limits = metrics.pair_difference_intervals(
        control[eps]["scores"],
        private[eps]["scores"],
        IN_coins,
        np.random.default_rng(0),
        N_BOOTSTRAP,
    )
    gap[eps] = limits["tpr_1"]
    lab.record({f"diff{eps:g}_tpr_1_lo": gap[eps][0], f"diff{eps:g}_tpr_1_hi": gap[eps][1]})
    print(f"  difference in TPR, 95% interval: {gap[eps][0]:.4f} to {gap[eps][1]:.4f}")
lab.record(newton_tpr_1=newton[LAM]["tpr_1"])
lab.record(majority=fresh["y"].mean())
heavy = PENALTIES[-1]
lab.record(heavy_lam=heavy)
keep("heavy", newton[heavy])

# %% id="plot-controls"
figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
labels = [
    "no noise: penalty λ from small (top) to large",
    "no noise: clipped steps, few (left) to many",
]
for runs, style, label in zip((newton, silent), ("o-", "s--"), labels, strict=True):
    axes.plot(
        [figures["rank_auc"] for figures in runs.values()],
        [figures["tpr_1"] for figures in runs.values()],
        style,
        mfc="none",
        label=label,
    )
for eps, marker in zip(EPSILONS, ("^", "v"), strict=True):
    low, high = private[eps]["limits"]["tpr_1"]
    axes.errorbar(
        private[eps]["rank_auc"],
        private[eps]["tpr_1"],
        yerr=[[private[eps]["tpr_1"] - low], [high - private[eps]["tpr_1"]]],
        fmt=marker,
        ms=8,
        color="black",
        capsize=3,
        label=f"DP-SGD, ε = {eps:g}",
    )
axes.axhline(0.01, color="0.4", lw=1, ls=":", label="chance")
axes.set_ylim(bottom=0)
axes.set_xlabel("how well the models rank borrowers (AUC on fresh records)")
axes.set_ylabel("online LiRA's TPR at 1% FPR")
axes.yaxis.set_major_formatter(lambda value, _position: plots.percent(value))
figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
plots.show(
    figure,
    alt="Online LiRA's true positive rate at a false positive rate of 1% over the models' ranking AUC. "
    "For Newton's optimum, a growing penalty first improves the ranking, and lowers the rate to below "
    "that of DP-SGD at epsilon 8. For clipped steps without noise, both grow with the steps. DP-SGD "
    "at epsilon 8 lies a little below the line of clipped steps; at epsilon 1 it ranks worse and lies "
    "at the dotted line of chance, far below both lines.",
)
lab.claim(
    "private-leaks-less-when-equally-useful",
    "At either ε, LiRA finds less on the private models than on a control that ranks as well to one hundredth.",
    all(
        private[eps][name] < control[eps][name]
        and abs(control[eps]["rank_auc"] - private[eps]["rank_auc"]) < 0.01
        for eps in EPSILONS
        for name in ("tpr_1", "auc")
    ),
)
lab.claim(
    "the-noise-does-more-at-eps-1",
    "At 1% FPR the difference to the control is above zero at ε = 1, with its interval, and larger than at ε = 8.",
    gap[1.0][0] > 0
    and control[1.0]["tpr_1"] - private[1.0]["tpr_1"]
    > control[8.0]["tpr_1"] - private[8.0]["tpr_1"],
)
lab.claim(
    "low-end-not-detected-at-eps-1",
    "At ε = 1 the interval at 0.1% FPR contains chance, while that of the AUC lies above one half.",
    private[1.0]["limits"]["tpr_01"][0] <= chance[0.001] <= private[1.0]["limits"]["tpr_01"][1]
    and private[1.0]["limits"]["auc"][0] > 0.5,
)

# %% [markdown] id="controls-reading"
# | training | accuracy | ranking AUC | LiRA's TPR at 1% FPR | its ceiling | LiRA's AUC |
# |---|---|---|---|---|---|
# | {{ control8_steps:d }} steps, no noise | {{ control8_acc:.3f }} | {{ control8_rank_auc:.3f }} | {{ control8_tpr_1:.2% }} [{{ control8_tpr_1_lo:.2% }}, {{ control8_tpr_1_hi:.2% }}] | none | {{ control8_auc:.3f }} |
# | {{ dp_steps:d }} steps, ε = 8 | {{ dp8_acc:.3f }} | {{ dp8_rank_auc:.3f }} | {{ dp8_tpr_1:.2% }} [{{ dp8_tpr_1_lo:.2% }}, {{ dp8_tpr_1_hi:.2% }}] | {{ dp8_ceiling_1:.1% }} | {{ dp8_auc:.3f }} |
# | {{ control1_steps:d }} steps, no noise | {{ control1_acc:.3f }} | {{ control1_rank_auc:.3f }} | {{ control1_tpr_1:.2% }} [{{ control1_tpr_1_lo:.2% }}, {{ control1_tpr_1_hi:.2% }}] | none | {{ control1_auc:.3f }} |
# | {{ dp_steps:d }} steps, ε = 1 | {{ dp1_acc:.3f }} | {{ dp1_rank_auc:.3f }} | {{ dp1_tpr_1:.2% }} [{{ dp1_tpr_1_lo:.2% }}, {{ dp1_tpr_1_hi:.2% }}] | {{ dp1_ceiling_1:.2% }} | {{ dp1_auc:.3f }} |
#
# Read it in pairs. At ε = 1 the models have lost much of their skill. Against models without noise that rank no better, stopped after {{ control1_steps:d }} steps, LiRA still finds {{ control1_tpr_1:.1% }} of the members. Against the private ones it finds {{ dp1_tpr_1:.1% }}, with chance at 1%. So it is the noise, not merely that they learned less.
#
# At ε = 8 the pair differs in the same direction, but by little: at 1% FPR the 95% interval of the difference runs from {{ diff8_tpr_1_lo:.2% }} to {{ diff8_tpr_1_hi:.2% }} of the members. Most of the way down, from the {{ newton_tpr_1:.1% }} of Newton's optimum with λ = {{ lam:g }} on the same rows, is the work of short, clipped training alone. But short training promises nothing. It is deterministic: the informed adversary of section 9 reruns it with each candidate, and compares.
#
# And the ceilings? At ε = 1 no attack, by anyone, finds more than {{ dp1_ceiling_1:.1% }} at 1% FPR on average. (From ε and δ alone we would only know {{ dp1_point_1:.1% }}.) At ε = 8 the ceiling is {{ dp8_ceiling_1:.1% }}, far above what LiRA finds. Maybe a better attack exists. Maybe some records are much worse off than the average: the ceiling holds for each. Maybe it is pessimistic for someone who sees the final weights only. Our experiment cannot tell.

# %% id="plot-dp-roc"
labels = {"private": "DP-SGD", "control": "control without noise", "ceiling": "ceiling"}
panels = []
for eps in EPSILONS:
    title = f"ε = {eps:g}"
    curves = [
        (labels["private"], GRID, private[eps]["on_grid"]),
        (labels["control"], GRID, control[eps]["on_grid"]),
    ]
    ceilings = [(labels["ceiling"], GRID, norm.cdf(norm.ppf(GRID) + mu_of[eps]))]
    panels.append((title, curves, ceilings))
plots.show(
    plots.roc_panels(panels),
    alt="ROC curves of online LiRA on log axes, for epsilon 8 on the left and epsilon 1 on the right, "
    "each with the control that ranks equally well and the ceiling. At epsilon 8 the private curve "
    "lies a little below the control, and both far below the ceiling. At epsilon 1 the private curve "
    "runs close to the chance line and below the ceiling, while the control lies above the ceiling "
    "over a wide middle range.",
)
lab.claim(
    "control-breaks-the-ceiling",
    "At ε = 1 and 1% FPR the control exceeds the private models' ceiling, with its whole interval.",
    control[1.0]["limits"]["tpr_1"][0] > norm.cdf(norm.ppf(0.01) + mu_of[1.0]),
)

# %% [markdown] id="dp-roc-reading"
# On the right, the control's curve crosses the ceiling that the private models cannot cross. That is what a promise looks like.
#
# ### A defence that is none
#
# Go back to the picture before, to the lower end of the solid line. With a heavy penalty, λ = {{ heavy_lam:g }}, models without noise rank borrowers as well as at ε = 8 ({{ heavy_rank_auc:.3f }}), and LiRA finds only {{ heavy_tpr_1:.1% }}. Is a penalty the better protection?
#
# The penalty shrinks all weights but the intercept. So φ is mostly intercept, and the intercept moves from model to model with the share of repaid loans among the members (correlation {{ heavy_corr:.3f }}). That sway drowns the record's own trace. But nobody has to accept it. Logits are linear in the features, so {{ n_features:d }} suitable queries are enough to solve for all weights. The attacker subtracts the intercept, and looks again.

# %% id="intercept-off"
intercepts, repaid_shares = THETA_newton[heavy][:, 0], [y[coin].mean() for coin in IN_coins]
heavy_corr = np.corrcoef(intercepts, repaid_shares)[0, 1]
lab.record(heavy_corr=heavy_corr)
print(f"heavy penalty: correlation of the intercept with the share repaid {heavy_corr:.2f}")
asked_again = {}
for key, weights in (
    ("heavy", THETA_newton[heavy]),
    ("dp8", THETA_private[8.0]),
    ("dp1", THETA_private[1.0]),
):
    PHI_slopes = models.true_label_logit(weights[:, 1:], A_clipped[:, 1:], y)
    scores = attacks.lira_scores_all(PHI_slopes, IN_coins)
    asked_again[key] = metrics.attack_metrics(scores, IN_coins)["tpr_1"]
    lab.record({f"{key}_slopes_tpr_1": asked_again[key]})
print("LiRA's TPR at 1% FPR, before and after taking the intercept off:")
print(f"  heavy penalty {newton[heavy]['tpr_1']:.4f} -> {asked_again['heavy']:.4f}")
print(f"  ε = 8         {private[8.0]['tpr_1']:.4f} -> {asked_again['dp8']:.4f}")
print(f"  ε = 1         {private[1.0]['tpr_1']:.4f} -> {asked_again['dp1']:.4f}")
lab.claim(
    "heavy-penalty-is-not-safe",
    "With the heavy penalty LiRA finds less than at ε = 8; with the intercept off, more.",
    newton[heavy]["tpr_1"] < private[8.0]["tpr_1"] and asked_again["heavy"] > asked_again["dp8"],
)

# %% [markdown] id="intercept-off-reading"
# From {{ heavy_tpr_1:.1% }} to {{ heavy_slopes_tpr_1:.1% }}: the leak was there all along, behind a curtain. At ε = 1 the same question finds {{ dp1_slopes_tpr_1:.2% }}, where it found {{ dp1_tpr_1:.2% }} before.
#
# A defence that defeats an attack lasts until somebody asks a better question. A guarantee was proved for all questions.
#
# At ε = 1 and {{ low_fpr:.1% }} FPR, chance lies inside LiRA's interval: "not detected". LiRA's AUC, {{ dp1_auc:.3f }} [{{ dp1_auc_lo:.3f }}, {{ dp1_auc_hi:.3f }}], says that something still leaks. Both are as promised: differential privacy does not say *nothing*, it says *how much at most*, for every record, against anybody.

# %% [markdown] id="summary"
# ### What to take home
#
# - One threshold for all finds nothing where a likelihood ratio per record finds plenty.
# - Look at low false positive rates, with intervals over models *and* records, and a floor. Compare two attacks by their difference.
# - The best attack depends on the budget. With few shadows a ratio to a mean is ahead; with many, LiRA draws level.
# - Risk is personal. It belongs to the records whose outcome the model could not have guessed, and to those that are in the data twice.
# - A defence that defeats one attack may be a curtain. A promise about all attacks comes from the training itself, and it can be computed.

# %% [markdown] id="exercises"
# ## 14. Exercises
#
# Four functions, and an experiment. Each function has been used above in the bench's form; write your own, with NumPy only.
#
# The cell below each exercise checks your answer. Run it as often as you like: it says whether the answer is right and, where it is not, shows an input that fails and what was expected. It never shows the code of the answer. For a hint to exercise 1, run `ex.hint(1)` in a cell of your own; run it again for the next hint. `ex.solution(1)` shows the code of a reference answer. Try first.

# %% [markdown] id="exercise-logit"
# **Exercise 1: the true-label logit and the loss.** From weights `theta` ($d$), features `A` ($n \times d$) and labels `y` (0 or 1), return `phi` and the loss $\log(1 + e^{-\varphi})$, each of length $n$. Your loss must be right, and free of overflow warnings, at φ = 1,000 and at φ = −1,000.


# %% id="logit-and-loss" tags=["exercise-1"]
def logit_and_loss(theta, A, y):
    """The true-label logit and the loss of each record."""
    # BEGIN SOLUTION
    own_logit = np.where(y == 1, A @ theta, -(A @ theta))
    return own_logit, np.maximum(-own_logit, 0) + np.log1p(np.exp(-np.abs(own_logit)))
    # STUB return None
    # END SOLUTION


# %% id="check-1"
ex.check(1, logit_and_loss)

# %% [markdown] id="exercise-tpr"
# **Exercise 2: the TPR at a fixed FPR, with ties.** Return the largest TPR of any threshold whose FPR is *at most* `alpha`. A threshold calls a record a member when its score is at least the threshold, so equal scores go together. If every threshold lets in too many non-members, the TPR is 0.


# %% id="tpr-with-ties" tags=["exercise-2"]
def tpr_with_ties(scores, is_member, alpha):
    """The largest TPR among thresholds with FPR at most alpha."""
    # BEGIN SOLUTION
    scores, is_member = np.asarray(scores), np.asarray(is_member)
    best_so_far = 0.0
    for threshold in np.unique(scores):
        called = scores >= threshold
        if called[~is_member].mean() <= alpha:
            best_so_far = max(best_so_far, called[is_member].mean())
    return float(best_so_far)
    # STUB return None
    # END SOLUTION


# %% id="check-2"
ex.check(2, tpr_with_ties)

# %% [markdown] id="exercise-offline"
# **Exercise 3: offline LiRA.** You are given the target's φ (`observed`, length $P$), and the shadows' outputs `PHI_shadow` and memberships `IN_shadow`, both $K \times P$. For each record, return how many standard deviations (over $n - 1$) the target's φ lies above the mean of the shadows that have *not* seen the record. There are at least two of those for every record. The other shadows must not change the score.


# %% id="offline-lira" tags=["exercise-3"]
def offline_lira(observed, PHI_shadow, IN_shadow):
    """The offline LiRA score of each record."""
    # BEGIN SOLUTION
    out_only = np.where(IN_shadow, np.nan, PHI_shadow)
    return (observed - np.nanmean(out_only, axis=0)) / np.nanstd(out_only, axis=0, ddof=1)
    # STUB return None
    # END SOLUTION


# %% id="check-3"
ex.check(3, offline_lira)

# %% [markdown] id="exercise-ks"
# **Exercise 4: one record's advantage, and its null.** `phi_in` and `phi_out` are one record's outputs under models with and without it. Return two numbers: the advantage, which is the largest TPR − FPR of a threshold on φ, and at least 0; and the share of `n_shuffles` random shuffles of the memberships (by `rng`) whose advantage is at least as large.


# %% id="advantage-and-null" tags=["exercise-4"]
def advantage_and_null(phi_in, phi_out, rng, n_shuffles=200):
    """The best threshold's advantage, and how often shuffled memberships do as well."""
    # BEGIN SOLUTION
    values = np.append(phi_in, phi_out)
    came_with = np.arange(values.size) < np.size(phi_in)

    def best_advantage(with_record):
        passes = values >= np.unique(values)[:, None]
        gaps = passes[:, with_record].mean(axis=1) - passes[:, ~with_record].mean(axis=1)
        return max(0.0, gaps.max())

    measured = best_advantage(came_with)
    shuffled = [best_advantage(rng.permutation(came_with)) for _ in range(n_shuffles)]
    # a difference of rates may be off in its last bit, and equal ones count
    return float(measured), float(np.mean(np.array(shuffled) > measured - 1e-12))
    # STUB return None
    # END SOLUTION


for i in shown:
    yours = advantage_and_null(PHI[IN[:, i], i], PHI[~IN[:, i], i], np.random.default_rng(0))
    print("yours:", yours, f"bench: {advantage[i]:.3f}")

# %% id="check-4"
ex.check(4, advantage_and_null)

# %% [markdown] id="exercise-small-pool"
# **Exercise 5: a smaller pool, an experiment.** Guess first: in a bank with fewer loans, is a member easier to find, or harder? Draw a world of `pool` records, train `N_MODELS` models on random halves of it, with the features and the λ of this lab, and return the TPR at 1% FPR of online LiRA. The bench may do the work here.


# %% id="tpr-of-pool" tags=["exercise-5"]
def tpr_of_pool(pool):
    """The TPR at 1% FPR of online LiRA, on models of random halves of a pool of this size."""
    # BEGIN SOLUTION
    small_world = credit.make_credit(pool, np.random.default_rng(WORLD_SEED))
    IN_small, PHI_small, _weights = population.train_population(
        features(small_world["X"]),
        small_world["y"],
        N_MODELS,
        pool // 2,
        LAM,
        np.random.default_rng(MODELS_SEED),
    )
    their_scores = attacks.lira_scores_all(PHI_small, IN_small)
    return metrics.attack_metrics(their_scores, IN_small)["tpr_1"]
    # STUB return None
    # END SOLUTION


for pool in (100, 200, 400):
    print(f"a pool of {pool}: TPR at 1% FPR {tpr_of_pool(pool)}")

# %% id="check-5"
ex.check(5, tpr_of_pool)

# %% id="progress"
ex.progress()

# %% [markdown] id="references"
# ## References
#
# - Abadi et al. (2016). *Deep Learning with Differential Privacy.*
# - Aerni, Zhang and Tramèr (2024). *Evaluations of Machine Learning Privacy Defenses are Misleading.*
# - Balle, Cherubin and Hayes (2022). *Reconstructing Training Data with Informed Adversaries.*
# - Carlini, Chien, Nasr, Song, Terzis and Tramèr (2022). *Membership Inference Attacks From First Principles.*
# - Dong, Roth and Su (2022). *Gaussian Differential Privacy.*
# - Dwork and Roth (2014). *The Algorithmic Foundations of Differential Privacy.*
# - Neyman and Pearson (1933). *On the Problem of the Most Efficient Tests of Statistical Hypotheses.*
# - Sablayrolles, Douze, Ollivier, Schmid and Jégou (2019). *White-box vs Black-box: Bayes Optimal Strategies for Membership Inference.*
# - Shokri, Stronati, Song and Shmatikov (2017). *Membership Inference Attacks Against Machine Learning Models.*
# - Watson, Guo, Cormode and Sablayrolles (2022). *On the Importance of Difficulty Calibration in Membership Inference Attacks.*
# - Ye, Maddi, Murakonda, Bindschaedler and Shokri (2022). *Enhanced Membership Inference Attacks against Machine Learning Models.*
# - Yeom, Giacomelli, Fredrikson and Jha (2018). *Privacy Risk in Machine Learning: Analyzing the Connection to Overfitting.*
# - Zarifzadeh, Liu and Shokri (2024). *Low-Cost High-Power Membership Inference Attacks.*

# %% id="results"
lab.save()
