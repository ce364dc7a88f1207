# untranslated: "upper left" (a place in a figure)
# untranslated: "Full backward hook" (the beginning of a PyTorch warning)

# %% [markdown] id="title"
# # Was this image in the training set?
#
# ## Membership inference and DP-SGD on MNIST
#
# A neural network is trained on some images, and kept away from others. You may query it as often as you like, but you never see its training set. Can you tell which images it was trained on?
#
# If you can, the network has given something away about each of those images. For handwritten digits nobody minds. For X-rays, messages or loan files, *this person was in the data* can be the very thing that should stay private.
#
# In this lab you attack a network, first crudely, then well. Then you train it with **DP-SGD**, which bounds what *any* attack can find, and you look at three things side by side: what the attacks find, what the theory promises, and what the protection costs.
#
# The notebook runs in a minute or two on two cores. Reading takes longer. In a hurry? Sections 1 to 7, then 10. Sections 8 and 9 are for those who want to know what a measurement proves.

# %% [markdown] id="ground-rules"
# ### The ground rules
#
# | what | in this lab |
# |---|---|
# | unit of privacy | one image with its label: one *record*. Someone who wrote $k$ of the images is protected $k$ times less: by $k\varepsilon$, and a larger δ |
# | adjacency | add/remove: two training sets are neighbours when one holds one record more than the other |
# | public | the size of the pool, the scaling of the pixels, the architecture, and every setting of the training |
# | private | who of the pool is a member, and so the exact number of members |
# | what our attacker sees | the logits of the finished network, for any image |
# | what our attacker knows | a lot: the pool with its labels, and the exact recipe of the training. An outsider would do worse |
# | what DP-SGD guards against | much more: someone who watches the noisy gradient sum of every single step, and knows all records but one |
#
# You need not know these words yet. Come back to the table when a section uses them.
#
# The noise in this lab comes from an ordinary random generator with a published seed. That is fine for teaching. Real protection needs a cryptographically secure generator.

# %% [markdown] id="reference-run"
# **About the numbers.** Figures quoted in the text come from the reference run of {{ meta.date }} (Python {{ meta.versions.python }}, PyTorch {{ meta.versions.torch }}, profile {{ meta.profile }}). Yours will differ in the last digits: another processor adds floating-point numbers in another order, and training magnifies the difference. Rates at a false positive rate of {{ fpr_01:.1% }} and audited values of ε move most. The main statements are checked on *your* numbers by the code nearby, which prints ✓ or ✗.

# %% id="parameters"
import dataclasses
import warnings

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.stats import rankdata

from course_lib import accounting, attacks, audit, metrics, models, plots, population
from course_lib.data import load_mnist
from course_lib.dpsgd import DPSGD, poisson_batch
from course_lib.exercises import Exercises
from course_lib.lab import Lab
from course_lib.language import padded

# The lab keeps your figures with lab.record and lab.curve, for the course's pages: you can skip over
# those lines. lab.claim checks a statement of the text on your numbers.
lab = Lab("mnist_dpsgd", profile="quick")  # or "smoke": everything tiny, to see whether it runs
ex = Exercises(lab)  # checks your answers to the exercises

POOL = lab.pick(smoke=600, quick=4_000)  # candidate images
EPOCHS = lab.pick(smoke=2, quick=60)  # passes of the ordinary training
N_REFERENCES = lab.pick(smoke=4, quick=16)  # networks that the attacker trains
STEPS = lab.pick(smoke=8, quick=300)  # steps of DP-SGD
SAMPLING_RATE = 0.05  # q: the chance of each record to be in a batch of DP-SGD
MAX_GRAD_NORM = 1.0  # C: the length to which every record's gradient is cut
NOISE_MULTIPLIERS = (0.0, 0.6, 1.0, 3.0)  # σ: how much noise DP-SGD adds, in units of C
NOISY = NOISE_MULTIPLIERS[1:]  # those for which there is an ε
DELTA = 1e-5  # δ: the slack in the definition of differential privacy
WORKERS = lab.pick(smoke=1, quick=-1)  # networks that train at a time; -1: one per core
plt.rcParams.update(plots.STYLE)
torch.set_num_threads(1)  # a network's matrices are too small to share between cores
population.start_workers(WORKERS)  # the processes that train are ready when we need them

# %% [markdown] id="coin"
# ## 1. Members and non-members
#
# We draw a pool of {{ pool:,d }} images from the training set of MNIST (LeCun, Cortes and Burges 1998), and toss a fair coin for each. Heads: the image is a **member**, and the network will be trained on it. Tails: it is a **non-member**, and stays out.
#
# The coins matter more than they seem to. Because they are fair and independent, nothing about an image itself says on which side it fell. Whatever an attacker finds out about membership must have come *through the trained network*. With any other split (the first half of a file, last year's patients against this year's) a clever classifier might tell the two groups apart without a network at all, and we would mistake that for a privacy leak.

# %% id="draw-pool"
mnist = load_mnist()
rng = np.random.default_rng(0)
pool = rng.choice(len(mnist.x_train), POOL, replace=False)
is_member = rng.random(POOL) < 0.5


def pixels(images):
    """Images as rows of 784 numbers, scaled by MNIST's well-known mean and standard deviation."""
    flat = torch.from_numpy(images).flatten(1).float()
    return (flat / 255 - 0.1307) / 0.3081


def labels(digits):
    """Class numbers as PyTorch wants them."""
    return torch.from_numpy(digits.astype(np.int64))


X, y = pixels(mnist.x_train[pool]), labels(mnist.y_train[pool])
X_test, y_test = pixels(mnist.x_test), labels(mnist.y_test)
members = torch.from_numpy(is_member)

lab.record(pool=POOL, n_members=is_member.sum(), n_nonmembers=(~is_member).sum())
print(f"{is_member.sum():,} members and {(~is_member).sum():,} non-members")

# %% [markdown] id="look"
# Here are eight of each. Look at them for a while. There is nothing to see, and that is the point.

# %% id="show-digits"
figure, grid = plt.subplots(2, 8, figsize=(9, 2.6), layout="constrained")
for row, side in enumerate((is_member, ~is_member)):
    for axes, image in zip(grid[row], mnist.x_train[pool[side][:8]], strict=True):
        axes.imshow(image, cmap="gray_r")
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(True)
grid[0, 0].set_ylabel("members")
grid[1, 0].set_ylabel("non-members")
plots.show(
    figure,
    alt="Two rows of eight handwritten digits, members above, non-members below. Nothing sets them apart.",
)

# %% [markdown] id="measures"
# ### How an attack is measured
#
# An attack gives every record a **score**: the larger, the more it believes in *member*. A threshold turns scores into guesses. Two rates describe what then happens:
#
# - the **true positive rate** (TPR): the share of members that the attack calls members;
# - the **false positive rate** (FPR): the share of non-members that it calls members, wrongly.
#
# Sliding the threshold from high to low traces the **ROC curve**, TPR against FPR. Its area (AUC) is the chance that a random member outscores a random non-member. For privacy, the left end of the curve is what counts. An attacker who points at a few people and is almost always right does more harm than one who is slightly better than a coin on everybody (Carlini et al. 2022). So we report the TPR at an FPR of 1% and of {{ fpr_01:.1% }}.
#
# How well does an attacker do who knows nothing? Let us shuffle and see.

# %% id="noise-floor"
floor = metrics.noise_floor(is_member, np.random.default_rng(0))
chance_1 = metrics.chance_tpr(0.01, (~is_member).sum())
chance_01 = metrics.chance_tpr(0.001, (~is_member).sum())

metric_labels = {
    "auc": "AUC",
    "bal_acc": "best balanced accuracy",
    "tpr_1": "TPR at 1% FPR",
    "tpr_01": "TPR at 0.1% FPR",
}
print("A score that knows nothing, over 200 shuffles:")
for name, (mean, q95) in floor.items():
    print(
        f"  {padded(metric_labels[name], 24)} mean {mean:.4f}, 95% of the shuffles below {q95:.4f}"
    )

lab.record(
    chance_tpr_1=chance_1,
    chance_tpr_01=chance_01,
    fpr_01=0.001,
    floor_bal_acc=floor["bal_acc"][0],
    floor_tpr_1_q95=floor["tpr_1"][1],
)

# %% [markdown] id="floor-reading"
# Two things to remember. Chance is not exactly 1% at an FPR of 1%, but {{ chance_tpr_1:.4f }}; at {{ fpr_01:.1% }} it is {{ chance_tpr_01:.4f }}. The shuffles scatter around these values, which are exact: a useless score puts a member in any of $n_0 + 1$ places among the $n_0$ non-members with the same probability, and at an FPR of α it passes in $\lfloor\alpha n_0\rfloor + 1$ of them. Below, *chance* means these values.
#
# And the best balanced accuracy of a useless score is not ½ but {{ floor_bal_acc:.3f }}. Balanced accuracy is the mean of TPR and 1 − FPR. The best of many thresholds, picked on the very records it is judged on, flatters. A maximum needs a **noise floor** beside it.

# %% [markdown] id="overfit"
# ## 2. A network that overfits, and the simplest attack
#
# Our target has one hidden layer of 256 units. It trains on the members for {{ epochs:d }} epochs, which is far too long: it will know every one of its training images by heart.
#
# The same call starts {{ n_ref:d }} more networks, on coins of their own. Section 3 needs them; they train in the background while you read.

# %% id="train-target"
reference_seeds = [100 + k for k in range(N_REFERENCES)]
coins = [np.random.default_rng(seed).random(POOL) < 0.5 for seed in reference_seeds]
IN = np.array([is_member, *coins])  # one row a network, one column a record; row 0 is the target

networks = population.train_mlps(
    X,
    y,
    IN,
    [1, *reference_seeds],
    epochs=EPOCHS,
    workers=WORKERS,
    on_done=lab.progress(label="Networks trained"),
)
target = next(networks)

acc_train = target.accuracy(X[members], y[members])
acc_test = target.accuracy(X_test, y_test)
lab.record(epochs=EPOCHS, target_acc_train=acc_train, target_acc_test=acc_test)
print(f"accuracy on its members {acc_train:.3f}, on the 10,000 test images {acc_test:.3f}")

# %% [markdown] id="loss-attack-idea"
# All members are classified correctly, but only {{ target_acc_test:.1% }} of the test images. That gap is the opening. A network is surer of what it has been trained on, so **guess "member" when it is sure of the true label**. This is the loss-threshold attack of Yeom et al. (2018).
#
# How sure it is we measure by the **true-label logit**. With logits $z$ and true label $y$,
#
# $$\varphi = z_y - \log \sum_{j \neq y} e^{z_j} = \log \frac{p_y}{1 - p_y}, \qquad \text{loss} = \log(1 + e^{-\varphi}).$$
#
# The loss falls as φ grows, so thresholding one is thresholding the other. But φ has a shape that statistics likes: it is roughly bell-shaped, whereas the loss piles up at zero. Compute it from the logits, never from the probabilities: at φ = 40 even a double-precision $p_y$ has rounded to exactly one.

# %% id="loss-attack"
phi_target = attacks.label_logit_from_logits(target.logits(X), y)

plots.show(
    plots.score_histograms([(None, phi_target, is_member)], xlabel="true-label logit φ"),
    alt="Histograms of the true-label logit of members and of non-members. To the right of about "
    "ten they nearly coincide. To the left the non-members have a long tail, far below zero, while "
    "the members start at about four and peak near six.",
)

# %% [markdown] id="loss-attack-figure"
# On the left the two histograms differ: where φ is small or negative, the network is unsure or wrong, and there are only non-members. The members have been pushed away from there and pile up a little further right. So the attack can say with confidence who is *not* a member.
#
# But an attacker wants to point at members, and must place the threshold far to the right. There the histograms coincide. An easy image gets a large φ whether it was trained on or not.
#
# The next cell turns this into numbers, each with a 95% interval from {{ n_bootstrap:,d }} bootstrap resamples of members and of non-members.

# %% id="judge"
N_BOOTSTRAP = 1_000
GRID = np.geomspace(1e-4, 1, 200)  # false positive rates at which curves are drawn and kept


def judge(scores, prefix, title):
    """Measure an attack on the target, print a line for each figure, and keep them as results."""
    found = metrics.attack_metrics(scores, is_member)
    limits = metrics.bootstrap_intervals(scores, is_member, np.random.default_rng(0), N_BOOTSTRAP)
    print(title)
    for key in ("auc", "tpr_1", "tpr_01"):
        low, high = limits[key]
        lab.record({f"{prefix}_{key}": found[key]})
        lab.record({f"{prefix}_{key}_lo": low, f"{prefix}_{key}_hi": high})
        print(f"  {padded(metric_labels[key], 17)} {found[key]:.4f}   [{low:.4f}, {high:.4f}]")
    band = metrics.bootstrap_band(scores, is_member, np.random.default_rng(0), GRID, N_BOOTSTRAP)
    return found | {"limits": limits, "band": (GRID, *band)}


def keep_roc(name, found):
    """Keep a ROC curve on the grid, for the course's pages."""
    lab.curve(name, GRID, metrics.tpr_at_fpr(found["fpr"], found["tpr"], GRID))


def contains(interval, value):
    """Whether a value lies between the two ends of an interval."""
    return interval[0] <= value <= interval[1]


loss = judge(phi_target, "loss", title="Loss attack on the overfit target")
keep_roc("roc_loss", loss)
lab.record(loss_balanced_acc=loss["bal_acc"], n_bootstrap=N_BOOTSTRAP)
print(f"chance: {chance_1:.4f} at 1% FPR, {chance_01:.4f} at 0.1%")
print(f"best balanced accuracy {loss['bal_acc']:.3f}, useless scores {floor['bal_acc'][0]:.3f}")
lab.claim(
    "loss-auc-above-half",
    "The whole interval of the loss attack's AUC lies above one half.",
    loss["limits"]["auc"][0] > 0.5,
)
lab.claim(
    "loss-nothing-at-1-percent",
    "At 1% FPR, the loss attack's interval contains chance.",
    contains(loss["limits"]["tpr_1"], chance_1),
)
lab.claim(
    "loss-nothing-at-low-fpr",
    "At 0.1% FPR, the loss attack's interval contains chance.",
    contains(loss["limits"]["tpr_01"], chance_01),
)

# %% [markdown] id="loss-attack-reading"
# The AUC is {{ loss_auc:.3f }}, its interval clear of ½: there *is* a leak. But at an FPR of 1% the attack finds {{ loss_tpr_1:.2% }} of the members, where chance finds {{ chance_tpr_1:.2% }}. For pointing at members it is worthless. Someone who reads only AUCs would file this network under "leaks a little, no one in particular". Keep that verdict in mind for the next section.
#
# What do the intervals cover? The luck of *which records* were drawn. The target stays fixed, and so will the reference models, so the luck of the training is not in them. Section 9 comes back to that. And at {{ fpr_01:.1% }} an interval is only a rough guide: it hangs on two non-members, and a bootstrap cannot invent more extreme ones than we have.

# %% [markdown] id="calibrate-idea"
# ## 3. Ask how hard the record is
#
# The loss attack compares an easy seven with a hard two, and learns that sevens are easy. A good attack compares each record *with itself*: is the network surer of this image **than networks that never saw it**?
#
# The attacker knows the pool and the recipe, and so can toss coins of their own, train **reference models**, and look at the record's φ under each model that did *not* train on it. With the mean $\mu_{\text{out}}$ and the standard deviation $s_{\text{out}}$ of these, the calibrated score is
#
# $$\frac{\varphi_{\text{target}} - \mu_{\text{out}}}{\max(s_{\text{out}},\, {{ sd_floor:.1f }})} .$$
#
# This is the likelihood ratio attack, LiRA, of Carlini et al. (2022), in its *offline* form, which uses only models that did not see the record. We put a floor under the deviation: only about half of our {{ n_ref:d }} models did not see a given record, and so few give a shaky one. The idea of calibrating by difficulty is also in Watson et al. (2022).
#
# A reference model is nothing special. Here is the whole training, and the first {{ epochs_by_hand:d }} epochs of the first of them.


# %% id="train-by-hand"
def train_by_hand(X, y, seed, epochs):
    """Train the network with nothing but PyTorch."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = torch.nn.Sequential(
            torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)
        )
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(seed)
    for _epoch in range(epochs):
        for batch in torch.randperm(len(X), generator=generator).split(128):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(X[batch]), y[batch]).backward()
            optimizer.step()
    return network


own = torch.from_numpy(IN[1])
EPOCHS_BY_HAND = lab.pick(smoke=2, quick=10)
by_hand = train_by_hand(X[own], y[own], reference_seeds[0], EPOCHS_BY_HAND)

# %% [markdown] id="bench-idea"
# The {{ n_ref:d }} that have been training in the background use the course's own code, `course_lib.population`: the same arithmetic, with the gradients written out, one network on each core. We check that it gives the same result.

# %% id="train-references"
with torch.no_grad():
    phi_by_hand = attacks.label_logit_from_logits(by_hand(X), y)
    same = population.train_mlp(X[own], y[own], reference_seeds[0], epochs=EPOCHS_BY_HAND)
phi_bench = attacks.label_logit_from_logits(same.logits(X), y)
apart = np.median(abs(phi_by_hand - phi_bench))
spread = phi_bench.std()
lab.record(n_ref=N_REFERENCES, epochs_by_hand=EPOCHS_BY_HAND, bench_difference=apart)
print(f"median |difference| of φ: {apart:.1e}, where φ has a standard deviation of {spread:.1f}")
lab.claim(
    "bench-is-the-plain-loop",
    "The course's training and the loop by hand give the same φ, up to rounding.",
    apart < 1e-2 * spread,
)
references = list(networks)  # those that trained in the background, to the end

# %% [markdown] id="calibrate"
# Now the calibrated attack. First by hand, since it is three lines; then through `course_lib.attacks`, which does the same for many targets at once.

# %% id="calibrated-attack"
PHI = attacks.label_logit_from_logits(population.logits([target, *references], X), y)

out = np.where(IN[1:], np.nan, PHI[1:])  # each record under the models that did not see it
mean_out, sd_out = np.nanmean(out, axis=0), np.nanstd(out, axis=0, ddof=1)
SD_FLOOR = 0.1
VARIANCE_FLOOR = SD_FLOOR**2
lab.record(sd_floor=SD_FLOOR)
by_hand_scores = (PHI[0] - mean_out) / np.maximum(sd_out, SD_FLOOR)
calibrated = attacks.lira_scores(PHI, IN, 0, online=False, min_variance=VARIANCE_FLOOR)
print(f"largest difference between the two: {np.nanmax(abs(by_hand_scores - calibrated)):.1e}")

cal = judge(calibrated, "cal", title="Calibrated attack on the overfit target")
keep_roc("roc_cal", cal)
lab.claim(
    "cal-over-five-times-loss",
    "At 1% FPR the calibrated attack finds more than five times as many members as the loss attack.",
    cal["tpr_1"] > 5 * loss["tpr_1"],
)


def precision(tpr, fpr, base_rate):
    """The share of the accused who are members, when this share of all records are."""
    return tpr * base_rate / (tpr * base_rate + fpr * (1 - base_rate))


lab.record(
    cal_precision_even=precision(cal["tpr_1"], 0.01, 0.5),
    cal_precision_rare=precision(cal["tpr_1"], 0.01, 0.01),
)

# %% [markdown] id="calibrated-reading"
# The same queries to the same network, with more knowledge and {{ n_ref:d }} more trainings. At 1% FPR the attack now finds {{ cal_tpr_1:.1% }} of the members, up from {{ loss_tpr_1:.2% }}. The AUC moved far less, from {{ loss_auc:.3f }} to {{ cal_auc:.3f }}. The verdict "no one in particular" was a fact about the attack, not about the network.
#
# Is {{ cal_tpr_1:.1% }} at 1% much? It depends on whom the attacker looks at. Among our records, half of them members, {{ cal_precision_even:.0% }} of those it accuses are members. Among people of whom one in a hundred is a member, only {{ cal_precision_rare:.0% }} would be: the false accusations come from the many. A rate alone does not say how often an attacker is right.
#
# To see what calibration does, take two members: an easy one, and the one on which models with and without it differ most.

# %% id="two-records"
n_out = (~IN[1:]).sum(axis=0)
mean_in = np.nanmean(np.where(IN[1:], PHI[1:], np.nan), axis=0)
usable = is_member & (calibrated > 0) & (abs(n_out - N_REFERENCES / 2) <= 2)
gap = np.where(usable, mean_in - mean_out, np.nan)
memorised = int(np.nanargmax(gap))
easy = int(np.nanargmin(abs(gap) - 0.1 * mean_out))  # a small gap, far to the right

figure, rows = plt.subplots(
    2, 2, figsize=(9, 3.6), width_ratios=(1, 6), sharex="col", layout="constrained"
)
shake = np.random.default_rng(0)
row_labels = ["did not see it", "saw it"]
for (picture, axes), record in zip(rows, (easy, memorised), strict=True):
    picture.imshow(mnist.x_train[pool[record]], cmap="gray_r")
    picture.set_axis_off()
    for row, marker in ((0, "o"), (1, "s")):
        under = PHI[1:, record][IN[1:, record] == row]
        axes.plot(
            under, row + shake.uniform(-0.25, 0.25, len(under)), marker, mfc="none", color=f"C{row}"
        )
    axes.axvline(PHI[0, record], color="black", linestyle="--", label="target")
    axes.set_yticks([0, 1], row_labels)
    axes.set_ylim(-0.6, 1.6)
    axes.set_title(f"labelled {y[record]}, calibrated score {calibrated[record]:.1f}", loc="left")
rows[1][1].legend(loc="upper left")
rows[1][1].set_xlabel("true-label logit φ")
plots.show(
    figure,
    alt="Two member images and their true-label logits under the reference models. For the upper "
    "one, the models that saw it and those that did not overlap far to the right, and the target "
    "stands among them. For the lower one, those that did not see it lie below zero, those that saw "
    "it above, and the target stands with the latter.",
)

# %% [markdown] id="two-records-reading"
# Each mark is a reference model. Of the upper image every network is sure, with or without having seen it: its membership leaves no trace that we could see with {{ n_ref:d }} models. The lower one is read as labelled only by networks that have *memorised* it, and our target is one of them. A single threshold on φ ranks the easy digit first. Calibration ranks the memorised one first.
#
# We picked this record because its gap is the largest. An average hides such records (Aerni, Zhang and Tramèr 2024): odd, badly written and mislabelled images are at far higher risk than the rest.

# %% [markdown] id="roc"
# ## 4. The whole curve
#
# On logarithmic axes the left end of the ROC curve gets the room it deserves. Bands are 95% intervals, point by point. In the grey part there are fewer than two false positives: the curve rests on a single record there, and should not be read.

# %% id="plot-roc"
plots.show(
    plots.roc(
        [
            plots.Curve(label="loss attack", fpr=loss["fpr"], tpr=loss["tpr"], band=loss["band"]),
            plots.Curve(
                label="calibrated attack", fpr=cal["fpr"], tpr=cal["tpr"], band=cal["band"]
            ),
        ],
        n_nonmembers=(~is_member).sum(),
        smallest_fpr=2e-4,
    ),
    alt="ROC curves on log axes. The loss attack lies somewhat below the chance diagonal at false "
    "positive rates under three per cent, then along it, and rises above it only at the far right. "
    "The calibrated attack lies well above the diagonal, by a factor of about seven at one per cent.",
)

# %% [markdown] id="roc-reading"
# The loss attack stays at or below the diagonal until far to the right. There it overtakes even the calibrated attack: it is sure about some *non*-members, and knows no members.
#
# The calibrated attack leaves the diagonal at once. At an FPR of {{ fpr_01:.1% }} it finds {{ cal_tpr_01:.1% }} of the members, but look at its interval: {{ cal_tpr_01_lo:.1% }} to {{ cal_tpr_01_hi:.1% }}. With {{ n_nonmembers:,d }} non-members, {{ fpr_01:.1% }} means *two* of them. That is where the resolution of this experiment ends.

# %% [markdown] id="dpsgd-idea"
# ## 5. DP-SGD by hand
#
# Overfitting less would help. But it would promise nothing: the next attack might be better than ours. **Differential privacy** promises something about all attacks at once. Training is $(\varepsilon, \delta)$-differentially private when, for any two neighbouring training sets $D$, $D'$ and any set $S$ of trained networks,
#
# $$\Pr[\text{training on } D \text{ ends in } S] \;\le\; e^{\varepsilon} \Pr[\text{training on } D' \text{ ends in } S] + \delta .$$
#
# Neighbours differ in one record. So whether you took part changes the probability of anything that follows by a factor of at most $e^\varepsilon$, up to the additive slack δ. At ε = 0 and δ = 0 the two cases cannot be told apart. At ε = 1 the factor is just under three. At ε = 20 it is half a billion, and one may ask what such a promise is worth. Section 7 does.
#
# DP-SGD (Abadi et al. 2016) gets there with three changes to ordinary training. In each step:
#
# 1. **Poisson sampling.** Every record enters the batch by its own coin, with probability $q$.
# 2. **Clipping.** Each record's gradient is scaled down to length $C$ if it is longer. Adding or removing one record then moves the sum by at most $C$.
# 3. **Noise.** Gaussian noise of standard deviation $\sigma C$ is added to every coordinate of the sum. It blurs just that: one record's contribution. σ is called the *noise multiplier*.

# %% [markdown] id="start-private-idea"
# Section 6 needs {{ n_dp_models:d }} networks trained this way. They start now, in the background. Meanwhile we write the algorithm by hand.

# %% id="start-private"
settings = DPSGD(
    sampling_rate=SAMPLING_RATE,
    steps=STEPS,
    max_grad_norm=MAX_GRAD_NORM,
    learning_rate=1.0,
    expected_batch_size=SAMPLING_RATE * POOL / 2,
)
private_seeds = [0] + [200 + k for k in range(N_REFERENCES)]
coins = [np.random.default_rng(seed).random(POOL) < 0.5 for seed in private_seeds[1:]]
IN_DP = np.array([is_member, *coins])
private_networks = population.train_mlps_dpsgd(
    X,
    y,
    IN_DP,
    private_seeds,
    NOISE_MULTIPLIERS,
    settings,
    workers=WORKERS,
    on_done=lab.progress(label="Models trained, each at four amounts of noise"),
)

# %% [markdown] id="clipping-idea"
# Clipping needs the length of *every single record's* gradient, and one backward pass only gives the sum. For dense layers there is a way round. With input $a$ and the loss's derivative $u$ at the output, one record's weight gradient is $a u^\top$. Its squared length is $\lVert a\rVert^2 \lVert u\rVert^2$, and the bias adds $\lVert u\rVert^2$. No per-record gradient is ever stored (Goodfellow 2015).


# %% id="clipped-sum"
def clipped_gradient_sum(network, rows, digits, max_grad_norm):
    """Sum the clipped gradients of a batch; also return each record's gradient norm before clipping."""
    W1, b1, W2, b2 = network.parameters
    before = rows @ W1 + b1
    hidden = torch.relu(before)
    probabilities = torch.softmax(hidden @ W2 + b2, dim=1)

    # The derivatives of each record's loss at the outputs of the second and of the first layer.
    u2 = probabilities - torch.nn.functional.one_hot(digits, 10)
    u1 = (u2 @ W2.T) * (before > 0)

    # Squared norms: the inputs' times the derivatives'; + 1 for the bias.
    first_layer = (u1**2).sum(1) * ((rows**2).sum(1) + 1)
    second_layer = (u2**2).sum(1) * ((hidden**2).sum(1) + 1)
    norm = (first_layer + second_layer).sqrt()

    factor = (max_grad_norm / norm.clamp_min(1e-12)).clamp_max(1)[:, None]
    u1, u2 = factor * u1, factor * u2
    return (rows.T @ u1, u1.sum(0), hidden.T @ u2, u2.sum(0)), norm


# %% [markdown] id="check-clipping-idea"
# Don't take this on trust. Here are two independent checks: PyTorch's autograd, one record at a time, on four records; and Opacus, the library for DP training in PyTorch, whose `GradSampleModule` stores every record's gradient, on a batch of 64.

# %% id="check-clipping"
from opacus.grad_sample import GradSampleModule

warnings.filterwarnings("ignore", "Full backward hook")  # harmless: no input needs a gradient

network = models.initial_mlp(seed=0, n_features=784)
torch_network = torch.nn.Sequential(
    torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)
)
with torch.no_grad():
    for parameter, array in zip(torch_network.parameters(), network.parameters, strict=True):
        parameter.copy_(array.T if array.dim() == 2 else array)  # torch.nn keeps outputs × inputs

_, norms = clipped_gradient_sum(network, X[:4], y[:4], MAX_GRAD_NORM)
for k in range(4):
    torch_network.zero_grad()
    torch.nn.functional.cross_entropy(torch_network(X[k : k + 1]), y[k : k + 1]).backward()
    one_by_one = torch.cat([p.grad.flatten() for p in torch_network.parameters()]).norm()
    print(f"record {k}: norm by the trick {norms[k]:.5f}, by autograd {one_by_one:.5f}")

sums, norms = clipped_gradient_sum(network, X[:64], y[:64], MAX_GRAD_NORM)
per_record = GradSampleModule(torch_network)
per_record.zero_grad()
torch.nn.functional.cross_entropy(per_record(X[:64]), y[:64], reduction="sum").backward()
gradients = torch.cat([p.grad_sample.flatten(1) for p in per_record.parameters()], dim=1)
clipped = gradients * (MAX_GRAD_NORM / gradients.norm(dim=1)).clamp_max(1)[:, None]
ours = torch.cat([(s.T if s.dim() == 2 else s).flatten() for s in sums])
difference = (clipped.sum(0) - ours).norm() / ours.norm()
print(f"clipped sum of 64 records: relative difference to Opacus {difference:.1e}")
lab.claim(
    "clipping-agrees-with-opacus",
    "The clipped gradient sum agrees with Opacus' per-record gradients, clipped one by one.",
    difference.item() < 1e-4,
)

# %% [markdown] id="training-loop-idea"
# Now the loop. Two details are easy to get wrong, and both cost privacy.
#
# **The divisor must be public.** The noisy sum is divided by $q$ times half the pool, {{ dp_expected_batch:.0f }}: the batch size one expects, from public numbers only. Dividing by the size of the batch that was drawn, or by $q$ times the true number of members, would leak a private number in every step.
#
# **An empty batch still counts.** If the coins choose nobody, noise is added all the same. Skipping the step would tell everyone that nobody was chosen. With our numbers that practically never happens; with a few hundred records it does.


# %% id="train-privately-by-hand"
def train_privately(X, y, seed, noise_multiplier):
    """DP-SGD, step by step."""
    network = models.initial_mlp(seed, n_features=784)
    generator = torch.Generator().manual_seed(seed + 1)
    expected_batch_size = SAMPLING_RATE * POOL / 2
    for _step in range(STEPS):
        batch = poisson_batch(len(X), SAMPLING_RATE, generator)
        sums, _ = clipped_gradient_sum(network, X[batch], y[batch], MAX_GRAD_NORM)
        for weights, gradient_sum in zip(network.parameters, sums, strict=True):
            noise = torch.randn(gradient_sum.shape, generator=generator)
            gradient_sum += noise_multiplier * MAX_GRAD_NORM * noise
            weights -= gradient_sum / expected_batch_size  # learning rate 1
    return network


private_by_hand = train_privately(X[members], y[members], seed=0, noise_multiplier=1.0)
print(f"accuracy on the test images: {private_by_hand.accuracy(X_test, y_test):.3f}")

# %% [markdown] id="four-settings"
# ## 6. Four amounts of noise
#
# We train with σ = 0 (clipped, no noise), {{ sigma_06:.1f }}, 1 and 3. For each there is one target and {{ n_ref_dp:d }} reference models, *trained the same way*: an attacker who calibrates against models without noise would be calibrating against the wrong thing. That makes {{ n_dp_models:d }} networks of {{ dp_steps:d }} steps, about {{ dp_epochs:.0f }} passes over the members.
#
# Networks with the same seed and different positive σ see the same batches and the same noise draws, scaled differently. What differs between them is the amount of noise, not its luck. (So the three settings are no independent confirmations of each other. The run without noise draws its own batches.)

# %% [markdown] id="epsilon-idea"
# The **accountant** turns $q$, the number of steps and σ into ε. It never looks at the data or at the network. We ask two, at δ = $10^{-5}$. The RDP accountant (Mironov, Talwar and Zhang 2019) is the classic, and gives an upper bound. The PRV accountant (Gopi, Lee and Wutschitz 2021) composes the privacy loss numerically and gives a tighter one. Both come from Opacus.

# %% id="epsilons"
TAGS = {0.0: "s00", 0.6: "s06", 1.0: "s10", 3.0: "s30"}
epsilons, epsilons_prv = {}, {}
for sigma in NOISY:
    epsilons[sigma] = accounting.epsilon(sigma, SAMPLING_RATE, STEPS, DELTA, accountant="rdp")
    epsilons_prv[sigma] = accounting.epsilon(sigma, SAMPLING_RATE, STEPS, DELTA, accountant="prv")
    lab.record({f"{TAGS[sigma]}_eps": epsilons[sigma]})
    lab.record({f"{TAGS[sigma]}_eps_prv": epsilons_prv[sigma]})
    print(f"σ = {sigma}: ε = {epsilons[sigma]:.2f} by RDP, {epsilons_prv[sigma]:.2f} by PRV")

# %% [markdown] id="collect-idea"
# By now the networks are trained, or nearly. We take them over, and check the first against our loop.

# %% id="train-private-populations"
private = list(private_networks)  # for each model, one network for each σ
lab.record(
    n_ref_dp=N_REFERENCES,
    n_dp_models=len(NOISE_MULTIPLIERS) * (N_REFERENCES + 1),
    dp_q=SAMPLING_RATE,
    dp_steps=STEPS,
    dp_epochs=SAMPLING_RATE * STEPS,
    dp_clip=MAX_GRAD_NORM,
    dp_delta=DELTA,
    dp_expected_batch=settings.expected_batch_size,
)

gap = abs(private[0][1.0].W1 - private_by_hand.W1).max().item()
print(f"largest difference to the weights trained by hand: {gap:.1e}")
lab.claim(
    "dpsgd-is-the-plain-loop",
    "The course's training and the loop by hand give the same network, up to rounding.",
    gap < 1e-3,
)

# %% id="attack-private-models"
PHI_DP, scores_dp, attacked = {}, {}, {}
for sigma, tag in TAGS.items():
    PHI_DP[sigma] = attacks.label_logit_from_logits(
        population.logits([model[sigma] for model in private], X), y
    )
    scores_dp[sigma] = attacks.lira_scores(
        PHI_DP[sigma], IN_DP, 0, online=False, min_variance=VARIANCE_FLOOR
    )
    lab.record({f"{tag}_acc_test": private[0][sigma].accuracy(X_test, y_test)})
    attacked[sigma] = {
        "loss": judge(PHI_DP[sigma][0], f"{tag}_loss", title=f"σ = {sigma}: loss attack"),
        "cal": judge(scores_dp[sigma], f"{tag}_cal", title=f"σ = {sigma}: calibrated attack"),
    }
    keep_roc(f"roc_cal_{tag}", attacked[sigma]["cal"])

# %% [markdown] id="attack-private-reading"
# In one table, for the calibrated attack:
#
# | σ | ε (RDP) | ε (PRV) | test accuracy | AUC | TPR at 1% FPR |
# |---|---|---|---|---|---|
# | 0, clipped | none | none | {{ s00_acc_test:.3f }} | {{ s00_cal_auc:.3f }} [{{ s00_cal_auc_lo:.3f }}, {{ s00_cal_auc_hi:.3f }}] | {{ s00_cal_tpr_1:.2% }} [{{ s00_cal_tpr_1_lo:.2% }}, {{ s00_cal_tpr_1_hi:.2% }}] |
# | {{ sigma_06:.1f }} | {{ s06_eps:.2f }} | {{ s06_eps_prv:.2f }} | {{ s06_acc_test:.3f }} | {{ s06_cal_auc:.3f }} [{{ s06_cal_auc_lo:.3f }}, {{ s06_cal_auc_hi:.3f }}] | {{ s06_cal_tpr_1:.2% }} [{{ s06_cal_tpr_1_lo:.2% }}, {{ s06_cal_tpr_1_hi:.2% }}] |
# | 1 | {{ s10_eps:.2f }} | {{ s10_eps_prv:.2f }} | {{ s10_acc_test:.3f }} | {{ s10_cal_auc:.3f }} [{{ s10_cal_auc_lo:.3f }}, {{ s10_cal_auc_hi:.3f }}] | {{ s10_cal_tpr_1:.2% }} [{{ s10_cal_tpr_1_lo:.2% }}, {{ s10_cal_tpr_1_hi:.2% }}] |
# | 3 | {{ s30_eps:.2f }} | {{ s30_eps_prv:.2f }} | {{ s30_acc_test:.3f }} | {{ s30_cal_auc:.3f }} [{{ s30_cal_auc_lo:.3f }}, {{ s30_cal_auc_hi:.3f }}] | {{ s30_cal_tpr_1:.2% }} [{{ s30_cal_tpr_1_lo:.2% }}, {{ s30_cal_tpr_1_hi:.2% }}] |
#
# Chance is {{ chance_tpr_1:.2% }}. The recipe of DP-SGD without its noise (clipped, plain SGD, {{ dp_epochs:.0f }} passes instead of {{ epochs:d }}) already brings the attack from {{ cal_tpr_1:.1% }} down to {{ s00_cal_tpr_1:.1% }}. But without noise there is no ε, and nothing is promised about a better attack.
#
# With any of the three amounts of noise, chance lies inside the interval of *this one target*. The order of the three rates is luck. At σ = {{ sigma_06:.1f }} and 1 the AUC shows that something leaks all the same. At σ = 3 the interval of the calibrated attack touches ½ and that of the loss attack, [{{ s30_loss_auc_lo:.3f }}, {{ s30_loss_auc_hi:.3f }}], just does not. With so many looks, one such interval proves nothing. Section 9 settles it.

# %% id="claims-private"
lab.claim(
    "clipping-alone-leaks",
    "Without noise, the whole interval of the calibrated TPR at 1% FPR lies above chance.",
    attacked[0.0]["cal"]["limits"]["tpr_1"][0] > chance_1,
)
lab.claim(
    "noise-hides-one-target",
    "With noise, whatever its amount, our target's interval at 1% FPR contains chance.",
    all(contains(attacked[sigma]["cal"]["limits"]["tpr_1"], chance_1) for sigma in NOISY),
)
lab.claim(
    "auc-still-above-half",
    "At σ = 0.6 and σ = 1 the whole interval of the calibrated AUC lies above one half.",
    all(attacked[sigma]["cal"]["limits"]["auc"][0] > 0.5 for sigma in (0.6, 1.0)),
)

# %% [markdown] id="ceiling-idea"
# ## 7. What ε promises
#
# Differential privacy speaks about attacks directly. A guess "member" is an event, so its probability under the two neighbouring training sets obeys the definition:
#
# $$\text{TPR} \le e^{\varepsilon}\, \text{FPR} + \delta .$$
#
# This **single-point ceiling** uses one pair (ε, δ). At σ = {{ sigma_06:.1f }}, ε is about {{ s06_eps:.0f }} and $e^\varepsilon$ is over a billion: the ceiling is cut off at 1 and says nothing. Many people conclude that such an ε "means nothing". That is too quick.
#
# The mechanism is $(\varepsilon, \delta(\varepsilon))$-private for a whole *curve* of pairs at once, and an attack must respect all of them. The best bound at each FPR is the mechanism's **trade-off curve** (Dong, Roth and Su 2022). We compute it from the distribution of the privacy loss (Doroshenko et al. 2022, Google's `dp_accounting`), rounded so that it stays a ceiling. It always says something. The single point below is drawn with the RDP accountant's ε.

# %% id="ceilings"
LOW_FPRS = np.array([0.01, 0.001])
point, tradeoff = {}, {}
for sigma in NOISY:
    point[sigma] = audit.tpr_ceiling(LOW_FPRS, epsilons[sigma], DELTA)
    tradeoff[sigma] = audit.tradeoff_tpr(LOW_FPRS, sigma, SAMPLING_RATE, STEPS)
    for name, ceiling_at in (("bound", point[sigma]), ("tradeoff", tradeoff[sigma])):
        lab.record(
            {f"{TAGS[sigma]}_{name}_1": ceiling_at[0], f"{TAGS[sigma]}_{name}_01": ceiling_at[1]}
        )
    print(f"σ = {sigma}, TPR at 1% FPR: at most {point[sigma][0]:.4f} by the single point,")
    print(f"         at most {tradeoff[sigma][0]:.4f} by the trade-off curve")
lab.claim(
    "only-strong-noise-is-capped",
    "Only σ = 3 has a single-point ceiling below 5% at an FPR of 1%.",
    point[3.0][0] < 0.05 <= min(point[0.6][0], point[1.0][0]),
)

# %% id="plot-ceilings"
panels = []
for sigma in NOISY:
    attack = attacked[sigma]["cal"]
    curve = plots.Curve(
        label="calibrated attack", fpr=attack["fpr"], tpr=attack["tpr"], band=attack["band"]
    )
    by_point = audit.tpr_ceiling(GRID, epsilons[sigma], DELTA)
    by_curve = audit.tradeoff_tpr(GRID, sigma, SAMPLING_RATE, STEPS)
    ceilings = [
        plots.Ceiling(label="single point (ε, δ)", fpr=GRID, tpr=by_point),
        plots.Ceiling(label="trade-off curve", fpr=GRID, tpr=by_curve),
    ]
    panel_title = f"σ = {sigma}, ε = {epsilons[sigma]:.2f}"
    panels.append((panel_title, [curve], ceilings))
plots.show(
    plots.roc_panels(panels, (~is_member).sum(), smallest_fpr=2e-4, columns=3),
    alt="Three ROC plots on log axes, for noise multipliers 0.6, 1 and 3, each with the attack near "
    "the chance line and two ceilings. The single-point ceiling is at one throughout for 0.6, from "
    "under 0.2 per cent on for 1, and from almost 30 per cent on for 3. The trade-off curve lies "
    "below it and comes down to about twice the chance line for the largest noise.",
)

# %% [markdown] id="ceiling-reading"
# The dashed ceiling from the single point is glued to the top for σ = {{ sigma_06:.1f }}, and nearly everywhere for σ = 1. Only at σ = 3 does it say something at 1% FPR: at most {{ s30_bound_1:.1% }}.
#
# The trade-off curve speaks in all three. If nobody can predict the noise, then no attack, whatever its knowledge and its computing power, finds on average more than {{ s06_tradeoff_1:.1% }} of the members at 1% FPR for σ = {{ sigma_06:.1f }}, {{ s10_tradeoff_1:.1% }} for σ = 1, and {{ s30_tradeoff_1:.2% }} for σ = 3. The first is a weak promise, although our attack found next to nothing. The last is a strong one.
#
# The bound holds for one record at a time. It also holds for the rates that we measure over all records, because the curve is concave, and up to sampling error.
#
# Between our attack and the ceiling there is a wide gap. The attack may be weak. Or the ceiling belongs to someone else: an attacker who sees every step, against the worst record in the worst data set. Section 8 shows how little a measurement can say about that.

# %% id="claims-ceilings"
lab.claim(
    "nothing-above-a-ceiling",
    "For our target, neither attack's TPR at 1% or at 0.1% FPR exceeds a ceiling.",
    all(
        attacked[sigma][attack][key] <= min(point[sigma][k], tradeoff[sigma][k])
        for sigma in NOISY
        for attack in ("loss", "cal")
        for k, key in enumerate(("tpr_1", "tpr_01"))
    ),
)

# %% [markdown] id="audit-idea"
# ## 8. What an attack proves
#
# Turn the ceiling around. If an attack does *better* than some ε allows, then the training was not ε-private. An attack thus proves a **lower bound** on ε. This is called an audit. The accountant bounds ε from above, the audit from below, with a stated confidence.
#
# The textbook way trains many networks with and without one record. Steinke, Nasr and Jagielski (2023) need a single run of the training that is audited, in which many records have independent coins. That is just what we have. The attacker says "member" or "non-member" of the records it is surest about, and abstains from the rest. Under ε-privacy it gets each guess right with a probability of at most $e^\varepsilon/(1 + e^\varepsilon)$: ½ at ε = 0, and close to one at ε = 5. If $W$ of $r$ guesses are right, then
#
# $$\Pr[W \text{ or more right}] \le \Pr\!\left[\text{Binomial}\!\left(r, \tfrac{e^\varepsilon}{1+e^\varepsilon}\right) \ge W\right] + \text{a small term for } \delta .$$
#
# If so many hits would be very unlikely, below 5%, that ε is refuted. The largest refuted ε is our lower bound, with 95% confidence.
#
# From which score on to guess is chosen on one random half of the records, and the guesses are counted on the other. A rule tuned on the records it is judged by would prove too much. For the private networks we also use the plainest rule, with nothing to choose: call the upper half of all scores members, the lower half non-members.
#
# We audit three scores of the overfit target. The third is online LiRA, which section 9 explains.


# %% id="audit"
# The network of the second half of this section starts to train now, in the background.
N_CANARIES = lab.pick(smoke=150, quick=1_000)
rng = np.random.default_rng(2)
canaries = rng.choice(POOL, N_CANARIES, replace=False)
y_wrong = y.clone()
y_wrong[canaries] = (y[canaries] + torch.from_numpy(rng.integers(1, 10, N_CANARIES))) % 10
canary_member = rng.random(POOL) < 0.5
canary_training = population.train_mlps(
    X, y_wrong, canary_member[None], [2], epochs=EPOCHS, workers=WORKERS
)

N_SPLITS = lab.pick(smoke=3, quick=60)


def prove(scores, membership, key, label, delta=0.0):
    """Audit a network's scores on one split, fixed in advance; keep the proven ε, and print it."""
    found = audit.audit_scores(scores, membership, np.random.default_rng(0), delta=delta)
    lab.record({key: found.epsilon})
    print(
        f"{padded(label, 28)} {found.correct:4d} of {found.guesses:4d} guesses right: ε ≥ {found.epsilon:.2f}"
    )
    return found.epsilon


def describe_splits(scores, key):
    """How far the proven ε depends on the split: its median and range over other splits."""
    values = [
        audit.audit_scores(scores, is_member, np.random.default_rng(1 + k)).epsilon
        for k in range(N_SPLITS)
    ]
    lab.record({f"{key}_median": np.median(values)})
    lab.record({f"{key}_min": min(values), f"{key}_max": max(values)})
    print(
        f"  other splits: median {np.median(values):.2f}, from {min(values):.2f} to {max(values):.2f}"
    )


print("overfit target, δ = 0")
online = attacks.lira_scores(PHI, IN, 0, online=True, fixed_var=True)
audited = {}
overfit_labels = {
    "loss_audit_eps_lo": "loss attack",
    "cal_audit_eps_lo": "calibrated attack",
    "lira_on_fixed_audit_eps_lo": "online LiRA, fixed variance",
}
for (key, label), scores in zip(
    overfit_labels.items(), (phi_target, calibrated, online), strict=True
):
    audited[key] = prove(scores, is_member, key, label=label)
    describe_splits(scores, key)

print("private targets, calibrated attack, δ = 1e-5")
for sigma in NOISY:
    scores, tag = scores_dp[sigma], TAGS[sigma]
    audited[sigma] = prove(
        scores, is_member, f"{tag}_audit_eps_lo", label=f"σ = {sigma}, surest records", delta=DELTA
    )
    right = ((scores > np.median(scores)) == is_member).sum()
    plain = audit.one_run_epsilon(int(right), POOL, delta=DELTA, n_records=POOL)
    audited[sigma, "all"] = plain
    lab.record({f"{tag}_audit_all_eps_lo": plain})
    all_label = f"σ = {sigma}, all records"
    print(f"{padded(all_label, 28)} {right:4d} of {POOL:4d} guesses right: ε ≥ {plain:.2f}")
lab.record(n_splits=N_SPLITS, one_run_cap=audit.one_run_epsilon(POOL // 2, POOL // 2))
lab.claim(
    "audit-below-accountant",
    "For the private targets every audited ε is at most the accountant's.",
    all(max(audited[s], audited[s, "all"]) <= epsilons_prv[s] for s in NOISY),
)

# %% [markdown] id="audit-reading"
# | training | audit proves ε ≥ | with all records ε ≥ | accountant says ε ≤ (PRV) |
# |---|---|---|---|
# | overfit, loss attack | {{ loss_audit_eps_lo:.2f }} | | no finite ε |
# | overfit, calibrated attack | {{ cal_audit_eps_lo:.2f }} | | no finite ε |
# | overfit, online LiRA | {{ lira_on_fixed_audit_eps_lo:.2f }} | | no finite ε |
# | σ = {{ sigma_06:.1f }} | {{ s06_audit_eps_lo:.2f }} | {{ s06_audit_all_eps_lo:.2f }} | {{ s06_eps_prv:.2f }} |
# | σ = 1 | {{ s10_audit_eps_lo:.2f }} | {{ s10_audit_all_eps_lo:.2f }} | {{ s10_eps_prv:.2f }} |
# | σ = 3 | {{ s30_audit_eps_lo:.2f }} | {{ s30_audit_all_eps_lo:.2f }} | {{ s30_eps_prv:.2f }} |
#
# The overfit rows are instructive. Once its seed is known, ordinary training is deterministic: someone who knows all other records trains twice and compares. No finite ε holds, for any δ below 1. Yet the audits certify small numbers, and quite different ones. A small audited ε is *not* evidence of privacy. Four things hold it down.
#
# 1. **The score.** The loss attack was worthless for pointing at members. But it says "non-member" almost without error, and an audit counts both kinds of guesses.
# 2. **Counting.** Even if all guesses about half the pool were right, one run would prove no more than {{ one_run_cap:.1f }}. The bound grows with the logarithm of the number of records. And the split is luck: over {{ n_splits:d }} others, the audit of the calibrated attack runs from {{ cal_audit_eps_lo_min:.1f }} to {{ cal_audit_eps_lo_max:.1f }}.
# 3. **Ordinary records.** Most digits leave a faint trace only. They are poor witnesses.
# 4. **A distant attacker.** We query the finished network once per record, and nothing else.
#
# In the private rows the proofs are close to zero, and a proof of zero is no proof that nothing leaks: the AUC showed a leak at σ = {{ sigma_06:.1f }} and 1. A handful of sure guesses has little power to see it; a guess about everybody sees a little more. (Each line stands for itself at 95%. Whoever makes many such statements must expect one to fail.)
#
# Point 3 can be improved on, with records made to be remembered.

# %% [markdown] id="canary-idea"
# ### Canaries
#
# A **canary** is a record planted to be a good witness. We give {{ n_canaries:,d }} images of the pool a wrong label, toss new coins for everybody, and train the overfit network once more. (It has been training since the section began.) A network will hardly call this seven a three unless it has seen this seven *labelled* three. The plain true-label logit, of the wrong label, is enough of an attack.

# %% id="canaries"
canary_network = next(canary_training)
phi_canary = attacks.label_logit_from_logits(canary_network.logits(X), y_wrong)[canaries]
caught = metrics.attack_metrics(phi_canary, canary_member[canaries])
lab.record(n_canaries=N_CANARIES, canary_auc=caught["auc"], canary_tpr_1=caught["tpr_1"])
print(f"canaries: AUC {caught['auc']:.3f}, TPR at 1% FPR {caught['tpr_1']:.3f}")
audited["canary"] = prove(
    phi_canary, canary_member[canaries], "canary_audit_eps_lo", label="mislabelled canaries"
)
lab.record(canary_cap=audit.one_run_epsilon(N_CANARIES // 2, N_CANARIES // 2))
lab.claim(
    "canaries-prove-more",
    "With mislabelled canaries the audit proves more than with ordinary records, by any of the three scores.",
    audited["canary"]
    > max(
        audited["loss_audit_eps_lo"],
        audited["cal_audit_eps_lo"],
        audited["lira_on_fixed_audit_eps_lo"],
    ),
)

# %% [markdown] id="canary-reading"
# The attack on the canaries has an AUC of {{ canary_auc:.3f }} and proves ε ≥ {{ canary_audit_eps_lo:.1f }}, where {{ n_canaries:,d }} coins, half of them spent on choosing the rule, cannot prove more than {{ canary_cap:.1f }}. With ordinary records, the same plain score proved {{ loss_audit_eps_lo:.1f }} from four times as many coins. The witnesses are better.
#
# Audits of DP-SGD that come close to the accountant's value take more than good witnesses. Nasr et al. (2021) let the attacker insert gradients and choose the data set, over many runs. Nasr et al. (2023) use natural data and two runs, and watch every step. Against *that* attacker the accountant's ε is close to tight. Against one who sees only the finished network the gap is wider, and how much of it is real depends on the case: with initial weights chosen by the auditor, Annamalai and De Cristofaro (2024) measure between 6 and 8 on MNIST where the accountant says 10. For ordinary initial weights and ordinary records it is an open question.

# %% [markdown] id="targets-idea"
# ## 9. One target is one sample
#
# All results so far concern one target. Its intervals cover the luck of the records, not that of the training. But we have {{ n_targets:d }} networks of each kind, and nothing makes the first one special. Attack each in turn, with the others as its reference models: {{ n_targets:d }} targets for free.
#
# We also bring another attack, often the strongest. **Online LiRA** (Carlini et al. 2022) uses the reference models that *did* see the record as well. It fits one normal distribution to the scores with the record and one to those without, and takes the log of the likelihood ratio. With {{ n_ref:d }} models the two variances of each record are shaky, so the *fixed-variance* form shares two variances among all records.

# %% id="all-targets"
populations = {"": (PHI, IN)} | {f"{TAGS[s]}_": (PHI_DP[s], IN_DP) for s in NOISE_MULTIPLIERS}
over_targets = {}
for prefix, (PHI_all, IN_all) in populations.items():
    scores_of = {
        "loss": PHI_all,
        "cal": attacks.lira_scores_all(PHI_all, IN_all, online=False, min_variance=VARIANCE_FLOOR),
        "lira_on_fixed": attacks.lira_scores_all(PHI_all, IN_all, online=True, fixed_var=True),
    }
    for attack, scores in scores_of.items():
        each = [metrics.attack_metrics(s, m) for s, m in zip(scores, IN_all, strict=True)]
        for key in ("auc", "tpr_1", "tpr_01"):
            values = np.array([found[key] for found in each])
            over_targets[prefix, attack, key] = values
            lab.record({f"{prefix}{attack}_{key}_mean": values.mean()})
            lab.record({f"{prefix}{attack}_{key}_sd": values.std(ddof=1)})
N_TARGETS = N_REFERENCES + 1
lab.record(n_targets=N_TARGETS)

setting_labels = {
    "": "overfit",
    "s00_": "σ = 0",
    "s06_": "σ = 0.6",
    "s10_": "σ = 1",
    "s30_": "σ = 3",
}
attack_labels = {
    "loss": "loss attack",
    "cal": "calibrated attack",
    "lira_on_fixed": "online LiRA, fixed variance",
}
print(f"TPR at 1% FPR, mean ± standard deviation over {N_TARGETS} targets")
for prefix, setting_label in setting_labels.items():
    print(setting_label)
    for attack, label in attack_labels.items():
        values = over_targets[prefix, attack, "tpr_1"]
        print(f"  {padded(label, 28)} {values.mean():.2%} ± {values.std(ddof=1):.2%}")

# %% id="plot-targets"
figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
jitter = np.random.default_rng(0)
for shift, (attack, label) in enumerate(attack_labels.items()):
    marker, color = "os^"[shift], f"C{shift}"
    for place, prefix in enumerate(setting_labels):
        values = over_targets[prefix, attack, "tpr_1"]
        x = place + 0.26 * (shift - 1) + jitter.uniform(-0.07, 0.07, len(values))
        axes.plot(
            x, values, marker, color=color, mfc="none", ms=4, label=label if place == 0 else None
        )
        axes.plot(
            [place + 0.26 * (shift - 1) + d for d in (-0.11, 0.11)],
            [values.mean()] * 2,
            color="black",
        )
axes.axhline(chance_1, color="black", linestyle=":", label="chance")
axes.set_xticks(range(len(setting_labels)), list(setting_labels.values()))
axes.set_yscale("log")
ticks = (0.003, 0.01, 0.03, 0.1)
axes.set_yticks(ticks, [plots.percent(tick) for tick in ticks])
axes.minorticks_off()
axes.set_ylabel("TPR at 1% FPR")
axes.legend()
plots.show(
    figure,
    alt="The true positive rate at one per cent false positives of three attacks, one mark a target, "
    "for five ways of training. On overfit targets calibrated and online attack lie far above chance, "
    "the online one highest; without noise less so; at noise multiplier 0.6 their means are one and a "
    "half and two times chance. At 1 the online mean is a little above it, at 3 both means lie below. "
    "The loss attack's marks scatter around chance everywhere.",
)

# %% [markdown] id="targets-reading"
# Each mark is one target, each bar a mean. On the overfit networks online LiRA with fixed variance finds {{ lira_on_fixed_tpr_1_mean:.1% }} of the members at an FPR of 1%, where the calibrated attack finds {{ cal_tpr_1_mean:.1% }}. At an FPR of {{ fpr_01:.1% }} it is {{ lira_on_fixed_tpr_01_mean:.1% }} against {{ cal_tpr_01_mean:.1% }}. The same queries, better statistics.
#
# It is best where memorisation is strong. At σ = 1 and 3 its mean AUC is below that of the calibrated attack: {{ s10_lira_on_fixed_auc_mean:.3f }} against {{ s10_cal_auc_mean:.3f }}, and {{ s30_lira_on_fixed_auc_mean:.3f }} against {{ s30_cal_auc_mean:.3f }}. No attack is the strongest everywhere.
#
# Look at σ = {{ sigma_06:.1f }}. The interval of our one target contained chance: "not detected". The mean over all targets is {{ s06_cal_tpr_1_mean:.2% }}. Is that above chance? The targets share a pool and serve as each other's references, so their spread is no safe yardstick. The next cell makes one. It replaces everybody's membership by new coins, unrelated to any network, and repeats the whole evaluation, {{ n_null:d }} times.

# %% id="null-over-targets"
N_NULL = lab.pick(smoke=5, quick=60)
fresh = np.random.default_rng(9)


def mean_tpr(membership):
    """The mean over targets, at σ = 0.6, of the calibrated TPR at 1% FPR, for any membership."""
    scores = attacks.lira_scores_all(
        PHI_DP[0.6], membership, online=False, min_variance=VARIANCE_FLOOR
    )
    curves = [metrics.roc_curve(s, m) for s, m in zip(scores, membership, strict=True)]
    return np.mean([metrics.tpr_at_fpr(*curve, 0.01) for curve in curves])


ranks = {sigma: rankdata(PHI_DP[sigma], axis=1) for sigma in NOISY}


def mean_loss_auc(sigma, membership):
    """The mean over targets of the loss attack's AUC, by the ranks of the members' scores."""
    n_in = membership.sum(axis=1)
    above = (ranks[sigma] * membership).sum(axis=1) - n_in * (n_in + 1) / 2
    return np.mean(above / (n_in * (POOL - n_in)))


coins = [fresh.random(IN_DP.shape) < 0.5 for _ in range(N_NULL)]
null = [mean_tpr(tossed) for tossed in coins]
lab.record(n_null=N_NULL, s06_null_mean=np.mean(null), s06_null_max=max(null))
print(f"true coins {mean_tpr(IN_DP):.2%}; new coins {np.mean(null):.2%}, at most {max(null):.2%}")
lab.claim(
    "absent-is-not-undetected",
    "At σ = 0.6 the calibrated mean TPR at 1% FPR lies above what new coins give, in all repetitions.",
    mean_tpr(IN_DP) > max(null),
)
lab.claim(
    "loss-auc-above-half-on-average",
    "At each of the three σ, the loss attack's mean AUC lies above one half and above what new coins give, in all repetitions.",
    all(
        mean_loss_auc(sigma, IN_DP) > max(0.5, *(mean_loss_auc(sigma, tossed) for tossed in coins))
        for sigma in NOISY
    ),
)
lab.claim(
    "fixed-variance-is-stronger",
    "On overfit targets, online LiRA has more than twice the calibrated attack's mean TPR at 0.1% FPR.",
    over_targets["", "lira_on_fixed", "tpr_01"].mean()
    > 2 * over_targets["", "cal", "tpr_01"].mean(),
)
lab.claim(
    "no-attack-is-always-best",
    "At σ = 1 and σ = 3, online LiRA's mean AUC is below the calibrated attack's.",
    all(
        over_targets[prefix, "lira_on_fixed", "auc"].mean()
        < over_targets[prefix, "cal", "auc"].mean()
        for prefix in ("s10_", "s30_")
    ),
)
lab.claim(
    "means-below-the-ceilings",
    "No attack's mean TPR over targets, at 1% or 0.1% FPR, exceeds a ceiling.",
    all(
        over_targets[f"{TAGS[sigma]}_", attack, key].mean()
        <= min(point[sigma][k], tradeoff[sigma][k])
        for sigma in NOISY
        for attack in attack_labels
        for k, key in enumerate(("tpr_1", "tpr_01"))
    ),
)

# %% [markdown] id="null-reading"
# With new coins the mean is {{ s06_null_mean:.2% }}, and never above {{ s06_null_max:.2% }}. With the true ones it is {{ s06_cal_tpr_1_mean:.2% }}. So training at σ = {{ sigma_06:.1f }} leaks at this end of the curve too, and one target could not show it. **Not detected is not the same as absent.** It may only mean that the test had too little power.
#
# The loss attack, too, has a mean AUC above ½ at every amount of noise: {{ s06_loss_auc_mean:.3f }}, {{ s10_loss_auc_mean:.3f }} and {{ s30_loss_auc_mean:.3f }}. None of this contradicts the guarantee. Differential privacy never said that nothing leaks. It says *how much at most*, and the means stay far below the ceilings. (A single target may well be measured above one: at σ = 3 and an FPR of {{ fpr_01:.1% }}, two non-members decide.)

# %% [markdown] id="utility"
# ## 10. What it costs
#
# Noise hides records because it hides everything a little. Here is the accuracy on the test images against ε: the mean over the {{ n_targets:d }} networks of each setting, with their standard deviation.

# %% id="plot-utility"
accuracy = {
    sigma: population.accuracies(
        [model[sigma] for model in private], X_test, y_test, workers=WORKERS
    )
    for sigma in NOISE_MULTIPLIERS
}
for sigma, values in accuracy.items():
    lab.record({f"{TAGS[sigma]}_acc_test_mean": values.mean()})
    lab.record({f"{TAGS[sigma]}_acc_test_sd": values.std(ddof=1)})
    print(f"σ = {sigma}: accuracy {values.mean():.3f} ± {values.std(ddof=1):.3f}")

mean = [accuracy[sigma].mean() for sigma in NOISY]
deviation = [accuracy[sigma].std(ddof=1) for sigma in NOISY]
without_noise_label = "DP-SGD without noise (no ε)"
ordinary_label = "ordinary training (no ε)"
plots.show(
    plots.utility(
        [("DP-SGD", [epsilons_prv[sigma] for sigma in NOISY], mean, deviation)],
        [(without_noise_label, accuracy[0.0].mean()), (ordinary_label, acc_test)],
        xlabel="ε by PRV at δ = 1e-5 (logarithmic; more private to the left)",
    ),
    alt="Test accuracy against epsilon, on a log axis, for three amounts of noise. It rises from "
    f"{mean[2]:.2f} at the smallest epsilon to {mean[0]:.2f} at the largest. Two horizontal lines lie "
    f"above: DP-SGD without noise at {accuracy[0.0].mean():.2f}, ordinary training at {acc_test:.2f}.",
)
lab.claim(
    "accuracy-falls-with-noise",
    "Accuracy falls as σ grows.",
    all(
        accuracy[less].mean() > accuracy[more].mean()
        for less, more in ((0.0, 0.6), (0.6, 1.0), (1.0, 3.0))
    ),
)

# %% [markdown] id="utility-reading"
# Without noise the private recipe reaches an accuracy of {{ s00_acc_test_mean:.3f }}, where ordinary training reached {{ target_acc_test:.3f }}. Noise takes it down to {{ s06_acc_test_mean:.3f }}, {{ s10_acc_test_mean:.3f }} and {{ s30_acc_test_mean:.3f }}.
#
# This curve belongs to *two thousand* training images. The noise stays the same however many images there are, while the sum of their gradients grows. So more data gives more accuracy at the same ε. On all 60,000 images, Abadi et al. (2016) report 95% at ε = 2 and the same δ, with a larger network, other settings and a private PCA in front, so that the difference is not the data's alone.
#
# It also belongs to settings fixed in advance. Choosing clipping norm, steps and learning rate by what works best *on the private data* leaks too, and has to be accounted for (Papernot and Steinke 2022).

# %% [markdown] id="summary"
# ### What to take home
#
# - A weak attack that finds little says little. Calibrate by record, and look at low false positive rates.
# - ε is a promise about all attacks, made by the training and computed by an accountant. A measurement can refute it, with a stated confidence, and never confirm it.
# - At a large ε, a single pair (ε, δ) says next to nothing about the TPR. The mechanism's trade-off curve still does.
# - An audit proves a lower bound, limited by its score, its number of coins, its witnesses and its access.
# - DP bounds, by ε, everything that depends on *your record having been in the data*. It does not hide what the population shows: that smokers fall ill more often can be learnt without you.

# %% [markdown] id="exercises"
# ## 11. Exercises
#
# The first three are functions to complete. The last two are experiments: write down what you expect *before* you run them.
#
# The cell below each exercise checks your answer. Run it as often as you like: it says whether the answer is right and, where it is not, shows an input that fails and what was expected. It never shows the code of the answer. For a hint to exercise 1, run `ex.hint(1)` in a cell of your own; run it again for the next hint. `ex.solution(1)` shows the code of a reference answer. Try first.

# %% [markdown] id="exercise-ceiling"
# **Exercise 1: the ceiling.** Write the ceiling of section 7, $e^\varepsilon\,\text{FPR} + \delta$, cut off at 1, for one number `fpr`. Then compare with `audit.tpr_ceiling`. (It is *a* bound. The sharp one also uses the guess "non-member", and is lower at a large FPR: `audit.two_sided_tpr_ceiling`, after Kairouz, Oh and Viswanath 2015.)


# %% id="ceiling" tags=["exercise-1"]
def ceiling(epsilon, delta, fpr):
    """The single-point ceiling on the TPR at this FPR under (epsilon, delta)-DP."""
    # BEGIN SOLUTION
    return min(1.0, float(np.exp(epsilon)) * fpr + delta)
    # STUB return None
    # END SOLUTION


print("yours:", ceiling(1.0, DELTA, 0.01), "library:", audit.tpr_ceiling(0.01, 1.0, DELTA))

# %% id="check-1"
ex.check(1, ceiling)

# %% [markdown] id="exercise-clip"
# **Exercise 2: clip.** `gradients` is a NumPy matrix with one record's gradient in each row. Scale every row that is longer than `max_norm` down to that length, and leave the others as they are. Beware of rows of zeros. The matrix you are given must not change.


# %% id="clip-rows" tags=["exercise-2"]
def clip_rows(gradients, max_norm):
    """The rows of gradients, each at most max_norm long."""
    # BEGIN SOLUTION
    lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
    return gradients * np.minimum(1.0, max_norm / np.maximum(lengths, 1e-12))
    # STUB return None
    # END SOLUTION


# %% id="check-2"
ex.check(2, clip_rows)

# %% [markdown] id="exercise-steps"
# **Exercise 3: twice as long.** You train for {{ dp_steps_doubled:d }} steps instead of {{ dp_steps:d }}, at σ = 1 and the same $q$ and δ. First guess, on paper: does ε double, grow by a factor of $\sqrt 2$, or something else? Then compute it: `accounting.epsilon(noise_multiplier, sampling_rate, steps, delta, accountant="rdp")`.


# %% id="double-steps" tags=["exercise-3"]
def epsilon_after(steps):
    """The ε of this many steps at σ = 1, sampling rate 0.05 and δ = 1e-5, by the RDP accountant."""
    # BEGIN SOLUTION
    return accounting.epsilon(1.0, SAMPLING_RATE, steps, DELTA, accountant="rdp")
    # STUB return None
    # END SOLUTION


print(epsilon_after(STEPS), epsilon_after(2 * STEPS))

# %% id="check-3"
ex.check(3, epsilon_after, sampling_rate=SAMPLING_RATE, delta=DELTA)

# %% [markdown] id="exercise-pool"
# **Exercise 4: a smaller pool.** Which attack gets stronger, if any, when the pool has half the size? Why? `overfit_experiment` repeats sections 2 and 3 for any pool size; it takes a few seconds. Compare with the full pool. One run is one sample: a difference of two hundredths in an AUC may be luck.


# %% id="overfit-experiment"
def overfit_experiment(pool_size):
    """Sections 2 and 3 on the first records of the pool: what both attacks reach."""
    few = slice(pool_size)
    networks = list(
        population.train_mlps(
            X[few], y[few], IN[:, few], [1, *reference_seeds], epochs=EPOCHS, workers=WORKERS
        )
    )
    phi = attacks.label_logit_from_logits(population.logits(networks, X[few]), y[few])
    scores = attacks.lira_scores(phi, IN[:, few], 0, online=False, min_variance=VARIANCE_FLOOR)
    loss_found = metrics.attack_metrics(phi[0], IN[0, few])
    cal_found = metrics.attack_metrics(scores, IN[0, few])
    return {
        "loss_auc": loss_found["auc"],
        "cal_auc": cal_found["auc"],
        "cal_tpr_1": cal_found["tpr_1"],
    }


print({"loss_auc": loss["auc"], "cal_auc": cal["auc"], "cal_tpr_1": cal["tpr_1"]}, "full pool")

# %% id="smaller-pool" tags=["exercise-4"]
# BEGIN SOLUTION
smaller_pool = overfit_experiment(POOL // 2)
# STUB smaller_pool = None
# END SOLUTION
print(smaller_pool, "half the pool")

# %% id="check-4"
ex.check(4, smaller_pool)

# %% [markdown] id="exercise-small-c"
# **Exercise 5: clip harder.** Train once more at σ = 1, with $C$ = {{ small_c:.1f }} instead of {{ dp_clip:.0f }}, and measure the test accuracy. What happens to ε? What happens to the accuracy, and to the *size of a step*? Step and noise both shrink with $C$ while the learning rate stays. (`dataclasses.replace(settings, max_grad_norm=...)` gives the new settings; `next(population.train_mlps_dpsgd(X, y, is_member[None], [0], [σ], new_settings))[σ]` trains one network.)


# %% id="clip-harder" tags=["exercise-5"]
def train_with_clipping_norm(max_grad_norm):
    """A network trained like the target at σ = 1, with another clipping norm."""
    # BEGIN SOLUTION
    other = dataclasses.replace(settings, max_grad_norm=max_grad_norm)
    trained = population.train_mlps_dpsgd(X, y, is_member[None], [0], [1.0], other)
    return next(trained)[1.0]
    # STUB return None
    # END SOLUTION


SMALL_C = 0.1
lab.record(small_c=SMALL_C)
clipped_harder = train_with_clipping_norm(SMALL_C)
if clipped_harder is not None:
    print(f"C = {SMALL_C}: accuracy {clipped_harder.accuracy(X_test, y_test):.3f}")

# %% id="check-5"
ex.check(5, clipped_harder, X_test=X_test, y_test=y_test)

# %% id="progress"
ex.progress()

# %% [markdown] id="references"
# ## References
#
# - Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar and Zhang (2016). *Deep Learning with Differential Privacy.*
# - Aerni, Zhang and Tramèr (2024). *Evaluations of Machine Learning Privacy Defenses are Misleading.*
# - Annamalai and De Cristofaro (2024). *Nearly Tight Black-Box Auditing of Differentially Private Machine Learning.*
# - Carlini, Chien, Nasr, Song, Terzis and Tramèr (2022). *Membership Inference Attacks From First Principles.*
# - Dong, Roth and Su (2022). *Gaussian Differential Privacy.*
# - Doroshenko, Ghazi, Kamath, Kumar and Manurangsi (2022). *Connect the Dots: Tighter Discrete Approximations of Privacy Loss Distributions.*
# - Goodfellow (2015). *Efficient Per-Example Gradient Computations.*
# - Gopi, Lee and Wutschitz (2021). *Numerical Composition of Differential Privacy.*
# - Kairouz, Oh and Viswanath (2015). *The Composition Theorem for Differential Privacy.*
# - LeCun, Cortes and Burges (1998). *The MNIST Database of Handwritten Digits.*
# - Mironov, Talwar and Zhang (2019). *Rényi Differential Privacy of the Sampled Gaussian Mechanism.*
# - Nasr, Song, Thakurta, Papernot and Carlini (2021). *Adversary Instantiation: Lower Bounds for Differentially Private Machine Learning.*
# - Nasr, Hayes, Steinke, Balle, Tramèr, Jagielski, Carlini and Terzis (2023). *Tight Auditing of Differentially Private Machine Learning.*
# - Papernot and Steinke (2022). *Hyperparameter Tuning with Rényi Differential Privacy.*
# - Steinke, Nasr and Jagielski (2023). *Privacy Auditing with One (1) Training Run.*
# - Watson, Guo, Cormode and Sablayrolles (2022). *On the Importance of Difficulty Calibration in Membership Inference Attacks.*
# - Yeom, Giacomelli, Fredrikson and Jha (2018). *Privacy Risk in Machine Learning: Analyzing the Connection to Overfitting.*

# %% id="results"
lab.record(dp_steps_doubled=2 * STEPS, sigma_06=0.6)
lab.save()
