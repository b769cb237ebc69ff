package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-http/plimsoll/budget"
)

// getOptions are the flags of plimsoll get.
type getOptions struct {
	method         string
	header         headerList
	data           string
	hasData        bool
	output         string
	times          int
	retries        int
	budget         int
	breaker        int
	redirects      int
	timeout        time.Duration
	fail           bool
	http1, http2   bool
	insecure       bool
	ca, cert, key  string
	stream         bool
	verbose, quiet bool
	json           bool
	color          string
}

const getText = `
The answer's body goes to stdout, all else to stderr: warnings, events of note as they happen, a
bar of each attempt (dial, TLS, wait, read) on one time axis, and the state of retry budget and
breaker. The client is that of the library with its defaults, telemetry off: up to 4 retries of
what is safe to repeat, paid from a budget of 500 tokens, Retry-After honoured, no breaker.

Names and passwords in the URL are sent as Basic authentication and never shown. Neither are
queries, bodies, and header values other than those of a short list of plain ones.

Examples:
  plimsoll get https://example.com/
  plimsoll get -v -H 'Authorization: Bearer '"$TOKEN" https://api.example.com/orders
  plimsoll get -X PUT -d @order.json -H 'Content-Type: application/json' https://api.example.com/orders/7
  plimsoll get -o big.iso --timeout 0 https://example.com/big.iso
  plimsoll get -n 50 --breaker 5 --retry 2 http://localhost:8080/flaky
  plimsoll get --stream https://example.com/events
  plimsoll get --json https://example.com/ | jq 'select(.event == "Summary")'

JSON:
  With --json, stdout holds one object a line and nothing else; the body goes to --output, else
  nowhere. Every object has "event" and "ms", the milliseconds since the start. An event of
  package events has its fields, in lower camel case; durations are in milliseconds under a name
  that ends in Ms. At the end of a request comes an "Attempt" for each attempt (number, method,
  url, status, class, reused, recoveries, beginMs, dialMs, tlsMs, waitMs, readMs, totalMs), last of
  all one "Summary" (exit, requests, failed, status, bytes, totalMs, attempts, retries, recoveries,
  skipped, error, budgets, breakers). With --stream there is a "StreamEvent" (id, type, data) for
  each event that came.
`

// getManual is what --help says below the flags.
func getManual() string { return getText + exitTable() }

func getFlags(f *flagSet) func(context.Context, []string, streams) error {
	o := &getOptions{times: 1, retries: 4, budget: budget.Default().Capacity, redirects: mostRedirects, timeout: 30 * time.Second, color: "auto"}
	f.StringVar(&o.method, "request", "", "`METHOD` of the request; GET, or POST with --data; written in capitals")
	f.letter("X", "request")
	f.Var(&o.header, "header", "`'NAME: VALUE'` of a header field to send; may be given again. One that --verbose would not show stays behind when a redirect leaves the origin. Host: sets the name that is asked for")
	f.letter("H", "header")
	f.Var(dataFlag{o}, "data", "`DATA` to send as the body, with POST unless --request says otherwise; @FILE for a file as it is, @- for stdin. Content-Type is application/x-www-form-urlencoded unless --header says otherwise")
	f.letter("d", "data")
	f.StringVar(&o.output, "output", "", "`FILE` to write the body into; - for stdout. It appears under this name when it is complete; a failed download leaves what was there, and so does a status of 400 or above unless --fail=false")
	f.letter("o", "output")
	f.Var(number{&o.times, 1, 100_000}, "n", "send the request `N` times, one after the other, on one client")
	f.Var(number{&o.retries, 0, 1000}, "retry", "`N` retries at most, 0 for none; 4 unless given")
	f.Var(number{&o.budget, budget.Default().Cost, budget.MaxCapacity}, "budget", "size of the retry budget in `TOKENS`: a retry reserves 10, and keeps 0, 5 or 10; 500 unless given")
	f.Var(number{&o.breaker, 0, 1000}, "breaker", "open a circuit breaker after `N` failures in a row; 0, as unless given, for no breaker")
	f.Var(number{&o.redirects, 0, mostRedirects}, "max-redirs", "follow `N` redirects at most; 0 shows the redirect itself; 9 unless given, and not more")
	f.Var(timeLimit{&o.timeout}, "timeout", "time limit of one request, retries and body included, as in `DURATION` 1m30s or in seconds; 0 for none; 30s unless given. A --stream is not bounded by it")
	f.BoolVar(&o.fail, "fail", true, "take a status of 400 or above for a failure; on unless --fail=false is given")
	f.BoolVar(&o.http1, "http1.1", false, "speak HTTP/1.1 only")
	f.BoolVar(&o.http2, "http2", false, "speak HTTP/2 only, without TLS by prior knowledge")
	f.BoolVar(&o.insecure, "insecure", false, "accept any certificate of the server: whoever is in between can read and change everything")
	f.letter("k", "insecure")
	f.StringVar(&o.ca, "cacert", "", "`FILE` with the certificates (PEM) of the authorities to trust instead of the system's")
	f.StringVar(&o.cert, "cert", "", "`FILE` with the client certificate (PEM), its chain after it; needs --key")
	f.StringVar(&o.key, "key", "", "`FILE` with the client certificate's private key (PEM); needs --cert")
	f.BoolVar(&o.stream, "stream", false, "read the answer as Server-Sent Events and go on after a lost connection")
	f.BoolVar(&o.verbose, "verbose", false, "show headers, secrets left out, and every event, those of connections included")
	f.letter("v", "verbose")
	f.BoolVar(&o.quiet, "silent", false, "show nothing but the body and errors, a status that is a failure among them")
	f.letter("s", "silent")
	f.BoolVar(&o.json, "json", false, "write events and summary to stdout as JSON, one object a line; see below")
	f.Var(choice{&o.color, []string{"auto", "always", "never"}}, "color", "`WHEN` to use colours: auto (on a terminal, unless NO_COLOR is set or TERM is dumb), always, never")
	return func(ctx context.Context, args []string, std streams) error {
		u, err := targetURL(args[0])
		if err != nil {
			return err
		}
		if err := o.check(); err != nil {
			return err
		}
		return get(ctx, o, u, std)
	}
}

// check finds what cannot be together, and fills in the method.
func (o *getOptions) check() error {
	switch {
	case o.stream && o.times != 1:
		return usagef("-n is %d and --stream is given: a stream is one request", o.times)
	case o.output != "" && o.output != "-" && o.times != 1:
		return usagef("-n is %d and --output is %q: each answer would replace the one before; leave one of them out", o.times, o.output)
	case o.json && o.output == "-":
		return usagef("--json is given and --output is -: both would write to stdout; give a file")
	case o.json && o.verbose:
		return usagef("--json and --verbose are given: JSON holds every event anyway; leave --verbose out")
	case o.quiet && o.verbose:
		return usagef("--silent and --verbose are given: leave one of them out")
	case o.http1 && o.http2:
		return usagef("--http1.1 and --http2 exclude each other: give one, or neither to let the server choose")
	case o.insecure && o.ca != "":
		return usagef("--insecure is given and --cacert is %q: an authority means nothing where any certificate is accepted; leave one of them out", o.ca)
	case (o.cert == "") != (o.key == ""):
		return usagef("--cert is %q and --key is %q: give both", o.cert, o.key)
	}
	o.method = strings.ToUpper(o.method)
	switch {
	case o.method == "" && o.hasData:
		o.method = http.MethodPost
	case o.method == "":
		o.method = http.MethodGet
	case !isToken(o.method):
		return usagef("--request is %q: use a method such as PUT", o.method)
	case o.method == http.MethodConnect:
		return usagef("--request is CONNECT: it asks for a tunnel, which this command has no use for; set HTTPS_PROXY to use a proxy")
	}
	return nil
}

// dataFlag is -d.
type dataFlag struct{ o *getOptions }

// Set implements flag.Value.
func (d dataFlag) Set(s string) error {
	if d.o.hasData {
		return usagef("--data is given twice: give it once, with @FILE for much data")
	}
	d.o.data, d.o.hasData = s, true
	return nil
}

// String implements flag.Value.
func (d dataFlag) String() string { return "" }

// headerList is what -H collects. Its errors show no values: they may be
// secrets.
type headerList struct {
	fields http.Header
	host   string
	n      int
}

// Set implements flag.Value.
func (l *headerList) Set(s string) error {
	l.n++
	name, value, found := strings.Cut(s, ":")
	name, value = strings.TrimRight(name, " \t"), strings.Trim(value, " \t")
	switch canonical := http.CanonicalHeaderKey(name); {
	case !found:
		return usagef("--header, number %d, has no colon: use 'NAME: VALUE', as in 'Accept: text/html'", l.n)
	case !isToken(name):
		return usagef("--header, number %d, has a name that is no field name: use 'NAME: VALUE', as in 'Accept: text/html'", l.n)
	case !isFieldValue(value):
		return usagef("--header %s has a value with control characters: leave them out", name)
	case canonical == "Content-Length", canonical == "Transfer-Encoding", canonical == "Trailer":
		return usagef("--header %s cannot be set: it follows from --data; leave it out", name)
	case canonical == "Host":
		if value == "" || strings.ContainsAny(value, "/@?# \t") {
			return usagef("--header Host has no valid host: use 'Host: NAME' or 'Host: NAME:PORT'")
		}
		l.host = value
	default:
		if l.fields == nil {
			l.fields = http.Header{}
		}
		l.fields.Add(name, value)
	}
	return nil
}

// String implements flag.Value.
func (l *headerList) String() string { return "" }

// targetURL checks what was typed. Its error shows neither userinfo nor query.
func targetURL(raw string) (*url.URL, error) {
	if !strings.Contains(raw, "://") {
		return nil, usagef("the URL has no scheme: put https:// or http:// before the host, as in https://example.com/")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL, which may hold a password
		}
		return nil, usagef("the URL is malformed: %v; an IPv6 address stands in brackets, as in http://[::1]:8080/, and odd characters of a password as %%XX", unquoted(err))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, usagef("the URL has scheme %q: use http or https, as in https://example.com/", u.Scheme)
	case u.Hostname() == "":
		return nil, usagef("the URL has no host: use one as in https://example.com/")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, usagef("the URL has port %s: use 1 to 65535", port)
		}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// unquoted is an error's text up to what it quotes, which may be a part of a
// password.
func unquoted(err error) string {
	text, _, _ := strings.Cut(err.Error(), `"`)
	return strings.TrimSpace(text)
}
