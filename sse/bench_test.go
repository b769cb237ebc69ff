package sse

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// benchStream is n events of size bytes each on the wire, blank line included.
func benchStream(n, size int, fields func(i int) string) []byte {
	var b bytes.Buffer
	for i := range n {
		head := fields(i) + "data: "
		b.WriteString(head)
		b.WriteString(strings.Repeat("plimsoll ", size/9+1)[:size-len(head)-2])
		b.WriteString("\n\n")
	}
	return b.Bytes()
}

func BenchmarkReader(b *testing.B) {
	none := func(int) string { return "" }
	full := func(i int) string { return fmt.Sprintf("event: delta\nid: %d\n", i) }
	for _, c := range []struct {
		name   string
		stream []byte
		events int
	}{
		{"100B", benchStream(4000, 100, none), 4000},
		{"100B/type+id", benchStream(4000, 100, full), 4000},
		{"4KiB", benchStream(400, 4096, none), 400},
		{"4KiB/type+id", benchStream(400, 4096, full), 400},
		{"32KiB", benchStream(50, 32<<10, none), 50},
		{"1MiB", benchStream(4, 1<<20, none), 4},
		{"100B/CRLF", bytes.ReplaceAll(benchStream(4000, 98, none), []byte("\n"), []byte("\r\n")), 4000},
		{"100B/CR", bytes.ReplaceAll(benchStream(4000, 100, none), []byte("\n"), []byte("\r")), 4000},
		{"100B/UTF-8", bytes.ReplaceAll(benchStream(4000, 100, none), []byte("ms"), []byte("\u00fc")), 4000},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.stream)))
			b.ReportAllocs()
			src := bytes.NewReader(nil)
			for b.Loop() {
				src.Reset(c.stream)
				n := 0
				for ev, err := range All(src) {
					if err != nil || ev.Data == "" {
						b.Fatal(ev, err)
					}
					n++
				}
				if n != c.events {
					b.Fatalf("%d events, want %d", n, c.events)
				}
			}
		})
	}
}
