package pool

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestSmoke(t *testing.T) {
	for _, mode := range []string{"h1", "tls", "h2"} {
		t.Run(mode, func(t *testing.T) {
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				io.WriteString(w, r.Proto+" "+string(b))
			}))
			switch mode {
			case "h1":
				srv.Start()
			case "tls":
				srv.StartTLS()
			case "h2":
				srv.EnableHTTP2 = true
				srv.StartTLS()
			}
			defer srv.Close()
			base := srv.Client().Transport.(*http.Transport)
			tr, err := New(Config{Base: base})
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			c := &http.Client{Transport: tr}
			for range 3 {
				resp, err := c.Post(srv.URL, "text/plain", strings.NewReader("hello"))
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				t.Log(string(b), err)
			}
			t.Logf("%+v", tr.Stats())
		})
	}
}
