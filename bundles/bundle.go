package bundles

import "github.com/trainyard/trainyard/generator/object"

// Bundle is the input of a format: the objects of a platform, and the settings for their delivery to clusters.
type Bundle struct {
	Platform    string // the document's metadata.name
	Environment string // empty if the document has no environments
	Objects     object.Set
	Delivery    object.Delivery
}

// uniqueName returns the name of the bundle: PLATFORM, or PLATFORM-ENVIRONMENT if the document has environments. If one
// instance of Argo CD delivers several bundles, the names of these bundles must differ. uniqueName does not guarantee
// different names. For example, it returns "a-b" for a platform "a-b" without environments, and also for the
// environment "b" of the platform "a". docs/argocd.md tells users to avoid such names. A change of uniqueName would
// rename the Applications of existing users.
func (b Bundle) uniqueName() string {
	if b.Environment == "" {
		return b.Platform
	}
	return b.Platform + "-" + b.Environment
}

// tenantName joins the bundle's name and the tenant's name with a full stop. If the bundle's name is unique, the
// joined name is also unique, because the names of platforms, environments and tenants contain no full stop. With a
// dash as the separator, the names would not be unique: the tenant "eu" of the environment "prod" would get the same
// name as the environment "prod-eu".
func (b Bundle) tenantName(tenant string) string { return b.uniqueName() + "." + tenant }

// MissingError reports that the document lacks a field that a format needs, or that a field exceeds a format's limit.
type MissingError struct {
	Path    string // path of the field, such as spec.delivery.argocd
	Message string // the reason why the format needs the field, and the value to set
}

// Error returns the path of the field, and then the message.
func (m *MissingError) Error() string { return m.Path + ": " + m.Message }
