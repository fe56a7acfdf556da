package upstream

import (
	"fmt"
	"net"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// redirectConversions changes CRDs, so that the API server calls a manager on this machine to convert objects between API
// versions. The unchanged CRDs refer to a conversion webhook that is a Service in the cluster.
func redirectConversions(config *rest.Config, installed Manifests, hooks *envtest.WebhookInstallOptions) error {
	var changed []*apiextensionsv1.CustomResourceDefinition
	for _, crd := range installed.CRDs {
		if crd.Spec.Conversion == nil || crd.Spec.Conversion.Webhook == nil {
			continue
		}
		host := net.JoinHostPort(hooks.LocalServingHost, strconv.Itoa(hooks.LocalServingPort))
		crd = crd.DeepCopy()
		// All versions of controller-runtime serve conversions at the path /convert.
		crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{
			URL: ptr.To("https://" + host + "/convert"), CABundle: hooks.LocalServingCAData,
		}
		changed = append(changed, crd)
	}
	if err := envtest.CreateCRDs(config, changed); err != nil {
		return fmt.Errorf("redirecting conversions: %w", err)
	}
	return nil
}
