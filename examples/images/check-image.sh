#!/bin/sh
# This script runs inside an image, and checks whether the image contains the programs that trainyard's runtimes need.
set -u

usage() {
	cat <<'END'
usage: check-image.sh openmpi|mpich|intel

Checks whether the image in which it runs contains the programs that trainyard's runtimes
need. The argument names the MPI: openmpi for the runtimes openmpi-*, horovod* and
deepspeed-mpi, mpich for mpich, and intel for intel-mpi. Run the script as a user without a
passwd entry, as in pods:

  podman run --rm -i --user 12345:0 IMAGE sh -s -- openmpi < check-image.sh

The script prints one line for each check: "ok", or "MISSING" and the remedy. Lines with "NOTE"
are about requirements that only some TrainJobs have. The script changes nothing.
Exit status: 0 if nothing is missing, 1 if something is missing, 2 for invalid arguments.
END
}

missing=0

# report STATUS WHAT REMEDY: prints the result of a check, which succeeded if STATUS is 0.
report() {
	if [ "$1" -eq 0 ]; then
		echo "ok       $2"
	else
		echo "MISSING  $2: $3"
		missing=1
	fi
}

# path_of NAME FOLDERS: prints the path of a program. It ignores shell built-ins.
path_of() (
	IFS=:
	for folder in $2; do
		if [ -f "${folder:-.}/$1" ] && [ -x "${folder:-.}/$1" ]; then
			echo "${folder:-.}/$1"
			exit 0
		fi
	done
	exit 1
)

# program REMEDY NAME...: reports for each program whether it is on PATH, and succeeds if the last program is on PATH.
program() {
	remedy=$1
	shift
	for name in "$@"; do
		path_of "$name" "$PATH" >/dev/null
		there=$?
		report $there "$name" "$remedy"
	done
	return "$there"
}

# contains WORDS TEXT: succeeds if the text contains the words.
contains() {
	case $2 in *"$1"*) return 0 ;; esac
	return 1
}

check_shell() {
	[ -x /bin/sh ]
	report $? "/bin/sh" "install a POSIX shell; sshd starts ranks with it"
	program "install coreutils" cat chmod cp cut env head id mkdir nproc sleep tail tee test timeout tr
	program "install grep" grep
	program "install libc-bin (Debian), glibc-common (Red Hat)" getent
}

# check_tools checks features of GNU programs that other implementations of these programs can lack.
check_tools() {
	timeout 1 sleep 3 2>/dev/null
	[ $? -eq 124 ]
	report $? "timeout that exits with 124 after the time limit" "install coreutils"
	sleep 0.1 2>/dev/null
	report $? "sleep for a fraction of a second" "install coreutils"
	contains "127.0.0.1" "$(getent ahosts 127.0.0.1 2>/dev/null)"
	report $? "getent ahosts" "install the getent of the C library"
	cpus=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc 2>/dev/null)
	[ "${cpus:-0}" -gt 0 ] 2>/dev/null
	report $? "nproc that counts CPUs" "install coreutils"
}

# recent TEXT: succeeds if the text contains the version of OpenSSH, and this version is 7.8 or later.
recent() {
	version=${1#*OpenSSH_}
	[ "$version" != "$1" ] || return 1
	major=${version%%[!0-9]*}
	version=${version#*.}
	minor=${version%%[!0-9]*}
	[ $((${major:-0} * 100 + ${minor:-0})) -ge 708 ]
}

check_ssh() {
	if program "install openssh-client (Debian), openssh-clients (Red Hat)" ssh; then
		version=$(ssh -V 2>&1)
		# ssh does not print its version if the user has no passwd entry. The script then checks only the version of
		# sshd, because ssh and sshd belong to the same version of OpenSSH.
		contains "No user exists" "$version" || recent "$version"
		report $? "ssh of OpenSSH" "install OpenSSH 7.8 or newer"
	fi
	# The nodes of a TrainJob search for sshd on the image's PATH, and then in the usual folders for sbin.
	sshd=$(path_of sshd "$PATH:/usr/local/sbin:/usr/sbin:/sbin")
	report $? "sshd" "install openssh-server"
	if [ -n "$sshd" ]; then
		# Versions of sshd without the option -V print the version in their usage message.
		recent "$("$sshd" -V 2>&1)"
		report $? "sshd of OpenSSH 7.8 or newer" "install OpenSSH 7.8 or newer"
	fi
}

# find_mpirun REMEDY: sets the variable "version" to the output of mpirun --version. The program mpirun must be on PATH
# even without a login shell or an entrypoint.
find_mpirun() {
	program "$1" mpirun || return
	version=$(mpirun --version 2>&1)
	remedy="it prints: $(echo "$version" | head -n 1)"
}

daemon="put it on PATH with ENV, as mpirun is"

check_openmpi() {
	find_mpirun "install Open MPI, and put its folder bin on PATH with ENV" || return
	case $version in
	*"(Open MPI) 4."*)
		report 0 "mpirun of Open MPI 4 or 5" ""
		program "$daemon" orted
		;;
	*"(Open MPI) "[5-9].*)
		report 0 "mpirun of Open MPI 4 or 5" ""
		program "$daemon" prted
		;;
	*) report 1 "mpirun of Open MPI 4 or 5" "$remedy" ;;
	esac
}

check_mpich() {
	find_mpirun "install MPICH, and put its folder bin on PATH with ENV" || return
	contains "HYDRA" "$version"
	report $? "mpirun of Hydra" "$remedy"
	program "$daemon" hydra_pmi_proxy
}

check_intel() {
	find_mpirun "install Intel MPI, and set the variables of its setvars.sh with ENV, first PATH" || return
	contains "Intel(R) MPI" "$version"
	report $? "mpirun of Intel MPI" "$remedy"
	program "$daemon" hydra_bstrap_proxy hydra_pmi_proxy
	[ -d "${I_MPI_ROOT-}" ]
	report $? "I_MPI_ROOT" "set I_MPI_ROOT and LD_LIBRARY_PATH with ENV to the values that setvars.sh sets"
}

# check_sdk checks for programs that only the training functions of the Kubeflow SDK need. A missing program is no error.
check_sdk() {
	for name in bash python; do
		path_of "$name" "$PATH" >/dev/null ||
			echo "NOTE     $name: training functions of the Kubeflow SDK need a program with this name"
	done
	[ "$1" = openmpi ] ||
		echo "NOTE     PATH: for training functions of the Kubeflow SDK, set env.PATH of the runtime to /mpi-run/bin:$PATH"
}

main() {
	case $#:${1-} in
	1:--help | 1:-h)
		usage
		exit 0
		;;
	1:openmpi | 1:mpich | 1:intel) ;;
	*)
		usage >&2
		exit 2
		;;
	esac
	check_shell
	check_tools
	check_ssh
	case $1 in
	openmpi) check_openmpi ;;
	mpich) check_mpich ;;
	intel) check_intel ;;
	esac
	check_sdk "$1"
	exit $missing
}

# Commands read from /dev/null, because the shell may be reading this script from standard input.
main "$@" </dev/null
