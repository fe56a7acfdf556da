// Package crash tests the guarantees of docs/writing.md. Some tests kill or interrupt a process that writes a bundle.
// Other tests inject an error into a system call of a process that writes a bundle. After each of these processes has
// ended, the test checks which files remain. The tests need Linux and strace, and some tests need root. The tests take
// about 17 minutes. Run the tests with this command:
//
//	TRAINYARD_CRASH=1 go test -count=1 -timeout 60m ./test/crash
//
// If the environment variable TRAINYARD_CRASH is not set, all tests are skipped.
package crash
