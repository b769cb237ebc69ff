package faultserver_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

func ExampleNew() {
	s, err := faultserver.New(faultserver.Config{Protocol: faultserver.TLS})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	client := &http.Client{Transport: s.ClientTransport()}

	s.Next(
		faultserver.Respond(503, "busy"),
		faultserver.KillAfterReading(faultserver.RST),
	)
	for range 3 {
		resp, err := client.Post(s.URL("/orders"), "text/plain", nil)
		if err != nil {
			fmt.Println("reset:", errors.Is(err, syscall.ECONNRESET))
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(resp.StatusCode, string(body))
	}
	fmt.Println("killed parked connections:", s.KillIdle(faultserver.CloseNotify))
	st := s.Stats()
	fmt.Println("connections:", st.Opened, "requests:", st.Requests, "processed:", st.Processed)
	// Output:
	// 503 busy
	// reset: true
	// 200 ok
	// killed parked connections: 1
	// connections: 2 requests: 3 processed: 3
}
