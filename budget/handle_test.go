package budget

import "testing"

func TestAHandleWhosePartitionWasDroppedTakesPartAgain(t *testing.T) {
	b := small(t, 1)
	a := b.Partition("a")
	b.Partition("b")
	wantTokens(t, b, map[string]int{"b": 500})
	if a.Level() != 500 || a.Replenish() != 0 {
		t.Error("a dropped partition is not full")
	}
	wantTokens(t, b, map[string]int{"b": 500}) // neither made it anew

	take(t, a, "a").Settle(Charge)
	wantTokens(t, b, map[string]int{"a": 490})
	if b.Partition("a") != a {
		t.Error("the handle did not become the partition of its key again")
	}
	if a.Replenish() != 1 || a.Level() != 491 {
		t.Error("the handle is not on its balance")
	}
}

func TestAHandleFollowsTheBalanceThatItsKeyGotMeanwhile(t *testing.T) {
	b := small(t, 1)
	old := b.Partition("a")
	b.Partition("b") // drops a
	if old.Level() != 500 {
		t.Fatal("a dropped partition is not full")
	}
	r, err := b.Reserve("a", Transient) // drops b, makes another a
	if err != nil {
		t.Fatal(err)
	}
	r.Settle(Charge)
	if b.Partition("a") == old {
		t.Fatal("the case needs two handles")
	}
	if old.Level() != 490 {
		t.Errorf("level %d by the old handle, want 490", old.Level())
	}
	if old.Replenish() != 1 || b.Level("a") != 491 {
		t.Errorf("the old handle refilled something else: %d", b.Level("a"))
	}
	take(t, old, "a").Settle(Charge)
	wantTokens(t, b, map[string]int{"a": 481})

	// The balance that the old handle follows is dropped in its turn.
	for range 19 {
		old.Replenish()
	}
	b.Partition("c")
	wantTokens(t, b, map[string]int{"c": 500})
	if old.Level() != 500 || old.Replenish() != 0 {
		t.Error("the old handle is not full")
	}
	take(t, old, "a").Cancel()
	wantTokens(t, b, map[string]int{"a": 500})
	if b.Partition("a") != old {
		t.Error("the old handle did not become the partition again")
	}
}

func TestAHandleThatSharesLearnsOfABalanceMadeByAnother(t *testing.T) {
	b := small(t, 1)
	held := take(t, b.Partition("a"), "a")
	c := b.Partition("c")
	take(t, c, Other).Settle(Charge)
	held.Cancel()
	if _, err := b.Reserve("c", Transient); err != nil { // by key: c now has its own
		t.Fatal(err)
	}
	if c.Level() != 490 {
		t.Errorf("level %d, want 490", c.Level())
	}
	c.Replenish()
	wantTokens(t, b, map[string]int{"c": 491, Other: 490})
}

// Handles of one key that race to put it into the table end on one balance.
func TestAKeyNeverHasTwoBalances(t *testing.T) {
	b := small(t, 2)
	first, second := b.handle("a"), b.handle("a")
	if b.admit(first) != first || b.admit(second) != first {
		t.Fatal("the second handle does not use the balance of the first")
	}
	take(t, first, "a").Settle(Charge)
	take(t, second, "a").Settle(Charge)
	wantTokens(t, b, map[string]int{"a": 480})

	// A handle that missed its key's entry into a table that is now crowded.
	take(t, b.Partition("b"), "b").Settle(Charge)
	if late := b.handle("a"); b.admit(late) != first {
		t.Error("a key with a balance of its own was sent to the shared one")
	}
	wantTokens(t, b, map[string]int{"a": 480, "b": 490})
}

func TestAReservationIsSettledWhereItWasMade(t *testing.T) {
	b := small(t, 1)
	held := take(t, b.Partition("a"), "a")
	c := b.Partition("c")
	shared := take(t, c, Other)
	held.Cancel()
	own := take(t, c, "c")
	if s := shared.Settle(Partial); s.Level != 495 {
		t.Errorf("Settle = %+v", s)
	}
	wantTokens(t, b, map[string]int{"c": 490, Other: 495})
	own.Cancel()
	wantTokens(t, b, map[string]int{"c": 500, Other: 495})
}
