package offline

import (
	"context"
	"errors"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// policy is a policy whose expressions are compiled. Validations and messages are in the same order.
type policy struct {
	source                            *admissionv1.ValidatingAdmissionPolicy
	conditions, validations, messages cel.ConditionEvaluator
}

// expression is one of CEL, of a certain type and perhaps with a name.
type expression struct {
	name, text string
	returns    *celgo.Type
}

// GetExpression is the text.
func (e expression) GetExpression() string { return e.text }

// ReturnTypes are those that the expression may have.
func (e expression) ReturnTypes() []*celgo.Type { return []*celgo.Type{e.returns} }

// GetName is the name of a variable.
func (e expression) GetName() string { return e.name }

// compile compiles a policy. An expression that does not compile is an error.
func compile(source *admissionv1.ValidatingAdmissionPolicy) (*policy, error) {
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, err
	}
	options := cel.OptionalVariableDeclarations{HasParams: source.Spec.ParamKind != nil}
	var errs []error
	for _, v := range source.Spec.Variables {
		found := compiler.CompileAndStoreVariable(expression{v.Name, v.Expression, celgo.AnyType}, options, environment.StoredExpressions)
		if found.Error != nil {
			errs = append(errs, errors.New("variable "+v.Name+": "+found.Error.Error()))
		}
	}
	var conditions, validations, messages []cel.ExpressionAccessor
	for _, c := range source.Spec.MatchConditions {
		conditions = append(conditions, expression{c.Name, c.Expression, celgo.BoolType})
	}
	for _, v := range source.Spec.Validations {
		validations = append(validations, expression{"", v.Expression, celgo.BoolType})
		text := v.MessageExpression
		if text == "" {
			text = "''"
		}
		messages = append(messages, expression{"", text, celgo.StringType})
	}
	p := &policy{source: source}
	for _, part := range []struct {
		into *cel.ConditionEvaluator
		of   []cel.ExpressionAccessor
	}{{&p.conditions, conditions}, {&p.validations, validations}, {&p.messages, messages}} {
		*part.into = compiler.CompileCondition(part.of, options, environment.StoredExpressions)
		errs = append(errs, (*part.into).CompilationErrors()...)
	}
	return p, errors.Join(errs...)
}

// matches tells whether a policy is about such requests at all.
func (p *policy) matches(attributes *admission.VersionedAttributes) bool {
	resource, operation := attributes.GetResource(), admissionv1.OperationType(attributes.GetOperation())
	return slices.ContainsFunc(p.source.Spec.MatchConstraints.ResourceRules, func(rule admissionv1.NamedRuleWithOperations) bool {
		return slices.Contains(rule.APIGroups, resource.Group) && slices.Contains(rule.APIVersions, resource.Version) &&
			slices.Contains(rule.Resources, resource.Resource) && slices.Contains(rule.Operations, operation)
	})
}

// judge returns the messages of the validations that do not hold. What cannot be evaluated does not
// hold either: that is what failurePolicy Fail means.
func (p *policy) judge(ctx context.Context, attributes *admission.VersionedAttributes, parameters runtime.Object) []string {
	kind, resource := attributes.GetKind(), attributes.GetResource()
	request := cel.CreateAdmissionRequest(attributes.Attributes, metav1.GroupVersionResource(resource), metav1.GroupVersionKind(kind))
	inputs := cel.OptionalVariableBindings{VersionedParams: parameters}
	budget := int64(celconfig.RuntimeCELCostBudgetMatchConditions)
	evaluate := func(of cel.ConditionEvaluator) []cel.EvaluationResult {
		results, left, err := of.ForInput(ctx, attributes, request, inputs, nil, budget)
		if err != nil {
			return []cel.EvaluationResult{{Error: err}}
		}
		budget = left
		return results
	}
	var failed []string
	for _, result := range evaluate(p.conditions) {
		switch {
		case result.EvalResult == types.False:
			return nil // whatever becomes of the others
		case result.Error != nil:
			failed = append(failed, result.Error.Error())
		}
	}
	if len(failed) > 0 {
		return failed[:1]
	}
	budget = celconfig.RuntimeCELCostBudget
	verdicts := evaluate(p.validations)
	messages := evaluate(p.messages)
	var said []string
	for i, verdict := range verdicts {
		switch {
		case verdict.Error != nil:
			said = append(said, verdict.Error.Error())
		case verdict.EvalResult != types.True:
			said = append(said, p.message(i, messages))
		}
	}
	return said
}

// message is what a validation says that does not hold, as the API server chooses it.
func (p *policy) message(i int, messages []cel.EvaluationResult) string {
	if len(messages) > i && messages[i].Error == nil && messages[i].EvalResult != nil {
		text, _ := messages[i].EvalResult.Value().(string)
		if text = strings.TrimSpace(text); text != "" && !strings.Contains(text, "\n") && len(text) <= celconfig.MaxEvaluatedMessageExpressionSizeBytes {
			return text
		}
	}
	return p.source.Spec.Validations[i].Message
}
