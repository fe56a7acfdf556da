// Package crash kills, interrupts and starves runs that write bundles, and looks
// at what they leave. It takes about a quarter of an hour, needs Linux, and does
// more as root, so it is a lane of its own:
//
//	TRAINYARD_CRASH=1 go test -count=1 -timeout 60m ./test/crash
//
// Without TRAINYARD_CRASH all tests are skipped. docs/writing.md records the last
// result, and the promises that are tested here.
package crash
