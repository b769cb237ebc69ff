package budget

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// small returns a Default bucket with a bound on its partitions.
func small(t testing.TB, partitions int) *Bucket {
	t.Helper()
	c := Default()
	c.MaxPartitions = partitions
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// take reserves tokens that must be there, from the balance that is named.
func take(t testing.TB, p *Partition, from string) *Reservation {
	t.Helper()
	r, err := p.Reserve(Transient)
	if err != nil {
		t.Fatal(err)
	}
	if r.Partition() != from {
		t.Fatalf("partition %q paid for a retry of %q, want %q", r.Partition(), p.Key(), from)
	}
	return r
}

// wantTokens asserts the tokens of every partition that b lists, and the
// invariants that tie the table together.
func wantTokens(t testing.TB, b *Bucket, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for name, l := range b.Levels() {
		got[name] = l.Tokens
	}
	if !maps.Equal(got, want) {
		t.Fatalf("tokens %v, want %v", got, want)
	}
	checkTable(t, b)
}

// checkTable asserts what holds of a bucket that nobody is using.
func checkTable(t testing.TB, b *Bucket) {
	t.Helper()
	if len(b.ring) != len(b.table) || len(b.ring) > b.cfg.MaxPartitions {
		t.Fatalf("%d in the ring, %d in the table, at most %d allowed", len(b.ring), len(b.table), b.cfg.MaxPartitions)
	}
	busy := 0
	for _, p := range b.ring {
		w := word(p.state.Load())
		if b.table[p.key] != p || w.gone() || w.tokens() > b.cfg.Capacity {
			t.Fatalf("partition %q in the ring has state %#x", p.key, w)
		}
		if w != p.full {
			busy++
		}
	}
	if spare := b.spare.Load(); spare != int64(b.cfg.MaxPartitions-busy) {
		t.Fatalf("spare is %d with %d of %d partitions busy", spare, busy, b.cfg.MaxPartitions)
	}
	if word(b.other.state.Load()).gone() {
		t.Fatal("the shared balance was dropped")
	}
}

func TestKeysAreLowerCased(t *testing.T) {
	b := small(t, 4)
	p := b.Partition("HTTPS://Example.COM:443")
	if p.Key() != "https://example.com:443" || b.Partition("https://example.com:443") != p {
		t.Errorf("key %q, or two handles for it", p.Key())
	}
	r, err := b.Reserve("https://EXAMPLE.com:443", Transient)
	if err != nil || r.Partition() != "https://example.com:443" {
		t.Fatalf("Reserve = %v, %v", r, err)
	}
	b.Replenish("HTTPS://EXAMPLE.COM:443")
	if got := b.Level("https://Example.com:443"); got != 491 {
		t.Errorf("level %d, want 491", got)
	}
	wantTokens(t, b, map[string]int{"https://example.com:443": 491})
}

func TestReplenishAndLevelNeverMakeAPartition(t *testing.T) {
	b := small(t, 4)
	b.Replenish("a")
	if got := b.Level("a"); got != 500 {
		t.Errorf("level %d of an unknown key, want the capacity", got)
	}
	wantTokens(t, b, map[string]int{})
	if _, err := b.Reserve("a", Transient); err != nil {
		t.Fatal(err)
	}
	wantTokens(t, b, map[string]int{"a": 490})
}

func TestLevelsListsFullPartitionsAndReservationsInOrder(t *testing.T) {
	b := small(t, 4)
	b.Partition("c")
	b.Partition("a")
	r := take(t, b.Partition("b"), "b")
	for range 3 {
		b.Replenish("b")
	}
	var names []string
	for name, l := range b.Levels() {
		names = append(names, name)
		want := Level{Tokens: 500, Capacity: 500}
		if name == "b" {
			want = Level{Tokens: 493, Capacity: 500, Reserved: 10}
		}
		if l != want {
			t.Errorf("%s: %+v, want %+v", name, l, want)
		}
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("order %v", names)
	}
	for range b.Levels() {
		r.Cancel() // the bucket can be used from inside the loop, and left
		b.Partition("d")
		break
	}
	wantTokens(t, b, map[string]int{"a": 500, "b": 500, "c": 500, "d": 500})
}

func TestOnlyFullPartitionsWithoutReservationsAreDropped(t *testing.T) {
	b := small(t, 3)
	take(t, b.Partition("drained"), "drained").Settle(Partial)
	r := take(t, b.Partition("inuse"), "inuse")
	for range 10 {
		b.Replenish("inuse") // full again, but with an open reservation
	}
	b.Partition("healthy")
	wantTokens(t, b, map[string]int{"drained": 495, "inuse": 500, "healthy": 500})

	b.Partition("new")
	wantTokens(t, b, map[string]int{"drained": 495, "inuse": 500, "new": 500})
	b.Partition("newer")
	wantTokens(t, b, map[string]int{"drained": 495, "inuse": 500, "newer": 500})

	r.Cancel()
	b.Partition("a")
	b.Partition("b")
	wantTokens(t, b, map[string]int{"drained": 495, "a": 500, "b": 500})
}

func TestKeysShareOneBalanceWhileAllPartitionsAreBusy(t *testing.T) {
	b := small(t, 2)
	a, held := b.Partition("a"), take(t, b.Partition("b"), "b")
	take(t, a, "a").Settle(Charge)

	c, d := b.Partition("c"), b.Partition("d")
	take(t, c, Other).Settle(Charge)
	r := take(t, d, Other)
	wantTokens(t, b, map[string]int{"a": 490, "b": 490, Other: 480})
	for _, got := range []int{c.Level(), d.Level(), b.Level("c"), b.Level("never seen"), b.Level(Other), b.Partition(Other).Level()} {
		if got != 480 {
			t.Errorf("level %d, want that of the shared balance, 480", got)
		}
	}
	if s := r.Settle(Partial); s.Level != 485 || s.Kept != 5 {
		t.Errorf("Settle = %+v", s)
	}
	if added := c.Replenish(); added != 1 {
		t.Errorf("Replenish added %d to the shared balance", added)
	}
	b.Replenish("d")
	wantTokens(t, b, map[string]int{"a": 490, "b": 490, Other: 487})

	// A place is free: the next retry of c has a balance of its own, and what
	// it owes stays where it was charged.
	held.Cancel()
	if c.Level() != 500 {
		t.Errorf("level %d of a key that can have a partition", c.Level())
	}
	take(t, c, "c").Settle(Charge)
	wantTokens(t, b, map[string]int{"a": 490, "c": 490, Other: 487})
	take(t, d, Other).Cancel()

	// Keys without a balance refill the shared one.
	for range 20 {
		d.Replenish()
	}
	wantTokens(t, b, map[string]int{"a": 490, "c": 490, Other: 500})
}

func TestTheSharedBalanceRefusesUnderItsOwnName(t *testing.T) {
	b := small(t, 1)
	take(t, b.Partition("a"), "a").Settle(Charge)
	c := b.Partition("c")
	for range 50 {
		take(t, c, Other).Settle(Charge)
	}
	_, err := b.Reserve("d", Transient)
	var exhausted *ExhaustedError
	if !errors.As(err, &exhausted) || *exhausted != (ExhaustedError{Partition: Other, Available: 0, Need: 10}) {
		t.Errorf("error %v", err)
	}
	if b.Level("a") != 490 {
		t.Errorf("the shared balance took from a: %d", b.Level("a"))
	}
}

func TestTheSharedBalanceMayBeAskedForByName(t *testing.T) {
	b := small(t, 1)
	take(t, b.Partition("_OTHER"), Other).Settle(Charge)
	b.Replenish(Other)
	wantTokens(t, b, map[string]int{Other: 491})
}

// hystrix-go#95: every host ever seen stayed in memory.
func TestTenThousandHostsStayWithinTheBound(t *testing.T) {
	b := small(t, 4096)
	handles := make([]*Partition, 10_000)
	for i := range handles {
		handles[i] = b.Partition(fmt.Sprint("https://host-", i))
		handles[i].Replenish()
	}
	checkTable(t, b)
	for _, p := range handles[:5000] {
		take(t, p, p.Key()).Cancel() // healthy hosts are charged to themselves, dropped or not
	}
	for _, p := range handles[:4096] {
		take(t, p, p.Key()).Settle(Partial)
	}
	for _, p := range handles[4096:4106] {
		take(t, p, Other).Settle(Partial)
	}
	checkTable(t, b)
	n := 0
	for name, l := range b.Levels() {
		n++
		if want := 495; name != Other && l.Tokens != want {
			t.Fatalf("%s has %d tokens, want %d", name, l.Tokens, want)
		}
	}
	if n != 4097 || b.Level(Other) != 450 {
		t.Errorf("%d partitions listed, %d tokens shared", n, b.Level(Other))
	}
}

func TestAKeyDoesNotPinTheStringItWasCutFrom(t *testing.T) {
	long := strings.Repeat("x", 1<<10) + "host"
	p := small(t, 1).Partition(long[1<<10:])
	if unsafe.StringData(p.Key()) == unsafe.StringData(long[1<<10:]) {
		t.Error("the partition holds on to the caller's string")
	}
}

func TestTheHotPathDoesNotAllocate(t *testing.T) {
	b := small(t, 1)
	dropped := b.Partition("dropped")
	follows := b.Partition("follows")
	b.Partition("x")
	held, err := b.Reserve("follows", Transient)
	if err != nil {
		t.Fatal(err)
	}
	held.Cancel()
	own := b.Partition("follows")
	for name, f := range map[string]func(){
		"Replenish on a full partition":     func() { own.Replenish() },
		"Replenish on a dropped partition":  func() { dropped.Replenish() },
		"Replenish on a replaced partition": func() { follows.Replenish() },
		"Level":                             func() { dropped.Level() },
		"Replenish by key":                  func() { b.Replenish("follows") },
		"Level by key":                      func() { b.Level("unknown") },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	pay := func() {
		r, _ := own.Reserve(Transient)
		r.Settle(Refund)
	}
	if n := testing.AllocsPerRun(100, pay); n != 1 {
		t.Errorf("Reserve and Settle: %v allocations, want 1", n)
	}
}
