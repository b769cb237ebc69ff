// Package redisstore shares the gates of package breaker between processes,
// through Redis 5 or later, or a server that speaks its protocol and runs its
// Lua scripts, such as Valkey.
//
//	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: addrs})
//	store, err := redisstore.New(redisstore.Config{Client: client})
//	...
//	b, err := breaker.New(breaker.Config{Store: store})
//
// A gate is one Redis hash, named prefix{key}. One Lua script applies one event
// to it, atomically and by the server's clock; the script is the transition
// function of package breaker, so states and numbers are those of the memory
// store. A hash expires a day and some cooldowns after its last change. Nothing
// is held, on the server or here, while an operation runs.
//
// # Modes
//
// [Strict] asks the server for each admission, settlement and renewal: one
// round trip each. Only refusals by a gate that is known to be open are answered
// here.
//
// [Batched], the default, adds less than a microsecond to a healthy call:
//
//   - A closed gate admits by what the server said last, if that is less than a
//     second old (and no older than a cooldown). Otherwise the caller asks; who
//     comes meanwhile waits for its answer.
//   - Outcomes are counted here and flushed 50 ms after the first one, as one
//     command that carries successes, failures and streaks.
//   - A failure that could open the gate is flushed at once and waited for, so
//     that its settlement says what came of it. If the last flush is less than
//     25 ms old, the settlement says Closed and the flush follows when that time
//     is over.
//   - A half-open gate is asked about at most every 25 ms while somebody holds
//     its lease. Probes are settled with the server directly. Where probes come
//     and go without a verdict, because the upstream answers them with 429, eight
//     may follow each other at once and ten a second after that; in between,
//     callers are refused here.
//
// So a key whose cooldown is a second or longer costs at most 40 commands a
// second and process, whatever its traffic.
// The price: a gate that another process opened is noticed with the next flush
// or answer, up to a second later on a key without traffic; and a batch is judged
// once, at its end, by the longest streak that it completed.
//
// # Changes
//
// Each process reports each change of a gate once, as it learns of it, in the
// order of the states, those in between included if it missed them: inside the
// call whose answer brought the news, or to the observers (breaker.Notify) if a
// flush in the background did.
//
// # When the server cannot be reached
//
// An operation that fails, or takes longer than breaker.Config.StoreTimeout, is
// decided by a local gate, and so are the following ones on that key: no call
// fails, and only the first one waits. The local gate begins with what the
// server said last. Observers hear of the first key that is lost and of the
// return of the last one. Every second the store tries to bring lost gates back;
// of the local gate and the server's, the one that changed its state later stays,
// so that an opening that only this process saw becomes everybody's. Samples
// that were taken meanwhile by a gate that stayed closed are dropped, unless the
// server has forgotten the key.
//
// Commands are not sent a second time by themselves when their answer is lost:
// nothing is counted twice.
//
// # Goroutines
//
// A flush in the background and an attempt to return run on a goroutine of
// their own, started by a timer, and end with it. A client without
// ContextTimeoutEnabled takes one more for each command, because it does not
// apply the deadlines of contexts; one whose server does not answer ends with
// the client's own timeout. [Store.Close] stops the timers.
package redisstore
