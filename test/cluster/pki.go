//go:build linux

package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateLifetime is how long certificates are valid. A cluster usually exists for less than a day, so its
// certificates do not expire.
const certificateLifetime = 365 * 24 * time.Hour

// authority signs the certificates of one cluster.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// newAuthority creates a certificate authority that stores its files in the folder "dir".
func newAuthority(dir string) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	ca := authority{dir: dir, key: key}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "sandbox"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := signTemplate(template, template, key.Public(), key)
	if err != nil {
		return ca, err
	}
	if ca.cert, err = x509.ParseCertificate(der); err != nil {
		return ca, err
	}
	ca.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return ca, os.WriteFile(ca.writtenPath("ca.crt"), ca.pem, 0o600)
}

// writtenPath returns the path of a file that the certificate authority wrote.
func (ca authority) writtenPath(name string) string { return filepath.Join(ca.dir, name) }

// writeCertificate writes a certificate to NAME.crt, and its key to NAME.key. The certificate is valid for the
// subject and the addresses.
func (ca authority) writeCertificate(name string, subject pkix.Name, addresses ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		Subject:     subject,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, address := range addresses {
		if ip := net.ParseIP(address); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, address)
		}
	}
	der, err := signTemplate(template, ca.cert, key.Public(), ca.key)
	if err != nil {
		return fmt.Errorf("signing the certificate of %s: %w", name, err)
	}
	if err := writePEM(ca.writtenPath(name+".crt"), "CERTIFICATE", der); err != nil {
		return err
	}
	return writeKey(ca.writtenPath(name+".key"), key)
}

// writeSigningKey creates a key pair without a certificate: the private key in NAME.key, and the public key in
// NAME.pub.
func (ca authority) writeSigningKey(name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writePEM(ca.writtenPath(name+".pub"), "PUBLIC KEY", public); err != nil {
		return err
	}
	return writeKey(ca.writtenPath(name+".key"), key)
}

// signTemplate creates a certificate from a template, and signs the certificate. To tolerate clock differences, the
// certificate is already valid one minute before now.
func signTemplate(template, parent *x509.Certificate, public crypto.PublicKey, key *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Minute)
	template.NotAfter = template.NotBefore.Add(certificateLifetime)
	return x509.CreateCertificate(rand.Reader, template, parent, public, key)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
