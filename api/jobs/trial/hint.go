package trial

import "regexp"

// knownHints lists solutions for error messages of programs and Kubernetes. The first entry that matches a message
// applies.
var knownHints = []struct {
	message *regexp.Regexp
	hint    string
}{
	{regexp.MustCompile(`ErrImageNeverPull`), "the image is not on the cluster node, and imagePullPolicy Never forbids pulling it"},
	{regexp.MustCompile(`ImagePullBackOff|ErrImagePull|InvalidImageName`), "check the image's name, whether the registry can be reached, and imagePullSecrets"},
	{regexp.MustCompile(`violates PodSecurity`), "the namespace's Pod Security level forbids this pod: runtimes that trainyard generates comply with level restricted"},
	{regexp.MustCompile(`security context constraint`), "no security context constraint that the namespace can use admits this pod: on OpenShift, set target.openshift, so that OpenShift assigns the user"},
	{regexp.MustCompile(`exceeded quota`), "the namespace's quota is exhausted: lower --nodes or the runtime's resources, or wait"},
	{regexp.MustCompile(`runAsNonRoot|non-root policy`), "the pod must not run as root: set the runtime's user, or set another user in the image"},
	// sshd prints the same message for a missing key and for a key that it may not read.
	{regexp.MustCompile(`no hostkeys available|Unable to load host key|id_rsa: No such file`), "sshd has no key: mlPolicy.mpi.sshAuthMountPath must be the folder in which sshd searches for keys, and the pod's user must be able to read the files in this folder (fsGroup)"},
	{regexp.MustCompile(`(?i)(id_rsa|\.ssh|authorized_keys).*permission denied|bad permissions`), "the user cannot read the SSH key: give the pod an fsGroup, or another user"},
	{regexp.MustCompile(`no sshd in this image|sshd.*(not found|[Nn]o such file)`), "the image has no sshd where the runtime looks: install openssh-server, or correct the command"},
	{regexp.MustCompile(`mpirun.*(not found|[Nn]o such file)`), "mpirun is not on the image's PATH"},
	{regexp.MustCompile(`: unresolvable:`), "check the cluster's DNS, and network.publishNotReadyAddresses of the runtime's JobSet template"},
	{regexp.MustCompile(`: refused:`), "nothing listens on the SSH port: compare the ports of sshd and ssh in the runtime"},
	{regexp.MustCompile(`: (timeout|unreachable):`), "packets do not arrive: check the network policies for the SSH port, 2222, between the job's pods"},
	{regexp.MustCompile(`: denied:`), "the key is rejected: launcher and nodes must mount the same Secret, and sshd must read its authorized_keys"},
	{regexp.MustCompile(`: slots:`), "a node has fewer CPUs or GPUs than numProcPerNode: lower numProcPerNode, give nodes more CPUs or GPUs, or set preflight.oversubscribe"},
	{regexp.MustCompile(`did not use the hostfile`), "mpirun reads the path of the hostfile from environment variables of the launcher: set the variables of this MPI implementation and version, which begin with PRTE_MCA_ for Open MPI 5"},
	{regexp.MustCompile(`and mpirun has not ended`), "mpirun waits for ranks that have ended, which is a known error of some versions of Open MPI 5 and MPICH (docs/images.md): try again, or use another version"},
	{regexp.MustCompile(`not enough slots`), "the hostfile has fewer slots than mpirun needs: check numProcPerNode"},
	{regexp.MustCompile(`Insufficient|didn't match|untolerated taint`), "no cluster node has room for a pod of this runtime: check its resources, nodeSelector and tolerations"},
	{regexp.MustCompile(`(?i)exec format error`), "the image is for another CPU architecture"},
}

// findHint returns the solution for a failure, or an empty string if no solution is known.
func findHint(failure string) string {
	for _, h := range knownHints {
		if h.message.MatchString(failure) {
			return h.hint
		}
	}
	return ""
}
