"""The networks that the labs train."""

import math
from dataclasses import dataclass

import torch

from course_lib.products import product


@dataclass(frozen=True)
class MLP:
    """A network with one hidden layer: Linear, ReLU, Linear.

    W1: d × h; b1: h; W2: h × k; b2: k, all float32. A weight matrix is inputs × outputs, so that a
    layer reads x @ W + b; torch.nn.Linear keeps the transpose.
    """

    W1: torch.Tensor
    b1: torch.Tensor
    W2: torch.Tensor
    b2: torch.Tensor

    @property
    def parameters(self):
        """The four arrays, in the order in which torch.nn.Sequential lists them."""
        return self.W1, self.b1, self.W2, self.b2

    def hidden(self, X):
        """The hidden layer's output. X: n × d. Returns n × h."""
        return product(X, self.W1).add_(self.b1).relu_()

    def logits(self, X):
        """The class scores before the softmax. X: n × d. Returns n × k."""
        return product(self.hidden(X), self.W2).add_(self.b2)

    def accuracy(self, X, y):
        """The share of rows whose largest logit is at the true class. X: n × d, y: n."""
        return (self.logits(X).argmax(1) == y).double().mean().item()


def initial_mlp(seed, n_features, n_hidden=256, n_classes=10):
    """The MLP that two torch.nn.Linear layers hold when made right after torch.manual_seed(seed).

    The draws come from a generator of their own, so that threads can initialise networks side by
    side: PyTorch's global random state is neither read nor changed.
    """
    generator = torch.Generator().manual_seed(seed)

    def linear(n_in, n_out):
        weight, bias = torch.empty(n_out, n_in), torch.empty(n_out)
        torch.nn.init.kaiming_uniform_(weight, a=math.sqrt(5), generator=generator)
        bias.uniform_(-1 / math.sqrt(n_in), 1 / math.sqrt(n_in), generator=generator)
        return weight.t().contiguous(), bias

    return MLP(*linear(n_features, n_hidden), *linear(n_hidden, n_classes))
