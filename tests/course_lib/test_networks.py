"""Training and scoring one convolutional network, against Opacus, torchvision and plain loops."""

import numpy as np
import pytest
import torch
from opacus.accountants import RDPAccountant
from opacus.validators import ModuleValidator
from torch.nn.functional import cross_entropy

from course_lib import accounting, networks
from course_lib.attacks import label_logit_from_logits
from course_lib.models import SmallResNet, initial_convnet
from course_lib.networks import (
    OutOfMemoryError,
    PrivateTraining,
    Training,
    augmented,
    find_device,
    logits,
    make_private,
    moved,
    normalised,
    train_network,
    train_private,
    weights_of,
)

TRAINING = Training(epochs=2, batch_size=16, learning_rate=2e-3)
PRIVATE = PrivateTraining(epochs=2, steps_per_epoch=4, learning_rate=2e-3, physical_batch_size=64)


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    X = normalised(rng.integers(0, 256, (48, 32, 32, 3), dtype=np.uint8))
    return X, rng.integers(0, 10, 48)


def same(a, b):
    return all(np.array_equal(a[name], b[name]) for name in a)


def test_normalised_images_have_channels_first_and_the_published_scale():
    image = np.arange(32 * 32 * 3, dtype=np.uint8).reshape(1, 32, 32, 3)
    X = normalised(image)
    assert X.shape == (1, 3, 32, 32) and X.dtype == np.float32
    for channel, (mean, sd) in enumerate(
        zip((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616), strict=True)
    ):
        expected = (image[0, 5, 7, channel] / 255 - mean) / sd
        assert X[0, channel, 5, 7] == pytest.approx(expected, rel=1e-5)


def test_moving_is_torchvisions_crop_and_flip():
    from torchvision.transforms.functional import crop, hflip, pad

    X = torch.randn(5, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    down, right = torch.tensor([-4, 0, 4, 1, -2]), torch.tensor([3, 0, -4, 2, 4])
    flip = torch.tensor([True, False, False, True, True])
    found = moved(X, down, right, flip)
    for k in range(5):
        expected = crop(pad(X[k], [4]), 4 - int(down[k]), 4 - int(right[k]), 32, 32)
        expected = hflip(expected) if flip[k] else expected
        assert torch.equal(found[k], expected)
    assert torch.equal(moved(X, 0, 0, False), X)
    assert torch.equal(moved(X, 0, 0, True), hflip(X))


def test_each_image_of_a_batch_has_an_augmentation_of_its_own():
    image = torch.randn(3, 32, 32, generator=torch.Generator().manual_seed(0))
    many = augmented(image.expand(300, -1, -1, -1), torch.Generator().manual_seed(1))
    kinds = {image.numpy().tobytes() for image in many}
    assert 100 < len(kinds) <= 9 * 9 * 2


def test_training_is_the_plain_loop_of_torch(records):
    X, y = (torch.from_numpy(array) for array in records)
    network = initial_convnet("small", 3)
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    generator = torch.Generator().manual_seed(3)
    for _ in range(2):
        for batch in torch.randperm(48, generator=generator).split(16):
            optimizer.zero_grad()
            cross_entropy(network(X[batch]), y[batch]).backward()
            optimizer.step()
    (trained,) = train_network(TRAINING, *records, 3)
    for name, expected in weights_of(network).items():
        np.testing.assert_allclose(trained[name], expected, atol=2e-4)


def test_one_cycle_warms_up_and_ends_near_zero(records, monkeypatch):
    rates = []
    step = torch.optim.Adam.step

    def watched(self, *arguments, **options):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *arguments, **options)

    monkeypatch.setattr(torch.optim.Adam, "step", watched)
    train_network(Training(epochs=10, batch_size=16, schedule="one-cycle"), *records, 0)
    assert len(rates) == 30 and max(rates) == pytest.approx(1e-3)
    assert rates[0] < 1e-4 and rates[-1] < 1e-6 and 5 < np.argmax(rates) < 12


def test_a_snapshot_is_what_shorter_training_gives(records):
    twice = train_network(
        Training(epochs=2, batch_size=16, learning_rate=2e-3, snapshots=(1,)), *records, 3
    )
    once = train_network(Training(epochs=1, batch_size=16, learning_rate=2e-3), *records, 3)
    assert len(twice) == 2 and same(twice[0], once[0]) and not same(twice[1], once[0])


def test_initialising_leaves_the_global_random_state_alone():
    before = torch.get_rng_state()
    first, again, other = (initial_convnet("small", seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert same(weights_of(first), weights_of(again))
    assert not same(weights_of(first), weights_of(other))


def test_an_unknown_architecture_is_refused():
    with pytest.raises(ValueError, match="'vgg'; expected one of small, resnet18, resnet18-dp"):
        initial_convnet("vgg", 0)


@pytest.mark.parametrize("architecture", ["small", "resnet18-dp"])
def test_opacus_accepts_the_networks_for_dp(architecture):
    assert ModuleValidator.validate(initial_convnet(architecture, 0), strict=True) == []
    assert ModuleValidator.validate(initial_convnet("resnet18", 0)) != []


def test_the_private_resnet18_is_torchvisions_with_groupnorm(records):
    from torchvision.models import resnet18

    X = torch.from_numpy(records[0][:4])
    ours, plain = initial_convnet("resnet18-dp", 1), resnet18(num_classes=10)
    fixed = ModuleValidator.fix(plain)
    fixed.load_state_dict(ours.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(ours.eval()(X), fixed.eval()(X))
    with torch.random.fork_rng():
        torch.manual_seed(1)
        assert torch.equal(ours.conv1.weight, resnet18(num_classes=10).conv1.weight)


@pytest.mark.parametrize("architecture", ["small", "resnet18", "resnet18-dp"])
def test_a_record_alone_scores_as_in_its_batch(architecture, records):
    X, y = records
    (weights,) = train_network(Training(architecture, epochs=1, batch_size=24), X, y, 0)
    together = label_logit_from_logits(logits(architecture, weights, X), y)
    alone = [
        label_logit_from_logits(logits(architecture, weights, X[k : k + 1]), y[k : k + 1])[0]
        for k in range(6)
    ]
    np.testing.assert_allclose(alone, together[:6], atol=1e-5)


def test_in_train_mode_a_batchnorm_network_would_fail_that_check(records):
    X, _ = (torch.from_numpy(array) for array in records)
    network = initial_convnet("resnet18", 0).train()
    with torch.no_grad():
        assert abs(network(X[:8])[0] - network(X[:4])[0]).max() > 1e-3


def private_step(records, noise_multiplier=0.0):
    """One step of DP-SGD by Opacus on all images, and the network's gradients one by one."""
    X, y = (torch.from_numpy(array) for array in records)
    settings = PrivateTraining(
        epochs=1, steps_per_epoch=1, noise_multiplier=noise_multiplier, max_grad_norm=0.5
    )
    _, wrapped, optimizer, loader = make_private(
        settings, SmallResNet().train(), X, y, seed=0, noise_seed=1
    )
    ((images, labels),) = loader
    cross_entropy(wrapped(images), labels).backward()
    clipped = 0
    for k in range(len(X)):
        wrapped._module.zero_grad()
        plain = SmallResNet()
        plain.load_state_dict(wrapped._module.state_dict())
        cross_entropy(plain(images[k : k + 1]), labels[k : k + 1]).backward()
        gradient = torch.cat([p.grad.flatten() for p in plain.parameters()])
        clipped = clipped + gradient * min(1, 0.5 / gradient.norm())
    optimizer.pre_step()
    found = torch.cat([p.grad.flatten() for p in wrapped._module.parameters()])
    return found * optimizer.expected_batch_size, clipped


def test_a_step_sums_gradients_that_were_clipped_one_by_one(records):
    found, clipped = private_step(records)
    assert ((found - clipped).norm() / clipped.norm()).item() < 1e-4
    assert clipped.norm() > 0.5  # many records, not one


def test_the_noise_has_the_announced_size(records):
    noisy, clipped = private_step(records, noise_multiplier=3.0)
    noise = noisy - clipped
    assert noise.std().item() == pytest.approx(3.0 * 0.5, rel=0.02)


def test_rate_steps_and_epsilon_are_those_of_the_accountant_called_by_hand(records):
    X, y = (torch.from_numpy(array) for array in records)
    engine, wrapped, optimizer, loader = make_private(
        PRIVATE, SmallResNet().train(), X, y, seed=0, noise_seed=1
    )
    assert loader.sample_rate == loader.batch_sampler.sample_rate == PRIVATE.sampling_rate == 1 / 4
    assert len(loader) == 4 and PRIVATE.steps == 8
    for _ in range(PRIVATE.epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            cross_entropy(wrapped(images), labels).backward()
            optimizer.step()
    assert engine.accountant.history == [(1.0, 0.25, 8)]
    by_hand = RDPAccountant()
    by_hand.history = [(1.0, 0.25, 8)]
    assert engine.get_epsilon(1e-5) == by_hand.get_epsilon(1e-5)
    assert accounting.epsilon(1.0, 0.25, 8, 1e-5) == pytest.approx(by_hand.get_epsilon(1e-5))


def test_49_steps_an_epoch_are_what_batches_of_512_give_25000_images():
    assert PrivateTraining(steps_per_epoch=49).sampling_rate == 1 / 49
    assert int(1 / (1 / 49)) == 49 == -(-25_000 // 512)


def test_the_divisor_is_public_where_it_is_given(records):
    X, y = (torch.from_numpy(array) for array in records)
    public = PrivateTraining(epochs=1, steps_per_epoch=4, expected_batch_size=15.0)
    for settings, expected in ((PRIVATE, 12), (public, 15.0)):
        optimizer = make_private(settings, SmallResNet().train(), X, y, 0, 1)[2]
        assert optimizer.expected_batch_size == expected


def test_the_noise_seed_alone_changes_the_weights(records):
    first, again, other = (train_private(PRIVATE, *records, 0, noise_seed=s)[0] for s in (1, 1, 2))
    assert same(first, again) and not same(first, other)


def test_without_noise_the_noise_seed_changes_nothing(records):
    silent = PrivateTraining(epochs=1, steps_per_epoch=4, noise_multiplier=0.0)
    first, other = (train_private(silent, *records, 0, noise_seed=s)[0] for s in (1, 2))
    assert same(first, other)


def test_small_physical_batches_give_the_same_network(records):
    whole = train_private(PRIVATE, *records, 0)[0]
    parts = PrivateTraining(**{**vars(PRIVATE), "physical_batch_size": 5})
    split = train_private(parts, *records, 0)[0]
    for name, array in whole.items():
        np.testing.assert_allclose(split[name], array, atol=2e-3)


def test_too_few_members_for_the_steps_are_refused(records):
    X, y = records
    with pytest.raises(ValueError, match="15 members cannot make 10 batches"):
        train_private(PrivateTraining(steps_per_epoch=10), X[:15], y[:15], 0)


def test_another_rate_than_the_settings_say_is_refused(records, monkeypatch):
    from opacus.data_loader import DPDataLoader

    original = DPDataLoader.from_data_loader.__func__

    def other(cls, *arguments, **options):
        loader = original(cls, *arguments, **options)
        loader.sample_rate = 0.3
        return loader

    monkeypatch.setattr(DPDataLoader, "from_data_loader", classmethod(other))
    with pytest.raises(RuntimeError, match="Opacus samples at the rates"):
        train_private(PRIVATE, *records, 0)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."),
    ],
)
@pytest.mark.parametrize(
    ("settings", "name", "smaller"),
    [(TRAINING, "batch_size", 8), (PRIVATE, "physical_batch_size", 32)],
)
def test_a_device_without_memory_says_which_size_to_try(
    settings, name, smaller, error, records, monkeypatch
):
    def full(self, images):
        raise error

    monkeypatch.setattr(SmallResNet, "forward", full)
    train = train_private if isinstance(settings, PrivateTraining) else train_network
    with pytest.raises(OutOfMemoryError, match=f"set {name} to {smaller} and run the cell again"):
        train(settings, *records, 0)


def test_another_error_stays_what_it_is(records, monkeypatch):
    def broken(self, images):
        raise RuntimeError("something else")

    monkeypatch.setattr(SmallResNet, "forward", broken)
    with pytest.raises(RuntimeError, match="something else"):
        train_network(TRAINING, *records, 0)


def test_an_unknown_device_is_refused():
    assert find_device("cpu").type == "cpu"
    assert find_device("auto").type in ("cpu", "cuda")
    for name in ("tpu9", "cuda:99", "gpu"):
        with pytest.raises(ValueError, match=f"the device '{name}' cannot be used here"):
            find_device(name)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch_size": 2.5},
        {"learning_rate": 0},
        {"schedule": "cosine"},
        {"epochs": 3, "snapshots": (3,)},
    ],
)
def test_settings_out_of_range_are_named(wrong):
    with pytest.raises(ValueError, match=list(wrong)[-1]):
        Training(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"noise_multiplier": -1}, {"steps_per_epoch": 0}, {"expected_batch_size": 0}],
)
def test_private_settings_out_of_range_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        PrivateTraining(**wrong)


def test_an_empty_batch_is_a_step(records):
    X, y = records
    rare = PrivateTraining(epochs=3, steps_per_epoch=3, physical_batch_size=2)
    assert networks.train_private(rare, X[:3], y[:3], 0)  # some of the nine batches are empty
