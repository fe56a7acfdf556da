package gitserver

// TB is the part of testing.TB that New needs. Programs that are not tests can therefore use this package without the
// package testing.
type TB interface {
	Helper()
	Cleanup(f func())
	TempDir() string
	Fatal(args ...any)
}

// New starts a server for a test, with an empty folder. The server is closed when the test ends.
func New(t TB) *Server {
	t.Helper()
	s, err := Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
	return s
}
