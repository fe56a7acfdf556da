package jobs

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsRetryable reports whether a request that failed with the error err may succeed later. This is true if the
// API server did not respond, received too many requests, or had an internal error.
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
	// By default, a ValidatingAdmissionPolicy denies a request with the reason Invalid. The API server uses the same
	// reason for invalid objects, so only the message shows that a policy denied the request.
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsInvalid(err) && strings.Contains(err.Error(), " denied request: ")
}
