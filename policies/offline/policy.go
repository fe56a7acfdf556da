package offline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
)

// tenantAuthorizer answers the policy's questions about the rights of users. It grants no rights, because users
// of tenants have none of the rights that the policy checks.
var tenantAuthorizer = authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
})

// policy is a ValidatingAdmissionPolicy with compiled expressions. The fields "validations" and "messages" have the
// same order: a validation and its message have the same index. trainyard does not use the API server's own type for
// compiled policies (plugin/policy/validating), because this type would more than double the size of the program.
type policy struct {
	source                            *admissionv1.ValidatingAdmissionPolicy
	conditions, validations, messages cel.ConditionEvaluator
	// budget is the maximum CEL cost of all validations and messages together.
	budget int64
}

// expression is a struct with the name, the text and the result type of a CEL expression. The name is empty if the CEL
// expression is a validation or a message.
type expression struct {
	name, text string
	returns    *celgo.Type
}

func (e expression) GetExpression() string { return e.text }

func (e expression) ReturnTypes() []*celgo.Type { return []*celgo.Type{e.returns} }

func (e expression) GetName() string { return e.name }

// compile prepares all expressions of a policy for evaluation. The error lists all expressions that
// do not compile.
func compile(source *admissionv1.ValidatingAdmissionPolicy) (*policy, error) {
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, err
	}
	options := cel.OptionalVariableDeclarations{HasParams: source.Spec.ParamKind != nil, HasAuthorizer: true}
	var errs []error
	for _, v := range source.Spec.Variables {
		result := compiler.CompileAndStoreVariable(expression{v.Name, v.Expression, celgo.AnyType}, options, environment.StoredExpressions)
		if result.Error != nil {
			errs = append(errs, fmt.Errorf("variable %s: %w", v.Name, result.Error))
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
	evaluator := func(expressions []cel.ExpressionAccessor) cel.ConditionEvaluator {
		compiled := compiler.CompileCondition(expressions, options, environment.StoredExpressions)
		errs = append(errs, compiled.CompilationErrors()...)
		return compiled
	}
	p := &policy{source, evaluator(conditions), evaluator(validations), evaluator(messages), celconfig.RuntimeCELCostBudget}
	return p, errors.Join(errs...)
}

// appliesTo reports whether the policy applies to the resource and operation of a request.
func (p *policy) appliesTo(attributes *admission.VersionedAttributes) bool {
	resource, operation := attributes.GetResource(), admissionv1.OperationType(attributes.GetOperation())
	return slices.ContainsFunc(p.source.Spec.MatchConstraints.ResourceRules, func(rule admissionv1.NamedRuleWithOperations) bool {
		return slices.Contains(rule.APIGroups, resource.Group) && slices.Contains(rule.APIVersions, resource.Version) &&
			slices.Contains(rule.Resources, resource.Resource) && slices.Contains(rule.Operations, operation)
	})
}

// evaluate returns the messages of all validations that deny a request. If a match condition is false, the policy does
// not apply to the request, and evaluate returns no messages. If the evaluation of a validation or of a match condition
// fails, evaluate returns the error as a message. Such an error denies the request, because the field failurePolicy of
// the policy has the value "Fail".
func (p *policy) evaluate(ctx context.Context, attributes *admission.VersionedAttributes, parameters runtime.Object, namespace *corev1.Namespace) []string {
	kind, resource := attributes.GetKind(), attributes.GetResource()
	request := cel.CreateAdmissionRequest(attributes.Attributes, metav1.GroupVersionResource(resource), metav1.GroupVersionKind(kind))
	inputs := cel.OptionalVariableBindings{VersionedParams: parameters, Authorizer: tenantAuthorizer}
	budget := int64(celconfig.RuntimeCELCostBudgetMatchConditions)
	run := func(expressions cel.ConditionEvaluator) []cel.EvaluationResult {
		results, left, err := expressions.ForInput(ctx, attributes, request, inputs, namespace, budget)
		if err != nil {
			return []cel.EvaluationResult{{Error: err}}
		}
		budget = left
		return results
	}
	var failed []string
	for _, result := range run(p.conditions) {
		switch {
		case result.EvalResult == types.False:
			return nil // the policy does not apply, even if the evaluation of other conditions failed
		case result.Error != nil:
			failed = append(failed, result.Error.Error())
		}
	}
	if len(failed) > 0 {
		return failed[:1]
	}
	budget = p.budget
	results := run(p.validations)
	messages := run(p.messages)
	var denials []string
	for i, result := range results {
		switch {
		case result.Error != nil:
			denials = append(denials, result.Error.Error())
		case result.EvalResult != types.True:
			denials = append(denials, p.denialMessage(i, messages))
		}
	}
	return denials
}

// denialMessage returns the message for a failed validation, in the same way as the API server. Usually, the message is
// the result of the validation's message expression. If this result is missing or not usable, the message is the
// validation's field "message". A result is not usable if it is empty, too long, or several lines long.
func (p *policy) denialMessage(i int, messages []cel.EvaluationResult) string {
	if len(messages) > i && messages[i].Error == nil && messages[i].EvalResult != nil {
		text, _ := messages[i].EvalResult.Value().(string)
		if text = strings.TrimSpace(text); text != "" && !strings.Contains(text, "\n") && len(text) <= celconfig.MaxEvaluatedMessageExpressionSizeBytes {
			return text
		}
	}
	return p.source.Spec.Validations[i].Message
}
