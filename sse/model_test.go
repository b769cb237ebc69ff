package sse

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"time"
)

// A result is everything that can be seen of one stream.
type result struct {
	Events []Event
	Ends   []int64 // Bytes after each event
	Err    error   // nil: the end of the stream
	Bytes  int64   // at the end

	LastEventID string
	Retry       time.Duration
	HasRetry    bool
}

// A model is a second parser, as simple and as slow as can be: it looks at one
// byte at a time and works everything out anew from the lines of the block.
type model struct {
	lineCap, eventCap, totalCap int64

	res      result
	lines    []string // the complete lines of the block
	cur      string   // the line being read
	afterCR  bool
	newRetry bool
}

func noCaps() model {
	return model{lineCap: math.MaxInt64, eventCap: math.MaxInt64, totalCap: math.MaxInt64}
}

func (m model) run(stream string) result {
	for i := range len(stream) {
		at := int64(i)
		c := stream[i]
		if at >= m.totalCap {
			return m.fail(at, TotalCap, m.totalCap)
		}
		if m.afterCR && c == '\n' {
			m.afterCR = false
			continue
		}
		m.afterCR = c == '\r'
		if i < 3 && stream[:i+1] == "\xEF\xBB\xBF"[:i+1] {
			if m.cur += string([]byte{c}); i == 2 {
				m.cur = ""
			}
			continue
		}
		// Only now is the start known to be no byte order mark but a line.
		if int64(len(m.cur)) > m.lineCap {
			return m.fail(m.lineCap, LineCap, m.lineCap)
		}
		if c != '\r' && c != '\n' {
			if int64(len(m.cur)) >= m.lineCap {
				return m.fail(at, LineCap, m.lineCap)
			}
			m.cur += string([]byte{c})
			if m.size(m.cur, false) > m.eventCap {
				return m.fail(at, EventCap, m.eventCap)
			}
			continue
		}
		if m.cur == "" {
			if !m.blank(at + 1) {
				return m.fail(at, EventCap, m.eventCap)
			}
			m.lines = nil
			continue
		}
		if m.size(m.cur, true) > m.eventCap {
			return m.fail(at, EventCap, m.eventCap)
		}
		name, value := field(m.cur)
		if millis, ok := digits(value); name == "retry" && ok {
			m.res.Retry, m.res.HasRetry, m.newRetry = millis, true, true
		}
		m.lines = append(m.lines, m.cur)
		m.cur = ""
	}
	m.res.Bytes = int64(len(stream))
	return m.res
}

func (m *model) fail(at int64, name string, limit int64) result {
	m.res.Bytes = at
	m.res.Err = &CapError{Cap: name, Limit: limit, Events: int64(len(m.res.Events))}
	return m.res
}

// size is what the event cap counts, with the bytes as received.
func (m *model) size(last string, ended bool) (n int64) {
	data := 0
	for i, l := range append(slices.Clone(m.lines), last) {
		if i == len(m.lines) && !ended && !strings.Contains(l, ":") {
			break // the name may go on
		}
		name, value := field(l)
		switch name {
		case "data":
			data++
			n += int64(len(value))
		case "event", "id":
			n += int64(len(value))
		}
	}
	return n + int64(max(data-1, 0))
}

// blank handles a blank line and reports false if decoding goes past the cap.
func (m *model) blank(end int64) bool {
	var data []string
	ev := Event{ID: m.res.LastEventID}
	for _, l := range m.lines {
		switch name, value := field(l); name {
		case "data":
			data = append(data, value)
		case "event":
			ev.Type = value
		case "id":
			if !strings.Contains(value, "\x00") {
				ev.ID = value
			}
		}
	}
	if len(data) == 0 {
		ev.Type = ""
	}
	ev.Data = strings.Join(data, "\n")
	n := m.size("", true)
	for _, s := range []*string{&ev.Data, &ev.Type, &ev.ID} {
		d := standardDecode(*s)
		n += int64(len(d) - len(*s))
		*s = d
	}
	if n > m.eventCap {
		return false
	}
	m.res.LastEventID = ev.ID
	if len(data) == 0 {
		return true
	}
	if ev.Type == "" {
		ev.Type = "message"
	}
	if m.newRetry {
		ev.Retry, ev.HasRetry = m.res.Retry, true
		m.newRetry = false
	}
	m.res.Events = append(m.res.Events, ev)
	m.res.Ends = append(m.res.Ends, end)
	return true
}

func field(l string) (name, value string) {
	name, value, _ = strings.Cut(l, ":")
	return name, strings.TrimPrefix(value, " ")
}

func digits(s string) (time.Duration, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	s = strings.TrimLeft(s, "0")
	const longest = "9223372036854" // milliseconds in a time.Duration
	if len(s) > len(longest) || len(s) == len(longest) && s > longest {
		s = longest
	}
	n := int64(0)
	for _, c := range s {
		n = n*10 + int64(c-'0')
	}
	return time.Duration(n) * time.Millisecond, true
}

// standardDecode is the UTF-8 decoder as the WHATWG Encoding standard, section
// 8.1.1, describes it: a machine that is fed byte after byte.
func standardDecode(s string) string {
	var out bytes.Buffer
	point, needed, seen := rune(0), 0, 0
	lower, upper := byte(0x80), byte(0xBF)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if needed == 0 {
			switch {
			case c <= 0x7F:
				out.WriteByte(c)
			case c >= 0xC2 && c <= 0xDF:
				needed, point = 1, rune(c&0x1F)
			case c >= 0xE0 && c <= 0xEF:
				if c == 0xE0 {
					lower = 0xA0
				}
				if c == 0xED {
					upper = 0x9F
				}
				needed, point = 2, rune(c&0xF)
			case c >= 0xF0 && c <= 0xF4:
				if c == 0xF0 {
					lower = 0x90
				}
				if c == 0xF4 {
					upper = 0x8F
				}
				needed, point = 3, rune(c&0x7)
			default:
				out.WriteRune('\uFFFD')
			}
			continue
		}
		if c < lower || c > upper {
			point, needed, seen, lower, upper = 0, 0, 0, 0x80, 0xBF
			i-- // the byte is decoded again
			out.WriteRune('\uFFFD')
			continue
		}
		lower, upper = 0x80, 0xBF
		point = point<<6 | rune(c&0x3F)
		if seen++; seen == needed {
			out.WriteRune(point)
			point, needed, seen = 0, 0, 0
		}
	}
	if needed > 0 {
		out.WriteRune('\uFFFD')
	}
	return out.String()
}
