package client

import "strings"

// quoting are the texts after which net/http and net/textproto quote what the
// server wrote, to the end of theirs.
var quoting = [...]string{
	"malformed HTTP response ", "malformed HTTP status code ", "malformed HTTP version ",
	"malformed MIME header line: ", "malformed MIME header initial line: ", "malformed MIME header: missing colon: ",
	"multiple Content-Length headers; got ", "bad Content-Length ", "unsupported transfer encoding: ",
}

// unquotedError is an error whose text quotes a piece of a response, which may
// hold a secret. Its own text does not; the error inside is as it was.
type unquotedError struct {
	text string
	err  error
}

func (e *unquotedError) Error() string { return e.text }
func (e *unquotedError) Unwrap() error { return e.err }

// withoutQuote returns err, or one that says the same without quoting the
// response.
func withoutQuote(err error) error {
	text := err.Error()
	for _, q := range quoting {
		if i := strings.Index(text, q); i >= 0 {
			return &unquotedError{text[:i+len(q)] + "REDACTED", err}
		}
	}
	return err
}
