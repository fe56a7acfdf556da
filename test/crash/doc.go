// Package crash tests the guarantees of docs/writing.md. The tests kill and interrupt processes that write bundles, let
// their system calls fail, and check which files remain. The tests need Linux and strace, and some tests need root. The
// tests take about 25 minutes, so they run only on request:
//
//	TRAINYARD_CRASH=1 go test -count=1 -timeout 60m ./test/crash
//
// If the environment variable TRAINYARD_CRASH is not set, all tests are skipped.
package crash
