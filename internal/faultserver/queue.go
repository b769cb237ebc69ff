package faultserver

// Next queues scripts: the next request takes the first, and so on. A script
// that this server's protocol cannot run is a mistake of the test: Next panics.
func (s *Server) Next(scripts ...Script) {
	for _, sc := range scripts {
		if err := sc.check(s.config.Protocol, false); err != nil {
			panic(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, scripts...)
}

// NextN queues the same script for the next n requests.
func (s *Server) NextN(n int, script Script) {
	for range n {
		s.Next(script)
	}
}

// NextConn queues scripts for the next connections, as Next does for requests.
func (s *Server) NextConn(scripts ...Script) {
	for _, sc := range scripts {
		if err := sc.check(s.config.Protocol, true); err != nil {
			panic(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connQueue = append(s.connQueue, scripts...)
}

// Queued returns how many scripts of Next and NextConn no request or connection
// has taken yet.
func (s *Server) Queued() (requests, conns int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue), len(s.connQueue)
}

// requestScript picks the script of a request.
func (s *Server) requestScript(r Request) Script {
	s.mu.Lock()
	if len(s.queue) > 0 {
		sc := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		return sc
	}
	s.mu.Unlock()
	if s.config.Choose == nil {
		return Script{}
	}
	return s.checked(s.config.Choose(r), false)
}

// connScript picks the script of a connection.
func (s *Server) connScript(info Conn) Script {
	s.mu.Lock()
	if len(s.connQueue) > 0 {
		sc := s.connQueue[0]
		s.connQueue = s.connQueue[1:]
		s.mu.Unlock()
		return sc
	}
	s.mu.Unlock()
	if s.config.ChooseConn == nil {
		return Script{}
	}
	return s.checked(s.config.ChooseConn(info), true)
}

// checked turns a script that cannot run into a reset and an error of Err.
func (s *Server) checked(sc Script, conn bool) Script {
	if err := sc.check(s.config.Protocol, conn); err != nil {
		s.fault(err)
		return Do(Kill{RST})
	}
	return sc
}
