package dashboards

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// uid returns the UID of a dashboard or rule with the title prefix in it, in
// at most 40 characters.
func (o Options) uid(base string) string {
	slug := slugOf(o.TitlePrefix)
	if slug == "" && o.TitlePrefix != "" {
		slug = digest(o.TitlePrefix)
	}
	if slug != "" {
		base = slug + "-" + base
	}
	if len(base) > 40 {
		base = base[:31] + "-" + digest(base)
	}
	return base
}

// slugOf returns the letters and digits of s in lower case, with one "-" for
// whatever is between them.
func slugOf(s string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			out.WriteRune(r)
		case out.Len() > 0 && !strings.HasSuffix(out.String(), "-"):
			out.WriteByte('-')
		}
	}
	return strings.TrimSuffix(out.String(), "-")
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}

// runbook returns the address of a page of the runbooks.
func (o Options) runbook(page string) string {
	return strings.TrimSuffix(o.RunbookURL, "/") + "/" + page + ".md"
}
