package trainjobsource

import (
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxAccounts is the maximum number of clients that are kept for ServiceAccounts. If maxAccounts clients exist and
// another client is needed, all existing clients are dropped. A dropped client is created again when it is needed.
// Creating a client takes less than a millisecond, because all clients share the same connections.
const maxAccounts = 1000

// accounts is a cache of clients that act as ServiceAccounts of tenants.
type accounts struct {
	config  *rest.Config
	options client.Options

	lock    sync.Mutex
	clients map[string]client.Client // by the name of the user
}

func newAccounts(config *rest.Config, options client.Options) *accounts {
	return &accounts{config: config, options: options, clients: map[string]client.Client{}}
}

// client returns a client with the permissions of a ServiceAccount.
func (a *accounts) client(namespace, account string) (client.Client, error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	user := userName(namespace, account)
	if found := a.clients[user]; found != nil {
		return found, nil
	}
	config := rest.CopyConfig(a.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	created, err := client.New(config, a.options)
	if err != nil {
		return nil, err
	}
	if len(a.clients) >= maxAccounts {
		clear(a.clients)
	}
	a.clients[user] = created
	return created, nil
}

// userName returns the user name with which a ServiceAccount sends requests to the API server.
func userName(namespace, account string) string {
	return "system:serviceaccount:" + namespace + ":" + account
}
