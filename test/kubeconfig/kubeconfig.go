// Package kubeconfig writes kubeconfig files for programs that tests start.
package kubeconfig

import (
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// name is the name of the only cluster, the only user and the only context in the kubeconfig.
const name = "test"

// Write writes a kubeconfig with one cluster and one user to the file "path". The argument "server" is the URL of the API
// server, and "token" is the bearer token of the user. The argument "authority" is the PEM-encoded CA certificate for the
// server, or empty for a server without TLS.
func Write(path, server string, authority []byte, token string) error {
	return clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{name: {Server: server, CertificateAuthorityData: authority}},
		AuthInfos:      map[string]*api.AuthInfo{name: {Token: token}},
		Contexts:       map[string]*api.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}, path)
}
