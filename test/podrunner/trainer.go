//go:build linux

package podrunner

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// SSHKeys generates an SSH key pair. The result maps the names of three files to their contents. The file id_rsa
// contains the private key in PEM format, and the files id_rsa.pub and authorized_keys contain the public key. In a
// cluster, the pods of a TrainJob find their SSH keys in files with these names.
func SSHKeys(t testing.TB) map[string]string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatalf("generating a key: %v", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatalf("encoding a key: %v", err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	public := authorizedKey(t, &key.PublicKey)
	return map[string]string{"id_rsa": string(private), "id_rsa.pub": public, "authorized_keys": public}
}

// authorizedKey returns the line in the file authorized_keys that allows logins with the given key. RFC 5656, section 3.1,
// defines the format of ECDSA public keys.
func authorizedKey(t testing.TB, key *ecdsa.PublicKey) string {
	t.Helper()
	point, err := key.Bytes()
	if err != nil {
		t.Fatalf("encoding a key: %v", err)
	}
	var blob []byte
	for _, field := range []string{"ecdsa-sha2-nistp521", "nistp521", string(point)} {
		blob = append(binary.BigEndian.AppendUint32(blob, uint32(len(field))), field...)
	}
	return "ecdsa-sha2-nistp521 " + base64.StdEncoding.EncodeToString(blob) + "\n"
}

// OpenMPIEnv returns the environment variables that Trainer sets for Open MPI in the launcher.
func OpenMPIEnv(slots int) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "OMPI_MCA_orte_default_hostfile", Value: "/etc/mpi/hostfile"},
		{Name: "OMPI_MCA_orte_keep_fqdn_hostnames", Value: "true"},
		{Name: "OMPI_MCA_orte_set_default_slots", Value: fmt.Sprint(slots)},
		{Name: "OMPI_MCA_plm_rsh_args", Value: "-o ConnectionAttempts=10"},
	}
}
