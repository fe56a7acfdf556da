#!/bin/sh
# Installs the Debian packages that tests and checks use, where their commands are missing:
# shellcheck for our scripts, sshd, which tests run and never as a service, and Open MPI.
set -eu

missing=""
command -v shellcheck >/dev/null || missing="$missing shellcheck"
test -x /usr/sbin/sshd || missing="$missing openssh-server"
command -v mpirun >/dev/null || missing="$missing openmpi-bin"
test -n "$missing" || exit 0

give_up() {
	echo "$1: install$missing yourself" >&2
	exit 1
}
command -v apt-get >/dev/null || give_up "there is no apt-get here"
test "$(id -u)" -eq 0 || give_up "installing packages needs root"

echo "installing$missing"
export DEBIAN_FRONTEND=noninteractive
export RUNLEVEL=1 # in single-user mode invoke-rc.d starts no service
apt-get update -qq
# shellcheck disable=SC2086 # one argument per package
apt-get install -y -qq --no-install-recommends $missing >/dev/null || give_up "apt-get failed"

# systemd does not look at RUNLEVEL; nobody wanted the service that came with the program.
case "$missing" in *openssh-server*)
	if test -d /run/systemd/system; then
		systemctl disable --now ssh.socket ssh.service 2>/dev/null || true
	fi
	;;
esac
