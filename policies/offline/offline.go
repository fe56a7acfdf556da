// Package offline evaluates ValidatingAdmissionPolicies for given objects, without an API server. The package uses
// the API server's own CEL compiler, evaluator and cost budget.
package offline

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Request is a request to create or update an object. The object is given as decoded JSON.
type Request struct {
	// User is the name of the user who sends the request.
	User string
	// Object is the new object. The field "Before" contains the object that an update replaces. If the request creates
	// an object, "Before" is nil.
	Object, Before map[string]any
	// NamespaceLabels holds the labels of the object's namespace. If NamespaceLabels is nil, a policy is evaluated
	// as if the namespace had the label that the parameters of the policy require.
	NamespaceLabels map[string]string
	// Resource is the plural name of the kind in URLs, such as trainjobs.
	Resource string
}

// Denial states that a policy denies a request. Message is the reason.
type Denial struct {
	Policy, Binding, Message string
}

// Policies holds compiled policies with their bindings and parameters.
type Policies struct {
	compiled   map[string]*policy
	bindings   []*admissionv1.ValidatingAdmissionPolicyBinding
	parameters map[string]*unstructured.Unstructured // ConfigMaps, by NAMESPACE/NAME
}

// Compile compiles the policies in a list of objects. The result also contains the bindings and ConfigMaps in the
// list. Compile ignores all other objects.
func Compile(objects []map[string]any) (*Policies, error) {
	all := &Policies{compiled: map[string]*policy{}, parameters: map[string]*unstructured.Unstructured{}}
	for _, fields := range objects {
		o := &unstructured.Unstructured{Object: fields}
		var err error
		switch o.GetKind() {
		case "ValidatingAdmissionPolicy":
			err = all.addPolicy(fields)
		case "ValidatingAdmissionPolicyBinding":
			binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
			err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, binding, true)
			all.bindings = append(all.bindings, binding)
		case "ConfigMap":
			all.parameters[o.GetNamespace()+"/"+o.GetName()] = o
		}
		if err != nil {
			return nil, fmt.Errorf("compiling %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return all, nil
}

func (p *Policies) addPolicy(fields map[string]any) error {
	source := &admissionv1.ValidatingAdmissionPolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, source, true); err != nil {
		return err
	}
	compiled, err := compile(source)
	p.compiled[source.Name] = compiled
	return err
}

// Bound reports whether at least one policy is bound to a namespace.
func (p *Policies) Bound(namespace string) bool {
	for _, binding := range p.bindings {
		if selected, err := selectsNamespace(binding, namespace); err == nil && selected {
			return true
		}
	}
	return false
}

// Evaluate evaluates all policies that are bound to the namespace of a request.
func (p *Policies) Evaluate(ctx context.Context, r Request) ([]Denial, error) {
	attributes := toAttributes(r)
	var denials []Denial
	for _, binding := range p.bindings {
		selected, err := selectsNamespace(binding, attributes.GetNamespace())
		if err != nil {
			return nil, fmt.Errorf("reading binding %s: %w", binding.Name, err)
		}
		if !selected {
			continue
		}
		messages, err := p.evaluate(ctx, binding, attributes, r.NamespaceLabels)
		if err != nil {
			return nil, fmt.Errorf("evaluating binding %s: %w", binding.Name, err)
		}
		for _, message := range messages {
			denials = append(denials, Denial{binding.Spec.PolicyName, binding.Name, message})
		}
	}
	return denials, nil
}

// evaluate evaluates the policy of a binding, with the parameters of the binding.
func (p *Policies) evaluate(ctx context.Context, binding *admissionv1.ValidatingAdmissionPolicyBinding, attributes *admission.VersionedAttributes,
	namespaceLabels map[string]string) ([]string, error) {
	policy, found := p.compiled[binding.Spec.PolicyName]
	if !found {
		return nil, fmt.Errorf("no policy %s", binding.Spec.PolicyName)
	}
	if !policy.appliesTo(attributes) {
		return nil, nil
	}
	var parameters runtime.Object
	if ref := binding.Spec.ParamRef; ref != nil {
		configMap, found := p.parameters[ref.Namespace+"/"+ref.Name]
		if !found {
			return []string{"no parameters " + ref.Namespace + "/" + ref.Name}, nil
		}
		parameters = configMap
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: attributes.GetNamespace(), Labels: namespaceLabels}}
	if namespaceLabels == nil {
		namespace.Labels = requiredLabels(parameters)
	}
	return policy.evaluate(ctx, attributes, parameters, namespace), nil
}

// requiredLabels returns the label that a namespace needs according to the parameters of a policy.
func requiredLabels(parameters runtime.Object) map[string]string {
	configMap, ok := parameters.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	required, _, _ := unstructured.NestedString(configMap.Object, "data", "namespaceLabel")
	key, value, _ := strings.Cut(required, "=")
	return map[string]string{key: value}
}

// selectsNamespace reports whether a binding selects a namespace. selectsNamespace knows only the label
// kubernetes.io/metadata.name, whose value is the name of the namespace. Therefore, a binding whose selector requires
// another label selects no namespace.
func selectsNamespace(binding *admissionv1.ValidatingAdmissionPolicyBinding, namespace string) (bool, error) {
	if binding.Spec.MatchResources == nil {
		return true, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(binding.Spec.MatchResources.NamespaceSelector)
	if err != nil {
		return false, err
	}
	return binding.Spec.MatchResources.NamespaceSelector == nil || selector.Matches(labels.Set{"kubernetes.io/metadata.name": namespace}), nil
}

// toAttributes converts a Request to the type that the API server uses for admission requests.
func toAttributes(r Request) *admission.VersionedAttributes {
	object := &unstructured.Unstructured{Object: r.Object}
	kind := object.GroupVersionKind()
	operation, before := admission.Create, runtime.Object(nil)
	if r.Before != nil {
		operation, before = admission.Update, &unstructured.Unstructured{Object: r.Before}
	}
	resource := schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: r.Resource}
	attributes := admission.NewAttributesRecord(object, before, kind, object.GetNamespace(), object.GetName(), resource, "", operation, nil, false,
		&user.DefaultInfo{Name: r.User})
	return &admission.VersionedAttributes{Attributes: attributes, VersionedObject: object, VersionedOldObject: before, VersionedKind: kind}
}
