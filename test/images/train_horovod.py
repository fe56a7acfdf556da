#!/usr/bin/env python3
"""Runs the training of train.py with Horovod. Data, network, loss and options are the same.

    mpirun python3 /opt/train_horovod.py [--samples N] [--steps N] [--out FILE]

Each rank's loss is the mean over its own part of the data, and Horovod averages gradients.
"""
import socket
import sys

import horovod.torch as hvd
import torch

import train


def fit(samples, steps):
    """Runs gradient descent over all ranks. Returns the model, and the loss before each step and at the end."""
    x, y = train.shard(samples, hvd.rank(), hvd.size())
    model = train.network(hvd.rank())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=train.LEARNING_RATE), named_parameters=model.named_parameters()
    )
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = train.loss_of(model, x, y, len(x))
        loss.backward()
        optimizer.step()
        losses.append(hvd.allreduce(loss.detach()).item())
    with torch.no_grad():
        losses.append(hvd.allreduce(train.loss_of(model, x, y, len(x))).item())
    return model, losses


def main():
    arguments = train.options()
    torch.set_num_threads(1)
    hvd.init()
    try:
        model, losses = fit(arguments.samples, arguments.steps)
    except ValueError as problem:
        if hvd.rank() == 0:
            print(f"train_horovod.py: {problem}", file=sys.stderr, flush=True)
        sys.exit(2)
    hosts = hvd.allgather_object(socket.gethostname())
    if hvd.rank() == 0:
        train.report(hosts, arguments.samples, losses, model, arguments.out)


if __name__ == "__main__":
    main()
