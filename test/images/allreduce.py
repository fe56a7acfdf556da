#!/usr/bin/env python3
"""Adds up the numbers 1 to N for N ranks with MPI, and prints the host and the sum of each rank."""
import socket

from mpi4py import MPI

world = MPI.COMM_WORLD
total = world.allreduce(world.rank + 1)
print(f"rank {world.rank} of {world.size} on {socket.gethostname()}: sum={total}", flush=True)
