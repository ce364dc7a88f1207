# untranslated: "upper left" (a place in a figure)
# untranslated: "Full backward hook" (the beginning of a PyTorch warning)
# accelerator: GPU (for the profile full)

# %% [markdown] id="title"
# # Which photographs did the network see?
#
# ## The likelihood ratio attack on a ResNet, with and without differential privacy
#
# A deep network has been trained on photographs. You have a photograph, and you may ask the network about it. Was it among those it was trained on? And if the network was trained with differential privacy, what is left of your attack?
#
# The attack of this lab, **LiRA**, asks the question as a statistician would: it trains many networks with and without the photograph, and looks which of the two kinds the target resembles. It is the standard by which other attacks are measured, and the one on which many defences have failed.
#
# The lab comes in two sizes. `quick` trains {{ n_models_total:d }} small networks on a part of CIFAR-10 and takes minutes on two CPU cores. `full` is the experiment at the size at which such attacks are published: ResNet-18 on all 50,000 images, for a GPU. The notebook is the same; one word in the second cell below decides.

# %% [markdown] id="ground-rules"
# ### The ground rules
#
# | what | in this lab |
# |---|---|
# | unit of privacy | one photograph with its label: one *record* |
# | adjacency | `quick`: add/remove, since every record is in or out by a coin of its own. `full`: replace-one, since the training sets have a fixed size: one record in means another out |
# | public | the pool of records, the network's architecture, every setting of the training; in `full` also the number of members |
# | private | who of the pool is a member |
# | what the attacker sees | the logits of the finished network, for any image |
# | what the attacker can do | train networks of the same kind on records of the same pool: *shadow models* |
# | what differential privacy assumes the attacker sees | much more: the noisy gradient sum of every single step, and every other record |
#
# Noise, batches and the coins of membership come from ordinary random generators with published seeds. Whoever uses these seeds can compute the noise, and no ε protects against them; our attacks do not use them. Real protection needs a cryptographically secure generator, and batches that stay secret too.

# %% [markdown] id="reference-run"
# **About the numbers.** Figures quoted in the text come from the reference run of {{ meta.date }} (Python {{ meta.versions.python }}, PyTorch {{ meta.versions.torch }}, Opacus {{ meta.versions.opacus }}, profile {{ meta.profile }}, on {{ device }}). Yours will differ, most of all at the lowest false positive rates: another processor adds floating-point numbers in another order, and training magnifies the difference. The main statements are checked on *your* numbers by the code nearby, which prints ✓ or ✗. In the `full` profile the text still quotes the `quick` run; trust the output above it.

# %% [markdown] id="two-worlds"
# ## 1. Two worlds
#
# Take one photograph $x$ with its label $y$, and imagine two worlds. In one, the network's training set contained it. In the other it did not. In each world the training has some luck: which other images there were, the initial weights, the order of the batches. So what the network says about $x$ follows a distribution, and there are two of them.
#
# We sum up what it says by one number, the true-label logit φ: how sure the network is of the label $y$. Now the question of membership is a textbook test. You observe φ. Which of the two distributions did it come from? The best possible test, by Neyman and Pearson, is to compare the **likelihood ratio** with a threshold:
#
# $$\Lambda(x) = \log \frac{p(\varphi \mid x \text{ was in})}{p(\varphi \mid x \text{ was out})} .$$
#
# Nobody tells the attacker these distributions. But they can train networks of their own, some with and some without $x$, and estimate them. That is all there is to LiRA (Carlini et al. 2022). Everything below is about doing it properly.

# %% [markdown] id="where"
# ## 2. Where this runs, and for how long
#
# Choose the size here. `KEEP_IN` names a folder where finished networks are kept, so that a second run, or one after an interruption, does not train them again. In Colab, mount your Drive and put a folder of it there; then they outlive the session.
#
# This notebook asks Colab for a GPU. `quick` does not use it: if none is free, connect without one and go on. `full` needs it: choose a GPU under *Runtime*, *Change runtime type*. If there is none, or outside Colab none that PyTorch can use, `full` trains on the CPU, and the forecast in section 3 says how long that would take. Then stay with `quick`: the text describes that run.

# %% id="parameters" tags=["parameters"]
import dataclasses
import math
import platform
import tempfile
import warnings
from pathlib import Path

import joblib
import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.stats import norm
from torch.nn.functional import cross_entropy

from course_lib import accounting, attacks, audit, metrics, networks, plots, training_runs
from course_lib.data import DOWNLOADS_DIR, load_cifar10
from course_lib.exercises import Exercises
from course_lib.lab import Lab
from course_lib.language import padded
from course_lib.models import initial_convnet
from course_lib.networks import PrivateTraining, Training
from course_lib.population import coin_membership

# The lab keeps your figures with lab.record and lab.curve, for the course's pages: you can skip over
# those lines. lab.claim checks a statement of the text on your numbers.
# profile: or "full", for a GPU; or "smoke", to see whether it runs
lab = Lab("cifar10_lira", profile="quick")
ex = Exercises(lab)
FULL = lab.profile == "full"
DEVICE = networks.find_device("auto" if FULL else "cpu")
KEEP_IN = lab.keep_in(DOWNLOADS_DIR / "networks")  # or "/content/drive/MyDrive/networks"
WORKERS = lab.pick(smoke=1, quick=-1, full=1)  # networks that train at a time; -1: one per core

POOL = lab.pick(smoke=200, quick=4_000, full=50_000)  # candidate images
N_MODELS = lab.pick(smoke=5, quick=17, full=30)  # trained without privacy; number 0 is the target
N_DP = lab.pick(smoke=4, quick=6, full=30)  # trained with DP-SGD
N_CLIPPED = lab.pick(smoke=4, quick=6, full=8)  # trained like those, without the noise
SIGMA = 1.0  # σ: how much noise DP-SGD adds, in units of C
MAX_GRAD_NORM = 1.0  # C: the length to which every image's gradient is cut
DELTA = 1e-5  # δ: the slack in the definition of differential privacy
plain_settings = {
    "smoke": Training(epochs=3, batch_size=32, schedule="one-cycle", snapshots=(1, 2)),
    "quick": Training(
        epochs=26, batch_size=64, learning_rate=8e-3, schedule="one-cycle", snapshots=(2, 3, 4, 5)
    ),
    "full": Training(
        "resnet18", epochs=30, batch_size=128, weight_decay=1e-4, augment=True, snapshots=(1, 2, 3)
    ),
}
private_settings = {
    "smoke": PrivateTraining(epochs=1, steps_per_epoch=4, expected_batch_size=25),
    "quick": PrivateTraining(
        epochs=10,
        steps_per_epoch=10,
        learning_rate=5e-3,
        expected_batch_size=POOL / 2 / 10,
        physical_batch_size=512,
    ),
    "full": PrivateTraining(
        "resnet18-dp",
        epochs=30,
        steps_per_epoch=math.ceil(25_000 / 512),
        weight_decay=1e-4,
        physical_batch_size=64,
    ),
}
PLAIN = plain_settings[lab.profile]
PRIVATE = dataclasses.replace(
    private_settings[lab.profile], noise_multiplier=SIGMA, max_grad_norm=MAX_GRAD_NORM
)
CLIPPED = dataclasses.replace(PRIVATE, noise_multiplier=0.0)

plt.rcParams.update(plots.STYLE)
torch.set_num_threads(1)  # each network has one core to itself
print(f"Python {platform.python_version()}, PyTorch {torch.__version__}, profile {lab.profile}")
device_label = (
    torch.cuda.get_device_name() if DEVICE.type == "cuda" else f"{joblib.cpu_count()} CPU cores"
)
print(f"trains on: {device_label}")
lab.record(
    pool=POOL,
    n_models=N_MODELS,
    n_shadows=N_MODELS - 1,
    n_dp=N_DP,
    n_clipped=N_CLIPPED,
    n_models_total=N_MODELS + N_DP + N_CLIPPED,
    epochs=PLAIN.epochs,
    device=DEVICE.type,
    fpr_01=0.001,
)

# %% [markdown] id="data"
# ## 3. The photographs
#
# CIFAR-10 (Krizhevsky 2009) has photographs of ten kinds of things, 32 × 32 pixels each. `quick` uses the {{ pool:,d }} training images that come with the course, a random part of the whole. `full` downloads all of them, once.
#
# Every network gets its own random half of the pool as training set. In `quick` each image is in or out by a fair coin of its own, for every network anew. Then nothing about an image, and nothing about the other images, says whether it is a member; and what differential privacy promises under add/remove applies word for word. In `full` we follow the published experiment: a random half of *exactly* 25,000.

# %% id="draw-members"
if FULL:
    cifar10 = load_cifar10("download", lab.progress(label="Megabytes of CIFAR-10"))
else:
    cifar10 = load_cifar10()
class_labels = [
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
]
X, y = networks.normalised(cifar10.x_train[:POOL]), cifar10.y_train[:POOL].astype(np.int64)
n_test = lab.pick(smoke=100, quick=2_000, full=10_000)
X_test = networks.normalised(cifar10.x_test[:n_test])
y_test = cifar10.y_test[:n_test].astype(np.int64)


def draw_members(m):
    """Who of the pool trains network number m: P bools."""
    if not FULL:
        return coin_membership(POOL, np.random.default_rng(1_000 + m))
    halves = torch.utils.data.random_split(
        range(POOL), [POOL // 2, POOL - POOL // 2], torch.Generator().manual_seed(m)
    )
    return np.isin(np.arange(POOL), halves[0].indices)


IN = np.array([draw_members(m) for m in range(N_MODELS)])
IN_DP, IN_CLIPPED = IN[:N_DP], IN[:N_CLIPPED]  # the same members: the comparisons are paired
is_member = IN[0]  # of the target's training set
lab.record(n_members=is_member.sum(), n_nonmembers=(~is_member).sum(), n_test=n_test)
print(f"target: {is_member.sum():,} members and {(~is_member).sum():,} non-members")

# %% id="show-images"
figure, grid = plt.subplots(2, 8, figsize=(9, 2.7), layout="constrained")
for row, side in enumerate((is_member, ~is_member)):
    for axes, record in zip(grid[row], np.flatnonzero(side)[:8], strict=True):
        axes.imshow(cifar10.x_train[record])
        axes.set(xticks=[], yticks=[])
        axes.set_title(class_labels[y[record]], fontsize=9)
grid[0, 0].set_ylabel("members")
grid[1, 0].set_ylabel("non-members")
plots.show(
    figure,
    alt="Two rows of eight small photographs of animals and vehicles, members of the target's "
    "training set above, non-members below. Nothing sets the rows apart.",
)

# %% [markdown] id="how-long"
# How long will the training take? We time a few steps and multiply. This is a forecast from an idle moment: if other programs use the processor, it takes longer.

# %% id="forecast"
on_gpu = DEVICE.type == "cuda"
at_a_time = 1 if on_gpu or WORKERS == 1 else joblib.cpu_count()
plan_labels = ["without privacy", "with DP-SGD", "clipped, no noise"]
plans = [(PLAIN, N_MODELS), (PRIVATE, N_DP), (CLIPPED, N_CLIPPED)]
forecast = 0
for plan_label, (settings, n) in zip(plan_labels, plans, strict=True):
    per_image = training_runs.seconds_per_image(settings, X, y, device=DEVICE)
    seconds = per_image * settings.epochs * POOL / 2 * n / min(n, at_a_time)
    forecast += seconds
    print(f"{n} networks {plan_label}: about {seconds / 60:.1f} minutes")
print(f"together about {forecast / 60:.1f} minutes")

# %% [markdown] id="training-idea"
# ## 4. Training, once by hand and then many
#
# The `quick` network is a small ResNet (He et al. 2016): a first convolution, three residual blocks, a linear layer. Its normalisation is GroupNorm, which looks at one image at a time. (BatchNorm averages over the batch. Then one record's gradient depends on the others, and DP-SGD has nothing to clip. In `full` the ordinary ResNet-18 keeps its BatchNorm; for the DP networks Opacus' `ModuleValidator` replaces it. There the two kinds also differ in augmentation and batch size, so the fairest comparison is with the clipped networks.) The training is Adam on the cross-entropy, with a learning rate that rises and falls, one cycle in all.
#
# There is no secret in it. Here it is by hand, for one epoch on some images, and compared with the course's own `networks.train_network`, which trains the networks without privacy below. Those with DP-SGD go through Opacus.


# %% id="train-by-hand"
def train_by_hand(X, y, seed, epochs):
    """Train the small ResNet with nothing but PyTorch."""
    network = initial_convnet("small", seed).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(seed)  # the order of the images
    for _epoch in range(epochs):
        for batch in torch.randperm(len(X), generator=generator).split(64):
            optimizer.zero_grad()
            cross_entropy(network(X[batch]), y[batch]).backward()
            optimizer.step()
    return network.eval()


few = np.flatnonzero(is_member)[:640]
by_hand = train_by_hand(torch.from_numpy(X[few]), torch.from_numpy(y[few]), seed=0, epochs=1)
(by_bench,) = networks.train_network(Training(epochs=1, batch_size=64), X[few], y[few], seed=0)
with torch.no_grad():
    logits_by_hand = by_hand(torch.from_numpy(X_test[:100])).numpy()
apart = abs(logits_by_hand - networks.logits("small", by_bench, X_test[:100])).max()
spread = logits_by_hand.std()
lab.record(bench_difference=apart, logits_sd=spread)
print(f"100 × 10 logits: standard deviation {spread:.2f}, largest difference {apart:.1e}")
lab.claim(
    "bench-is-the-plain-loop",
    "The course's training and the loop by hand give the same logits, up to rounding that training magnifies.",
    apart < 0.05 * spread,
)

# %% [markdown] id="resume-idea"
# Many networks take long, and something always interrupts: a laptop that sleeps, a Colab session that ends. So each network is kept in a file as soon as it is finished. The file's name is a hash of *everything* the network depends on: all settings, the data, its members, its seed, the code, the versions. Change σ, the loss or the split, and no old network is mistaken for a new one. A file that is damaged, or that belongs elsewhere, is refused and its network trained again. An interruption costs the networks in training (one per core), and no other.
#
# A network's file holds numbers only. Reading it cannot run code, as reading a pickle can: never load a stranger's model with `torch.load(..., weights_only=False)`.
#
# A small demonstration, with two tiny networks:

# %% id="resume"
with tempfile.TemporaryDirectory() as folder:
    tiny = Training(epochs=1, batch_size=64)
    some = slice(200)
    arguments = (tiny, X[some], y[some], IN[:2, some], [0, 1])
    first = training_runs.train_many(*arguments, workers=1, folder=folder)
    print("again:")
    training_runs.train_many(*arguments, workers=1, folder=folder)
    print("again, after one file was cut short:")
    cut = sorted(Path(folder).iterdir())[0]
    cut.write_bytes(cut.read_bytes()[:-1000])
    again = training_runs.train_many(*arguments, workers=1, folder=folder)
same_weights = all(
    np.array_equal(a[0][name], b[0][name])
    for a, b in zip(first, again, strict=True)
    for name in a[0]
)
lab.claim(
    "resumed-is-the-same",
    "A network that was trained again has the same weights, bit for bit.",
    same_weights,
)

# %% [markdown] id="train-all-idea"
# Now for real: {{ n_models:d }} networks without privacy. The first is the **target**. The other {{ n_shadows:d }} are its **shadow models**. This is the long cell.

# %% id="train-plain"
plain = training_runs.train_many(
    PLAIN,
    X,
    y,
    IN,
    range(N_MODELS),
    device=DEVICE,
    workers=WORKERS,
    folder=KEEP_IN,
    progress=lab.progress(label="Epochs trained"),
)

# %% [markdown] id="scores-idea"
# ## 5. One number for each network and image
#
# With logits $z$ and true label $y$, the **true-label logit** is
#
# $$\varphi = z_y - \log \sum_{j \neq y} e^{z_j} = \log \frac{p_y}{1 - p_y} .$$
#
# Two traps have spoilt published numbers.
#
# **Go from the logits, not from the probabilities.** The two forms are equal on paper. In floating-point numbers, $p_y$ rounds to one for the images that the network is surest of, and these are mostly members.
#
# **Score in eval mode.** In train mode BatchNorm standardises each image by the batch it happens to be in, so a record's score depends on its neighbours, and on how many of *them* are members. The official code of LiRA had this fault until 2023, and the expected results that come with it moved when it was mended. The test is easy: an image alone must get the same score as in its batch. (In `quick` there is no BatchNorm, so that this check can fail in `full` only.)


# %% id="scores"
def logits_of(population, X, which=-1, settings=PLAIN, **shift):
    """The logits of M networks in eval mode: M × n × 10. which: the snapshot, or −1 for the end."""
    judge = joblib.Parallel(n_jobs=1 if on_gpu else WORKERS, prefer="threads")
    task = joblib.delayed(networks.logits)
    return np.stack(
        judge(
            task(settings.architecture, weights[which], X, device=DEVICE, **shift)
            for weights in population
        )
    )


Z = logits_of(plain, X)
PHI = attacks.label_logit_from_logits(Z, y)

alone = np.array([logits_of(plain[:1], X[k : k + 1])[0, 0] for k in range(20)])
alone_difference = abs(attacks.label_logit_from_logits(alone, y[:20]) - PHI[0, :20]).max()
print(f"eval mode, alone or in a batch: φ differs by {alone_difference:.1e} at most")
batchnorm = initial_convnet("resnet18", 0).train()
with torch.no_grad():
    moved_by = abs(batchnorm(torch.from_numpy(X[:8]))[0] - batchnorm(torch.from_numpy(X[:4]))[0])
print(f"ResNet-18 in train mode, in a batch of 8 or of 4: a logit moves by {moved_by.max():.2f}")

p = torch.softmax(torch.tensor([17.0, 0.0, 0.0]), dim=0)[0]
saturated_label = "from probabilities"
print(f"logits (17, 0, 0): {saturated_label} {torch.log(p / (1 - p)):.3f}, from logits ", end="")
print(f"{attacks.label_logit_from_logits([[17.0, 0.0, 0.0]], [0])[0]:.3f}")

correct = Z.argmax(2) == y
acc_train = np.array([hits[i].mean() for hits, i in zip(correct, IN, strict=True)])
acc_test = (logits_of(plain, X_test).argmax(2) == y_test).mean(axis=1)
print(f"accuracy on members {acc_train.mean():.1%}, on test images {acc_test.mean():.1%} (means)")
lab.record(
    alone_difference=alone_difference,
    acc_train=acc_train.mean(),
    acc_test=acc_test.mean(),
    target_acc_train=acc_train[0],
    target_acc_test=acc_test[0],
)
lab.claim(
    "alone-is-as-in-the-batch",
    "In eval mode an image alone has the score that it has in its batch, to 1e-5.",
    alone_difference < 1e-5,
)

# %% [markdown] id="scores-reading"
# The networks classify {{ acc_train:.1% }} of their members correctly and {{ acc_test:.1% }} of the test images. With some two thousand images to learn from, a network learns a lot of them by heart. That gap is what the attack lives on. Networks trained on more data have a smaller gap, and leak less about most images, but not about all (Carlini et al. 2022).

# %% [markdown] id="in-out-idea"
# ## 6. In and out, image by image
#
# For one image the {{ n_shadows:d }} shadows fall into those that saw it and those that did not. These are samples of the two worlds of section 1. Let us look at four images: an easy member of the target and an easy non-member, where the two worlds differ least, and a hard one of each, where they differ most.

# %% id="in-out"
shadow_in, shadow_phi = IN[1:], PHI[1:]


def fitted(values, side):
    """Mean and standard deviation of each image's scores, over the networks of one side."""
    n = side.sum(axis=0)
    mean = np.where(side, values, 0).sum(axis=0) / np.maximum(n, 1)
    squares = np.where(side, (values - mean) ** 2, 0).sum(axis=0)
    return mean, np.sqrt(squares / np.maximum(n - 1, 1))


mean_in, sd_in = fitted(shadow_phi, shadow_in)
mean_out, sd_out = fitted(shadow_phi, ~shadow_in)
gap = mean_in - mean_out
n_in = shadow_in.sum(axis=0)
several = (n_in > 1) & (n_in < N_MODELS - 2)  # at least two shadows on each side
enough = several & (abs(n_in - (N_MODELS - 1) / 2) <= 2)
ease = np.where(enough, 0.1 * mean_out - abs(gap), -np.inf)  # no gap, and sure without it
hardness = np.where(enough, gap, -np.inf)
shown = [
    np.argmax(np.where(side, value, -np.inf))
    for value in (ease, hardness)
    for side in (is_member, ~is_member)
]

figure, rows = plt.subplots(
    4, 2, figsize=(9, 6.4), width_ratios=(1, 6), sharex="col", layout="constrained"
)
bins = np.linspace(np.floor(shadow_phi[:, shown].min()), np.ceil(shadow_phi[:, shown].max()), 25)
line = np.linspace(bins[0], bins[-1], 400)
side_labels = ("did not see it", "saw it")
for place, ((picture, axes), record) in enumerate(zip(rows, shown, strict=True)):
    picture.imshow(cifar10.x_train[record])
    picture.set_axis_off()
    for side, color, hatch in ((0, "#9A9A9A", None), (1, "C0", "///")):
        under = shadow_phi[shadow_in[:, record] == side, record]
        axes.hist(
            under,
            bins,
            density=True,
            histtype="stepfilled",
            facecolor="none" if side else "#D8D8D8",
            edgecolor=color,
            hatch=hatch,
            label=side_labels[side],
        )
        curve = norm.pdf(line, under.mean(), max(under.std(ddof=1), 0.3))
        axes.plot(line, curve, color=color, linestyle="-" if side else "--")
        lab.curve(f"shown_{place}_{side}", under)
    axes.axvline(PHI[0, record], color="black", linestyle=":", label="target")
    membership_label = "member" if is_member[record] else "non-member"
    axes.set_title(f"{class_labels[y[record]]}; for the target: {membership_label}", loc="left")
    axes.set_yticks([])
rows[0][1].legend(loc="upper left")
rows[3][1].set_xlabel("true-label logit φ")
plots.show(
    figure,
    alt="Four photographs, each with histograms of its true-label logit under the shadow models that "
    "saw it and those that did not, with normal curves. For the upper two the histograms overlap "
    "to the right of zero. For the lower two they are far apart: those that did not see it lie far below "
    "zero, those that saw it around it or above. A dotted line shows the target, on the side where it "
    "belongs.",
)
lab.record(gap_easy=gap[shown[0]], gap_hard=gap[shown[-1]], gap_median=np.median(gap[enough]))
nearer_in = [abs(PHI[0, k] - mean_in[k]) < abs(PHI[0, k] - mean_out[k]) for k in shown[2:]]
lab.claim(
    "hard-images-give-the-target-away",
    "On the two hard images the target is nearer to the mean of its own side.",
    nearer_in == [True, False],
)

# %% [markdown] id="in-out-reading"
# For the upper two, a network is as sure without having seen the image as with it. Whether it is a member leaves hardly a trace. For the lower two, networks that did not see the image are sure of *another* label, and most of those that saw it give its own label. One look at φ tells the worlds apart. From the first of the four to the last, the distance between the two means goes from {{ gap_easy:.1f }} to {{ gap_hard:.1f }}; for the median image it is {{ gap_median:.1f }}.
#
# The curves are normal distributions with the mean and the deviation of the bars. LiRA replaces the unknown distributions by these.

# %% [markdown] id="attack-idea"
# ## 7. The attack
#
# The score of an image is the log of the likelihood ratio of the two normal distributions at the target's φ. By hand, then through the course's `attacks`, which also handles images that too few shadows saw or missed.

# %% id="lira-by-hand"
SMALL = 1e-6  # keeps a deviation from being zero
given_in = norm.logpdf(PHI[0], mean_in, sd_in + SMALL)
given_out = norm.logpdf(PHI[0], mean_out, sd_out + SMALL)
ratio = given_in - given_out

lira = attacks.lira_scores(PHI, IN, 0, online=True)
lira_difference = np.max(abs(ratio - lira)[several] / (1 + abs(lira[several])))
print(f"largest relative difference between the two: {lira_difference:.1e}")
lab.claim(
    "lira-is-the-bench",
    "The likelihood ratio by hand is the course's LiRA.",
    lira_difference < 1e-8,
)

# %% [markdown] id="fixed-idea"
# A variance estimated from eight networks is shaky, and an accidentally tiny one makes a wild ratio. The **fixed-variance** form takes one variance for all images' IN and one for all OUT, each the mean over the images. With few shadows it is far better, as the next section shows. From here on, "LiRA" without more is this form.
#
# **Where to put the threshold?** Not where it works best on the target: the attacker does not know the target's members, and a threshold picked on the very records it is judged by flatters. But the attacker knows everything about their own shadows. So let the shadows attack one another, each scored by the others, *the target kept out*, and take the threshold that gives the wanted false positive rate there. Then turn it on the target.

# %% id="threshold"
scores = attacks.lira_scores(PHI, IN, 0, online=True, fixed_var=True)
shadow_scores = attacks.lira_scores_all(shadow_phi, shadow_in, online=True, fixed_var=True)
others = np.sort(shadow_scores[~shadow_in])[::-1]
print("threshold chosen on the shadows, rates on the target")
aimed = {}
for key, alpha in (("1", 0.01), ("01", 0.001), ("001", 0.0001)):
    threshold = others[int(alpha * len(others))]  # no more than that share lies above it
    guess = scores > threshold
    aimed[key] = (guess[is_member].mean(), guess[~is_member].mean())
    lab.record({f"aimed_tpr_{key}": aimed[key][0], f"aimed_fpr_{key}": aimed[key][1]})
    print(f"  FPR of {alpha:.2%} wanted: TPR {aimed[key][0]:.2%}, FPR {aimed[key][1]:.2%}")

# The same for each network in turn as the target.
each_fpr = []
for t in range(N_MODELS):
    rest = np.arange(N_MODELS) != t
    rest_scores = attacks.lira_scores_all(PHI[rest], IN[rest], online=True, fixed_var=True)
    rest_others = np.sort(rest_scores[~IN[rest]])[::-1]
    own = attacks.lira_scores(PHI, IN, t, online=True, fixed_var=True)[~IN[t]]
    each_fpr.append((own > rest_others[int(0.01 * len(rest_others))]).mean())
lab.record(
    aimed_fpr_mean=np.mean(each_fpr), aimed_fpr_min=min(each_fpr), aimed_fpr_max=max(each_fpr)
)
print(f"each network in turn: 1% wanted, {np.mean(each_fpr):.2%} in the mean, ", end="")
print(f"from {min(each_fpr):.2%} to {max(each_fpr):.2%}")

# The threshold with the best balanced accuracy on the shadows.
fpr, tpr = metrics.roc_curve(shadow_scores, shadow_in)
descending = np.unique(shadow_scores)[::-1]
balanced_threshold = descending[np.argmax(tpr - fpr) - 1]
guess = scores >= balanced_threshold
confusion = np.array(
    [
        [np.sum(guess & is_member), np.sum(~guess & is_member)],
        [np.sum(guess & ~is_member), np.sum(~guess & ~is_member)],
    ]
)
bal_acc = (confusion[0, 0] / confusion[0].sum() + confusion[1, 1] / confusion[1].sum()) / 2
accuracy = (confusion[0, 0] + confusion[1, 1]) / confusion.sum()
lab.record(lira_bal_acc=bal_acc, lira_acc=accuracy)
aimed_tpr, aimed_fpr = aimed["1"]
for name, rate in (("half", 0.5), ("hundredth", 0.01)):
    accused = rate * aimed_tpr + (1 - rate) * aimed_fpr
    lab.record({f"precision_{name}": rate * aimed_tpr / accused if accused else 0.0})
print("confusion matrix of the target, at the threshold with the shadows' best balanced accuracy:")
print("                 called member   called non-member")
print(f"  members        {confusion[0, 0]:13d}   {confusion[0, 1]:17d}")
print(f"  non-members    {confusion[1, 0]:13d}   {confusion[1, 1]:17d}")
print(f"balanced accuracy {bal_acc:.3f}")
lab.claim(
    "thresholds-carry-over",
    "Thresholds that the shadows choose for an FPR of 1% give 0.5% to 2% on the target, in the mean.",
    0.005 <= np.mean(each_fpr) <= 0.02,
)

# %% [markdown] id="threshold-reading"
# Aimed at an FPR of 1%, the threshold gives the target {{ aimed_fpr_1:.2% }}, and finds {{ aimed_tpr_1:.1% }} of its members. With each network in turn as the target, the FPR is {{ aimed_fpr_mean:.2% }} in the mean, and runs from {{ aimed_fpr_min:.2% }} to {{ aimed_fpr_max:.2% }}: networks differ, and this threshold does not adapt to the target. (An attacker could: the target also answers for images that are surely not members.) In the mean the threshold carries over: an attacker can choose it without the target's members. How often an accusation is *right* depends on how many of the candidates are members. Here it is half of them, and {{ precision_half:.0% }} of the accused are members. If one in a hundred were, it would be {{ precision_hundredth:.0% }}.
#
# At the threshold with the shadows' best balanced accuracy the attack is right about {{ lira_acc:.1% }} of the records (balanced accuracy {{ lira_bal_acc:.1% }}), where a coin is right about half.
#
# But balanced accuracy is the wrong measure for privacy. An attacker who points at a few people and is right does more harm than one who is slightly better than a coin on everybody. What counts is the TPR at a very low FPR. It is invisible on linear axes, so here are both.

# %% id="judge"
N_BOOTSTRAP = lab.pick(smoke=20, quick=200, full=50)
GRID = np.geomspace(1e-5, 1, 250)  # false positive rates at which curves are kept
metric_labels = {"auc": "AUC", "tpr_1": "TPR at 1% FPR", "tpr_01": "TPR at 0.1% FPR"}


def judge(scores, membership, prefix, title):
    """Measure an attack on all models, each in turn the target; print and keep the figures."""
    found = metrics.attack_metrics(scores, membership)
    limits = metrics.pair_intervals(scores, membership, np.random.default_rng(0), N_BOOTSTRAP)
    print(title)
    for key in metric_labels:
        low, high = limits[key]
        lab.record({f"{prefix}_{key}": found[key]})
        lab.record({f"{prefix}_{key}_lo": low, f"{prefix}_{key}_hi": high})
        print(f"  {padded(metric_labels[key], 17)} {found[key]:.4f}   [{low:.4f}, {high:.4f}]")
    lab.curve(f"roc_{prefix}", GRID, metrics.tpr_at_fpr(found["fpr"], found["tpr"], GRID))
    return found | {"limits": limits}


target_found = metrics.attack_metrics(scores, is_member)
target_loss = metrics.attack_metrics(PHI[0], is_member)
n_nonmembers = int((~is_member).sum())
for key in ("auc", "tpr_1", "tpr_01"):
    lab.record({f"target_{key}": target_found[key], f"target_loss_{key}": target_loss[key]})
lab.record(target_tpr_001=metrics.tpr_at_fpr(target_found["fpr"], target_found["tpr"], 1e-4))
print(f"target, LiRA: AUC {target_found['auc']:.3f}, TPR {target_found['tpr_1']:.1%} at 1% FPR")

figure, (linear, logarithmic) = plt.subplots(1, 2, figsize=(9.2, 4.2), layout="constrained")
for axes in (linear, logarithmic):
    axes.step(target_found["fpr"], target_found["tpr"], "-", where="post", label="LiRA")
    axes.step(target_loss["fpr"], target_loss["tpr"], "--", where="post", label="loss attack")
    axes.plot([1e-5, 1], [1e-5, 1], color="#5A5A5A", linestyle=":", label="chance")
    axes.set_xlabel("false positive rate (FPR)")
    axes.set_ylabel("true positive rate (TPR)")
logarithmic.axvspan(2e-4, 2 / n_nonmembers, color="#EBEBEB", label="fewer than 2 false positives")
logarithmic.set(xscale="log", yscale="log", xlim=(2e-4, 1), ylim=(2e-4, 1.1))
ticks = (0.001, 0.01, 0.1, 1)
logarithmic.set_xticks(ticks, [plots.percent(tick) for tick in ticks])
logarithmic.set_yticks(ticks, [plots.percent(tick) for tick in ticks])
linear.set_title("linear axes")
logarithmic.set_title("logarithmic axes")
logarithmic.legend()
plots.show(
    figure,
    alt="ROC curves of the target, on linear axes left and logarithmic axes right. On the left, LiRA "
    "lies above the loss attack until both are near the top, far above the diagonal. On the right "
    "the loss attack comes down to the chance line at low false positive rates, and LiRA stays far above it.",
)

# %% [markdown] id="targets-idea"
# ## 8. Which LiRA?
#
# One target is one sample. An FPR of {{ fpr_01:.1% }} of its non-members is one or two false positives, and a tenth of that is none: the last line of the table above rests on single images. But nothing makes network 0 special: attack each of the {{ n_models:d }} in turn, with the others as its shadows, and pool all scores. The 95% intervals below resample networks *and* images, since the pairs share both. They keep the scores fixed, and with few networks they are rough.
#
# Four attacks. The **loss attack** (Yeom et al. 2018) thresholds φ itself, without shadows. **Offline** LiRA uses only the shadows that did *not* see the image: one can train them before knowing what one will ask about. **Online** LiRA uses both kinds, with a variance for each image or with fixed ones.

# %% id="variants"
chance_01 = metrics.chance_tpr(0.001, (~IN).sum())
lab.record(chance_tpr_1=metrics.chance_tpr(0.01, (~IN).sum()), chance_tpr_01=chance_01)
lab.record(n_bootstrap=N_BOOTSTRAP)
loss_found = judge(PHI, IN, "loss", title="loss attack")
online_scores = attacks.lira_scores_all(PHI, IN, online=True)
online = judge(online_scores, IN, "lira", title="online LiRA, a variance for each image")
offline_scores = attacks.lira_scores_all(PHI, IN, online=False, fixed_var=True)
offline = judge(offline_scores, IN, "offline", title="offline LiRA, fixed variance")
fixed_scores = attacks.lira_scores_all(PHI, IN, online=True, fixed_var=True)
fixed = judge(fixed_scores, IN, "fixed", title="online LiRA, fixed variance")
lab.record(fixed_over_chance=fixed["tpr_01"] / chance_01)

shuffled = np.random.default_rng(0).permuted(IN, axis=1)
shuffled_scores = attacks.lira_scores_all(PHI, shuffled, online=True, fixed_var=True)
shuffled_auc = metrics.attack_metrics(shuffled_scores, shuffled)["auc"]
lab.record(shuffled_auc=shuffled_auc)
print(f"with shuffled membership the AUC is {shuffled_auc:.3f}")
lab.claim(
    "fifty-times-chance",
    "At 0.1% FPR, online LiRA with fixed variance finds at least 50 times as many members as chance.",
    fixed["tpr_01"] >= 50 * chance_01,
)
lab.claim(
    "loss-finds-next-to-nothing",
    "At 0.1% FPR it finds at least ten times as many as the loss attack.",
    fixed["tpr_01"] >= 10 * loss_found["tpr_01"],
)
lab.claim(
    "fixed-variance-is-better",
    "With so few shadows, fixed variances find more than a variance for each image, at 0.1% FPR.",
    fixed["tpr_01"] > online["tpr_01"],
)
lab.claim(
    "shuffled-is-chance",
    "With shuffled membership the AUC is within 0.02 of one half.",
    abs(shuffled_auc - 0.5) < 0.02,
)

# %% [markdown] id="queries-idea"
# ### Asking more than once
#
# The attacker may ask about variations of an image as well: its mirror image, or the image shifted by a pixel. Each gives another φ, with its own two distributions. If their noise were independent, the log ratios would simply add up. We take their mean, which ranks in the same way.

# %% id="queries"
queries = lab.pick(
    smoke=[(0, 1, False)],
    quick=[(0, 0, True), (1, 0, False), (0, 1, False)],
    full=[(d, r, f) for d, r in ((0, 0), (2, 0), (-2, 0), (0, 2), (0, -2)) for f in (False, True)][
        1:
    ],
)
ratios = [fixed_scores]
for down, right, flip in queries:
    phi = attacks.label_logit_from_logits(logits_of(plain, X, down=down, right=right, flip=flip), y)
    ratios.append(attacks.lira_scores_all(phi, IN, online=True, fixed_var=True))
multi = judge(np.mean(ratios, axis=0), IN, "multi", title=f"online LiRA, {len(ratios)} queries")
lab.record(n_queries=len(ratios))
if not FULL:
    lab.claim(
        "more-queries-do-not-help-here",
        "Without augmentation in the training, several queries find no more than one, at 0.1% FPR.",
        multi["tpr_01"] <= fixed["tpr_01"],
    )

# %% id="plot-variants"
plots.show(
    plots.roc(
        [
            plots.Curve(label="loss attack", fpr=loss_found["fpr"], tpr=loss_found["tpr"]),
            plots.Curve(label="online, own variance", fpr=online["fpr"], tpr=online["tpr"]),
            plots.Curve(label="offline, fixed variance", fpr=offline["fpr"], tpr=offline["tpr"]),
            plots.Curve(label="online, fixed variance", fpr=fixed["fpr"], tpr=fixed["tpr"]),
            plots.Curve(label="the same, several queries", fpr=multi["fpr"], tpr=multi["tpr"]),
        ],
        n_nonmembers=(~IN).sum(),
        smallest_fpr=5e-5,
    ),
    alt="ROC curves of five attacks on log axes, over all targets. The loss attack lies near "
    "the chance line at low rates. Online LiRA with a variance for each image lies in between. The three "
    "with fixed variances lie highest, that with several queries a little below the other two.",
)

# %% [markdown] id="variants-reading"
# | attack | AUC | TPR at 1% FPR | TPR at {{ fpr_01:.1% }} FPR |
# |---|---|---|---|
# | loss | {{ loss_auc:.3f }} | {{ loss_tpr_1:.2% }} | {{ loss_tpr_01:.2% }} [{{ loss_tpr_01_lo:.2% }}, {{ loss_tpr_01_hi:.2% }}] |
# | online, a variance for each image | {{ lira_auc:.3f }} | {{ lira_tpr_1:.2% }} | {{ lira_tpr_01:.2% }} [{{ lira_tpr_01_lo:.2% }}, {{ lira_tpr_01_hi:.2% }}] |
# | offline, fixed variance | {{ offline_auc:.3f }} | {{ offline_tpr_1:.2% }} | {{ offline_tpr_01:.2% }} [{{ offline_tpr_01_lo:.2% }}, {{ offline_tpr_01_hi:.2% }}] |
# | online, fixed variance | {{ fixed_auc:.3f }} | {{ fixed_tpr_1:.2% }} | {{ fixed_tpr_01:.2% }} [{{ fixed_tpr_01_lo:.2% }}, {{ fixed_tpr_01_hi:.2% }}] |
# | the same, {{ n_queries:d }} queries | {{ multi_auc:.3f }} | {{ multi_tpr_1:.2% }} | {{ multi_tpr_01:.2% }} [{{ multi_tpr_01_lo:.2% }}, {{ multi_tpr_01_hi:.2% }}] |
#
# Chance at {{ fpr_01:.1% }} is {{ chance_tpr_01:.2% }}: a threshold that one in a thousand non-members passes lets a useless score find about as many members. LiRA finds {{ fixed_over_chance:.0f }} times that. The loss attack, with an AUC of {{ loss_auc:.2f }} that looks respectable, finds next to nothing there. It believes that every easy image is a member. And offline LiRA, whose shadows can be trained before one knows what to ask about, comes close to online at {{ fpr_01:.1% }}; over the whole curve it is behind, with an AUC of {{ offline_auc:.3f }} against {{ fixed_auc:.3f }}.
#
# Asking more often did *not* help here. Our mean gives each query the same weight and treats them as independent. And our networks were trained on the images as they are; a shifted or mirrored one probably carries less of what they know by heart. The published attack fits one joint normal distribution to all queries instead. Where training shifts and mirrors the images anew in each epoch, as `full` does, such queries add something (Carlini et al. 2022).
#
# The shuffled membership at the end of the output is the control: the same φ, the same code, nothing to find, and the AUC is {{ shuffled_auc:.3f }}.

# %% [markdown] id="dp-idea"
# ## 9. With differential privacy
#
# DP-SGD (Abadi et al. 2016) cuts each image's gradient to length $C$ and adds noise of standard deviation $\sigma C$ to the sum. The MNIST lab does it by hand. Here Opacus does, as it would in practice. And as in practice, we check what it does.
#
# **The sampling rate.** You ask a `DataLoader` for batches of some size. Opacus samples every record with probability $q = 1/\text{number of batches}$, which is *not* batch size over number of records once that does not divide evenly. The accountant must use the same $q$.
#
# **The divisor.** Opacus divides the noisy sum by $q$ times the number of members, rounded down. Where the number of members is private, as with our coins, that leaks it in every step. We set the divisor to a public constant, $q$ times half the pool. (In `full` the number is public, and it is left as it is.)

# %% id="make-private"
warnings.filterwarnings("ignore", "Full backward hook")  # no input needs a gradient
members = np.flatnonzero(IN_DP[0])
network = initial_convnet(PRIVATE.architecture, 0).to(DEVICE).train()
on_device = [torch.from_numpy(array[members]).to(DEVICE) for array in (X, y)]
_engine, wrapped, optimizer, loader = networks.make_private(
    PRIVATE, network, *on_device, seed=0, noise_seed=1
)
q, steps = loader.sample_rate, len(loader) * PRIVATE.epochs
print(
    f"q = {q:.4f} (1/{len(loader)}), {steps} steps, noise multiplier {optimizer.noise_multiplier}"
)
print(f"the noisy sum is divided by {optimizer.expected_batch_size}")
assert q == loader.batch_sampler.sample_rate == PRIVATE.sampling_rate
assert steps == PRIVATE.steps
lab.record(
    dp_sigma=SIGMA,
    dp_clip=MAX_GRAD_NORM,
    dp_q=q,
    dp_steps=steps,
    dp_steps_per_epoch=len(loader),
    dp_epochs=PRIVATE.epochs,
    dp_expected_batch=optimizer.expected_batch_size,
    dp_delta=DELTA,
)

# One step: Opacus' clipped sum against the gradients of 16 images, one by one. The loss is the mean
# over the batch, as in training; Opacus undoes that.
images, digits = on_device[0][:16], on_device[1][:16]
cross_entropy(wrapped(images), digits).backward()
optimizer.clip_and_accumulate()
by_opacus = torch.cat([w.summed_grad.flatten() for w in wrapped.parameters()])
by_hand_sum = torch.zeros_like(by_opacus)
single = initial_convnet(PRIVATE.architecture, 0).to(DEVICE).train()
for k in range(16):
    single.zero_grad()
    cross_entropy(single(images[k : k + 1]), digits[k : k + 1]).backward()
    gradient = torch.cat([w.grad.flatten() for w in single.parameters()])
    by_hand_sum += gradient * min(1.0, MAX_GRAD_NORM / gradient.norm().item())
clipping_difference = ((by_opacus - by_hand_sum).norm() / by_hand_sum.norm()).item()
lab.record(clipping_difference=clipping_difference)
print(f"clipped sum of 16 images, relative difference to Opacus: {clipping_difference:.1e}")
lab.claim(
    "clipping-agrees-with-opacus",
    "Opacus' clipped gradient sum is the sum of the gradients clipped one by one.",
    clipping_difference < 1e-3,
)

# %% [markdown] id="epsilon-idea"
# The accountants turn $q$, the steps and σ into ε at δ = $10^{-5}$: RDP (Mironov, Talwar and Zhang 2019) is the classic upper bound, PRV (Gopi, Lee and Wutschitz 2021) a tighter one. Both are for add/remove. Under replace-one, which goes with `full`'s training sets of fixed size, the same training has a larger ε.

# %% id="epsilon"
eps_rdp = accounting.epsilon(SIGMA, q, steps, DELTA, accountant="rdp")
eps_prv = accounting.epsilon(SIGMA, q, steps, DELTA, accountant="prv")
eps_replace = accounting.epsilon(SIGMA, q, steps, DELTA, accountant="pld", adjacency="replace-one")
lab.record(dp_eps_rdp=eps_rdp, dp_eps_prv=eps_prv, dp_eps_replace_pld=eps_replace)
print(f"add/remove:  ε = {eps_rdp:.2f} by RDP, {eps_prv:.2f} by PRV")
print(f"replace-one: ε = {eps_replace:.2f} by PLD")

# %% [markdown] id="dp-training-idea"
# Now {{ n_dp:d }} networks with DP-SGD, and the attack on each of them, with the others as shadows. The shadows are *trained in the same way*. An attacker who calibrates on networks without noise calibrates on the wrong thing.
#
# And two **controls**, without which one easily credits privacy with what is not its doing:
#
# - {{ n_clipped:d }} networks trained in the same way **without the noise**. There is no ε, and nothing is promised.
# - **Stopping early.** A network that has learnt little has little to give away, private or not. From the ordinary networks we kept copies after a few epochs. We take the first whose test accuracy reaches that of the DP networks.
#
# To be fair, these get as few shadows as the DP networks have.

# %% id="train-private"
options = {"device": DEVICE, "workers": WORKERS, "folder": KEEP_IN}
private = training_runs.train_many(
    PRIVATE,
    X,
    y,
    IN_DP,
    range(N_DP),
    progress=lab.progress(label="Epochs with DP-SGD"),
    **options,
)
clipped = training_runs.train_many(
    CLIPPED,
    X,
    y,
    IN_CLIPPED,
    range(N_CLIPPED),
    progress=lab.progress(label="Epochs, clipped without noise"),
    **options,
)

# %% id="attack-private"
dp_accuracy = (logits_of(private, X_test, settings=PRIVATE).argmax(2) == y_test).mean(axis=1)
snapshot_accuracy = [
    (logits_of(plain[:N_DP], X_test, which=k).argmax(2) == y_test).mean(axis=1)
    for k in range(len(PLAIN.snapshots))
]
reached = [k for k, found in enumerate(snapshot_accuracy) if found.mean() >= dp_accuracy.mean()]
stop = reached[0] if reached else len(PLAIN.snapshots) - 1
stopped_epoch = PLAIN.snapshots[stop]
lab.record(stopped_epoch=stopped_epoch)

kinds = {
    "dp": (private, IN_DP, PRIVATE, -1, dp_accuracy),
    "clipped": (
        clipped,
        IN_CLIPPED,
        CLIPPED,
        -1,
        (logits_of(clipped, X_test, settings=CLIPPED).argmax(2) == y_test).mean(axis=1),
    ),
    "stopped": (plain[:N_DP], IN[:N_DP], PLAIN, stop, snapshot_accuracy[stop]),
    "few": (plain[:N_DP], IN[:N_DP], PLAIN, -1, acc_test[:N_DP]),
}
kind_labels = {
    "few": "ordinary training",
    "stopped": f"stopped after epoch {stopped_epoch}",
    "clipped": "clipped, no noise",
    "dp": "DP-SGD",
}
PHI_OF, attacked, attacked_offline = {}, {}, {}
for prefix, (population, membership, settings, which, accuracy) in kinds.items():
    Z_kind = logits_of(population, X, which=which, settings=settings)
    PHI_OF[prefix] = attacks.label_logit_from_logits(Z_kind, y)
    seen = [(z.argmax(1) == y)[i].mean() for z, i in zip(Z_kind, membership, strict=True)]
    lab.record({f"{prefix}_acc_train": np.mean(seen)})
    lab.record(
        {f"{prefix}_acc_test": accuracy.mean(), f"{prefix}_acc_test_sd": accuracy.std(ddof=1)}
    )
    kind_scores = attacks.lira_scores_all(PHI_OF[prefix], membership, online=True, fixed_var=True)
    title = f"{kind_labels[prefix]}: accuracy {accuracy.mean():.1%}, online LiRA, fixed variance"
    attacked[prefix] = judge(kind_scores, membership, f"{prefix}_fixed", title=title)
    kind_scores = attacks.lira_scores_all(PHI_OF[prefix], membership, online=False, fixed_var=True)
    title = f"{kind_labels[prefix]}: offline LiRA, fixed variance"
    attacked_offline[prefix] = judge(kind_scores, membership, f"{prefix}_offline", title=title)
dp_loss = judge(PHI_OF["dp"], IN_DP, "dp_loss", title="DP-SGD: loss attack")
dp_lira_scores = attacks.lira_scores_all(PHI_OF["dp"], IN_DP, online=True)
dp_lira = judge(dp_lira_scores, IN_DP, "dp_lira", title="DP-SGD: online LiRA, own variance")

# %% [markdown] id="ceiling-idea"
# What does the theory allow? For every (ε, δ) that the training satisfies, an attack's TPR is at most $e^\varepsilon\,\text{FPR} + \delta$, and a second such bound holds from the other side. The smallest of these over the whole curve δ(ε) is the mechanism's **trade-off curve** (Dong, Roth and Su 2022): a ceiling for every attack on this training, whatever it knows, except the noise, the batches and the membership of the record itself.

# %% id="plot-private"
ADJACENCY = "replace-one" if FULL else "add/remove"
epsilons = np.linspace(0, 30, 1_501)
deltas = accounting.privacy_profile(epsilons, SIGMA, q, steps, adjacency=ADJACENCY)


def ceiling(fpr):
    """The most TPR that the whole privacy profile allows at each FPR."""
    bounds = [audit.two_sided_tpr_ceiling(fpr, e, d) for e, d in zip(epsilons, deltas, strict=True)]
    return np.min(bounds, axis=0)


bound_1, bound_01 = ceiling(np.array([0.01, 0.001]))
lab.record(dp_bound_1=bound_1, dp_bound_01=bound_01)
print(
    f"no attack on the DP networks finds more than {bound_1:.1%} at 1% FPR, {bound_01:.1%} at 0.1%"
)
curves = [
    plots.Curve(label=kind_labels[prefix], fpr=attacked[prefix]["fpr"], tpr=attacked[prefix]["tpr"])
    for prefix in kind_labels
]
plots.show(
    plots.roc(
        curves,
        [plots.Ceiling(label="ceiling of the DP networks", fpr=GRID, tpr=ceiling(GRID))],
        n_nonmembers=(~IN_DP).sum(),
        smallest_fpr=2e-4,
    ),
    alt="ROC curves of online LiRA on log axes for four kinds of training. Ordinary training lies far "
    "above the chance line. Training that was stopped early, clipped training without noise and DP-SGD lie "
    "near it. The ceiling of the DP networks lies far above the attack on them, and at higher rates below "
    "that on ordinary training.",
)
lab.claim(
    "dp-takes-the-attack-away",
    "At 0.1% FPR, DP-SGD leaves the attack less than a fifth of what it finds after ordinary training.",
    attacked["dp"]["tpr_01"] < attacked["few"]["tpr_01"] / 5,
)
lab.claim(
    "nothing-above-the-ceiling",
    "None of the four attacks on the DP networks exceeds the ceiling, at 1% and at 0.1% FPR.",
    all(
        found["tpr_1"] <= bound_1 and found["tpr_01"] <= bound_01
        for found in (attacked["dp"], attacked_offline["dp"], dp_loss, dp_lira)
    ),
)
few_tpr_10 = metrics.tpr_at_fpr(attacked["few"]["fpr"], attacked["few"]["tpr"], 0.1)
bound_10 = float(ceiling(np.array([0.1]))[0])
single_pair = audit.two_sided_tpr_ceiling(0.1, eps_prv, DELTA)
lab.record(few_fixed_tpr_10=few_tpr_10, dp_bound_10=bound_10, dp_single_pair_10=single_pair)
lab.claim(
    "ordinary-training-breaks-the-ceiling",
    "At 10% FPR, the attack on our ordinary networks finds more than the ceiling of the DP networks.",
    few_tpr_10 > bound_10,
)
lab.claim(
    "dp-still-leaks-a-little",
    "The whole interval of offline LiRA's AUC on the DP networks lies above one half.",
    attacked_offline["dp"]["limits"]["auc"][0] > 0.5,
)
lab.claim(
    "little-learnt-little-leaked",
    "Stopped at the DP networks' accuracy, ordinary training also leaves the attack less than a fifth.",
    attacked["stopped"]["tpr_01"] < attacked["few"]["tpr_01"] / 5,
)

# %% [markdown] id="dp-reading"
# | training | accuracy on members | on test images | TPR at {{ fpr_01:.1% }} FPR, online | AUC, online | AUC, offline |
# |---|---|---|---|---|---|
# | ordinary, {{ n_dp:d }} networks | {{ few_acc_train:.1% }} | {{ few_acc_test:.1% }} | {{ few_fixed_tpr_01:.2% }} [{{ few_fixed_tpr_01_lo:.2% }}, {{ few_fixed_tpr_01_hi:.2% }}] | {{ few_fixed_auc:.3f }} [{{ few_fixed_auc_lo:.3f }}, {{ few_fixed_auc_hi:.3f }}] | {{ few_offline_auc:.3f }} [{{ few_offline_auc_lo:.3f }}, {{ few_offline_auc_hi:.3f }}] |
# | the same, stopped after epoch {{ stopped_epoch:d }} | {{ stopped_acc_train:.1% }} | {{ stopped_acc_test:.1% }} | {{ stopped_fixed_tpr_01:.2% }} [{{ stopped_fixed_tpr_01_lo:.2% }}, {{ stopped_fixed_tpr_01_hi:.2% }}] | {{ stopped_fixed_auc:.3f }} [{{ stopped_fixed_auc_lo:.3f }}, {{ stopped_fixed_auc_hi:.3f }}] | {{ stopped_offline_auc:.3f }} [{{ stopped_offline_auc_lo:.3f }}, {{ stopped_offline_auc_hi:.3f }}] |
# | clipped, no noise | {{ clipped_acc_train:.1% }} | {{ clipped_acc_test:.1% }} | {{ clipped_fixed_tpr_01:.2% }} [{{ clipped_fixed_tpr_01_lo:.2% }}, {{ clipped_fixed_tpr_01_hi:.2% }}] | {{ clipped_fixed_auc:.3f }} [{{ clipped_fixed_auc_lo:.3f }}, {{ clipped_fixed_auc_hi:.3f }}] | {{ clipped_offline_auc:.3f }} [{{ clipped_offline_auc_lo:.3f }}, {{ clipped_offline_auc_hi:.3f }}] |
# | DP-SGD, ε = {{ dp_eps_prv:.2f }} | {{ dp_acc_train:.1% }} | {{ dp_acc_test:.1% }} | {{ dp_fixed_tpr_01:.2% }} [{{ dp_fixed_tpr_01_lo:.2% }}, {{ dp_fixed_tpr_01_hi:.2% }}] | {{ dp_fixed_auc:.3f }} [{{ dp_fixed_auc_lo:.3f }}, {{ dp_fixed_auc_hi:.3f }}] | {{ dp_offline_auc:.3f }} [{{ dp_offline_auc_lo:.3f }}, {{ dp_offline_auc_hi:.3f }}] |
#
# After DP-SGD this attack finds hardly more than chance: {{ dp_fixed_tpr_01:.2% }} at an FPR of {{ fpr_01:.1% }}, where ordinary training with as many shadows leaves {{ few_fixed_tpr_01:.2% }}. And the accuracy falls, from {{ few_acc_test:.1% }} to {{ dp_acc_test:.1% }}. Not all of that is the noise: the same training without it reaches {{ clipped_acc_test:.1% }}. The rest of the fall is clipping, and a shorter training with fewer and larger steps.
#
# Is nothing left? Online LiRA, which with {{ n_dp:d }} networks has five shadows, mostly two or three on a side, sees nothing. The offline form does not estimate the IN side. It takes for granted that members score higher. It has an AUC of {{ dp_offline_auc:.3f }}, with an interval above ½; even the loss attack has {{ dp_loss_auc:.3f }}. An ε of {{ dp_eps_prv:.0f }} does not mean that nothing leaks.
#
# Now the controls. Ordinary training stopped near the same accuracy leaves {{ stopped_fixed_tpr_01:.2% }}. The clipped training *without noise*, to which nothing is promised, leaves {{ clipped_fixed_tpr_01:.2% }}, and an offline AUC of {{ clipped_offline_auc:.3f }} against {{ dp_offline_auc:.3f }} with noise. With so few networks of each kind, the intervals cannot tell the three apart. So the *measured* fall says next to nothing about the noise. **A network that learns little leaks little.** Whoever reports that a defence "stops LiRA" has to show that stopping early does not do the same for less.
#
# What, then, does DP-SGD buy? Not the measurement, but the promise. The dashed line in the figure is its ceiling. Ordinary training breaks through it: at 10% FPR the attack finds {{ few_fixed_tpr_10:.1% }}, where this noise, this $q$ and so many steps would allow {{ dp_bound_10:.1% }}. (That takes the whole curve δ(ε). The one pair ε = {{ dp_eps_prv:.2f }}, δ = $10^{-5}$ by itself allows almost everything: {{ dp_single_pair_10:.1% }} at the same FPR.) For the DP networks, an attack with an FPR of 1% has a TPR of at most {{ dp_bound_1:.0% }}, and one with {{ fpr_01:.1% }} at most {{ dp_bound_01:.1% }}. These are chances over the coins, the batches and the noise. They hold for each record by itself, however odd, and against any attacker who can predict neither noise nor batches. For the other three rows nobody knows what the next attack will find, or what this one finds on the single worst image. (Our settings for the DP training were found by a few trials on these very images. Strictly, that too costs privacy, and the ε above does not count it; Papernot and Steinke 2022.)

# %% [markdown] id="audit-idea"
# ## 10. What the attack proves
#
# Turned around, an attack that does better than some ε allows proves that the training was not ε-private. Each record had a fair coin of its own, so one training run gives thousands of trials, and the one-run bound of Steinke, Nasr and Jagielski (2023) turns right guesses into a lower bound on ε, with 95% confidence. The guessing rule is chosen on one half of the records and counted on the other. (In `full`, halves of a fixed size are not independent coins, and this section is skipped.)

# %% id="audit"
if not FULL:
    plain_audit = audit.audit_scores(scores, is_member, np.random.default_rng(0))
    dp_scores = attacks.lira_scores(PHI_OF["dp"], IN_DP, 0, online=True, fixed_var=True)
    dp_audit = audit.audit_scores(dp_scores, IN_DP[0], np.random.default_rng(0), delta=DELTA)
    lab.record(audit_eps_lo=plain_audit.epsilon, dp_audit_eps_lo=dp_audit.epsilon)
    lab.record(audit_correct=plain_audit.correct, audit_guesses=plain_audit.guesses)
    lab.record(dp_audit_correct=dp_audit.correct, dp_audit_guesses=dp_audit.guesses)
    audit_labels = ["ordinary training", "DP-SGD"]
    for audit_label, found in zip(audit_labels, (plain_audit, dp_audit), strict=True):
        print(
            f"{audit_label}: {found.correct} of {found.guesses} guesses right, ε ≥ {found.epsilon:.2f}"
        )
    lab.claim(
        "audit-below-accountant",
        "What the attack proves about the DP network is at most the accountant's ε.",
        dp_audit.epsilon <= eps_prv,
    )
    lab.claim(
        "audit-sees-the-plain-network",
        "For the ordinary network the attack proves an ε above 1.",
        plain_audit.epsilon > 1,
    )

# %% [markdown] id="audit-reading"
# For the ordinary target, {{ audit_correct:d }} of {{ audit_guesses:d }} guesses were right, which proves ε ≥ {{ audit_eps_lo:.2f }}. Nothing bounds the true ε: no calibrated noise was added, and given its seed the training is deterministic. (So is our DP network, given the seed of its noise. Its ε holds only against those who do not know that seed.)
#
# For the DP network the bound is {{ dp_audit_eps_lo:.2f }}, from {{ dp_audit_correct:d }} right of {{ dp_audit_guesses:d }} guesses; the accountant promises at most {{ dp_eps_prv:.2f }}. A bound of 0 proves nothing at all: every training meets it. Between the two lies what this attack, from this distance, on ordinary records, cannot see. A small audited ε is not evidence of privacy. The MNIST lab says more about why.

# %% [markdown] id="exposed-idea"
# ## 11. Who is exposed?
#
# An average hides the worst cases (Aerni, Zhang and Tramèr 2024). For each image, take the distance between the two means of section 6, over all {{ n_models:d }} networks, in units of one pooled deviation of all scores around these means. Here are the images with the largest and the smallest.

# %% id="exposed"
(inside, _), (outside, _) = fitted(PHI, IN), fitted(PHI, ~IN)
usable = (IN.sum(axis=0) >= 2) & ((~IN).sum(axis=0) >= 2)
residual = np.where(IN, PHI - inside, PHI - outside)[:, usable]
deviation = residual.std()
exposure = np.where(usable, (inside - outside) / deviation, 0)
order = np.argsort(-np.where(usable, exposure, -np.inf), kind="stable")
safest = np.argsort(np.where(usable, abs(exposure), np.inf), kind="stable")

figure, grid = plt.subplots(2, 8, figsize=(9.4, 3.2), layout="constrained")
for row, records in enumerate((order[:8], safest[:8])):
    for axes, record in zip(grid[row], records, strict=True):
        axes.imshow(cifar10.x_train[record])
        axes.set(xticks=[], yticks=[])
        axes.set_title(f"{class_labels[y[record]]}\n{abs(exposure[record]):.1f}", fontsize=9)
grid[0, 0].set_ylabel("most exposed")
grid[1, 0].set_ylabel("least")
plots.show(
    figure,
    alt="Eight photographs with the largest exposure above, eight with the smallest below, each with "
    "its label and a number. Those above are mostly cars and ships of unusual kinds or cut off; those below are "
    "ordinary views.",
)
top = order[: max(1, int(0.05 * usable.sum()))]
fixed_threshold = np.sort(fixed_scores[~IN])[::-1][int(0.01 * (~IN).sum())]
caught = fixed_scores > fixed_threshold
lab.record(
    exposure_median=np.median(exposure[usable]),
    exposure_max=exposure[order[0]],
    exposed_tpr_1=caught[:, top][IN[:, top]].mean(),
    exposed_out_correct=(PHI > 0)[:, top][~IN[:, top]].mean(),
    all_out_correct=(PHI > 0)[~IN].mean(),
)
print(
    f"most exposed 5%: {caught[:, top][IN[:, top]].mean():.1%} of their memberships are found at 1% FPR"
)
lab.claim(
    "some-are-far-more-exposed",
    "The 5% most exposed images are found at least twice as often as the average, at 1% FPR.",
    caught[:, top][IN[:, top]].mean() > 2 * fixed["tpr_1"],
)

# %% [markdown] id="exposed-reading"
# The median image has an exposure of {{ exposure_median:.1f }}, the largest is {{ exposure_max:.1f }}. Of the memberships of the 5% most exposed, {{ exposed_tpr_1:.1% }} are found at an FPR of 1%, where the average is {{ fixed_tpr_1:.1% }}. (We picked these images by the same networks, which flatters the number.)
#
# What sets them apart? A network that did not see them gives their label more than half of its belief in {{ exposed_out_correct:.1% }} of the cases, against {{ all_out_correct:.1% }} for all images. That is partly how we chose them: a large distance needs a low score without the image. They need not be strange pictures. Among the eight above there are unusual views and cut-off objects, but eight prove nothing about the rest.

# %% [markdown] id="cluster-idea"
# ## 12. Larger than one machine
#
# The networks do not depend on one another, so they can train anywhere. `train_many` asks joblib for workers, and joblib asks whoever you name. On a cluster that runs Dask, the same call does it:
#
# ```
# from dask.distributed import Client
#
# with Client("scheduler:8786"), joblib.parallel_config("dask"):
#     plain = training_runs.train_many(PLAIN, X, y, IN, range(N_MODELS), device=DEVICE, workers=256, folder=KEEP_IN)
# ```
#
# Every worker needs the course's code and the same versions of the packages. On CPUs of the same kind the scores are the same to the last bit: a network depends on its settings, the data, its members and its seed, and not on the other networks. A GPU's sums may come in another order each time. Finished networks are kept where the notebook runs, so an interruption costs no more than on one machine. On several GPUs, start one worker process for each with its own `CUDA_VISIBLE_DEVICES`. Ray should work in the same way, after `ray.util.joblib.register_ray()`, with `parallel_config("ray")`; only Dask is tested here.
#
# What would it cost? No GPU was at hand when this was written, so the table is *derived*, not measured. One forward pass of ResNet-18 on a 32 × 32 image is counted below. Backward costs twice as much. We assume that a GPU reaches a fifth of its peak on pictures as small as these, and that per-image gradients, which DP-SGD writes once and reads twice, move at two thirds of its memory's speed. It may well be off by a factor of two or more: time one epoch on your own GPU before you start: section 3 does.

# %% id="cost"
from torch.utils.flop_counter import FlopCounterMode

resnet = initial_convnet("resnet18", 0).eval()
n_weights = sum(w.numel() for w in resnet.parameters())
with torch.no_grad(), FlopCounterMode(display=False) as counter:
    resnet(torch.zeros(1, 3, 32, 32))
forward = counter.get_total_flops()
images_seen = 25_000 * 30  # members × epochs
gpus = {"T4": (8.1e12, 320e9), "A100": (19.5e12, 1555e9)}  # peak flop/s in float32, byte/s


def hours(peak, bandwidth, private):
    """Hours for one network at the full size, by counting operations."""
    seconds = 3 * forward * images_seen / (0.2 * peak)
    if private:
        seconds += 3 * 4 * n_weights * images_seen / (2 / 3 * bandwidth)
    return seconds / 3600


lab.record(resnet_megaflops=forward / 1e6, resnet_weights=n_weights)
for gpu, (peak, bandwidth) in gpus.items():
    ordinary, with_dp = (hours(peak, bandwidth, private) for private in (False, True))
    lab.record(
        {
            f"cost_{gpu.lower()}_plain_minutes": 60 * ordinary,
            f"cost_{gpu.lower()}_dp_minutes": 60 * with_dp,
            f"cost_{gpu.lower()}_full_hours": 30 * ordinary + 38 * with_dp,
            f"cost_{gpu.lower()}_256_hours": 256 * ordinary,
            f"cost_{gpu.lower()}_256_eight_hours": 256 * ordinary / 8,
            f"cost_{gpu.lower()}_256_dp_hours": 256 * with_dp,
        }
    )
    print(f"{gpu}: {60 * ordinary:.1f} minutes a network, {60 * with_dp:.1f} with DP-SGD")
kept_networks = 30 * 4 + 30 + 8  # ordinary ones with three early copies, DP, clipped
lab.record(kept_gigabytes=kept_networks * 4 * n_weights / 1e9)

# %% [markdown] id="cost-reading"
# | | one T4 (as in Colab) | eight T4 | one A100 |
# |---|---|---|---|
# | one network, ordinary / DP-SGD | {{ cost_t4_plain_minutes:.1f }} / {{ cost_t4_dp_minutes:.1f }} minutes | | {{ cost_a100_plain_minutes:.1f }} / {{ cost_a100_dp_minutes:.1f }} minutes |
# | `full`: 30 + 30 + 8 networks | {{ cost_t4_full_hours:.1f }} hours | | {{ cost_a100_full_hours:.1f }} hours |
# | 256 shadows, ordinary | {{ cost_t4_256_hours:.1f }} hours | {{ cost_t4_256_eight_hours:.1f }} hours | {{ cost_a100_256_hours:.1f }} hours |
#
# One forward pass takes {{ resnet_megaflops:.0f }} million operations, and the network has {{ resnet_weights:,d }} weights. `full` trains 68 networks: 30 ordinary ones, 30 with DP-SGD, 8 clipped without noise. With the three early copies of each ordinary one they need {{ kept_gigabytes:.1f }} GB of disk. If a GPU's memory does not suffice, the training says which batch size to try.
#
# What do more shadows buy? The published attack uses 256. With them a variance for each image is worth having, and the attack gains mostly at the lowest false positive rates.

# %% [markdown] id="summary"
# ### What to take home
#
# - LiRA compares two worlds, with and without the record, by networks that the attacker trains. Calibrating by record is what makes it strong at low false positive rates, where privacy is lost.
# - The details decide: logits and not probabilities, eval mode, thresholds from the shadows, intervals over networks and images.
# - Before crediting a defence, look at controls. A network that learnt little leaks little.
# - DP-SGD's value is the ceiling over all attacks and all records, not the fall of one attack. Its ε is only as good as the check that $q$, the steps and the divisor are what the accountant was told.

# %% [markdown] id="exercises"
# ## 13. Exercises
#
# The cell below each exercise checks your answer. Run it as often as you like: it says whether the answer is right and, where it is not, shows an input that fails and what was expected. It never shows the code of the answer. For a hint to exercise 1, run `ex.hint(1)` in a cell of your own; run it again for the next hint. `ex.solution(1)` shows the code of a reference answer. Try first.

# %% [markdown] id="exercise-logit"
# **Exercise 1: the true-label logit.** Write φ for one image, from its logits (a NumPy vector) and its label, so that it neither overflows nor rounds. Then compare with the softmax form where that works, and where it does not.


# %% id="true-label-logit" tags=["exercise-1"]
def true_label_logit(z, label):
    """φ of one image: its label's logit minus the log of the summed exponentials of the others."""
    # BEGIN SOLUTION
    rest = np.delete(np.asarray(z, dtype=np.float64), label)
    top = rest.max()
    return float(z[label] - top - np.log(np.exp(rest - top).sum()))
    # STUB return None
    # END SOLUTION


for z in ([2.0, 1.0, -1.0], [40.0, 0.0, 0.0], [-800.0, 0.0, 900.0]):
    with np.errstate(all="ignore"):
        share = np.exp(z[0]) / np.exp(np.array(z)).sum()
        by_softmax = np.log(share / (1 - share))
    print(f"logits {z}: yours {true_label_logit(z, 0)}, by softmax {by_softmax}")

# %% id="check-1"
ex.check(1, true_label_logit)

# %% [markdown] id="exercise-ratio"
# **Exercise 2: the likelihood ratio.** Given the scores of one image under the networks that saw it and under those that did not, and the target's score, compute the log likelihood ratio: means, variances over $n - 1$, two normal densities. For IN [2, 3, 4], OUT [0, 1, 2] and an observed score halfway between 2 and 3 it is exactly 1.


# %% id="log-ratio" tags=["exercise-2"]
def log_ratio(phi_in, phi_out, observed):
    """Log of the likelihood ratio of two normal distributions, fitted to the two samples."""
    # BEGIN SOLUTION
    density = [norm.logpdf(observed, np.mean(s), np.std(s, ddof=1)) for s in (phi_in, phi_out)]
    return float(density[0] - density[1])
    # STUB return None
    # END SOLUTION


# %% id="check-2"
ex.check(2, log_ratio)

# %% [markdown] id="exercise-threshold"
# **Exercise 3: a threshold from the shadows.** Given the scores of the shadows and who was a member of each, both as matrices, choose the smallest threshold such that the share of their non-members *above* it is at most 1%. Then report the TPR and the FPR of the target, whose `scores` and `is_member` you have used before.


# %% id="shadow-threshold" tags=["exercise-3"]
def shadow_threshold(shadow_scores, shadow_members, alpha):
    """The smallest observed non-member score that at most a share alpha of them exceeds."""
    # BEGIN SOLUTION
    outsiders = np.sort(shadow_scores[~shadow_members])
    return float(outsiders[len(outsiders) - 1 - int(alpha * len(outsiders))])
    # STUB return None
    # END SOLUTION


cut_off = shadow_threshold(shadow_scores, shadow_in, 0.01)
if cut_off is not None:
    accused = scores > cut_off
    print(f"TPR {accused[is_member].mean():.3f}, FPR {accused[~is_member].mean():.4f}")

# %% id="check-3"
ex.check(3, shadow_threshold)

# %% [markdown] id="exercise-epsilon"
# **Exercise 4: another batch size.** You train on 25,000 images with batches of 256 instead of 512, for 30 epochs, at σ = 1 and δ = $10^{-5}$. What are $q$ and the number of steps in Opacus, and what does the RDP accountant say? First guess: is ε larger or smaller than with 512? (`accounting.epsilon(noise_multiplier, sampling_rate, steps, delta, accountant="rdp")`.)


# %% id="batch-epsilon" tags=["exercise-4"]
def batch_epsilon(batch_size, n=25_000, epochs=30):
    """(q, steps, ε) of DP-SGD through Opacus at σ = 1 and δ = 1e-5, by RDP."""
    # BEGIN SOLUTION
    batches = math.ceil(n / batch_size)
    found = accounting.epsilon(1.0, 1 / batches, batches * epochs, DELTA, accountant="rdp")
    return 1 / batches, batches * epochs, found
    # STUB return None
    # END SOLUTION


print("512:", batch_epsilon(512))
print("256:", batch_epsilon(256))

# %% id="check-4"
ex.check(4, batch_epsilon)

# %% [markdown] id="exercise-shadows"
# **Exercise 5: how many shadows?** Given the scores `PHI` and the memberships `IN` of some networks, both as matrices with one row for each, take the first $k + 1$ networks. Attack each of them by online LiRA with fixed variances, with the other $k$ as its shadows, pool all the scores, and return the TPR at 1% FPR. First guess: from {{ few_shadows:d }} shadows to {{ n_shadows:d }}, how much more does the attack find?


# %% id="tpr-with-shadows" tags=["exercise-5"]
def tpr_with_shadows(PHI, IN, k):
    """The TPR at 1% FPR of online LiRA with fixed variances and k shadows for each target."""
    # BEGIN SOLUTION
    few_scores = attacks.lira_scores_all(PHI[: k + 1], IN[: k + 1], online=True, fixed_var=True)
    return metrics.attack_metrics(few_scores, IN[: k + 1])["tpr_1"]
    # STUB return None
    # END SOLUTION


FEW_SHADOWS = 3
lab.record(few_shadows=FEW_SHADOWS)
for k in sorted({FEW_SHADOWS, (N_MODELS - 1) // 2, N_MODELS - 1}):
    print(f"{k} shadows: TPR {tpr_with_shadows(PHI, IN, k)} at 1% FPR")

# %% id="check-5"
ex.check(5, tpr_with_shadows)

# %% id="progress"
ex.progress()

# %% [markdown] id="references"
# ## References
#
# - Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar and Zhang (2016). *Deep Learning with Differential Privacy.*
# - Aerni, Zhang and Tramèr (2024). *Evaluations of Machine Learning Privacy Defenses are Misleading.*
# - Carlini, Chien, Nasr, Song, Terzis and Tramèr (2022). *Membership Inference Attacks From First Principles.*
# - Dong, Roth and Su (2022). *Gaussian Differential Privacy.*
# - Gopi, Lee and Wutschitz (2021). *Numerical Composition of Differential Privacy.*
# - He, Zhang, Ren and Sun (2016). *Deep Residual Learning for Image Recognition.*
# - Krizhevsky (2009). *Learning Multiple Layers of Features from Tiny Images.*
# - Mironov, Talwar and Zhang (2019). *Rényi Differential Privacy of the Sampled Gaussian Mechanism.*
# - Papernot and Steinke (2022). *Hyperparameter Tuning with Rényi Differential Privacy.*
# - Steinke, Nasr and Jagielski (2023). *Privacy Auditing with One (1) Training Run.*
# - Yeom, Giacomelli, Fredrikson and Jha (2018). *Privacy Risk in Machine Learning: Analyzing the Connection to Overfitting.*

# %% id="results"
lab.save()
