// Package receiver receives webhooks of Git servers, so that a push is fetched at once instead of at the end of the
// interval.
//
// A request is only a hint: after its signature was checked, the receiver changes the annotation trainyard.dev/sync of the
// TrainJobSource, and the controller fetches. The receiver never reads the content of a request, so a request cannot
// say what to fetch.
package receiver
