// Package trainjobsource tests controller/trainjobsource on a real API server, with the rights and the admission
// policy that the generator makes for tenants.
package trainjobsource
