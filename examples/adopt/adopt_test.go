package main

import (
	"os"
	"strings"
	"testing"
)

func TestTheServiceSurvivesWhatItDidNotBefore(t *testing.T) {
	server := failing()
	defer server.Close()
	before := &Prices{HTTP: ownClient(), Base: server.URL}
	if _, err := before.Of(t.Context(), "anchor"); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("the own client: %v", err)
	}
	var out strings.Builder
	if err := run(t.Context(), "", &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"anchor: 2.50 €\n", "sail: 8.50 €\n", ": 500 of 500 tokens left\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

// The documentation says five lines.
func TestTheChangeIsFiveLines(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(source), "// plimsoll: from here\n")
	change, _, ended := strings.Cut(after, "\t// plimsoll: to here\n")
	if n := strings.Count(change, "\n"); !found || !ended || n != 5 {
		t.Errorf("%d lines:\n%s", n, change)
	}
	service, err := os.ReadFile("prices.go")
	if err != nil || strings.Contains(string(service), "plimsoll/") {
		t.Errorf("%v: the service imports plimsoll", err)
	}
}
