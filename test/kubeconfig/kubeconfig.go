// Package kubeconfig writes kubeconfig files for programs that tests start.
package kubeconfig

import (
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// name is the name of the only cluster, the only user and the only context in the kubeconfig.
const name = "test"

// Write writes a kubeconfig with one cluster and one user to the file "path". The argument "server" is the URL of the API
// server, and "token" is the bearer token of the user. The argument "authority" is the certificate, in PEM form, of the
// authority that signed the server's certificate. For a server without TLS, the argument "authority" is empty.
func Write(path, server string, authority []byte, token string) error {
	return clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{name: {Server: server, CertificateAuthorityData: authority}},
		AuthInfos:      map[string]*api.AuthInfo{name: {Token: token}},
		Contexts:       map[string]*api.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}, path)
}
