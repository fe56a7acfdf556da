// Package receiver receives webhooks of Git servers, so that a push is fetched at once instead of at the end of the
// interval.
//
// The only possible effect of a request is that the controller fetches from Git. The receiver checks the signature of
// the request, and then changes the annotation trainyard.dev/sync of the TrainJobSource. This change starts the fetch.
// The receiver never interprets the content of a request, so a request cannot say what to fetch.
package receiver
