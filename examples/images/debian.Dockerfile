# Open MPI 4 and PyTorch, installed only from Debian packages.
FROM docker.io/library/debian:12-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
    openmpi-bin python3-mpi4py python3-torch openssh-client openssh-server \
    python-is-python3 python3-pip \
 && rm -rf /var/lib/apt/lists/*
COPY train.py /opt/train.py
