#!/usr/bin/env python3
"""Trains a small network and prints the loss. Each rank trains on its own part of the data.

    mpirun python3 /opt/train.py [--samples N] [--steps N] [--out FILE]

Ranks add up their gradients in every step, so that the result is the same for one
process and for any number of ranks. Only the order of additions differs. In double
precision, the last losses differ by at most a relative 1e-9. In single precision, they
would differ by 1e-7. A lost gradient, or the wrong part of the data, changes the loss by
more than a hundredth. FILE receives the losses of all steps and the parameters as JSON.
"""
import argparse
import json
import os
import socket
import sys

import torch

SEED = 2026
FEATURES = 8
LEARNING_RATE = 0.2


def options():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1200, help="size of the data set (%(default)s)")
    parser.add_argument("--steps", type=int, default=60, help="steps of gradient descent (%(default)s)")
    parser.add_argument("--out", metavar="FILE", help="where rank 0 writes losses and parameters")
    return parser.parse_args()


def shard(samples, rank, size):
    """Returns this rank's part of the data set. All parts have the same size.

    The data set is the same on all machines. It consists of random points and a sine function of them.
    """
    if samples < size or samples % size:
        raise ValueError(f"{samples} samples cannot be shared evenly among {size} ranks")
    generator = torch.Generator().manual_seed(SEED)
    x = torch.rand(samples, FEATURES, generator=generator, dtype=torch.float64) * 2 - 1
    y = torch.sin(x @ torch.linspace(0.1, 0.5, FEATURES, dtype=torch.float64))
    return x[rank::size], y[rank::size]


def network(rank):
    """Returns a network. Its parameters differ between ranks until rank 0 broadcasts its own."""
    torch.manual_seed(SEED + rank)
    return torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
    ).double()


def loss_of(model, x, y, samples):
    """Returns this rank's share of the mean squared error over all samples."""
    return ((model(x).squeeze(1) - y) ** 2).sum() / samples


def report(hosts, samples, losses, model, out):
    """Prints and writes the result. Numbers keep full precision."""
    if out:
        parameters = torch.nn.utils.parameters_to_vector(model.parameters()).tolist()
        with open(out + ".part", "w") as file:
            json.dump({"hosts": hosts, "samples": samples, "losses": losses, "parameters": parameters}, file)
        os.replace(out + ".part", out)  # readers never see an incomplete file
    print(
        f"trained: ranks={len(hosts)} hosts={len(set(hosts))} samples={samples}"
        f" steps={len(losses) - 1} first={losses[0]!r} loss={losses[-1]!r}",
        flush=True,
    )


def train(world, MPI, samples, steps):
    """Runs gradient descent over all ranks. Returns the model, and the loss before each step and at the end."""
    x, y = shard(samples, world.rank, world.size)
    model = network(world.rank)
    parameters = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    world.Bcast(parameters.numpy())
    losses = []
    for _ in range(steps + 1):
        torch.nn.utils.vector_to_parameters(parameters, model.parameters())
        model.zero_grad()
        loss = loss_of(model, x, y, samples)
        loss.backward()
        losses.append(world.allreduce(loss.item()))
        gradient = torch.cat([p.grad.flatten() for p in model.parameters()])
        # Each rank divides its loss by the number of all samples, so the sum of the losses of all ranks is the mean
        # loss. The sum of the gradients of all ranks is therefore the gradient of the mean loss.
        world.Allreduce(MPI.IN_PLACE, gradient.numpy(), MPI.SUM)
        parameters = parameters - LEARNING_RATE * gradient
    return model, losses


def main():
    arguments = options()
    from mpi4py import MPI  # not at the top of the file, because the import starts MPI

    torch.set_num_threads(1)  # one thread, because each rank has one CPU
    world = MPI.COMM_WORLD
    try:
        model, losses = train(world, MPI, arguments.samples, arguments.steps)
    except ValueError as problem:
        if world.rank == 0:
            print(f"train.py: {problem}", file=sys.stderr, flush=True)
        sys.exit(2)
    hosts = world.gather(socket.gethostname())
    if world.rank == 0:
        report(hosts, arguments.samples, losses, model, arguments.out)


if __name__ == "__main__":
    main()
