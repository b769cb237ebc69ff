package catalog

// The names of the spans and span events. The span of an attempt has the name
// that the HTTP conventions give: "{method}" or "{method} {template}".
const (
	SpanCall         = "plimsoll.call"
	SpanBackoff      = "plimsoll.backoff"
	SpanThrottleWait = "plimsoll.throttle.wait"
	SpanRecovery     = "plimsoll.recovery"

	EventRetrySkipped      = "plimsoll.retry.skipped"
	EventBudgetReserved    = "plimsoll.retry_budget.reserved"
	EventBudgetSettled     = "plimsoll.retry_budget.settled"
	EventBudgetReplenished = "plimsoll.retry_budget.replenished"
	EventThrottleRecorded  = "plimsoll.throttle.recorded"
	EventConnOpened        = "plimsoll.conn.opened"
	EventConnAcquired      = "plimsoll.conn.acquired"
	EventConnReleased      = "plimsoll.conn.released"
	EventConnClosed        = "plimsoll.conn.closed"
	EventConnStale         = "plimsoll.conn.stale"
	EventBreakerChanged    = "plimsoll.breaker.changed"
	EventBreakerRejected   = "plimsoll.breaker.rejected"
	EventBreakerProbe      = "plimsoll.breaker.probe"
	EventBreakerStore      = "plimsoll.breaker.store"
	EventStreamOpened      = "plimsoll.stream.opened"
	EventStreamClosed      = "plimsoll.stream.closed"
	EventReloaded          = "plimsoll.reloaded"
)

// The attribute keys that only spans and span events have. Those without the
// prefix plimsoll are OpenTelemetry's.
const (
	KeyURLFull        = "url.full"
	KeyURLTemplate    = "url.template"
	KeyMethodOriginal = "http.request.method_original"
	KeyResendCount    = "http.request.resend_count"

	KeyAttempt    = "plimsoll.attempt"
	KeyAttempts   = "plimsoll.attempts"
	KeyRecoveries = "plimsoll.recoveries"
	KeyDelay      = "plimsoll.delay"
	KeyRemaining  = "plimsoll.remaining"
	KeyUntil      = "plimsoll.until"
	KeyRetryAfter = "plimsoll.retry_after"
	KeyDuration   = "plimsoll.duration"
	KeyGeneration = "plimsoll.generation"

	KeyTokensCost     = "plimsoll.retry_budget.cost"
	KeyTokensLevel    = "plimsoll.retry_budget.level"
	KeyTokensNeeded   = "plimsoll.retry_budget.needed"
	KeyTokensReserved = "plimsoll.retry_budget.reserved"
	KeyTokensKept     = "plimsoll.retry_budget.kept"
	KeyTokensRefunded = "plimsoll.retry_budget.refunded"
	KeyTokensAdded    = "plimsoll.retry_budget.added"

	KeyConnID        = "plimsoll.conn.id"
	KeyConnReused    = "plimsoll.conn.reused"
	KeyConnWait      = "plimsoll.conn.wait"
	KeyConnAge       = "plimsoll.conn.age"
	KeyConnHandedOn  = "plimsoll.conn.handed_on"
	KeyConnRemaining = "plimsoll.conn.remaining"
	KeyConnCause     = "plimsoll.conn.cause"
	KeyConnTry       = "plimsoll.conn.try"

	KeyBreakerCooldown = "plimsoll.breaker.cooldown"

	KeyStreamBytes  = "plimsoll.stream.bytes"
	KeyStreamEvents = "plimsoll.stream.events"
	KeyReconnects   = "plimsoll.reconnects"
)
