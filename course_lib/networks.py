"""Training one convolutional network on images, with and without DP, and scoring it.

Images are n × 3 × 32 × 32 float32 tensors on the device that trains, labels n int64. A network's
weights travel as a dict of numpy arrays, so that they can go to another process or machine and into
a file without pickle.
"""

import contextlib
import math
import warnings
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import cross_entropy, pad

from course_lib.models import initial_convnet

CHANNEL_MEANS = (0.4914, 0.4822, 0.4465)  # of CIFAR-10's training pixels, red, green, blue
CHANNEL_DEVIATIONS = (0.2470, 0.2435, 0.2616)
SCHEDULES = ("constant", "one-cycle")
_SCORED_AT_ONCE = 500


class OutOfMemoryError(RuntimeError):
    """The device has too little memory for a batch; the message says which size to try."""


@dataclass(frozen=True)
class Training:
    """The settings of ordinary training: Adam on the cross-entropy.

    Args:
        architecture: as for models.initial_convnet.
        epochs: passes over the members.
        batch_size: images a step; the last, shorter batch of an epoch is kept.
        learning_rate: Adam's; with the schedule ``"one-cycle"`` its largest value (Smith and Topin
            2019), with ``"constant"`` its only one.
        schedule: ``"constant"`` or ``"one-cycle"``.
        weight_decay: Adam's.
        augment: whether each image is shifted by up to four pixels and perhaps flipped, with
            draws of its own, every time it is used.
        snapshots: epochs after which a copy of the weights is kept beside the final one.

    Raises:
        ValueError: for a setting out of its range, by its name.
    """

    architecture: str = "small"
    epochs: int = 30
    batch_size: int = 128
    learning_rate: float = 1e-3
    schedule: str = "constant"
    weight_decay: float = 0.0
    augment: bool = False
    snapshots: tuple = ()

    def __post_init__(self):
        _check_whole(self, "epochs", "batch_size")
        _check_positive(self, "learning_rate")
        if self.schedule not in SCHEDULES:
            raise ValueError(f"schedule is {self.schedule!r}; expected one of {SCHEDULES}")
        if not all(0 < epoch < self.epochs for epoch in self.snapshots):
            raise ValueError(
                f"snapshots is {self.snapshots}: expected epochs before the last, {self.epochs}"
            )


@dataclass(frozen=True)
class PrivateTraining:
    """The settings of training by DP-SGD with Adam, through Opacus.

    Args:
        architecture, epochs, learning_rate, weight_decay: as for Training.
        steps_per_epoch: L. Every step draws each member with probability q = 1/L.
        noise_multiplier: σ, from 0 up; 0 is clipping alone, without privacy.
        max_grad_norm: C, to which each image's gradient is cut.
        expected_batch_size: the public constant by which the noisy sum is divided. None leaves
            Opacus' own, int(q · members), which is public only where the number of members is.
        physical_batch_size: images whose gradients are held at a time; it changes no result but the
            last bits.

    Raises:
        ValueError: for a setting out of its range, by its name.
    """

    architecture: str = "small"
    epochs: int = 30
    steps_per_epoch: int = 49
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    noise_multiplier: float = 1.0
    max_grad_norm: float = 1.0
    expected_batch_size: float | None = None
    physical_batch_size: int = 256

    def __post_init__(self):
        _check_whole(self, "epochs", "steps_per_epoch", "physical_batch_size")
        _check_positive(self, "learning_rate", "max_grad_norm")
        if self.expected_batch_size is not None:
            _check_positive(self, "expected_batch_size")
        if not (self.noise_multiplier >= 0 and math.isfinite(self.noise_multiplier)):
            raise ValueError(
                f"noise_multiplier is {self.noise_multiplier}; expected a number from 0 up"
            )

    @property
    def sampling_rate(self):
        """q, the chance of each member to be in a batch."""
        return 1 / self.steps_per_epoch

    @property
    def steps(self):
        """The number of steps in all."""
        return self.steps_per_epoch * self.epochs


def find_device(name="auto"):
    """Return a torch.device: the one named, or for ``"auto"`` a GPU where there is one.

    Raises:
        ValueError: if there is no such device here.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ValueError(
            f"the device {name!r} cannot be used here: choose 'cpu', or 'auto' for a GPU where "
            "there is one"
        ) from error
    return device


def normalised(images):
    """Images as networks take them.

    Args:
        images: uint8 array, n × 32 × 32 × 3.

    Returns:
        float32 array, n × 3 × 32 × 32: per channel, CIFAR-10's mean is taken away, and the rest
        divided by its standard deviation.
    """
    scaled = np.asarray(images, dtype=np.float32) / np.float32(255)
    scaled -= np.array(CHANNEL_MEANS, dtype=np.float32)
    scaled /= np.array(CHANNEL_DEVIATIONS, dtype=np.float32)
    return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2))


def moved(images, down, right, flip):
    """Shift and mirror images, each by its own amount; what enters at the edges is zero.

    Args:
        images: n × channels × height × width tensor.
        down, right: n whole numbers of pixels from −4 to 4, or one for all.
        flip: n bools, or one for all: whether the image is mirrored, after the shift.

    Returns:
        tensor of the same shape.
    """
    n, _, height, width = images.shape
    device = images.device

    def each(value):
        return torch.as_tensor(value, device=device).expand(n)[:, None]

    rows = torch.arange(height, device=device) + 4 - each(down)
    columns = torch.arange(width, device=device) + 4 - each(right)
    columns = torch.where(each(flip), columns.flip(1), columns)
    padded = pad(images, (4, 4, 4, 4)).movedim(1, -1)
    image = torch.arange(n, device=device)[:, None, None]
    return padded[image, rows[:, :, None], columns[:, None, :]].movedim(-1, 1)


def augmented(images, generator):
    """Shift each image by up to four pixels each way and mirror half of them, by draws of its own.

    It is torchvision's RandomCrop(32, padding=4) and RandomHorizontalFlip, image by image.

    Args:
        images: n × 3 × 32 × 32 tensor.
        generator: torch.Generator on the CPU.
    """
    shifts = torch.randint(-4, 5, (2, len(images)), generator=generator).to(images.device)
    flips = (torch.rand(len(images), generator=generator) < 0.5).to(images.device)
    return moved(images, *shifts, flips)


def train_network(training, X, y, seed, *, device="cpu", on_epoch=None):
    """Train one network without privacy.

    The initial weights come from seed, and so do the order of the images and the augmentation.

    Args:
        training: Training.
        X: n × 3 × 32 × 32 float32 array, the members.
        y: n class numbers.
        seed: int.
        device: where to train.
        on_epoch: called with the number of epochs done.

    Returns:
        list of weights, one dict for each snapshot and one for the end.

    Raises:
        OutOfMemoryError: if the device's memory does not suffice.
    """
    X, y = _on_device(X, y, device)
    network = _on_channels_last(initial_convnet(training.architecture, seed), device)
    network.train()
    optimizer = _adam(network, training)
    steps = training.epochs * math.ceil(len(X) / training.batch_size)
    schedule = None
    if training.schedule == "one-cycle":
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, training.learning_rate, total_steps=steps
        )
    generator = torch.Generator().manual_seed(seed)
    kept = []
    with _memory_of(device, "batch_size", training.batch_size):
        for epoch in range(1, training.epochs + 1):
            for batch in torch.randperm(len(X), generator=generator).split(training.batch_size):
                batch = batch.to(device)
                images = X[batch]
                if training.augment:
                    images = augmented(images, generator)
                images = images.contiguous(memory_format=torch.channels_last)
                optimizer.zero_grad()
                cross_entropy(network(images), y[batch]).backward()
                optimizer.step()
                if schedule is not None:
                    schedule.step()
            if epoch in training.snapshots:
                kept.append(weights_of(network))
            if on_epoch:
                on_epoch(epoch)
    return [*kept, weights_of(network)]


class _Images(torch.utils.data.Dataset):
    """Images that are fetched a batch at a time, by one index operation."""

    def __init__(self, X, y):
        self.X, self.y = X, y

    def __len__(self):
        return len(self.X)

    def __getitem__(self, index):
        return self.X[index], self.y[index]

    def __getitems__(self, indices):
        indices = torch.as_tensor(indices, dtype=torch.int64, device=self.X.device)
        return self.X[indices], self.y[indices]


def _as_it_is(batch):
    return batch


def make_private(training, network, X, y, seed, noise_seed):
    """Wrap a network for DP-SGD by Opacus, and check what Opacus will do.

    Args:
        training: PrivateTraining.
        network: a module that Opacus accepts, on the device of X.
        X, y: the members, tensors.
        seed: of the Poisson batches.
        noise_seed: of the noise.

    Returns:
        ``(engine, network, optimizer, loader)``: the PrivacyEngine, whose accountant counts the
        steps, and its wrapped forms of the other three.

    Raises:
        ValueError: if there are too few members for so many steps an epoch.
        RuntimeError: if Opacus' sampling rate or number of steps is not the one in ``training``.
    """
    from opacus import PrivacyEngine

    n, L = len(X), training.steps_per_epoch
    batch_size = math.ceil(n / L)
    if math.ceil(n / batch_size) != L:
        raise ValueError(f"{n} members cannot make {L} batches an epoch: take fewer")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Secure RNG turned off")  # the lab says so
        engine = PrivacyEngine(accountant="rdp")
    network, optimizer, loader = engine.make_private(
        module=network,
        optimizer=_adam(network, training),
        data_loader=torch.utils.data.DataLoader(
            _Images(X, y),
            batch_size=batch_size,
            generator=torch.Generator().manual_seed(seed),
            collate_fn=_as_it_is,
        ),
        noise_multiplier=training.noise_multiplier,
        max_grad_norm=training.max_grad_norm,
        noise_generator=torch.Generator(X.device).manual_seed(noise_seed),
    )
    found = (loader.sample_rate, loader.batch_sampler.sample_rate, len(loader))
    if found != (training.sampling_rate, training.sampling_rate, L):
        raise RuntimeError(
            f"Opacus samples at the rates {found[:2]} in {found[2]} steps an epoch, where the "
            f"settings say {training.sampling_rate} and {L}: its ε would be another one"
        )
    if training.expected_batch_size is not None:
        optimizer.expected_batch_size = training.expected_batch_size
    return engine, network, optimizer, loader


def train_private(training, X, y, seed, *, device="cpu", on_epoch=None, noise_seed=None):
    """Train one network by DP-SGD.

    Args:
        training: PrivateTraining.
        X, y, seed, device, on_epoch: as for train_network.
        noise_seed: of the noise; seed + 1,000,003 when left out.

    Returns:
        list with one dict of weights.

    Raises:
        OutOfMemoryError: if the device's memory does not suffice.
        RuntimeError: if Opacus counted other steps than the settings say.
    """
    from opacus.utils.batch_memory_manager import BatchMemoryManager

    X, y = _on_device(X, y, device)
    initial = initial_convnet(training.architecture, seed).to(device).train()
    engine, network, optimizer, loader = make_private(
        training, initial, X, y, seed, seed + 1_000_003 if noise_seed is None else noise_seed
    )
    with (
        warnings.catch_warnings(),
        _memory_of(device, "physical_batch_size", training.physical_batch_size),
        BatchMemoryManager(
            data_loader=loader,
            max_physical_batch_size=training.physical_batch_size,
            optimizer=optimizer,
        ) as batches,
    ):
        warnings.filterwarnings("ignore", message="Full backward hook")  # no input needs a gradient
        for epoch in range(1, training.epochs + 1):
            for images, labels in batches:
                optimizer.zero_grad()
                cross_entropy(network(images), labels).backward()
                optimizer.step()
            if on_epoch:
                on_epoch(epoch)
    counted = [(sigma, rate, steps) for sigma, rate, steps in engine.accountant.history]
    expected = [(training.noise_multiplier, training.sampling_rate, training.steps)]
    if counted != expected:
        raise RuntimeError(f"Opacus counted {counted} where the settings say {expected}")
    return [weights_of(network._module)]


def logits(architecture, weights, X, *, device="cpu", down=0, right=0, flip=False):
    """The class scores of one network in eval mode.

    In eval mode an image's score does not depend on the others in its batch. In train mode
    BatchNorm would make it so.

    Args:
        architecture: as for models.initial_convnet.
        weights: dict as train_network gives it.
        X: n × 3 × 32 × 32 float32 array.
        device: where to compute.
        down, right, flip: one shift and mirroring for all images, as for moved.

    Returns:
        n × 10 float32 array.
    """
    network = initial_convnet(architecture, 0)
    network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    network = _on_channels_last(network, device).eval()
    scores = []
    with torch.inference_mode(), _memory_of(device, "the scoring batch", _SCORED_AT_ONCE):
        for images in torch.as_tensor(X).split(_SCORED_AT_ONCE):
            images = images.to(device)
            if down or right or flip:
                images = moved(images, down, right, flip)
            images = images.contiguous(memory_format=torch.channels_last)
            scores.append(network(images).cpu().numpy())
    return np.concatenate(scores)


def weights_of(network):
    """The weights, and BatchNorm's averages, of a network: a dict of numpy arrays, copied."""
    return {
        name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()
    }


def _on_device(X, y, device):
    return (
        torch.as_tensor(X, dtype=torch.float32).to(device),
        torch.as_tensor(y, dtype=torch.int64).to(device),
    )


def _on_channels_last(network, device):
    return network.to(device=device, memory_format=torch.channels_last)


def _adam(network, training):
    return torch.optim.Adam(
        network.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay
    )


@contextlib.contextmanager
def _memory_of(device, name, size):
    """Turn a device's lack of memory into a sentence."""
    try:
        yield
    except RuntimeError as error:  # torch.OutOfMemoryError is one; on a CPU it has no type
        if not isinstance(error, torch.OutOfMemoryError) and "allocate memory" not in str(error):
            raise
        raise OutOfMemoryError(
            f"the memory of {device} does not suffice for {size} images at a time: set {name} to "
            f"{max(1, size // 2)} and run the cell again"
        ) from error


def _check_whole(settings, *names):
    for name in names:
        value = getattr(settings, name)
        if isinstance(value, bool) or value != int(value) or value < 1:
            raise ValueError(f"{name} is {value}; expected a whole number from 1 up")


def _check_positive(settings, *names):
    for name in names:
        value = getattr(settings, name)
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name} is {value}; expected a positive number")
