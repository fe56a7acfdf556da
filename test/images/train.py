#!/usr/bin/env python3
"""Trains a small network, each rank on its part of the data, and says how well it did.

    mpirun python3 /opt/train.py [--samples N] [--steps N] [--out FILE]

Ranks add up their gradients in every step, so that any number of them does what one
process does alone. Only the order of additions differs: in double precision the last loss
is the same to a relative 1e-9, where single precision would leave 1e-7, and a gradient that
is lost, or training on the wrong part of the data, changes it by more than a hundredth.
FILE gets the loss of each step and the parameters, as JSON.
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
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1200, help="size of the data set (%(default)s)")
    parser.add_argument("--steps", type=int, default=60, help="steps of gradient descent (%(default)s)")
    parser.add_argument("--out", metavar="FILE", help="where rank 0 writes what it learnt")
    return parser.parse_args()


def shard(samples, rank, size):
    """The part of the data set that is this rank's: all parts are of one size.

    The data is the same wherever it is made: points, and a wavy function of them.
    """
    if samples < size or samples % size:
        raise ValueError(f"{samples} samples cannot be shared evenly among {size} ranks")
    dice = torch.Generator().manual_seed(SEED)
    x = torch.rand(samples, FEATURES, generator=dice, dtype=torch.float64) * 2 - 1
    y = torch.sin(x @ torch.linspace(0.1, 0.5, FEATURES, dtype=torch.float64))
    return x[rank::size], y[rank::size]


def network(rank):
    """A network whose parameters differ from rank to rank, until rank 0 gives away its own."""
    torch.manual_seed(SEED + rank)
    return torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
    ).double()


def loss_of(model, x, y, samples):
    """This rank's share of the mean squared error over all samples."""
    return ((model(x).squeeze(1) - y) ** 2).sum() / samples


def report(hosts, samples, losses, model, out):
    """Rank 0's last words. Numbers are written so that reading them gives the same again."""
    if out:
        parameters = torch.nn.utils.parameters_to_vector(model.parameters()).tolist()
        with open(out + ".part", "w") as file:
            json.dump({"hosts": hosts, "samples": samples, "losses": losses, "parameters": parameters}, file)
        os.replace(out + ".part", out)  # whoever finds the file finds all of it
    print(
        f"trained: ranks={len(hosts)} hosts={len(set(hosts))} samples={samples}"
        f" steps={len(losses) - 1} first={losses[0]!r} loss={losses[-1]!r}",
        flush=True,
    )


def train(world, MPI, samples, steps):
    """Gradient descent over all ranks: the model, and the loss before each step and at the end."""
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
        # Shares of one mean: their sum is its gradient, whatever the number of ranks.
        world.Allreduce(MPI.IN_PLACE, gradient.numpy(), MPI.SUM)
        parameters = parameters - LEARNING_RATE * gradient
    return model, losses


def main():
    given = options()
    from mpi4py import MPI  # not at the top: importing it starts MPI

    torch.set_num_threads(1)  # a rank is one process on one CPU
    world = MPI.COMM_WORLD
    try:
        model, losses = train(world, MPI, given.samples, given.steps)
    except ValueError as problem:
        if world.rank == 0:
            print(f"train.py: {problem}", file=sys.stderr, flush=True)
        sys.exit(2)
    hosts = world.gather(socket.gethostname())
    if world.rank == 0:
        report(hosts, given.samples, losses, model, given.out)


if __name__ == "__main__":
    main()
