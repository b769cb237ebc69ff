// Package faultserver is an HTTP server on loopback, or in memory, whose faults
// are scripted to the byte. Tests of a client start one and tell it what to do
// with which connection and which request:
//
//	s := faultserver.Start(t, faultserver.Config{Protocol: faultserver.H2})
//	client := &http.Client{Transport: s.ClientTransport()}
//	s.Next(
//		faultserver.Respond(503, "busy"),
//		faultserver.KillAfterReading(faultserver.RST),
//		faultserver.Do(faultserver.ReadBody{}, faultserver.Header{}, faultserver.Trickle{Size: 10, Every: time.Second}),
//	)
//
// Requests that no script is for go to Config.Handler or are echoed.
package faultserver
