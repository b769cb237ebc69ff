//go:build linux || darwin

package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
)

// process is the command as a process of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), asMain+"=1", "NO_COLOR=", "COLUMNS=", "LC_ALL=C", "TERM=xterm", "GORACE=atexit_sleep_ms=0")
	return cmd
}

func TestASignalEndsARequestWithItsStatus(t *testing.T) {
	for _, row := range []struct {
		args   []string
		signal os.Signal
		status int
	}{
		{[]string{"get"}, os.Interrupt, exitInterrupted},
		{[]string{"get"}, syscall.SIGTERM, exitTerminated},
		{[]string{"get", "--stream"}, os.Interrupt, exitInterrupted},
		{[]string{"get", "-d", "@-"}, os.Interrupt, exitInterrupted},
	} {
		arrived := make(chan struct{}, 1)
		s := faultserver.Start(t, faultserver.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: one\n\n")
			w.(http.Flusher).Flush()
			arrived <- struct{}{}
			<-r.Context().Done()
		})})
		cmd := process(t, append(row.args, s.URL())...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if row.args[len(row.args)-1] == "@-" {
			if _, err := stdin.Write(make([]byte, 1<<20)); err != nil { // more than a pipe holds: it is reading
				t.Fatal(err)
			}
		} else {
			<-arrived
			if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "data: one\n" {
				t.Errorf("read %q, %v", line, err)
			}
		}
		if err := cmd.Process.Signal(row.signal); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != row.status {
			t.Errorf("%v and %v: status %d, want %d\n%s", row.args, row.signal, got, row.status, stderr.String())
		}
		if len(row.args) < 3 {
			inOrder(t, stderr.String(), "plimsoll get: interrupted", "attempt 1   200", "500 of 500 tokens")
		}
		if strings.Contains(stderr.String(), "goroutine") {
			t.Errorf("a stack is shown:\n%s", stderr.String())
		}
	}
}

func TestAReaderThatHasEnoughEndsTheCommandQuietly(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for n := 0; r.Context().Err() == nil && n < 1<<13; n++ {
			io.WriteString(w, "data: one\n\n")
			w.(http.Flusher).Flush()
		}
	})})
	for _, args := range [][]string{{"get", "-s"}, {"get", "--stream", "-s"}, {"get", "--stream", "--json"}, {"get", "--json", "-n", "100000", "--max-redirs", "0"}} {
		cmd := process(t, append(args, s.URL())...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
			t.Errorf("%v: %v", args, err)
		}
		stdout.Close()
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != exitWrite || stderr.Len() > 0 {
			t.Errorf("%v: status %d, %s", args, got, stderr.String())
		}
	}
}
