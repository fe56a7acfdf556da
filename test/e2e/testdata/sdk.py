"""Trains with the Kubeflow SDK, as a user's program does, and prints the results as JSON.

usage: sdk.py KUBECONFIG NAMESPACE RUNTIME INDEX

INDEX is the address of a Python package index with the package humanize, which the training function imports. If INDEX is
empty, the training function imports no package.
"""

import json
import sys

from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import CustomTrainer, TrainerClient


def train(factor, package):
    """Runs on each rank: adds numbers of all ranks."""
    import importlib
    import os

    from mpi4py import MPI

    if package:
        importlib.import_module(package)
    world = MPI.COMM_WORLD
    total = world.allreduce((world.rank + 1) * factor)
    print(f"rank {world.rank} of {world.size} on {os.uname().nodename}: sum={total} {os.environ['GREETING']}", flush=True)


def main(kubeconfig, namespace, runtime_name, index):
    client = TrainerClient(KubernetesBackendConfig(namespace=namespace, config_file=kubeconfig))
    runtime = client.get_runtime(runtime_name)
    trainer = CustomTrainer(
        func=train,
        func_args={"factor": 10, "package": "humanize" if index else ""},
        num_nodes=2,
        resources_per_node={"cpu": "500m", "memory": "512Mi"},
        env={"GREETING": "hello"},
    )
    if index:
        trainer.packages_to_install = ["humanize"]
        trainer.pip_index_urls = [index]
        trainer.env["PIP_TRUSTED_HOST"] = index.split("/")[2].split(":")[0]
    name = client.train(runtime=runtime, trainer=trainer)
    steps = set()  # of all states of the job, because the nodes of a completed job are deleted
    done = client.wait_for_job_status(
        name,
        status={"Complete", "Failed"},
        timeout=180,
        callbacks=[lambda job: steps.update(step.name for step in job.steps)],
    )
    result = {
        "listed": runtime_name in [r.name for r in client.list_runtimes()],
        "framework": runtime.trainer.framework,
        "status": done.status,
        "steps": sorted(steps),
        "log": [line.replace(name, "JOB") for line in client.get_job_logs(name)],
        "events": sorted({event.reason for event in client.get_job_events(name)}),
    }
    client.delete_job(name)
    result["deleted"] = name not in [job.name for job in client.list_jobs()]
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
