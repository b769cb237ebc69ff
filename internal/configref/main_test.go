package main

import (
	"os"
	"strings"
	"testing"
)

func TestTheCommittedPageIsCurrent(t *testing.T) {
	want, err := render("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../" + target)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the comments in the code say: run make generate", target)
	}
	for _, field := range []string{"MaxTotalRetryDuration", "AttemptTimeout", "MaxConnLifetime", "FailureCost", "ProbeLease", "Prefix", "WithLineBytes", "MaxOrigins", "Resume"} {
		if !strings.Contains(want, "\n| `"+field+"`") && !strings.Contains(want, "."+field+"(") {
			t.Errorf("%s is missing", field)
		}
	}
}

func TestTheZeroValueIsTakenOutOfTheComment(t *testing.T) {
	for _, tt := range []struct{ comment, zero, meaning string }{
		{"A bounds it. 0: 4, so five.\nNegative: none.", "4, so five", "A bounds it. Negative: none."},
		{"B caps it; \"\": none.", "none", "B caps it."},
		{"C lives. 0 or negative: for ever.", "0 or negative: for ever", "C lives."},
		{"D is the origin's. nil is the *http.Transport of [http.DefaultTransport].", "the `*http.Transport` of `http.DefaultTransport`", "D is the origin's."},
		{"E is a share in (0, 1].", "", "E is a share in (0, 1]."},
		{"F calls budget.New(budget.Default()) a|b.", "", `F calls ` + "`budget.New(budget.Default())`" + ` a\|b.`},
	} {
		if zero, meaning := split(tt.comment); zero != tt.zero || meaning != tt.meaning {
			t.Errorf("%q: %q, %q; want %q, %q", tt.comment, zero, meaning, tt.zero, tt.meaning)
		}
	}
}

func TestAFieldThatDoesNotNameItsZeroValueIsAnError(t *testing.T) {
	dir := t.TempDir()
	const text = "package p\n\n// C is a configuration.\ntype C struct {\n\t// Size is how large it is.\n\tSize int\n\t// Wide makes it wider.\n\tWide bool\n}\n"
	if err := os.WriteFile(dir+"/p.go", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := load(dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	err = s.structure(&b, "C")
	if err == nil || !strings.Contains(err.Error(), "Size") || strings.Contains(err.Error(), "Wide") {
		t.Errorf("%v", err)
	}
	if err := s.structure(&b, "D"); err == nil {
		t.Error("a type that is not there is no error")
	}
	if err := s.functions(&b, []string{"New"}); err == nil {
		t.Error("a function that is not there is no error")
	}
}
