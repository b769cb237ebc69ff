package faultserver

// TB is the part of testing.TB that Start needs. The package does not import
// testing, so that programs which use a server do not get its flags.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Start starts a server for a test, which fails if the server does not start.
// When the test ends the server closes, and the test fails if Err is not nil.
func Start(t TB, config Config) *Server {
	t.Helper()
	s, err := New(config)
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	t.Cleanup(func() {
		s.Close()
		if err := s.Err(); err != nil {
			t.Errorf("%v", err)
		}
	})
	return s
}
