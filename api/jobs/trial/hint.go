package trial

import "regexp"

// hints say what to do about words that programs and Kubernetes use. The first match counts.
var hints = []struct {
	words *regexp.Regexp
	hint  string
}{
	{regexp.MustCompile(`ErrImageNeverPull`), "the image is not on the cluster node, and imagePullPolicy Never forbids to fetch it"},
	{regexp.MustCompile(`ImagePullBackOff|ErrImagePull|InvalidImageName`), "check the image's name, whether the registry can be reached, and imagePullSecrets"},
	{regexp.MustCompile(`violates PodSecurity`), "the namespace's Pod Security level forbids this pod: runtimes that trainyard makes fit level restricted"},
	{regexp.MustCompile(`security context constraint`), "no security context constraint that the namespace may use admits this pod: on OpenShift leave the user to the namespace (target.openshift)"},
	{regexp.MustCompile(`exceeded quota`), "the namespace's quota has no room: lower --nodes or the runtime's resources, or wait"},
	{regexp.MustCompile(`runAsNonRoot|non-root policy`), "the pod asks for a user other than root: set the runtime's user, or a user in the image"},
	// sshd says no more about a key that is not there than about one that it may not read.
	{regexp.MustCompile(`no hostkeys available|Unable to load host key|id_rsa: No such file`), "sshd has no key: mlPolicy.mpi.sshAuthMountPath must be the folder where sshd looks, and the pod's user must be able to read what is there (fsGroup)"},
	{regexp.MustCompile(`(?i)(id_rsa|\.ssh|authorized_keys).*permission denied|bad permissions`), "the user cannot read the SSH key: give the pod an fsGroup, or another user"},
	{regexp.MustCompile(`no sshd in this image|sshd.*(not found|[Nn]o such file)`), "the image has no sshd where the runtime looks: install openssh-server, or mend the command"},
	{regexp.MustCompile(`mpirun.*(not found|[Nn]o such file)`), "mpirun is not on the image's PATH"},
	{regexp.MustCompile(`: unresolvable:`), "look at the cluster's DNS, and at network.publishNotReadyAddresses of the runtime's JobSet template"},
	{regexp.MustCompile(`: refused:`), "nothing listens on the SSH port: compare the ports of sshd and ssh in the runtime"},
	{regexp.MustCompile(`: (timeout|unreachable):`), "packets do not arrive: look at network policies for the SSH port, 2222, between the job's pods"},
	{regexp.MustCompile(`: denied:`), "the key is refused: launcher and nodes must mount the same Secret, and sshd must read its authorized_keys"},
	{regexp.MustCompile(`: slots:`), "a node has less room than numProcPerNode: lower that, give nodes more CPUs or GPUs, or set preflight.oversubscribe"},
	{regexp.MustCompile(`did not use the hostfile`), "mpirun finds its hosts by variables of the runtime's launcher, which differ by kind and version of MPI: Open MPI 5 needs PRTE_MCA_ ones"},
	{regexp.MustCompile(`and mpirun has not ended`), "mpirun waits for ranks that are gone: versions of Open MPI 5 and MPICH are known for it (docs/images.md); try again, or another version"},
	{regexp.MustCompile(`not enough slots`), "mpirun found fewer slots in the hostfile than it wants: see numProcPerNode"},
	{regexp.MustCompile(`Insufficient|didn't match|untolerated taint`), "no cluster node has room for a pod of this runtime: see its resources, nodeSelector and tolerations"},
	{regexp.MustCompile(`(?i)exec format error`), "the image is for another CPU architecture"},
}

// hint says what to do about a failure; nothing if nobody knows.
func hint(about string) string {
	for _, h := range hints {
		if h.words.MatchString(about) {
			return h.hint
		}
	}
	return ""
}
