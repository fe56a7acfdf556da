package gitserver

// TB contains the methods of testing.TB that New needs. New takes a TB instead of a testing.TB, so that this package
// does not import the package "testing". Otherwise, programs that use this package, such as the command gitserver,
// would contain the package "testing".
type TB interface {
	Helper()
	Cleanup(f func())
	TempDir() string
	Fatal(args ...any)
}

// New starts a server for a test. The server gets a folder of its own, which is empty at first. If the test creates
// repositories in this folder, the server offers these repositories. The server is closed when the test ends.
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
