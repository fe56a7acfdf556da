// Package offline judges objects by ValidatingAdmissionPolicies as an API server would, without
// one: Kubernetes' own evaluator compiles and runs their CEL, within its own budget.
package offline

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Request is an object that somebody submits, as decoded JSON.
type Request struct {
	// User is who submits it.
	User string
	// Object is what is submitted, and Before what it takes the place of; nil for a new one.
	Object, Before map[string]any
	// Resource is what its kind is called in URLs.
	Resource string
}

// Denial is what a policy has against a request.
type Denial struct {
	Policy, Binding, Message string
}

// Policies are compiled, with what binds them to namespaces and what their parameters are.
type Policies struct {
	compiled   map[string]*policy
	bindings   []*admissionv1.ValidatingAdmissionPolicyBinding
	parameters map[string]*unstructured.Unstructured // by namespace and name
}

// Compile takes the policies, bindings and ConfigMaps among objects.
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

// Bound tells whether any policy is bound to a namespace.
func (p *Policies) Bound(namespace string) bool {
	for _, binding := range p.bindings {
		if is, err := selects(binding, namespace); err == nil && is {
			return true
		}
	}
	return false
}

// Judge holds a request against all policies that are bound to its namespace.
func (p *Policies) Judge(ctx context.Context, r Request) ([]Denial, error) {
	attributes := attributesOf(r)
	var denials []Denial
	for _, binding := range p.bindings {
		is, err := selects(binding, attributes.GetNamespace())
		if err != nil {
			return nil, fmt.Errorf("reading binding %s: %w", binding.Name, err)
		}
		if !is {
			continue
		}
		messages, err := p.judge(ctx, binding, attributes)
		if err != nil {
			return nil, fmt.Errorf("judging by binding %s: %w", binding.Name, err)
		}
		for _, message := range messages {
			denials = append(denials, Denial{binding.Spec.PolicyName, binding.Name, message})
		}
	}
	return denials, nil
}

// judge holds a request against the policy of one binding.
func (p *Policies) judge(ctx context.Context, binding *admissionv1.ValidatingAdmissionPolicyBinding, attributes *admission.VersionedAttributes) ([]string, error) {
	policy, is := p.compiled[binding.Spec.PolicyName]
	if !is {
		return nil, fmt.Errorf("no policy %s", binding.Spec.PolicyName)
	}
	if !policy.matches(attributes) {
		return nil, nil
	}
	var parameters runtime.Object
	if ref := binding.Spec.ParamRef; ref != nil {
		found, is := p.parameters[ref.Namespace+"/"+ref.Name]
		if !is {
			return []string{"no parameters " + ref.Namespace + "/" + ref.Name}, nil
		}
		parameters = found
	}
	return policy.judge(ctx, attributes, parameters), nil
}

// selects tells whether a binding holds in a namespace, of which nothing but the name is known.
func selects(binding *admissionv1.ValidatingAdmissionPolicyBinding, namespace string) (bool, error) {
	if binding.Spec.MatchResources == nil {
		return true, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(binding.Spec.MatchResources.NamespaceSelector)
	if err != nil {
		return false, err
	}
	return binding.Spec.MatchResources.NamespaceSelector == nil || selector.Matches(labels.Set{"kubernetes.io/metadata.name": namespace}), nil
}

// attributesOf is a request as the API server has it.
func attributesOf(r Request) *admission.VersionedAttributes {
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
