#!/bin/sh
# Installs the Debian packages for a make target, if commands of these packages are missing.
#
#   packages.sh test     shellcheck, git, sshd, Open MPI, iptables, Prometheus, Node.js and npm, for tests
#   packages.sh argocd   git and Redis, which Argo CD needs
#   packages.sh crash    strace, which makes system calls of the crash tests fail
#   packages.sh cluster  programs that run containers and build images, for test/cluster
#
# The script disables the services of the Debian packages, because the tests start the programs themselves.
set -eu

missing=""
# need PACKAGE FILE-OR-COMMAND: adds the package to the variable "missing" if the file or command does not exist.
need() {
	command -v "$2" >/dev/null || missing="$missing $1"
}
case "${1-}" in
test)
	need shellcheck shellcheck
	need git git
	need openssh-server /usr/sbin/sshd
	need openmpi-bin mpirun
	need iptables iptables
	need prometheus promtool
	need nodejs node
	need npm npm
	services="ssh.socket ssh.service prometheus.service"
	;;
cluster)
	need containerd containerd
	need runc runc
	need containernetworking-plugins /usr/lib/cni/bridge
	need iproute2 ip
	need nftables nft
	need iptables iptables
	need mmdebstrap mmdebstrap
	python3 -m pip --version >/dev/null 2>&1 || missing="$missing python3-pip"
	services=containerd.service
	;;
crash)
	need strace strace
	services=
	;;
argocd)
	need git git
	need redis-server redis-server
	services=redis-server.service
	;;
*)
	echo "usage: $0 test|argocd|crash|cluster" >&2
	exit 2
	;;
esac
test -n "$missing" || exit 0

give_up() {
	echo "$1: install these packages yourself:$missing" >&2
	exit 1
}
command -v apt-get >/dev/null || give_up "apt-get not found"
test "$(id -u)" -eq 0 || give_up "only root can install packages"

echo "installing$missing"
export DEBIAN_FRONTEND=noninteractive
export RUNLEVEL=1 # RUNLEVEL 1 is single-user mode, in which invoke-rc.d starts no service
apt-get update -qq
# shellcheck disable=SC2086 # one argument per package
apt-get install -y -qq --no-install-recommends $missing >/dev/null || give_up "apt-get failed"

# systemd ignores RUNLEVEL, so the services are disabled with systemctl.
case "$missing" in *openssh-server* | *containerd* | *prometheus* | *redis*)
	if test -d /run/systemd/system; then
		# shellcheck disable=SC2086 # one argument per service
		systemctl disable --now $services 2>/dev/null || true
	fi
	;;
esac
