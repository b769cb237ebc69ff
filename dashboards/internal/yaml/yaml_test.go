package yaml_test

import (
	"testing"

	"github.com/plimsoll-http/plimsoll/dashboards/internal/yaml"
)

func TestADocumentKeepsItsOrderAndQuotesWhatNeedsIt(t *testing.T) {
	got := string(yaml.Document("One.\nTwo.", yaml.Mapping{
		{"b", "plain-text_1.5/x"},
		{"a", yaml.Sequence{
			yaml.Mapping{{"x", 1}, {"w", true}, {"nested", yaml.Mapping{{"z", "15s"}}}},
			"text with spaces",
			yaml.Mapping{},
		}},
		{"empty", yaml.Sequence{}},
		{"none", yaml.Mapping{}},
		{"lines", "a == 1\nand\nb"},
		{"odd", " a\n  b\n"},
		{"quoted", `it's {{ $x }}`},
		{"control", "a\tb"},
		{"blank", ""},
		{"yes", "no"},
		{"number", "1e5"},
		{"hash", "a #b"},
		{"colon", "a: b"},
		{"dash", "- a"},
		{"anchor", "&a"},
		{"sorted", yaml.Sorted(map[string]string{"b": "2", "a": "x"})},
	}))
	const want = `# One.
# Two.
b: plain-text_1.5/x
a:
  - x: 1
    w: true
    nested:
      z: 15s
  - 'text with spaces'
  - {}
empty: []
none: {}
lines: |-
  a == 1
  and
  b
odd: " a\n  b\n"
quoted: "it's {{ $x }}"
control: "a\tb"
blank: ''
'yes': 'no'
number: '1e5'
hash: 'a #b'
colon: 'a: b'
dash: '- a'
anchor: '&a'
sorted:
  a: x
  b: '2'
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
