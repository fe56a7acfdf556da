// Package crash tests the guarantees of docs/writing.md. It kills and interrupts
// processes that write bundles, lets their system calls fail, and checks what they
// leave. It needs Linux, runs more tests as root, and takes about 25 minutes, so it
// runs only on request:
//
//	TRAINYARD_CRASH=1 go test -count=1 -timeout 60m ./test/crash
//
// Without TRAINYARD_CRASH all tests are skipped.
package crash
