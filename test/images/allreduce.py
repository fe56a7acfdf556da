#!/usr/bin/env python3
"""Adds up the ranks of a job, and prints the host of each rank."""
import socket

from mpi4py import MPI

world = MPI.COMM_WORLD
total = world.allreduce(world.rank + 1)
print(f"rank {world.rank} of {world.size} on {socket.gethostname()}: sum={total}", flush=True)
