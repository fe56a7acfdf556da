//go:build linux

package jail

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"testing"
)

// SSHKeys makes the files that Trainer's Secret becomes: a key as PEM, and its public half twice.
func SSHKeys(t testing.TB) map[string]string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatalf("making a key: %v", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatalf("making a key: %v", err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	public := authorizedKey(t, &key.PublicKey)
	return map[string]string{"id_rsa": string(private), "id_rsa.pub": public, "authorized_keys": public}
}

// authorizedKey is the line of authorized_keys that lets a key in (RFC 5656, section 3.1).
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
