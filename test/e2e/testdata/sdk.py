"""Trains with the Kubeflow SDK, as a user's program does, and prints the results as JSON.

usage: sdk.py KUBECONFIG NAMESPACE RUNTIME RESOURCES INDEX

RESOURCES is the parameter resources_per_node, as JSON. INDEX is the address of a Python package index with the package
humanize, which the training function imports. If INDEX is empty, the training function imports no package.
"""

import json
import sys
import time

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


def get_running_job(client, name):
    """Returns a job as soon as its launcher and its other node have pods. The pods of nodes are deleted when a job ends."""
    for _ in range(300):
        job = client.get_job(name)
        if len(job.steps) == 2 or job.status in ("Complete", "Failed"):
            break
        time.sleep(0.2)
    return job


def read_resources(client, namespace, name):
    """Returns the resources of the containers that run ranks, by the roles of their pods."""
    pods = client.backend.core_api.list_namespaced_pod(namespace, label_selector=f"jobset.sigs.k8s.io/jobset-name={name}")
    return {
        pod.metadata.labels["trainyard.dev/role"]: container.resources.to_dict()
        for pod in pods.items
        for container in pod.spec.containers
        if container.name == "node"
    }


def without_suffix(pod_name):
    """Returns the name of a pod without the random part at the end."""
    return pod_name.rsplit("-", 1)[0]


def main(kubeconfig, namespace, runtime_name, resources, index):
    client = TrainerClient(KubernetesBackendConfig(namespace=namespace, config_file=kubeconfig))
    runtime = client.get_runtime(runtime_name)
    trainer = CustomTrainer(
        func=train,
        func_args={"factor": 10, "package": "humanize" if index else ""},
        num_nodes=2,
        resources_per_node=json.loads(resources),
        env={"GREETING": "hello"},
    )
    if index:
        trainer.packages_to_install = ["humanize"]
        trainer.pip_index_urls = [index]
        trainer.env["PIP_TRUSTED_HOST"] = index.split("/")[2].split(":")[0]
    name = client.train(runtime=runtime, trainer=trainer)
    running = get_running_job(client, name)
    result = {
        "listed": runtime_name in [r.name for r in client.list_runtimes()],
        "runtime": f"{runtime.name}: {runtime.trainer.framework}, {runtime.trainer.device_count} {runtime.trainer.device}",
        "nodes": running.num_nodes,
        "steps": sorted(
            f"{step.name}: {without_suffix(step.pod_name)}, {step.device_count} {step.device}".replace(name, "JOB")
            for step in running.steps
        ),
        "resources": read_resources(client, namespace, name),
    }
    done = client.wait_for_job_status(name, status={"Complete", "Failed"}, timeout=180)
    result["status"] = done.status
    result["log"] = [line.replace(name, "JOB") for line in client.get_job_logs(name)]
    result["events"] = sorted(
        {
            f"{without_suffix(event.involved_object_name)}: {event.reason}".replace(name, "JOB")
            for event in client.get_job_events(name)
            if event.involved_object_kind == "Pod"
        }
    )
    client.delete_job(name)
    result["deleted"] = name not in [job.name for job in client.list_jobs()]
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
