#!/bin/sh
# Checks, from inside, whether an image holds what trainyard's runtimes need.
set -u

usage() {
	cat <<'END'
usage: check-image.sh openmpi|mpich|intel

Checks whether the image that it runs in holds what trainyard's runtimes need, with the
MPI that is named: openmpi for the runtimes openmpi-*, horovod* and deepspeed-mpi, mpich
and intel for those of the same name. Run it as pods do, by a user that no image knows:

  podman run --rm -i --user 12345:0 IMAGE sh -s -- openmpi < check-image.sh

It prints one line per check, "ok" or "MISSING" and what to do about it, and changes nothing.
Exit status: 0 if nothing is missing, 1 if something is, 2 if it was called wrongly.
END
}

missing=0

# report STATUS WHAT REMEDY: prints the outcome of a check, which held if STATUS is 0.
report() {
	if [ "$1" -eq 0 ]; then
		echo "ok       $2"
	else
		echo "MISSING  $2: $3"
		missing=1
	fi
}

# path_of NAME FOLDERS: prints where a program lies; what only a shell has is none.
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

# program REMEDY NAME...: each is a program on PATH; fails if the last is not.
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

# says WORDS TEXT: whether the words are in the text.
says() {
	case $2 in *"$1"*) return 0 ;; esac
	return 1
}

check_shell() {
	[ -x /bin/sh ]
	report $? "/bin/sh" "install a POSIX shell; sshd starts ranks with it"
	program "install coreutils" cat cut env head id mkdir nproc sleep tail test timeout tr
	program "install grep" grep
	program "install libc-bin (Debian), glibc-common (Red Hat)" getent
}

# Programs of these names, in other shapes than that of GNU, know less.
check_tools() {
	timeout 1 sleep 3 2>/dev/null
	[ $? -eq 124 ]
	report $? "timeout that ends with 124 when time is up" "install coreutils"
	sleep 0.1 2>/dev/null
	report $? "sleep for a part of a second" "install coreutils"
	says "127.0.0.1" "$(getent ahosts 127.0.0.1 2>/dev/null)"
	report $? "getent ahosts" "install the getent of the C library"
	cpus=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc 2>/dev/null)
	[ "${cpus:-0}" -gt 0 ] 2>/dev/null
	report $? "nproc that counts CPUs" "install coreutils"
}

# recent TEXT: whether it tells of OpenSSH 7.8 or newer.
recent() {
	said=${1#*OpenSSH_}
	[ "$said" != "$1" ] || return 1
	major=${said%%[!0-9]*}
	said=${said#*.}
	minor=${said%%[!0-9]*}
	[ $((${major:-0} * 100 + ${minor:-0})) -ge 708 ]
}

check_ssh() {
	if program "install openssh-client (Debian), openssh-clients (Red Hat)" ssh; then
		said=$(ssh -V 2>&1)
		# It does not even tell its version to a user without a name. sshd is of the same.
		says "No user exists" "$said" || recent "$said"
		report $? "ssh of OpenSSH" "install OpenSSH 7.8 or newer"
	fi
	# A node looks there too, wherever PATH of the image points.
	sshd=$(path_of sshd "$PATH:/usr/local/sbin:/usr/sbin:/sbin")
	report $? "sshd" "install openssh-server"
	if [ -n "$sshd" ]; then
		# Those that do not know -V say their version with how to use them.
		recent "$("$sshd" -V 2>&1)"
		report $? "sshd of OpenSSH 7.8 or newer" "install a newer one"
	fi
}

# find_mpirun REMEDY: sets said to what mpirun says of itself. It has to be found without what a
# login shell or an entrypoint sets.
find_mpirun() {
	program "$1" mpirun || return
	said=$(mpirun --version 2>&1)
	remedy="it says: $(echo "$said" | head -n 1)"
}

daemon="put it on PATH with ENV, beside mpirun"

check_openmpi() {
	find_mpirun "install Open MPI, and put its folder bin on PATH with ENV" || return
	case $said in
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
	says "HYDRA" "$said"
	report $? "mpirun of Hydra" "$remedy"
	program "$daemon" hydra_pmi_proxy
}

check_intel() {
	find_mpirun "install Intel MPI, and set with ENV what its setvars.sh sets: PATH first" || return
	says "Intel(R) MPI" "$said"
	report $? "mpirun of Intel MPI" "$remedy"
	program "$daemon" hydra_bstrap_proxy hydra_pmi_proxy
	[ -d "${I_MPI_ROOT-}" ]
	report $? "I_MPI_ROOT" "set it with ENV, as setvars.sh does, and LD_LIBRARY_PATH too"
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
	exit $missing
}

# The shell may be reading this text from standard input: nobody else shall.
main "$@" </dev/null
