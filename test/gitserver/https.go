package gitserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"time"
)

// startHTTPS starts the server for HTTPS, with a certificate that a new certificate authority has signed.
func (s *Server) startHTTPS(handler http.Handler) error {
	authority, pair, err := newCertificates()
	if err != nil {
		return err
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	if err != nil {
		return err
	}
	s.authority, s.tlsAddress = authority, listener.Addr().String()
	s.https = &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.https.Serve(listener) }() // Serve returns when the server is closed
	return nil
}

// newCertificates creates a certificate authority and a certificate for 127.0.0.1. The authority
// and the certificate are valid for one day.
func newCertificates() (authority []byte, pair tls.Certificate, err error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, pair, err
	}
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, pair, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gitserver " + random()},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	root, err := x509.CreateCertificate(rand.Reader, template, template, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return nil, pair, err
	}
	leaf := *template
	leaf.SerialNumber, leaf.IsCA, leaf.KeyUsage = big.NewInt(2), false, x509.KeyUsageDigitalSignature
	leaf.Subject, leaf.IPAddresses = pkix.Name{CommonName: "127.0.0.1"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	signed, err := x509.CreateCertificate(rand.Reader, &leaf, template, &serverKey.PublicKey, authorityKey)
	if err != nil {
		return nil, pair, err
	}
	pair = tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: serverKey}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root}), pair, nil
}
