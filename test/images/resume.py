#!/usr/bin/env python3
"""Fits a line by gradient descent, and continues from a checkpoint after an interruption.

    mpirun python3 -m mpi4py /opt/resume.py --out FILE [--steps N] [--pause SECONDS] [--fail-at STEP]

Each rank holds a part of the points. After SIGTERM to any rank, all ranks finish the same step,
rank 0 writes FILE.checkpoint, and all ranks exit with code 143. A run that finds this file continues
from it. Rank R also writes the name of its host to FILE.signal.R when it gets SIGTERM. At the end,
FILE contains the losses of all steps as JSON. The losses are the same with and without interruptions.
"""
import argparse
import json
import os
import signal
import socket
import sys
import time

from mpi4py import MPI

POINTS = 1200
LEARNING_RATE = 0.3


def options():
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", metavar="FILE", required=True, help="where rank 0 writes the losses")
    parser.add_argument("--steps", type=int, default=100, help="steps of gradient descent (%(default)s)")
    parser.add_argument("--pause", type=float, default=0.2, help="seconds between two steps (%(default)s)")
    parser.add_argument("--fail-at", type=int, metavar="STEP", help="step at which the program fails")
    return parser.parse_args()


def write(path, content):
    """Writes a file of which readers never see an incomplete state."""
    with open(path + ".part", "w") as file:
        json.dump(content, file)
    os.replace(path + ".part", path)


def restore(path):
    """Returns the slope, the intercept and the losses of the checkpoint, or those of a new training."""
    if not os.path.exists(path):
        return 0.0, 0.0, []
    with open(path) as file:
        return json.load(file)


def shard(rank, size):
    """Returns this rank's part of the points of the line 3x + 2."""
    points = [i / POINTS for i in range(POINTS)]
    return [(x, 3 * x + 2) for x in points[rank::size]]


def main():
    arguments = options()
    world = MPI.COMM_WORLD
    stopped = False

    def stop(*_):
        nonlocal stopped
        stopped = True
        write(f"{arguments.out}.signal.{world.rank}", socket.gethostname())

    signal.signal(signal.SIGTERM, stop)
    checkpoint = arguments.out + ".checkpoint"
    slope, intercept, losses = world.bcast(restore(checkpoint) if world.rank == 0 else None)
    if world.rank == 0:
        print(f"starting at step {len(losses)}", flush=True)
    points = shard(world.rank, world.size)
    while len(losses) < arguments.steps:
        # The ranks add their losses, gradients and stop signals in one operation, so that all ranks stop at the same step.
        errors = [(slope * x + intercept - y, x) for x, y in points]
        own = [sum(e * e for e, _ in errors), sum(e * x for e, x in errors), sum(e for e, _ in errors), float(stopped)]
        loss, by_slope, by_intercept, stopping = map(sum, zip(*world.allgather(own)))
        if stopping:
            if world.rank == 0:
                write(checkpoint, [slope, intercept, losses])
            world.barrier()
            sys.exit(143)  # not exit code 0, because the training is not complete
        if len(losses) == arguments.fail_at:
            raise RuntimeError(f"failing at step {arguments.fail_at}")
        losses.append(loss / POINTS)
        slope -= LEARNING_RATE * by_slope / POINTS
        intercept -= LEARNING_RATE * by_intercept / POINTS
        time.sleep(arguments.pause)
    if world.rank == 0:
        write(arguments.out, losses)
        print(f"trained: steps={len(losses)} loss={losses[-1]!r}", flush=True)


if __name__ == "__main__":
    main()
