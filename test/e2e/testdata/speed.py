"""Measures the time of messages between two ranks, and prints one line for each measurement, in microseconds."""
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
other = 1 - world.rank


def exchange(size, count):
    """Sends a message there and back, and returns half the time."""
    data = bytearray(size)
    for i in range(count + count // 10):
        if i == count // 10:
            world.barrier()
            start = time.perf_counter()
        if world.rank == 0:
            world.Send([data, MPI.BYTE], other)
            world.Recv([data, MPI.BYTE], other)
        else:
            world.Recv([data, MPI.BYTE], other)
            world.Send([data, MPI.BYTE], other)
    return (time.perf_counter() - start) / count / 2


def allreduce(count):
    """Adds up one number of each rank."""
    one, total = bytearray(8), bytearray(8)
    for i in range(count + count // 10):
        if i == count // 10:
            world.barrier()
            start = time.perf_counter()
        world.Allreduce([one, MPI.DOUBLE], [total, MPI.DOUBLE])
    return (time.perf_counter() - start) / count


for name, seconds in [
    ("message of 8 bytes", exchange(8, 3000)),
    ("message of 64 KiB", exchange(1 << 16, 1000)),
    ("message of 8 MiB", exchange(1 << 23, 20)),
    ("allreduce of 8 bytes", allreduce(3000)),
]:
    if world.rank == 0:
        print(f"figure {seconds * 1e6:.3f} {name}", flush=True)
