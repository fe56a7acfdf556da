package jobs

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsRetryable reports whether the same request may succeed later. IsRetryable returns true if the API server did
// not respond, received too many requests, or had an internal error.
func IsRetryable(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == 429 || code >= 500
}

// IsDenied reports whether the API server denied a valid request because the user is unknown or lacks a permission,
// or because a policy forbids the request.
func IsDenied(err error) bool {
	// By default, a ValidatingAdmissionPolicy denies a request with the reason Invalid, which is also the reason for an
	// invalid object. Only the message shows the difference.
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsInvalid(err) && strings.Contains(err.Error(), " denied request: ")
}
