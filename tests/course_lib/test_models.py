"""The MLP against torch.nn's own layers."""

import torch

from course_lib.models import initial_mlp
from course_lib.products import product
from tests.course_lib.torch_layers import torch_network


def test_initial_weights_are_those_of_torch_linear_after_manual_seed():
    with torch.random.fork_rng():
        torch.manual_seed(7)
        first, second = torch.nn.Linear(784, 256), torch.nn.Linear(256, 10)
    mlp = initial_mlp(7, n_features=784)
    assert torch.equal(mlp.W1, first.weight.t()) and torch.equal(mlp.b1, first.bias)
    assert torch.equal(mlp.W2, second.weight.t()) and torch.equal(mlp.b2, second.bias)


def test_initialising_leaves_the_global_random_state_alone():
    before = torch.get_rng_state()
    initial_mlp(3, n_features=5)
    assert torch.equal(torch.get_rng_state(), before)


def test_logits_are_those_of_torch_layers():
    mlp = initial_mlp(1, n_features=20, n_hidden=8, n_classes=3)
    X = torch.randn(50, 20, generator=torch.Generator().manual_seed(0))
    expected = torch_network(mlp)(X).detach()
    torch.testing.assert_close(mlp.logits(X), expected, atol=1e-6, rtol=1e-5)


def test_a_record_scored_alone_gets_the_score_of_its_batch():
    mlp = initial_mlp(1, n_features=784)
    X = torch.randn(40, 784, generator=torch.Generator().manual_seed(0))
    alone = torch.cat([mlp.logits(row[None]) for row in X])
    torch.testing.assert_close(alone, mlp.logits(X), atol=1e-5, rtol=1e-5)


def test_accuracy_counts_the_largest_logits():
    mlp = initial_mlp(1, n_features=4, n_hidden=6, n_classes=3)
    X = torch.randn(30, 4, generator=torch.Generator().manual_seed(0))
    y = mlp.logits(X).argmax(1)
    y[:6] = (y[:6] + 1) % 3
    assert mlp.accuracy(X, y) == 24 / 30


def test_product_is_float32_exact_on_strided_views_and_empty_batches():
    generator = torch.Generator().manual_seed(0)
    A = torch.randn(300, 33, generator=generator)
    B = torch.randn(70, 300, generator=generator)
    expected = (A.double().t() @ B.double().t()).float()
    torch.testing.assert_close(product(A.t(), B.t()), expected, atol=1e-4, rtol=1e-5)
    assert product(torch.empty(0, 33), A.t()).shape == (0, 300)
    assert torch.equal(product(torch.empty(33, 0), torch.empty(0, 4)), torch.zeros(33, 4))
