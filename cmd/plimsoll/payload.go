package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"strings"
)

// payload is what --data sends. It can be opened again for each attempt.
type payload struct {
	open func() (io.ReadCloser, error)
	size int64
}

// newPayload finds out what --data means. Regular files are read when they are
// sent; everything else is kept in memory.
func newPayload(ctx context.Context, o *getOptions, stdin io.Reader) (*payload, error) {
	if !o.hasData {
		return nil, nil
	}
	name, isFile := strings.CutPrefix(o.data, "@")
	switch {
	case !isFile:
		return inMemory([]byte(o.data)), nil
	case name == "-":
		return readAll(ctx, stdin)
	case name == "":
		return nil, usagef("--data is @ without a name: use @FILE, or @- for stdin")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, usagef("--data: %v", err)
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		defer file.Close()
		if err == nil && info.IsDir() {
			return nil, usagef("--data is @%s, a directory: use a file", name)
		}
		return readAll(ctx, file)
	}
	file.Close()
	return &payload{size: info.Size(), open: func() (io.ReadCloser, error) { return os.Open(name) }}, nil
}

// readAll reads r to its end, or to that of ctx. A read that hangs then is left
// alone: the process is about to end.
func readAll(ctx context.Context, r io.Reader) (*payload, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(r)
		done <- result{data, err}
	}()
	select {
	case got := <-done:
		if got.err != nil {
			return nil, usagef("--data: %v", got.err)
		}
		return inMemory(got.data), nil
	case <-ctx.Done():
		return nil, &endedError{exitOfSignal(ctx)}
	}
}

func inMemory(data []byte) *payload {
	return &payload{size: int64(len(data)), open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

// attach makes the payload the body of req.
func (p *payload) attach(req *http.Request) error {
	if p == nil {
		return nil
	}
	if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if p.size == 0 {
		req.Body, req.GetBody = http.NoBody, func() (io.ReadCloser, error) { return http.NoBody, nil }
		return nil
	}
	body, err := p.open()
	if err != nil {
		return err
	}
	req.Body, req.GetBody, req.ContentLength = body, p.open, p.size
	return nil
}
