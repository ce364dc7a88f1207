# untranslated: "center left" (a place in a figure)

# %% [markdown] id="title"
# # Was this image in the training set?
#
# ## Membership inference and DP-SGD on MNIST
#
# A neural network is trained on some images, and kept away from others. You may query it as often as you like, but you never see its training set. Can you tell which images it was trained on?
#
# If you can, the network has given something away about each of those images. For handwritten digits nobody minds. For X-rays, messages or loan files, *this person was in the data* can be the very thing that should stay private.
#
# In this lab you attack a network twice: once crudely, once well. Then you train it with **DP-SGD**, which bounds what *any* attack can find, and you look at three things side by side: what the attack finds, what the theory promises, and what the protection costs.

# %% [markdown] id="ground-rules"
# > **The ground rules of this lab**
# >
# > | | |
# > |---|---|
# > | unit of privacy | one image with its label: one *record* |
# > | adjacency | add/remove: two training sets are neighbours when one holds one record more than the other |
# > | public | the pool's size, the pixel scaling, the architecture, and every setting of the training: sampling rate, number of steps, clipping norm, noise, learning rate |
# > | private | who of the pool is a member, and so the exact number of members |
# > | what the attacker sees | the logits of the finished network, for any image; also the pool, and how the network was trained |
# > | what DP-SGD assumes the attacker sees | much more: the noisy gradient sum of every single step |
# >
# > The noise in this lab comes from an ordinary random generator. That is fine for teaching. Real protection needs a
# > cryptographically secure one.

# %% [markdown] id="reference-run"
# **About the numbers.** Figures quoted in the text come from the reference run of {{ meta.date }} (Python {{ meta.versions.python }}, PyTorch {{ meta.versions.torch }}, profile {{ meta.profile }}). Yours may differ in the last digit or two: another processor adds floating point numbers in another order, and training magnifies the difference. Beside every sentence that says what the numbers show, the code checks that it holds for *your* numbers, and prints ✓ or ✗.

# %% id="parameters" tags=["parameters"]
import dataclasses

import matplotlib.pyplot as plt
import numpy as np
import torch

from course_lib import accounting, attacks, audit, metrics, models, plots, population
from course_lib.data import load_mnist
from course_lib.dpsgd import DPSGD, poisson_batch
from course_lib.lab import Lab

lab = Lab("mnist_dpsgd", profile="quick")  # or "smoke": everything tiny, to see whether it runs

POOL = lab.pick(smoke=600, quick=4_000)  # candidate images
EPOCHS = lab.pick(smoke=2, quick=60)  # of the ordinary training
N_REFERENCES = lab.pick(smoke=4, quick=16)  # networks that the attacker trains
STEPS = lab.pick(smoke=8, quick=300)  # of DP-SGD
SAMPLING_RATE = 0.05  # q: the chance of each record to be in a batch of DP-SGD
MAX_GRAD_NORM = 1.0  # C: the length to which every record's gradient is cut
NOISE_MULTIPLIERS = (0.0, 0.6, 1.0, 3.0)  # σ
DELTA = 1e-5
WORKERS = lab.pick(smoke=1, quick=-1)  # networks that train at a time; -1: one per core
plt.rcParams.update(plots.STYLE)
torch.set_num_threads(1)  # a network's matrices are too small to share between cores

# %% [markdown] id="coin"
# ## 1. Members and non-members
#
# We draw a pool of {{ pool:,d }} images from MNIST's training set, and toss a fair coin for each. Heads: the image is a **member**, and the network will be trained on it. Tails: it is a **non-member**, and stays out.
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
# Sliding the threshold from high to low traces the **ROC curve**, TPR over FPR. Its area (AUC) is the chance that a random member outscores a random non-member. For privacy, the left end of the curve is what counts. An attacker who points at a few people and is almost always right does more harm than one who is slightly better than a coin on everybody (Carlini et al. 2022). So we report the TPR at an FPR of 1% and of {{ fpr_01:.1% }}.
#
# What does an attacker reach who knows nothing? Let us shuffle and see.

# %% id="noise-floor"
floor = metrics.noise_floor(is_member, np.random.default_rng(0))
chance_1 = metrics.chance_tpr(0.01, (~is_member).sum())
chance_01 = metrics.chance_tpr(0.001, (~is_member).sum())

print("A score that knows nothing, over 200 shuffles:")
for name, (mean, q95) in floor.items():
    print(f"  {name:8} mean {mean:.4f}, 95% of the shuffles below {q95:.4f}")

lab.record(
    chance_tpr_1=chance_1,
    chance_tpr_01=chance_01,
    fpr_01=0.001,
    floor_bal_acc=floor["bal_acc"][0],
    floor_tpr_1_q95=floor["tpr_1"][1],
)

# %% [markdown] id="floor-reading"
# Two things to keep. The expected TPR at 1% FPR is not exactly 1% but {{ chance_tpr_1:.4f }}: with $n_0$ non-members it is $(\lfloor\alpha n_0\rfloor + 1)/(n_0 + 1)$, and at {{ fpr_01:.1% }} it is {{ chance_tpr_01:.4f }}. Below, *chance* means these values.
#
# And the best balanced accuracy of a useless score is not ½ but {{ floor_bal_acc:.3f }}: it is the best of many thresholds, picked on the very records it is judged on. A maximum needs a **noise floor** beside it.

# %% [markdown] id="overfit"
# ## 2. A network that overfits, and the simplest attack
#
# Our target has one hidden layer of 256 units. It trains on the members for {{ epochs:d }} epochs, which is far too long: it will know every one of its training images by heart.

# %% id="train-target"
target = population.train_mlps(X, y, is_member[None], [1], epochs=EPOCHS, workers=WORKERS)[0]

acc_train = target.accuracy(X[members], y[members])
acc_test = target.accuracy(X_test, y_test)
lab.record(epochs=EPOCHS, target_acc_train=acc_train, target_acc_test=acc_test)
print(f"accuracy on its members {acc_train:.3f}, on the 10,000 test images {acc_test:.3f}")

# %% [markdown] id="loss-attack-idea"
# Every member is classified correctly; of the test images, {{ target_acc_test:.1% }}. That gap is the opening. A network is surer of what it has been trained on, so **guess "member" when it is sure of the true label**. This is the loss-threshold attack of Yeom et al. (2018).
#
# How sure it is we measure by the **true-label logit**. With logits $z$ and true label $y$,
#
# $$\varphi = z_y - \log \sum_{j \neq y} e^{z_j} = \log \frac{p_y}{1 - p_y}, \qquad \text{loss} = \log(1 + e^{-\varphi}).$$
#
# The loss falls as $\varphi$ grows, so thresholding one is thresholding the other. But $\varphi$ has a shape that statistics likes: roughly a bell, where the loss is a spike at zero. Compute it from the logits, never from the probabilities: at $\varphi = 40$ even a double-precision $p_y$ has rounded to exactly one.

# %% id="loss-attack"
phi_target = attacks.label_logit_from_logits(target.logits(X), y)

plots.show(
    plots.score_histograms([(None, phi_target, is_member)], xlabel="true-label logit φ"),
    alt="Histograms of the true-label logit of members and of non-members. To the right of about ten they coincide. To the left the non-members have a long tail, far below zero, while the members stop short of zero and pile up just to the right of it.",
)

# %% [markdown] id="loss-attack-figure"
# On the left the two histograms differ: where $\varphi$ is small or negative, the network is unsure or wrong, and there are only non-members. The members have been pushed away from there and pile up a little further right. So the attack can say with confidence who is *not* a member.
#
# But an attacker wants to point at members, and must place the threshold far to the right. There the histograms coincide. An easy image gets a large $\varphi$ whether it was trained on or not.
#
# The next cell turns this into numbers, each with a 95% interval from {{ n_bootstrap:,d }} bootstrap resamples of members and of non-members.

# %% id="judge"
N_BOOTSTRAP = 1_000
GRID = np.geomspace(1e-4, 1, 200)


metric_labels = {"auc": "AUC", "tpr_1": "TPR at 1% FPR", "tpr_01": "TPR at 0.1% FPR"}


def judge(scores, prefix, title):
    """Measure an attack on the target, keep its figures as results, and print one line each."""
    found = metrics.attack_metrics(scores, is_member)
    limits = metrics.bootstrap_intervals(scores, is_member, np.random.default_rng(0), N_BOOTSTRAP)
    print(title)
    for key, label in metric_labels.items():
        low, high = limits[key]
        lab.record({f"{prefix}_{key}": found[key]})
        lab.record({f"{prefix}_{key}_lo": low, f"{prefix}_{key}_hi": high})
        print(f"  {label:17} {found[key]:.4f}   [{low:.4f}, {high:.4f}]")
    band = metrics.bootstrap_band(scores, is_member, np.random.default_rng(0), GRID, N_BOOTSTRAP)
    return found | {"limits": limits, "band": (GRID, *band)}


def keep_roc(name, found):
    """Keep the ROC curve on a grid of false positive rates, for the course's pages."""
    lab.curve(name, GRID, metrics.tpr_at_fpr(found["fpr"], found["tpr"], GRID))


loss = judge(phi_target, "loss", title="Loss attack on the overfit target")
keep_roc("roc_loss", loss)
lab.record(loss_balanced_acc=loss["bal_acc"], n_bootstrap=N_BOOTSTRAP)
print(
    f"  best balanced accuracy {loss['bal_acc']:.3f}; a useless score gets {floor['bal_acc'][0]:.3f}"
)
lab.claim(
    "loss-nothing-at-low-fpr",
    "At 0.1% FPR, the loss attack's interval contains chance.",
    loss["limits"]["tpr_01"][0] <= chance_01 <= loss["limits"]["tpr_01"][1],
)
lab.claim(
    "loss-auc-above-half",
    "The loss attack's AUC lies above one half, with its whole interval.",
    loss["limits"]["auc"][0] > 0.5,
)

# %% [markdown] id="loss-attack-reading"
# The AUC is {{ loss_auc:.3f }}, its interval clear of ½: there *is* a leak. But at an FPR of 1% the attack finds {{ loss_tpr_1:.2% }} of the members, where chance finds {{ chance_tpr_1:.2% }}. As a weapon it is worthless. Someone who reads AUCs only would file this network under "leaks a little, no one in particular". Keep that verdict in mind for the next section.
#
# What do the intervals cover? The luck of *which records* were drawn. Target and attack stay fixed, so the luck of the training is not in them. Section 9 comes back to that.

# %% [markdown] id="calibrate-idea"
# ## 3. Ask how hard the record is
#
# The loss attack compares an easy seven with a hard two, and learns that sevens are easy. A good attack compares each record *with itself*: is the network surer of this image **than networks that never saw it**?
#
# So the attacker trains such networks. They know the pool and the recipe, hence can draw coins of their own, train **reference models**, and look at the record's $\varphi$ under each model that did *not* train on it. With their mean $\mu_{\text{out}}$ and standard deviation $\sigma_{\text{out}}$, the calibrated score is
#
# $$s = \frac{\varphi_{\text{target}} - \mu_{\text{out}}}{\max(\sigma_{\text{out}},\, 0{.}1)} .$$
#
# This is the offline likelihood ratio attack, LiRA, of Carlini et al. (2022), with a floor under the deviation, because eight or so models give a shaky one. The idea of calibrating by difficulty is also in Watson et al. (2022).
#
# A reference model is nothing special. Here is the whole training, for the first of them.

# %% id="train-by-hand"
IN = np.array([np.random.default_rng(100 + k).random(POOL) < 0.5 for k in range(N_REFERENCES)])
reference_seeds = [100 + k for k in range(N_REFERENCES)]


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


own = torch.from_numpy(IN[0])
by_hand = train_by_hand(X[own], y[own], reference_seeds[0], EPOCHS)

# %% [markdown] id="bench-idea"
# All {{ n_ref:d }} come from the bench, `course_lib.population`. It does the same arithmetic, one model on each core, with the gradients written out. That it *is* the same we check rather than believe.

# %% id="train-references"
references = population.train_mlps(
    X,
    y,
    IN,
    reference_seeds,
    epochs=EPOCHS,
    workers=WORKERS,
    on_done=lab.progress(label="Reference models trained"),
)

with torch.no_grad():
    phi_by_hand = attacks.label_logit_from_logits(by_hand(X), y)
phi_bench = attacks.label_logit_from_logits(references[0].logits(X), y)
correlation = np.corrcoef(phi_by_hand, phi_bench)[0, 1]
lab.record(n_ref=N_REFERENCES, bench_correlation=correlation)
print(f"median |difference| of φ: {np.median(abs(phi_by_hand - phi_bench)):.1e}")
print(f"correlation of φ:         {correlation:.6f}")
lab.claim(
    "bench-is-the-plain-loop",
    "The bench's reference model and the one trained by hand give the same scores.",
    correlation > 0.999,
)

# %% [markdown] id="calibrate"
# Now the calibrated attack. First by hand, since it is three lines; then through `course_lib.attacks`, which does the same for many targets at once.

# %% id="calibrated-attack"
PHI = attacks.label_logit_from_logits(population.logits([target, *references], X), y)
IN = np.vstack([is_member, IN])  # row 0 is the target, as in PHI

out = np.where(IN[1:], np.nan, PHI[1:])  # each record under the models that did not see it
mean_out, sd_out = np.nanmean(out, axis=0), np.nanstd(out, axis=0, ddof=1)
calibrated = (PHI[0] - mean_out) / np.maximum(sd_out, 0.1)

library = attacks.lira_scores(PHI, IN, 0, online=False, min_variance=0.01)
print(f"largest difference to the library: {np.nanmax(abs(calibrated - library)):.1e}")

cal = judge(library, "cal", title="Calibrated attack on the overfit target")
keep_roc("roc_cal", cal)
lab.claim(
    "cal-over-five-times-loss",
    "At 1% FPR the calibrated attack finds more than five times as many members as the loss attack.",
    cal["tpr_1"] > 5 * loss["tpr_1"],
)

# %% [markdown] id="calibrated-reading"
# The same network, the same records, the same access. At 1% FPR the attack now finds {{ cal_tpr_1:.1% }} of the members, after {{ loss_tpr_1:.1% }} before. The AUC moved far less, from {{ loss_auc:.3f }} to {{ cal_auc:.3f }}. The verdict "no one in particular" was a fact about the attack, not about the network.
#
# To see what calibration does, take two records. Dots are the reference models; the line is the target.

# %% id="two-records"
n_out = (~IN[1:]).sum(axis=0)
mean_in = np.nanmean(np.where(IN[1:], PHI[1:], np.nan), axis=0)
gap = np.where(
    is_member & (library > 0) & (abs(n_out - N_REFERENCES / 2) <= 2), mean_in - mean_out, np.nan
)
memorised = int(np.nanargmax(gap))  # the references with and without it differ most
easy = int(np.nanargmin(abs(gap) - 0.1 * mean_out))

figure, rows = plt.subplots(
    2, 2, figsize=(9, 3.6), width_ratios=(1, 6), sharex="col", layout="constrained"
)
for (picture, axes), record in zip(rows, (easy, memorised), strict=True):
    picture.imshow(mnist.x_train[pool[record]], cmap="gray_r")
    picture.set_axis_off()
    saw = IN[1:, record]
    axes.plot(
        PHI[1:, record][~saw],
        np.zeros((~saw).sum()),
        "o",
        mfc="none",
        color="C0",
        label="did not see it",
    )
    axes.plot(PHI[1:, record][saw], np.ones(saw.sum()), "s", color="C1", label="saw it")
    axes.axvline(PHI[0, record], color="black", linestyle="--", label="target")
    axes.set_yticks([])
    axes.set_ylim(-0.7, 1.7)
    axes.set_title(f"labelled {y[record]}, calibrated score {library[record]:.1f}", loc="left")
rows[0][1].legend(loc="center left", bbox_to_anchor=(1, 0))
rows[1][1].set_xlabel("true-label logit φ")
plots.show(
    figure,
    alt="Two member images and their true-label logits under the reference models. For the upper one, the models that saw it and those that did not overlap far to the right, and the target stands among them. For the lower one, those that did not see it lie below zero, those that saw it above, and the target stands with the latter.",
)

# %% [markdown] id="two-records-reading"
# Both are members. Of the upper one every network is sure, with or without having seen it: its membership leaves no trace. The lower one is read as labelled only by networks that have *memorised* it, and our target is one of them. A single threshold on $\varphi$ ranks the easy digit first. Calibration ranks the memorised one first.
#
# This is also why privacy has no average. The odd, the badly written, the mislabelled carry the risk for everybody.

# %% [markdown] id="roc"
# ## 4. The whole curve
#
# On logarithmic axes the left end of the ROC curve gets the room it deserves. Bands are 95% intervals. In the grey part there is less than two non-members' worth of false positives: the curve rests on a single record there, and should not be read.

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
    alt="ROC curves on log axes. The loss attack follows the chance diagonal at low false positive rates. The calibrated attack lies well above it, by a factor of about seven at one percent.",
)

# %% [markdown] id="roc-reading"
# The loss attack hugs the diagonal until the FPR reaches some tens of per cent. The calibrated attack leaves it at once. At an FPR of {{ fpr_01:.1% }} it finds {{ cal_tpr_01:.1% }} of the members, but look at its interval: {{ cal_tpr_01_lo:.1% }} to {{ cal_tpr_01_hi:.1% }}. With {{ n_nonmembers:,d }} non-members, {{ fpr_01:.1% }} means *two* of them. That is where the resolution of this experiment ends.

# %% [markdown] id="dpsgd-idea"
# ## 5. DP-SGD by hand
#
# Overfitting less would help. But it would promise nothing: the next attack might be better than ours. **Differential privacy** promises something about all attacks at once. Training is $(\varepsilon, \delta)$-differentially private when, for any two neighbouring training sets $D$, $D'$ and any set $S$ of outcomes,
#
# $$\Pr[\text{training on } D \text{ ends in } S] \;\le\; e^{\varepsilon} \Pr[\text{training on } D' \text{ ends in } S] + \delta .$$
#
# Whether you took part changes the odds of anything that follows by a factor of at most $e^\varepsilon$, up to the additive slack $\delta$. (It is a slack, not "the probability that privacy fails".)
#
# DP-SGD (Abadi et al. 2016) gets there with three changes to ordinary training. In each step:
#
# 1. **Poisson sampling.** Every record enters the batch by its own coin, with probability $q$.
# 2. **Clipping.** Each record's gradient is scaled down to length $C$ if it is longer. Adding or removing one record then moves the sum by at most $C$.
# 3. **Noise.** Gaussian noise of standard deviation $\sigma C$ is added to every coordinate of the sum.
#
# Clipping needs the length of *every single record's* gradient, and one backward pass only gives the sum. For dense layers there is a way round. With input $a$ and the loss's derivative $u$ at the output, one record's weight gradient is $a u^\top$. Its squared length is $\lVert a\rVert^2 \lVert u\rVert^2$, and the bias adds $\lVert u\rVert^2$. No per-record gradient is ever stored (Goodfellow 2015).


# %% id="clipped-sum"
def clipped_gradient_sum(network, rows, digits, max_grad_norm):
    """Sum the clipped gradients of a batch; also return each record's gradient norm before clipping."""
    W1, b1, W2, b2 = network.parameters
    before = rows @ W1 + b1
    hidden = torch.relu(before)
    probabilities = torch.softmax(hidden @ W2 + b2, dim=1)

    u2 = probabilities - torch.nn.functional.one_hot(
        digits, 10
    )  # derivative at the second layer's output
    u1 = (u2 @ W2.T) * (before > 0)  # and at the first layer's
    squared_norm = (u1**2).sum(1) * ((rows**2).sum(1) + 1) + (u2**2).sum(1) * (
        (hidden**2).sum(1) + 1
    )
    norm = squared_norm.sqrt()

    factor = (max_grad_norm / norm.clamp_min(1e-12)).clamp_max(1)[:, None]
    u1, u2 = factor * u1, factor * u2
    return (rows.T @ u1, u1.sum(0), hidden.T @ u2, u2.sum(0)), norm


# %% [markdown] id="check-clipping-idea"
# Trust is good. Two independent witnesses: PyTorch's autograd, one record at a time, on four records; and Opacus, the library for DP training in PyTorch, whose `GradSampleModule` stores every record's gradient, on a batch of 64.

# %% id="check-clipping"
from opacus.grad_sample import GradSampleModule

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
per_record(X[:64]).log_softmax(1).gather(1, y[:64, None]).sum().neg().backward()
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
# **The divisor must be public.** The noisy sum is divided by $q$ times half the pool, {{ dp_expected_batch:.0f }}: the batch size one expects, from public numbers only. Dividing by the size of the batch that was drawn, or by $q$ times the true number of members, would print a private number into every step.
#
# **An empty batch still counts.** If the coins choose nobody, noise is added all the same. Skipping the step would tell everyone that nobody was chosen.


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
# We train with $\sigma$ = 0 (clipped, no noise), {{ sigma_06:.1f }}, 1 and 3. For each there is one target and {{ n_ref_dp:d }} reference models, *trained the same way*: an attacker who calibrates against models without noise would be calibrating against the wrong thing. That makes {{ n_dp_models:d }} networks of {{ dp_steps:d }} steps, about {{ dp_epochs:.0f }} passes over the members.
#
# Networks with the same seed and different (positive) $\sigma$ see the same batches and the same noise draws, scaled differently. What differs between two settings is then the amount of noise, not its luck.

# %% id="train-private-populations"
settings = DPSGD(
    sampling_rate=SAMPLING_RATE,
    steps=STEPS,
    max_grad_norm=MAX_GRAD_NORM,
    learning_rate=1.0,
    expected_batch_size=SAMPLING_RATE * POOL / 2,
)
IN_DP = np.array(
    [is_member] + [np.random.default_rng(200 + k).random(POOL) < 0.5 for k in range(N_REFERENCES)]
)
private = population.train_mlps_dpsgd(
    X,
    y,
    IN_DP,
    [0] + [200 + k for k in range(N_REFERENCES)],
    NOISE_MULTIPLIERS,
    settings,
    workers=WORKERS,
    on_done=lab.progress(label="Training runs finished"),
)
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

gap = abs(private[1.0][0].W1 - private_by_hand.W1).max().item()
print(f"largest difference to the weights trained by hand: {gap:.1e}")
lab.claim(
    "dpsgd-is-the-plain-loop", "The bench and the loop by hand give the same network.", gap < 1e-3
)

# %% [markdown] id="epsilon-idea"
# The **accountant** turns $q$, the number of steps and $\sigma$ into $\varepsilon$. It never looks at the data or at the network. We ask two, at $\delta = 10^{-5}$. The RDP accountant (Mironov, Talwar and Zhang 2019) is the classic and gives an upper bound. The PRV accountant (Gopi, Lee and Wutschitz 2021) composes the privacy loss numerically and gives a tighter one. Both come from Opacus.

# %% id="attack-private-models"
TAGS = {0.0: "s00", 0.6: "s06", 1.0: "s10", 3.0: "s30"}
PHI_DP, attacked = {}, {}
for sigma, tag in TAGS.items():
    PHI_DP[sigma] = attacks.label_logit_from_logits(population.logits(private[sigma], X), y)
    scores = attacks.lira_scores(PHI_DP[sigma], IN_DP, 0, online=False, min_variance=0.01)
    accuracy = private[sigma][0].accuracy(X_test, y_test)
    lab.record({f"{tag}_acc_test": accuracy})
    print(f"σ = {sigma}: test accuracy {accuracy:.3f}")
    attacked[sigma] = {
        "loss": judge(PHI_DP[sigma][0], f"{tag}_loss", title="- loss attack"),
        "cal": judge(scores, f"{tag}_cal", title="- calibrated attack"),
        "scores": scores,
    }
    keep_roc(f"roc_cal_{tag}", attacked[sigma]["cal"])
    if sigma:
        eps = accounting.epsilon(sigma, SAMPLING_RATE, STEPS, DELTA, accountant="rdp")
        eps_prv = accounting.epsilon(sigma, SAMPLING_RATE, STEPS, DELTA, accountant="prv")
        lab.record({f"{tag}_eps": eps, f"{tag}_eps_prv": eps_prv})
        print(f"  ε at δ = 1e-5: {eps:.2f} by RDP, {eps_prv:.2f} by PRV")

# %% [markdown] id="attack-private-reading"
# In one table, for the calibrated attack:
#
# | $\sigma$ | ε (RDP) | ε (PRV) | test accuracy | AUC | TPR at 1% FPR |
# |---|---|---|---|---|---|
# | 0, clipped | none | none | {{ s00_acc_test:.3f }} | {{ s00_cal_auc:.3f }} [{{ s00_cal_auc_lo:.3f }}, {{ s00_cal_auc_hi:.3f }}] | {{ s00_cal_tpr_1:.2% }} [{{ s00_cal_tpr_1_lo:.2% }}, {{ s00_cal_tpr_1_hi:.2% }}] |
# | {{ sigma_06:.1f }} | {{ s06_eps:.2f }} | {{ s06_eps_prv:.2f }} | {{ s06_acc_test:.3f }} | {{ s06_cal_auc:.3f }} [{{ s06_cal_auc_lo:.3f }}, {{ s06_cal_auc_hi:.3f }}] | {{ s06_cal_tpr_1:.2% }} [{{ s06_cal_tpr_1_lo:.2% }}, {{ s06_cal_tpr_1_hi:.2% }}] |
# | 1 | {{ s10_eps:.2f }} | {{ s10_eps_prv:.2f }} | {{ s10_acc_test:.3f }} | {{ s10_cal_auc:.3f }} [{{ s10_cal_auc_lo:.3f }}, {{ s10_cal_auc_hi:.3f }}] | {{ s10_cal_tpr_1:.2% }} [{{ s10_cal_tpr_1_lo:.2% }}, {{ s10_cal_tpr_1_hi:.2% }}] |
# | 3 | {{ s30_eps:.2f }} | {{ s30_eps_prv:.2f }} | {{ s30_acc_test:.3f }} | {{ s30_cal_auc:.3f }} [{{ s30_cal_auc_lo:.3f }}, {{ s30_cal_auc_hi:.3f }}] | {{ s30_cal_tpr_1:.2% }} [{{ s30_cal_tpr_1_lo:.2% }}, {{ s30_cal_tpr_1_hi:.2% }}] |
#
# Chance is {{ chance_tpr_1:.2% }}. Clipping and stopping early alone already bring the attack from {{ cal_tpr_1:.1% }} down to {{ s00_cal_tpr_1:.1% }}, but without noise there is no ε: nothing is promised about a better attack. With any of the three amounts of noise, chance lies inside the interval of *this one target*. At $\sigma$ = {{ sigma_06:.1f }} and 1 the AUC still shows that something leaks.

# %% id="claims-private"
silent = attacked[0.0]["cal"]["limits"]["tpr_1"]
lab.claim(
    "clipping-alone-leaks",
    "Without noise, the calibrated TPR at 1% FPR lies above chance with its whole interval.",
    silent[0] > chance_1,
)
for sigma in (0.6, 1.0, 3.0):
    print(f"σ = {sigma}:", attacked[sigma]["cal"]["limits"]["tpr_1"])
lab.claim(
    "noise-hides-one-target",
    "With noise, whatever its amount, one target's interval at 1% FPR contains chance.",
    all(
        attacked[sigma]["cal"]["limits"]["tpr_1"][0]
        <= chance_1
        <= attacked[sigma]["cal"]["limits"]["tpr_1"][1]
        for sigma in (0.6, 1.0, 3.0)
    ),
)
lab.claim(
    "auc-still-above-half",
    "At σ = 0.6 and σ = 1 the calibrated AUC's interval stays above one half.",
    all(attacked[sigma]["cal"]["limits"]["auc"][0] > 0.5 for sigma in (0.6, 1.0)),
)

# %% [markdown] id="ceiling-idea"
# ## 7. What ε promises
#
# Differential privacy speaks about attacks directly. A guess "member" is an outcome, so its probability under the two neighbouring data sets obeys the definition:
#
# $$\text{TPR} \le e^{\varepsilon}\, \text{FPR} + \delta .$$
#
# This **single-point ceiling** uses one pair (ε, δ). At $\sigma$ = {{ sigma_06:.1f }}, ε is about {{ s06_eps:.0f }} and $e^\varepsilon$ is in the hundreds of millions: the ceiling is 1, which says nothing. Many people conclude that such an ε "means nothing". That is wrong.
#
# The mechanism is $(\varepsilon, \delta(\varepsilon))$-private for a whole *curve* of pairs at once, and an attack must respect all of them. The tightest bound at each FPR is the mechanism's **trade-off curve** (Dong, Roth and Su 2022). It is computed from the distribution of the privacy loss, as the PRV accountant does, and it always says something.

# %% id="ceilings"
low_fprs = np.array([0.01, 0.001])
tradeoff_on_grid = {}
for sigma in (0.6, 1.0, 3.0):
    tag = TAGS[sigma]
    eps = accounting.epsilon(sigma, SAMPLING_RATE, STEPS, DELTA, accountant="rdp")
    point = audit.tpr_ceiling(low_fprs, eps, DELTA)
    tradeoff = audit.tradeoff_tpr(low_fprs, sigma, SAMPLING_RATE, STEPS)
    tradeoff_on_grid[sigma] = audit.tradeoff_tpr(GRID, sigma, SAMPLING_RATE, STEPS)
    lab.record({f"{tag}_bound_1": point[0], f"{tag}_bound_01": point[1]})
    lab.record({f"{tag}_tradeoff_1": tradeoff[0], f"{tag}_tradeoff_01": tradeoff[1]})
    print(
        f"σ = {sigma}: at 1% FPR the TPR is at most {point[0]:.4f} by (ε, δ), {tradeoff[0]:.4f} by the trade-off curve"
    )

# %% id="plot-ceilings"
panels = []
for sigma in (0.6, 1.0, 3.0):
    eps = accounting.epsilon(sigma, SAMPLING_RATE, STEPS, DELTA, accountant="rdp")
    attack = attacked[sigma]["cal"]
    curve = plots.Curve(
        label="calibrated attack", fpr=attack["fpr"], tpr=attack["tpr"], band=attack["band"]
    )
    ceilings = [
        plots.Ceiling(
            label="single point (ε, δ)", fpr=GRID, tpr=audit.tpr_ceiling(GRID, eps, DELTA)
        ),
        plots.Ceiling(label="trade-off curve", fpr=GRID, tpr=tradeoff_on_grid[sigma]),
    ]
    panel_title = f"σ = {sigma}, ε = {eps:.2f}"
    panels.append((panel_title, [curve], ceilings))
figure = plots.roc_panels(panels, (~is_member).sum(), smallest_fpr=2e-4, columns=3)
plots.show(
    figure,
    alt="Three ROC plots on log axes, for noise multipliers 0.6, 1 and 3, each with the attack near the chance line and two ceilings. The single-point ceiling is at one except for the largest noise. The trade-off curve lies below it everywhere and comes down to about twice the chance line for the largest noise.",
)

# %% [markdown] id="ceiling-reading"
# The dashed ceiling from the single point is glued to the top for $\sigma$ = {{ sigma_06:.1f }}, and for $\sigma$ = 1 as soon as the FPR passes a few thousandths. Only at $\sigma$ = 3 does it say something at 1% FPR: at most {{ s30_bound_1:.1% }}.
#
# The trade-off curve speaks in all three: no attack, by anyone, with any amount of computing, finds more than {{ s06_tradeoff_1:.1% }} of the members at 1% FPR for $\sigma$ = {{ sigma_06:.1f }}, {{ s10_tradeoff_1:.1% }} for $\sigma$ = 1, {{ s30_tradeoff_1:.2% }} for $\sigma$ = 3. (The bound holds for each record's own test; because the curve is concave, it also holds for the pooled rates that we measure, up to sampling error.)
#
# Between our attack and the ceiling there is a wide gap. Either the ceiling is pessimistic, or the attack is weak. Section 8 asks which.

# %% id="claims-ceilings"
below = all(
    attacked[sigma][attack][key] <= min(point, tradeoff)
    for sigma in (0.6, 1.0, 3.0)
    for attack in ("loss", "cal")
    for key, point, tradeoff in zip(
        ("tpr_1", "tpr_01"),
        audit.tpr_ceiling(low_fprs, accounting.epsilon(sigma, SAMPLING_RATE, STEPS, DELTA), DELTA),
        audit.tradeoff_tpr(low_fprs, sigma, SAMPLING_RATE, STEPS),
        strict=True,
    )
)
lab.claim("nothing-above-a-ceiling", "No measured TPR exceeds either ceiling.", below)

# %% [markdown] id="audit-idea"
# ## 8. What an attack proves
#
# Turn the ceiling around. If an attack does *better* than some ε allows, then the training was not ε-private. An attack thus proves a **lower bound** on ε, and this is called an audit. The accountant bounds ε from above, the audit from below, and the truth is in between.
#
# The textbook way trains a thousand networks with and without one record. Steinke, Nasr and Jagielski (2023) need a single training run, in which many records have independent coins. That is just what we have. The attacker picks the records it is surest about, says "member" or "non-member" for each, and abstains from the rest. If $W$ of $r$ guesses are right, then under ε-privacy
#
# $$\Pr[W \text{ or more right}] \le \Pr\!\left[\text{Bin}\!\left(r, \tfrac{e^\varepsilon}{1+e^\varepsilon}\right) \ge W\right] + \text{a term for } \delta ,$$
#
# and the largest ε for which this is at most 5% is proven with 95% confidence. How many guesses to make is chosen on one random half of the records, and the guesses are counted on the other: a rule tuned on the records it is judged by would prove too much.


# %% id="audit"
def prove(scores, membership, key, label, delta=0.0):
    """Audit a network's scores, keep the proven ε, and print it."""
    found = audit.audit_scores(scores, membership, np.random.default_rng(8), delta=delta)
    lab.record({key: found.epsilon})
    print(
        f"{label:48} {found.correct:4d} of {found.guesses:4d} guesses right: ε ≥ {found.epsilon:.2f}"
    )
    return found.epsilon


fixed = attacks.lira_scores(PHI, IN, 0, online=True, fixed_var=True)
audited = {
    "cal": prove(library, is_member, "cal_audit_eps_lo", label="overfit target, calibrated attack"),
    "fixed": prove(
        fixed,
        is_member,
        "lira_on_fixed_audit_eps_lo",
        label="overfit target, online LiRA, fixed variance",
    ),
}
for sigma in (0.6, 1.0, 3.0):
    audited[sigma] = prove(
        attacked[sigma]["scores"],
        is_member,
        f"{TAGS[sigma]}_audit_eps_lo",
        label=f"σ = {sigma}, calibrated attack",
        delta=DELTA,
    )
lab.record(one_run_cap=audit.one_run_epsilon(POOL // 2, POOL // 2))

# %% [markdown] id="audit-reading"
# | training | audit proves ε ≥ | accountant says ε ≤ (PRV) |
# |---|---|---|
# | overfit, no noise | {{ cal_audit_eps_lo:.2f }} | nothing: the true ε is infinite |
# | $\sigma$ = {{ sigma_06:.1f }} | {{ s06_audit_eps_lo:.2f }} | {{ s06_eps_prv:.2f }} |
# | $\sigma$ = 1 | {{ s10_audit_eps_lo:.2f }} | {{ s10_eps_prv:.2f }} |
# | $\sigma$ = 3 | {{ s30_audit_eps_lo:.2f }} | {{ s30_eps_prv:.2f }} |
#
# The first row is the instructive one. Ordinary training is deterministic given its seed and has no finite ε at all, yet the audit certifies only {{ cal_audit_eps_lo:.1f }}. So a small audited ε is *not* evidence of privacy. Three things hold it down.
#
# 1. **Counting.** Even if all guesses about half the pool were right, one run would prove no more than {{ one_run_cap:.1f }}. The bound grows with the logarithm of the number of records.
# 2. **Ordinary records.** Most digits leave no trace, as the picture in section 3 shows. They are poor witnesses.
# 3. **A distant attacker.** We query the finished network once a record. DP-SGD's ε is computed for someone who sees every step.
#
# Point 3 can be improved on: online LiRA with a shared variance, which we meet in the next section, proves {{ lira_on_fixed_audit_eps_lo:.1f }} from the same network. Point 2 as well, with records made to be remembered.

# %% [markdown] id="canary-idea"
# ### Canaries
#
# A **canary** is a record planted to be a good witness. We give {{ n_canaries:,d }} images of the pool a wrong label, toss new coins for everybody, and train the overfit network once more. A network can only call this seven a three if it has seen this seven *labelled* three. The plain true-label logit, of the wrong label, is attack enough.

# %% id="canaries"
N_CANARIES = lab.pick(smoke=150, quick=1_000)
rng = np.random.default_rng(2)
canaries = rng.choice(POOL, N_CANARIES, replace=False)
y_wrong = y.clone()
y_wrong[canaries] = (y[canaries] + torch.from_numpy(rng.integers(1, 10, N_CANARIES))) % 10
canary_member = rng.random(POOL) < 0.5

canary_network = population.train_mlps(
    X, y_wrong, canary_member[None], [2], epochs=EPOCHS, workers=WORKERS
)[0]
phi_canary = attacks.label_logit_from_logits(canary_network.logits(X), y_wrong)[canaries]
caught = metrics.attack_metrics(phi_canary, canary_member[canaries])
lab.record(n_canaries=N_CANARIES, canary_auc=caught["auc"], canary_tpr_1=caught["tpr_1"])
print(f"canaries: AUC {caught['auc']:.3f}, TPR at 1% FPR {caught['tpr_1']:.3f}")
audited["canary"] = prove(
    phi_canary,
    canary_member[canaries],
    "canary_audit_eps_lo",
    label="overfit target, mislabelled canaries",
)
lab.record(canary_cap=audit.one_run_epsilon(N_CANARIES // 2, N_CANARIES // 2))

lab.claim(
    "canaries-prove-more",
    "With mislabelled canaries the audit proves more than with ordinary records.",
    audited["canary"] > max(audited["cal"], audited["fixed"]),
)
lab.claim(
    "audit-below-accountant",
    "Every audited ε is at most the accountant's.",
    all(
        audited[sigma] <= accounting.epsilon(sigma, SAMPLING_RATE, STEPS, DELTA, accountant="prv")
        for sigma in (0.6, 1.0, 3.0)
    ),
)

# %% [markdown] id="canary-reading"
# The attack on the canaries has an AUC of {{ canary_auc:.3f }} and proves ε ≥ {{ canary_audit_eps_lo:.1f }}, where {{ n_canaries:,d }} coins, half of them spent on choosing the rule, cannot prove more than {{ canary_cap:.1f }}. The network is the same kind as before. Only the witnesses are better.
#
# Audits that come close to the accountant's value go all the way: canaries whose gradients point in directions nothing else uses, an attacker who watches every step, and many thousands of coins or of training runs (Nasr et al. 2021, 2023; Steinke, Nasr and Jagielski 2023). They find that the accountant's ε is close to tight *against that attacker*. Against one who only queries the finished network, nobody has shown how much of the gap is real.

# %% [markdown] id="targets-idea"
# ## 9. One target is one sample
#
# All results so far speak of one target. Its intervals cover the luck of the records, not that of the training. But we have {{ n_targets:d }} networks of each kind, and nothing makes the first one special. Attack each in turn, with the others as its reference models: {{ n_targets:d }} targets for free.
#
# We also bring a stronger attack. **Online LiRA** (Carlini et al. 2022) uses the reference models that *did* see the record as well. It fits one normal distribution to the scores with the record and one to those without, and takes the log of the likelihood ratio. With {{ n_ref:d }} models the two variances of each record are shaky, so the *fixed-variance* form shares two variances among all records.

# %% id="all-targets"
populations = {"": (PHI, IN)} | {f"{TAGS[s]}_": (PHI_DP[s], IN_DP) for s in NOISE_MULTIPLIERS}
over_targets = {}
for prefix, (PHI_all, IN_all) in populations.items():
    scores_of = {
        "loss": PHI_all,
        "cal": attacks.lira_scores_all(PHI_all, IN_all, online=False, min_variance=0.01),
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
print(f"mean ± standard deviation over {N_TARGETS} targets")
for (prefix, attack, key), values in over_targets.items():
    print(
        f"{setting_labels[prefix]:8} {attack:14} {key:7} {values.mean():.4f} ± {values.std(ddof=1):.4f}"
    )

# %% id="plot-targets"
figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
jitter = np.random.default_rng(0)
attack_labels = {
    "loss": "loss attack",
    "cal": "calibrated attack",
    "lira_on_fixed": "online LiRA, fixed variance",
}
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
axes.set_yticks(ticks, [f"{100 * tick:g}%" for tick in ticks])
axes.minorticks_off()
axes.set_ylabel("TPR at 1% FPR")
axes.legend()
plots.show(
    figure,
    alt="The true positive rate at one percent false positives of three attacks, one mark a target, for five ways of training. Overfit targets lie far above chance for the two calibrated attacks, clipped training without noise less so; at noise multiplier 0.6 the means are a little above chance, at 1 and 3 the marks scatter around it.",
)

# %% [markdown] id="targets-reading"
# Each mark is one target, each bar a mean. On the overfit networks online LiRA with fixed variance finds {{ lira_on_fixed_tpr_01_mean:.1% }} of the members at an FPR of {{ fpr_01:.1% }}, where the calibrated attack found {{ cal_tpr_01_mean:.1% }}: the same queries, better statistics.
#
# Look at $\sigma$ = {{ sigma_06:.1f }}. The interval of our one target contained chance: "not detected". The mean over all targets is {{ s06_cal_tpr_1_mean:.4f }}. Is that above chance? The targets share a pool and serve as each other's references, so their spread is no safe yardstick. The next cell makes one: it tosses fresh coins for everybody, which no network has ever seen, and repeats the whole evaluation, {{ n_null:d }} times.

# %% id="null-over-targets"
N_NULL = lab.pick(smoke=5, quick=60)
fresh = np.random.default_rng(9)


def mean_calibrated_tpr(membership):
    """The mean over all targets at σ = 0.6 of the calibrated TPR at 1% FPR, for any membership."""
    scores = attacks.lira_scores_all(PHI_DP[0.6], membership, online=False, min_variance=0.01)
    curves = [metrics.roc_curve(s, m) for s, m in zip(scores, membership, strict=True)]
    return np.mean([metrics.tpr_at_fpr(*curve, 0.01) for curve in curves])


observed = mean_calibrated_tpr(IN_DP)
null = [mean_calibrated_tpr(fresh.random(IN_DP.shape) < 0.5) for _ in range(N_NULL)]
lab.record(n_null=N_NULL, s06_null_mean=np.mean(null), s06_null_max=max(null))
print(
    f"with the true coins {observed:.4f}; with fresh ones {np.mean(null):.4f}, at most {max(null):.4f}"
)
lab.claim(
    "absent-is-not-undetected",
    "At σ = 0.6 the mean over targets of the calibrated TPR at 1% FPR lies above what fresh coins give, every time.",
    observed > max(null),
)

# %% [markdown] id="null-reading"
# With fresh coins the mean is {{ s06_null_mean:.4f }} and never above {{ s06_null_max:.4f }}. With the true ones it is {{ s06_cal_tpr_1_mean:.4f }}. The leak was there all along. **Not detected is not the same as absent.** It may only mean that the test had too little power.
#
# The loss attack, too, has a mean AUC above ½ at every amount of noise: {{ s06_loss_auc_mean:.3f }}, {{ s10_loss_auc_mean:.3f }} and {{ s30_loss_auc_mean:.3f }}. None of this contradicts the guarantee. Differential privacy never said that nothing leaks; it says *how much at most*.


# %% id="claims-targets"
def mean_loss_auc(sigma, membership):
    """The mean over all targets of the loss attack's AUC, for any membership."""
    return np.mean(
        [
            metrics.auc(*metrics.roc_curve(s, m))
            for s, m in zip(PHI_DP[sigma], membership, strict=True)
        ]
    )


coins = [fresh.random(IN_DP.shape) < 0.5 for _ in range(N_NULL // 3)]
lab.claim(
    "loss-auc-above-half-on-average",
    "With noise, whatever its amount, the loss attack's mean AUC over targets lies above what fresh coins give, every time.",
    all(
        mean_loss_auc(sigma, IN_DP) > max(mean_loss_auc(sigma, tossed) for tossed in coins)
        for sigma in (0.6, 1.0, 3.0)
    ),
)
lab.claim(
    "fixed-variance-is-stronger",
    "On overfit targets, online LiRA with fixed variance has over twice the calibrated attack's mean TPR at 0.1% FPR.",
    over_targets["", "lira_on_fixed", "tpr_01"].mean()
    > 2 * over_targets["", "cal", "tpr_01"].mean(),
)

# %% [markdown] id="utility"
# ## 10. What it costs
#
# Noise hides records because it hides everything a little. Here is the accuracy on the test images over ε: the mean over the {{ n_targets:d }} networks of each setting, with their standard deviation.

# %% id="plot-utility"
accuracy = {
    sigma: population.accuracies(private[sigma], X_test, y_test, workers=WORKERS)
    for sigma in NOISE_MULTIPLIERS
}
for sigma, values in accuracy.items():
    lab.record({f"{TAGS[sigma]}_acc_test_mean": values.mean()})
    lab.record({f"{TAGS[sigma]}_acc_test_sd": values.std(ddof=1)})
    print(f"σ = {sigma}: accuracy {values.mean():.3f} ± {values.std(ddof=1):.3f}")

noisy = (3.0, 1.0, 0.6)
without_noise_label = "DP-SGD without noise (no ε)"
ordinary_label = "ordinary training (no ε)"
plots.show(
    plots.utility(
        [
            (
                "DP-SGD",
                [accounting.epsilon(sigma, SAMPLING_RATE, STEPS, DELTA, "prv") for sigma in noisy],
                [accuracy[sigma].mean() for sigma in noisy],
                [accuracy[sigma].std(ddof=1) for sigma in noisy],
            )
        ],
        [
            (without_noise_label, accuracy[0.0].mean()),
            (ordinary_label, acc_test),
        ],
        xlabel="ε by PRV at δ = 1e-5 (logarithmic; more private to the left)",
    ),
    alt=f"Test accuracy over epsilon, on a log axis, for three amounts of noise. It rises from {accuracy[3.0].mean():.2f} at the smallest epsilon to {accuracy[0.6].mean():.2f} at the largest. Two horizontal lines lie above: DP-SGD without noise at {accuracy[0.0].mean():.2f}, ordinary training at {acc_test:.2f}.",
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
# Clipping and {{ dp_epochs:.0f }} passes instead of {{ epochs:d }} take the accuracy from {{ target_acc_test:.3f }} to {{ s00_acc_test_mean:.3f }}. Noise takes it down further, to {{ s06_acc_test_mean:.3f }}, {{ s10_acc_test_mean:.3f }} and {{ s30_acc_test_mean:.3f }}.
#
# This curve belongs to *two thousand* training images. The noise does not depend on how many there are, and the sum that it hides in does. On all 60,000 images, Abadi et al. (2016) report an accuracy of 95% at ε = 2. Data is what buys privacy cheaply.
#
# It also belongs to settings fixed in advance. Choosing clipping norm, steps and learning rate by what works best *on the private data* leaks too, and has to be accounted for (Papernot and Steinke 2022).

# %% id="claim-only-strong-noise"
single_point = {
    sigma: audit.tpr_ceiling(0.01, accounting.epsilon(sigma, SAMPLING_RATE, STEPS, DELTA), DELTA)
    for sigma in (0.6, 1.0, 3.0)
}
lab.claim(
    "only-strong-noise-is-capped",
    "Only σ = 3 has a single-point ceiling below 5% at an FPR of 1%.",
    single_point[3.0] < 0.05 <= min(single_point[0.6], single_point[1.0]),
)

# %% [markdown] id="summary"
# ### What to take home
#
# - A weak attack that finds little says little. Calibrate by record, and look at low false positive rates.
# - ε is a promise about all attacks, made by the training and computed by an accountant. A measurement can refute it, never confirm it.
# - At a large ε, a single pair (ε, δ) says nothing about the TPR, while the mechanism's trade-off curve still does.
# - An audit proves a lower bound, limited by its number of coins, its witnesses and its access.
# - DP covers everything that depends on *your taking part*, attributes included. It does not hide what the population shows.

# %% [markdown] id="exercises"
# ## 11. Exercises
#
# The first three are functions to complete. The last two are experiments: write down what you expect *before* you run them.

# %% [markdown] id="exercise-ceiling"
# **Exercise 1: the ceiling.** Write the single-point ceiling: the largest TPR at a given FPR that $(\varepsilon, \delta)$-DP allows. A rate is never larger than 1.


# %% id="ceiling" tags=["exercise-1"]
def ceiling(epsilon, delta, fpr):
    """The largest TPR at this FPR under (epsilon, delta)-DP."""
    # BEGIN SOLUTION
    return min(1.0, float(np.exp(epsilon)) * fpr + delta)
    # STUB return None
    # END SOLUTION


# %% [markdown] id="exercise-clip"
# **Exercise 2: clip.** `gradients` is a matrix with one record's gradient in each row. Scale every row that is longer than `max_norm` down to that length, and leave the others as they are. Beware of rows of zeros. The matrix you are given must not change.


# %% id="clip-rows" tags=["exercise-2"]
def clip_rows(gradients, max_norm):
    """The rows of gradients, each at most max_norm long."""
    # BEGIN SOLUTION
    lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
    return gradients * np.minimum(1.0, max_norm / np.maximum(lengths, 1e-12))
    # STUB return None
    # END SOLUTION


# %% [markdown] id="exercise-steps"
# **Exercise 3: twice as long.** You train for {{ dp_steps_doubled:d }} steps instead of {{ dp_steps:d }}, at $\sigma$ = 1 and the same $q$ and δ. First guess: does ε double, grow by a factor of $\sqrt 2$, or something else? Then compute it with the RDP accountant, `accounting.epsilon`.


# %% id="double-steps" tags=["exercise-3"]
def epsilon_after(steps):
    """The ε of this many steps at σ = 1, sampling rate 0.05 and δ = 1e-5, by the RDP accountant."""
    # BEGIN SOLUTION
    return accounting.epsilon(1.0, SAMPLING_RATE, steps, DELTA, accountant="rdp")
    # STUB return None
    # END SOLUTION


# %% [markdown] id="exercise-pool"
# **Exercise 4: a smaller pool.** Repeat sections 2 and 3 with a pool of half the size: `overfit_experiment` does it, for any pool size, and returns the AUCs of both attacks. Does either get stronger? Why would it?


# %% id="overfit-experiment"
def overfit_experiment(pool_size):
    """Sections 2 and 3 on the first records of the pool: the AUCs of the loss and the calibrated attack."""
    IN_small = IN[:, :pool_size]
    networks = population.train_mlps(
        X[:pool_size],
        y[:pool_size],
        IN_small,
        [1, *reference_seeds],
        epochs=EPOCHS,
        workers=WORKERS,
    )
    PHI_small = attacks.label_logit_from_logits(
        population.logits(networks, X[:pool_size]), y[:pool_size]
    )
    scores = attacks.lira_scores(PHI_small, IN_small, 0, online=False, min_variance=0.01)
    return tuple(metrics.attack_metrics(s, IN_small[0])["auc"] for s in (PHI_small[0], scores))


# %% id="smaller-pool" tags=["exercise-4"]
smaller_pool = None  # (AUC of the loss attack, AUC of the calibrated attack)
# BEGIN SOLUTION
smaller_pool = overfit_experiment(POOL // 2)
print(f"loss attack {smaller_pool[0]:.3f}, calibrated attack {smaller_pool[1]:.3f}")
# END SOLUTION

# %% [markdown] id="exercise-small-c"
# **Exercise 5: clip harder.** Train once more at $\sigma$ = 1, with $C$ = {{ small_c:.1f }} instead of {{ dp_clip:.0f }} (`DPSGD` takes it as `max_grad_norm`), and measure the test accuracy. What happens to ε? And before you blame the clipping for the accuracy: what happens to the *size of a step* when $C$ shrinks and the learning rate stays?


# %% id="clip-harder" tags=["exercise-5"]
def train_with_clipping_norm(max_grad_norm):
    """A network trained like the target at σ = 1, with another clipping norm."""
    # BEGIN SOLUTION
    other = dataclasses.replace(settings, max_grad_norm=max_grad_norm)
    trained = population.train_mlps_dpsgd(
        X, y, is_member[None], [0], (1.0,), other, workers=WORKERS
    )
    return trained[1.0][0]
    # STUB return None
    # END SOLUTION


SMALL_C = 0.1
lab.record(small_c=SMALL_C)
clipped_harder = train_with_clipping_norm(SMALL_C)
if clipped_harder is not None:
    print(f"accuracy with C = {SMALL_C}: {clipped_harder.accuracy(X_test, y_test):.3f}")

# %% [markdown] id="references"
# ## References
#
# - Abadi et al. (2016). *Deep Learning with Differential Privacy.*
# - Carlini, Chien, Nasr, Song, Terzis and Tramèr (2022). *Membership Inference Attacks From First Principles.*
# - Dong, Roth and Su (2022). *Gaussian Differential Privacy.*
# - Goodfellow (2015). *Efficient Per-Example Gradient Computations.*
# - Gopi, Lee and Wutschitz (2021). *Numerical Composition of Differential Privacy.*
# - LeCun, Cortes and Burges (1998). *The MNIST Database of Handwritten Digits.*
# - Mironov, Talwar and Zhang (2019). *Rényi Differential Privacy of the Sampled Gaussian Mechanism.*
# - Nasr, Songi, Thakurta, Papernot and Carlini (2021). *Adversary Instantiation: Lower Bounds for Differentially Private Machine Learning.*
# - Nasr, Hayes, Steinke, Balle, Tramèr, Jagielski, Carlini and Terzis (2023). *Tight Auditing of Differentially Private Machine Learning.*
# - Papernot and Steinke (2022). *Hyperparameter Tuning with Rényi Differential Privacy.*
# - Steinke, Nasr and Jagielski (2023). *Privacy Auditing with One (1) Training Run.*
# - Watson, Guo, Cormode and Sablayrolles (2022). *On the Importance of Difficulty Calibration in Membership Inference Attacks.*
# - Yeom, Giacomelli, Fredrikson and Jha (2018). *Privacy Risk in Machine Learning: Analyzing the Connection to Overfitting.*

# %% id="results"
lab.record(dp_steps_doubled=2 * STEPS, sigma_06=0.6)
lab.save()
