package redisstore

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plimsoll-http/plimsoll/breaker"
)

// works opens a gate, probes and closes it, in every mode.
func works(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	for _, mode := range []Mode{Strict, Batched} {
		s := open(t, Config{Client: client, Mode: mode, Prefix: "plimsoll:breaker:" + mode.String() + ":"}, atOnce)
		p := rules()
		p.Cooldown = 100 * time.Millisecond
		for _, key := range []string{"https://a.example:443", "https://b.example:443", "{tagged}"} {
			for i := range 5 {
				if r := settle(t, s, p, key, breaker.Failure); (r.State == breaker.Open) != (i == 4) {
					t.Fatalf("%v: failure %d of %q gave %+v", mode, i+1, key, r)
				}
			}
			<-time.After(p.Cooldown)
			if r := settle(t, s, p, key, breaker.Success); r != (breaker.Result{}) {
				t.Errorf("%v: the probe of %q gave %+v", mode, key, r)
			}
		}
		if len(s.outage.lost) > 0 {
			t.Errorf("%v: the server was lost", mode)
		}
	}
}

func TestAClusterWorks(t *testing.T) {
	t.Parallel()
	srv := startServer(t, "--cluster-enabled", "yes", "--cluster-require-full-coverage", "no")
	node := srv.client()
	if err := node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		if info, err := node.ClusterInfo(t.Context()).Result(); err == nil && len(info) > 16 && info[:16] == "cluster_state:ok" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the cluster does not come up")
		}
		<-time.After(10 * time.Millisecond)
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{srv.addr}})
	t.Cleanup(func() { client.Close() })
	works(t, client)
}

func TestSentinelWorks(t *testing.T) {
	t.Parallel()
	master := startServer(t)
	host, port, _ := net.SplitHostPort(master.addr)
	config := filepath.Join(t.TempDir(), "sentinel.conf")
	if err := os.WriteFile(config, []byte("sentinel monitor main "+host+" "+port+" 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel := startSentinel(t, config)
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "main", SentinelAddrs: []string{sentinel}})
	t.Cleanup(func() { client.Close() })
	works(t, client)
}

func TestARingWorks(t *testing.T) {
	t.Parallel()
	first, second := startServer(t), startServer(t)
	client := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": first.addr, "b": second.addr}})
	t.Cleanup(func() { client.Close() })
	works(t, client)
}

func TestAUserWithTheCommandsOfTheDocumentationWorks(t *testing.T) {
	srv := startServer(t)
	admin := srv.client()
	if err := admin.Do(t.Context(), "acl", "setuser", "breaker", "on", ">secret", "~plimsoll:breaker:*", "nocommands",
		"+evalsha", "+eval", "+time", "+hmget", "+hset", "+pexpire").Err(); err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: srv.addr, Username: "breaker", Password: "secret"})
	t.Cleanup(func() { client.Close() })
	works(t, client)
}
