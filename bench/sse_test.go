package bench

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	peer "github.com/tmaxmax/go-sse"

	"github.com/plimsoll-http/plimsoll/internal/bootstrap"
	"github.com/plimsoll-http/plimsoll/sse"
)

// sseStream is n events of size bytes each on the wire, blank line included.
func sseStream(n, size int, fields func(i int) string) []byte {
	var b bytes.Buffer
	for i := range n {
		head := fields(i) + "data: "
		b.WriteString(head)
		b.WriteString(strings.Repeat("plimsoll ", size/9+1)[:size-len(head)-2])
		b.WriteString("\n\n")
	}
	return b.Bytes()
}

type sseCase struct {
	name   string
	stream []byte
	events int
	data   int // bytes of all Data
}

// sseCases are the shapes of real streams: bare data, and data with a type and
// an id that changes with every event.
func sseCases() []sseCase {
	none := func(int) string { return "" }
	full := func(i int) string { return fmt.Sprintf("event: delta\nid: %d\n", i) }
	cases := []sseCase{
		{name: "100B", stream: sseStream(4000, 100, none), events: 4000},
		{name: "100B-type-id", stream: sseStream(4000, 100, full), events: 4000},
		{name: "4KiB", stream: sseStream(400, 4096, none), events: 400},
		{name: "4KiB-type-id", stream: sseStream(400, 4096, full), events: 400},
	}
	for i := range cases {
		_, cases[i].data = readPlimsoll(cases[i].stream)
	}
	return cases
}

func readPlimsoll(stream []byte) (events, data int) {
	for ev, err := range sse.All(bytes.NewReader(stream)) {
		if err != nil {
			panic(err)
		}
		events++
		data += len(ev.Data)
	}
	return events, data
}

func readPeer(stream []byte) (events, data int) {
	peer.Read(bytes.NewReader(stream), nil)(func(ev peer.Event, err error) bool {
		if err != nil {
			panic(err)
		}
		events++
		data += len(ev.Data)
		return true
	})
	return events, data
}

// BenchmarkSSE gives the throughput and the allocations of each parser.
func BenchmarkSSE(b *testing.B) {
	for _, c := range sseCases() {
		for _, p := range []struct {
			name string
			read func([]byte) (int, int)
		}{{"plimsoll", readPlimsoll}, {"tmaxmax", readPeer}} {
			b.Run(c.name+"/"+p.name, func(b *testing.B) {
				b.SetBytes(int64(len(c.stream)))
				b.ReportAllocs()
				for b.Loop() {
					checkSSE(b, c, p.read)
				}
			})
		}
	}
}

// BenchmarkSSERatio interleaves both parsers (A B B A), so that a busy machine
// slows both, and reports how many times as fast plimsoll is: the median over
// the slices of the peer's time over plimsoll's, and the ends of its bootstrap
// 95 % interval. Fewer than 40 slices are too few: use -benchtime 1s or more.
func BenchmarkSSERatio(b *testing.B) {
	for _, c := range sseCases() {
		b.Run(c.name, func(b *testing.B) {
			var ratios []float64
			timed := func(read func([]byte) (int, int)) time.Duration {
				start := time.Now()
				checkSSE(b, c, read)
				return time.Since(start)
			}
			for b.Loop() {
				own := timed(readPlimsoll)
				other := timed(readPeer)
				other += timed(readPeer)
				own += timed(readPlimsoll)
				ratios = append(ratios, float64(other)/float64(own))
			}
			ratio := bootstrap.Median(ratios)
			b.ReportMetric(ratio.Mid, "x-as-fast")
			b.ReportMetric(ratio.Low, "x-low95")
			b.ReportMetric(ratio.High, "x-high95")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func checkSSE(b *testing.B, c sseCase, read func([]byte) (int, int)) {
	if events, data := read(c.stream); events != c.events || data != c.data {
		b.Fatalf("%d events with %d bytes of data, want %d with %d", events, data, c.events, c.data)
	}
}
