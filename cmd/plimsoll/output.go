package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// output is where a body goes.
type output interface {
	io.Writer
	// keep puts what was written in its place.
	keep() error
	// drop forgets what was written, as far as that is possible. After keep it
	// does nothing.
	drop()
}

// openOutput opens where the body goes, before anything is sent.
func openOutput(o *getOptions, std streams) (output, error) {
	switch {
	case o.output == "" && o.json:
		return passing{io.Discard}, nil
	case o.output == "" && isTerminal(std.out, std.env):
		return &screenOutput{w: std.out, warn: std.err}, nil
	case o.output == "" || o.output == "-":
		return passing{std.out}, nil
	}
	return openDownload(o.output)
}

// passing is an output that cannot take anything back.
type passing struct{ io.Writer }

func (passing) keep() error { return nil }
func (passing) drop()       {}

// download is a file that appears under its name when it is complete.
type download struct {
	*os.File
	into string
	over bool
}

// openDownload makes the file beside path. What is no regular file, such as
// /dev/null or a pipe, is written to as it is.
func openDownload(path string) (output, error) {
	mode := fs.FileMode(0o666)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("--output is %q, a link to what does not exist: make it, or remove the link", path)
		}
	case err != nil:
		return nil, outputError(err)
	case info.IsDir():
		return nil, fmt.Errorf("--output is %q, a directory: give the name of a file", path)
	case !info.Mode().IsRegular():
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, outputError(err)
		}
		return &device{file}, nil
	default:
		mode = info.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, outputError(err)
		}
		file, err := os.OpenFile(path, os.O_WRONLY, 0) // a read-only file shall stay as it is
		if err != nil {
			return nil, outputError(err)
		}
		file.Close()
	}
	for range 100 {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".plimsoll-%08x.part", rand.Uint32()))
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("--output is %q: its directory takes no new file: %w", path, cause(err))
		}
		return &download{File: file, into: path}, nil
	}
	return nil, fmt.Errorf("--output is %q: no free name for its unfinished part was found in its directory; remove old .part files", path)
}

func outputError(err error) error {
	return fmt.Errorf("--output: %w; use a file that can be written", err)
}

// cause is err without the name of the file.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

func (d *download) keep() error {
	err := d.Close()
	if err == nil {
		err = os.Rename(d.Name(), d.into)
	}
	if err != nil {
		os.Remove(d.Name())
	}
	d.over = true
	return err
}

func (d *download) drop() {
	if !d.over {
		d.Close()
		os.Remove(d.Name())
	}
	d.over = true
}

// device is an output that is no regular file.
type device struct{ *os.File }

func (d *device) keep() error { return d.Close() }
func (d *device) drop()       { d.Close() }

// screenOutput is a terminal. It shows no binary data, which could change the
// terminal's settings.
type screenOutput struct {
	w, warn io.Writer
	decided bool
	binary  bool
}

func (s *screenOutput) Write(p []byte) (int, error) {
	if !s.decided {
		s.decided = true
		if s.binary = isBinary(p); s.binary {
			complain(s.warn, "the body is binary and not shown on a terminal: -o FILE saves it, -o - shows it all the same")
		}
	}
	if s.binary {
		return len(p), nil
	}
	return s.w.Write(p)
}

func (*screenOutput) keep() error { return nil }
func (*screenOutput) drop()       {}

// isBinary judges by the first bytes of a body.
func isBinary(p []byte) bool {
	p = p[:min(len(p), 1024)]
	if bytes.ContainsFunc(p, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != '\b' && r != '\x1b'
	}) {
		return true
	}
	for len(p) > utf8.UTFMax { // a character may be cut off at the end
		r, size := utf8.DecodeRune(p)
		if r == utf8.RuneError && size == 1 {
			return true
		}
		p = p[size:]
	}
	return false
}
