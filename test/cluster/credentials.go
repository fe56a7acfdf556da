//go:build linux

package cluster

import (
	"crypto/x509/pkix"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// mastersGroup is the group of administrators (see "Using RBAC Authorization" in the documentation of Kubernetes).
const mastersGroup = "system:masters"

// clientSubjects maps each client of the API server, except the kubelets, to the subject of its certificate. Kubernetes
// prescribes the subjects of the controller manager and the scheduler (see "Using RBAC Authorization" in the
// documentation of Kubernetes).
var clientSubjects = map[string]pkix.Name{
	"admin":              {CommonName: "admin", Organization: []string{mastersGroup}},
	"controller-manager": {CommonName: "system:kube-controller-manager"},
	"scheduler":          {CommonName: "system:kube-scheduler"},
	"dns":                {CommonName: "dns", Organization: []string{mastersGroup}},
	"kwok":               {CommonName: "kwok", Organization: []string{mastersGroup}},

	// These clients have the names of service accounts, because admission policies identify each controller by the
	// service account of its standard installation.
	"jobset":                     {CommonName: "system:serviceaccount:jobset-system:jobset-controller-manager", Organization: []string{mastersGroup}},
	"kueue":                      {CommonName: "system:serviceaccount:kueue-system:kueue-controller-manager", Organization: []string{mastersGroup}},
	"trainer-controller-manager": {CommonName: "system:serviceaccount:kubeflow-system:kubeflow-trainer-controller-manager", Organization: []string{mastersGroup}},
}

// writeCredentials writes all certificates, keys and kubeconfigs, unless an earlier call wrote them.
func (c *cluster) writeCredentials() error {
	if _, err := os.Stat(c.filePath("pki", "complete")); err == nil {
		return nil
	}
	if err := os.MkdirAll(c.filePath("pki"), 0o700); err != nil {
		return err
	}
	ca, err := newAuthority(c.filePath("pki"))
	if err != nil {
		return err
	}
	if err := c.writeServerCertificates(ca); err != nil {
		return err
	}
	all := map[string]pkix.Name{}
	for name, subject := range clientSubjects {
		all[name] = subject
	}
	for _, n := range c.state.listNodes(c.Dir) {
		all[n.name] = n.certificateSubject()
	}
	for name, subject := range all {
		if err := ca.writeCertificate(name, subject); err != nil {
			return err
		}
		if err := c.writeKubeconfig(ca, name); err != nil {
			return err
		}
	}
	return os.WriteFile(c.filePath("pki", "complete"), nil, 0o600)
}

// writeServerCertificates writes the certificates and keys that servers use.
func (c *cluster) writeServerCertificates(ca authority) error {
	if err := ca.writeSigningKey("service-accounts"); err != nil {
		return err
	}
	if err := ca.writeCertificate("apiserver", pkix.Name{CommonName: apiServer}, c.serverAddress(), c.state.loopback(),
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc."+domain); err != nil {
		return err
	}
	// The API server uses the certificate apiserver-kubelet when it requests logs from kubelets.
	if err := ca.writeCertificate("apiserver-kubelet", pkix.Name{CommonName: "apiserver", Organization: []string{mastersGroup}}); err != nil {
		return err
	}
	for _, n := range c.state.listNodes(c.Dir) {
		if err := ca.writeCertificate(n.name+"-serving", n.certificateSubject(), n.nodeAddress()); err != nil {
			return err
		}
	}
	return nil
}

// writeKubeconfig writes the kubeconfig of one client, with the certificates embedded.
func (c *cluster) writeKubeconfig(ca authority, name string) error {
	cert, err := os.ReadFile(ca.writtenPath(name + ".crt"))
	if err != nil {
		return err
	}
	key, err := os.ReadFile(ca.writtenPath(name + ".key"))
	if err != nil {
		return err
	}
	config := api.Config{
		Clusters:       map[string]*api.Cluster{"sandbox": {Server: c.url(), CertificateAuthorityData: ca.pem}},
		AuthInfos:      map[string]*api.AuthInfo{name: {ClientCertificateData: cert, ClientKeyData: key}},
		Contexts:       map[string]*api.Context{"sandbox": {Cluster: "sandbox", AuthInfo: name}},
		CurrentContext: "sandbox",
	}
	if err := clientcmd.WriteToFile(config, c.kubeconfigPath(name)); err != nil {
		return fmt.Errorf("writing the kubeconfig of %s: %w", name, err)
	}
	return nil
}
