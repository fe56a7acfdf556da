package upstream

import (
	"fmt"
	"net"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// pointConversions has kinds with several versions converted where the webhooks are served:
// as published, their CRDs name a service of the cluster.
func pointConversions(installed Manifests, at Site, hooks *envtest.WebhookInstallOptions) error {
	var changed []*apiextensionsv1.CustomResourceDefinition
	for _, crd := range installed.CRDs {
		if crd.Spec.Conversion == nil || crd.Spec.Conversion.Webhook == nil {
			continue
		}
		host := net.JoinHostPort(hooks.LocalServingHost, strconv.Itoa(hooks.LocalServingPort))
		crd = crd.DeepCopy()
		// Every controller-runtime serves it at this path.
		crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{
			URL: ptr.To("https://" + host + "/convert"), CABundle: hooks.LocalServingCAData,
		}
		changed = append(changed, crd)
	}
	if err := envtest.CreateCRDs(at.Config, changed); err != nil {
		return fmt.Errorf("pointing conversions at it: %w", err)
	}
	return nil
}
