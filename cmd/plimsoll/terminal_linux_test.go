package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/plimsoll-http/plimsoll/internal/faultserver"
	"github.com/plimsoll-http/plimsoll/internal/require"
)

// terminal returns both ends of a pseudo-terminal.
func terminal(t *testing.T, columns int) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		require.Missing(t, "no pseudo-terminals: "+err.Error())
	}
	t.Cleanup(func() { master.Close() })
	control := func(request uintptr, arg unsafe.Pointer) {
		t.Helper()
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(arg)); errno != 0 {
			t.Fatal(errno)
		}
	}
	var number, unlock int32
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{24, uint16(columns)}
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		require.Missing(t, "no pseudo-terminals: "+err.Error())
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// onTerminal runs the command on a terminal and returns what it shows.
func onTerminal(t *testing.T, columns int, prepare func(*exec.Cmd), args ...string) (string, int) {
	t.Helper()
	master, slave := terminal(t, columns)
	cmd := process(t, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if prepare != nil {
		prepare(cmd)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	shown, _ := io.ReadAll(master) // ends with EIO when the last user of the terminal has gone
	cmd.Wait()
	return strings.ReplaceAll(string(shown), "\r\n", "\n"), cmd.ProcessState.ExitCode()
}

func setting(kv ...string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, kv...) }
}

func TestColoursAreForTerminals(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	for _, row := range []struct {
		name    string
		prepare func(*exec.Cmd)
		args    []string
		colours bool
	}{
		{name: "terminal", colours: true},
		{name: "NO_COLOR", prepare: setting("NO_COLOR=1")},
		{name: "dumb", prepare: setting("TERM=dumb")},
		{name: "never", args: []string{"--color", "never"}},
		{name: "always beats NO_COLOR", prepare: setting("NO_COLOR=1"), args: []string{"--color", "always"}, colours: true},
		{name: "stderr elsewhere", prepare: func(cmd *exec.Cmd) { cmd.Stderr = io.Discard }},
	} {
		shown, status := onTerminal(t, 80, row.prepare, append([]string{"get", s.URL()}, row.args...)...)
		if status != exitOK || strings.Contains(shown, "\x1b[") != row.colours {
			t.Errorf("%s: status %d, shown %q", row.name, status, shown)
		}
	}
	cmd := process(t, "get", s.URL())
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "\x1b") {
		t.Errorf("a pipe: %v, %q", err, out)
	}
	if out, err := process(t, "get", "--color=always", s.URL()).CombinedOutput(); err != nil || !strings.Contains(string(out), "\x1b[32m") {
		t.Errorf("always: %v, %q", err, out)
	}
}

func TestBarsAdaptToTheTerminal(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	for _, row := range []struct {
		columns int
		env     []string
		longest int
		marks   string
	}{
		{120, []string{"LC_ALL=C.UTF-8"}, 120, "▓"},
		{60, nil, 60, "w"},
		{30, nil, 46, ""},
		{120, []string{"COLUMNS=60"}, 60, "w"},
		{0, nil, 80, "w"},
	} {
		shown, status := onTerminal(t, row.columns, setting(append(row.env, "NO_COLOR=1")...), "get", s.URL())
		if status != exitOK {
			t.Errorf("status %d", status)
		}
		longest := 0
		for line := range strings.Lines(shown) {
			if strings.HasPrefix(line, "  attempt") || strings.HasPrefix(line, "      ") {
				longest = max(longest, len([]rune(strings.TrimRight(line, "\n"))))
			}
		}
		if longest > row.longest || row.marks != "" && (longest != row.longest || !strings.Contains(shown, row.marks)) {
			t.Errorf("%d columns, %v: lines of %d:\n%s", row.columns, row.env, longest, shown)
		}
	}
}

func TestBinaryDataIsNotShownOnATerminal(t *testing.T) {
	s := faultserver.Start(t, faultserver.Config{})
	for _, args := range [][]string{nil, {"-o", "-"}} {
		s.Next(faultserver.Respond(200, "a\x00\x01b"))
		shown, status := onTerminal(t, 80, nil, append([]string{"get", s.URL()}, args...)...)
		if status != exitOK || strings.Contains(shown, "\x00") != (args != nil) || strings.Contains(shown, "is binary and not shown") != (args == nil) {
			t.Errorf("%v: status %d, %q", args, status, shown)
		}
	}
}
