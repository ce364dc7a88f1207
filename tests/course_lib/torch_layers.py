"""An MLP of the bench as torch.nn's own layers, for autograd and Opacus to differentiate."""

import torch


def torch_network(mlp):
    n_features, n_hidden = mlp.W1.shape
    network = torch.nn.Sequential(
        torch.nn.Linear(n_features, n_hidden),
        torch.nn.ReLU(),
        torch.nn.Linear(n_hidden, mlp.W2.shape[1]),
    )
    with torch.no_grad():
        for own, array in zip(network.parameters(), mlp.parameters, strict=True):
            own.copy_(array.t() if array.dim() == 2 else array)
    return network
