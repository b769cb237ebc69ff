package client

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"
)

// What is read of a response that a retry replaces, so that its connection can
// be used again, and for how long.
const (
	drainBytes = 64 << 10
	drainTime  = 50 * time.Millisecond
)

// drained is what became of a rejected response's body.
type drained struct {
	data     []byte
	complete bool
}

// drain empties and closes the body of the response in hand, whose connection
// is then free for others while this call waits. If the body was read to its
// end within most, the response stays whole: its body is what was read.
// Otherwise false is returned and the response must not reach the caller.
func (c *call) drain(resp *http.Response, most time.Duration) bool {
	body := resp.Body
	if jar := c.t.cfg.Jar; jar != nil {
		if cookies := resp.Cookies(); len(cookies) > 0 {
			jar.SetCookies(c.req.URL, cookies)
		}
	}
	if body == http.NoBody {
		return true
	}
	// The body is closed here and nowhere else from now on.
	resp.Body = http.NoBody
	result := make(chan drained, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(body, drainBytes+1))
		result <- drained{data, err == nil && len(data) <= drainBytes}
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	var d drained
	select {
	case d = <-result:
	case <-timer.C:
	case <-c.Done():
	}
	body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(d.data))
	return d.complete
}

// lostResponseError stands for a response whose retry was refused after its
// body had been given up.
type lostResponseError struct{ status int }

func (e *lostResponseError) Error() string {
	return fmt.Sprintf("client: status %d, whose retry was refused after the wait; its body was too large or too slow to be kept meanwhile", e.status)
}
