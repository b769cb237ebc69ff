package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
)

// asMain in the environment makes the test binary the command.
const asMain = "PLIMSOLL_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) == "1" {
		main()
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		os.Unsetenv(name) // the servers of the tests are here
	}
	os.Exit(m.Run())
}

// ran is what a command left behind.
type ran struct {
	status         int
	stdout, stderr string
}

func runIt(ctx context.Context, args ...string) ran { return runWith(ctx, "", nil, args...) }

// runWith runs with a text on stdin and an environment.
func runWith(ctx context.Context, stdin string, env map[string]string, args ...string) ran {
	var out, errs bytes.Buffer
	status := run(ctx, args, streams{in: strings.NewReader(stdin), out: &out, err: &errs, env: func(k string) string { return env[k] }})
	return ran{status, out.String(), errs.String()}
}

func TestBadFlagsAndURLsAreExplainedWithStatusTwo(t *testing.T) {
	for _, row := range []struct {
		args string // split at blanks; _ is a blank
		says string
	}{
		{"", "Usage: plimsoll COMMAND"},
		{"gett", `no command "gett": use one of get, demo, dashboards, rules, completion, help, version`},
		{"http://a:s3cret@b.test/", "use plimsoll get URL"},
		{"get", "0 arguments given, 1 needed"},
		{"get http://a.test/ http://b.test/", "2 arguments given, at most 1 taken"},
		{"get --frobnicate http://a.test/", "no flag --frobnicate"},
		{"get -Zs3cret http://a.test/", "no flag --Zs3cret"},
		{"get --header-_s3cret http://a.test/", "no flag --header-"},
		{"get http://a.test/ --retry", "--retry needs a value"},
		{"get -n 0 http://a.test/", `-n is "0": use a whole number from 1 to 100000`},
		{"get -n many http://a.test/", `-n is "many"`},
		{"get -n 2 --stream http://a.test/", "--stream is given"},
		{"get -n 2 -o x http://a.test/", `--output is "x"`},
		{"get --retry -1 http://a.test/", `--retry is "-1": use a whole number from 0 to 1000`},
		{"get --retry 99999999999999999999 http://a.test/", "from 0 to 1000"},
		{"get --budget 9 http://a.test/", `--budget is "9": use a whole number from 10 to 1000000`},
		{"get --timeout -1s http://a.test/", `--timeout is "-1s"`},
		{"get --timeout 1e300 http://a.test/", "use a duration as in 30s"},
		{"get --timeout soon http://a.test/", `--timeout is "soon"`},
		{"get --color red http://a.test/", `--color is "red": use one of auto, always, never`},
		{"get --fail=perhaps http://a.test/", `--fail is "perhaps"`},
		{"get --cert c.pem http://a.test/", `--cert is "c.pem" and --key is "": give both`},
		{"get --cacert /does/not/exist.pem http://a.test/", "--cacert: open /does/not/exist.pem"},
		{"get --cacert main.go http://a.test/", `--cacert is "main.go", a file without a certificate`},
		{"get --cert main.go --key main.go http://a.test/", `--cert is "main.go"`},
		{"get --insecure --cacert ca.pem http://a.test/", "--insecure is given and --cacert"},
		{"get --http2 --http1.1 http://a.test/", "--http1.1 and --http2 exclude each other: give one, or neither to let the server choose"},
		{"get --json -v http://a.test/", "leave --verbose out"},
		{"get -s -v http://a.test/", "--silent and --verbose"},
		{"get --json -o - http://a.test/", "both would write to stdout"},
		{"get -H s3cret http://a.test/", "--header, number 1, has no colon"},
		{"get -H a:b -H s3_cret:x http://a.test/", "--header, number 2, has a name that is no field name"},
		{"get -H X-A:s3cret\n http://a.test/", "--header X-A has a value with control characters"},
		{"get -H Content-Length:3 http://a.test/", "--header Content-Length cannot be set"},
		{"get -H Host:a/b http://a.test/", "--header Host has no valid host"},
		{"get -X B_AD http://a.test/", `--request is "B AD"`},
		{"get -X connect http://a.test/", "--request is CONNECT"},
		{"get -d @/does/not/exist http://a.test/", "--data: open /does/not/exist"},
		{"get -d @. http://a.test/", "--data is @., a directory"},
		{"get -d @ http://a.test/", "--data is @ without a name"},
		{"get -d a -d s3cret http://a.test/", "--data is given twice"},
		{"get example.com", "the URL has no scheme: put https://"},
		{"get localhost:8080/?key=s3cret", "the URL has no scheme"},
		{"get ftp://a.test/", `scheme "ftp"`},
		{"get http:///path", "no host"},
		{"get http://a.test:99999/", "port 99999: use 1 to 65535"},
		{"get http://a.test:0/", "port 0: use 1 to 65535"},
		{"get http://user:s3cret%zz@a.test/", "malformed"},
		{"get http://user:s3cret/x@a.test/", "malformed"},
		{"get http://::1:8080/", "an IPv6 address stands in brackets"},
		{"get http://a.test/\x7f", "malformed"},
		{"demo --duration 1s", "--duration is 1s: use 5s to"},
		{"demo now", "1 argument given, at most 0 taken"},
		{"completion", "0 arguments given, 1 needed"},
		{"completion tcsh", `the shell is "tcsh": use one of bash, zsh, fish`},
	} {
		t.Run(row.args, func(t *testing.T) {
			args := strings.Fields(row.args)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "_", " ")
			}
			if strings.Contains(row.args, "\n") {
				args[2] += "\n"
			}
			got := runIt(t.Context(), args...)
			if got.status != exitUsage || !strings.Contains(got.stderr, row.says) || got.stdout != "" {
				t.Errorf("status %d, stdout %q, stderr %q; want status 2 and %q", got.status, got.stdout, got.stderr, row.says)
			}
			if strings.Contains(strings.ReplaceAll(got.stderr, "--Zs3cret", ""), "s3") {
				t.Errorf("a secret is shown: %s", got.stderr)
			}
		})
	}
}

func TestHelpGoesToStdoutWithStatusZero(t *testing.T) {
	for _, args := range []string{"help", "--help", "get -h", "get --help", "help get", "get http://a.test/ --help", "demo --help", "rules -help", "completion -h"} {
		got := runIt(t.Context(), strings.Fields(args)...)
		if got.status != exitOK || !strings.HasPrefix(strings.TrimPrefix(got.stdout, "plimsoll shows what the plimsoll HTTP client does.\n\n"), "Usage: plimsoll") || got.stderr != "" {
			t.Errorf("%s: %+v", args, got)
		}
		for line := range strings.Lines(got.stdout) {
			if len(line) > 110 {
				t.Errorf("%s: a line of %d bytes: %s", args, len(line), line)
			}
		}
	}
	if got := runIt(t.Context(), "version"); got.status != exitOK || !strings.HasPrefix(got.stdout, "plimsoll ") {
		t.Errorf("version: %+v", got)
	}
}

func TestTheManualOfGetNamesEveryFlagAndEveryExitStatus(t *testing.T) {
	manual := runIt(t.Context(), "get", "--help").stdout
	f := newFlagSet("get")
	getFlags(f)
	for _, one := range f.all() {
		if !strings.Contains(manual, "\n  "+strings.Join(f.dashed(one), ", ")) {
			t.Errorf("%s is missing", one.Name)
		}
	}
	seen := map[int]bool{}
	for _, e := range exits {
		if seen[e.status] || !strings.Contains(manual, fmt.Sprintf("%4d  %s", e.status, e.means[:min(len(e.means), 60)])) {
			t.Errorf("status %d (%s) is missing or there twice", e.status, e.means)
		}
		seen[e.status] = true
	}
	for line := range strings.Lines(manual) {
		example, ok := strings.CutPrefix(line, "  plimsoll get ")
		if !ok {
			continue
		}
		for word := range strings.FieldsSeq(example) {
			if name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "="); strings.HasPrefix(word, "-") && f.Lookup(name) == nil {
				t.Errorf("the example %q has the flag %s, which does not exist", strings.TrimSpace(line), word)
			}
		}
	}
}

func TestFlagsStandAnywhereAndHaveTwoNames(t *testing.T) {
	for _, row := range []struct {
		args    string
		method  string
		n, rest int
	}{
		{"u -X PUT -n 3", "PUT", 3, 1},
		{"-X=PUT u -n=3", "PUT", 3, 1},
		{"-XPUT -n3 u", "PUT", 3, 1},
		{"--request PUT --n 3 u", "PUT", 3, 1},
		{"-request PUT u", "PUT", 1, 1},
		{"-n 3 -- -X u", "", 3, 2},
		{"- u", "", 1, 2},
	} {
		f := newFlagSet("get")
		var method string
		n := 1
		f.StringVar(&method, "request", "", "")
		f.letter("X", "request")
		f.Var(number{&n, 1, 9}, "n", "")
		if _, err := f.parse(strings.Fields(row.args)); err != nil || method != row.method || n != row.n || len(f.args) != row.rest {
			t.Errorf("%s: %q, %d, %v, %v", row.args, method, n, f.args, err)
		}
	}
}
