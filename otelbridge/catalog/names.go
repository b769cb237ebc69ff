package catalog

// The names of the metrics, as OpenTelemetry knows them.
const (
	RequestDuration    = "http.client.request.duration"
	ActiveRequests     = "http.client.active_requests"
	OpenConnections    = "http.client.open_connections"
	ConnectionDuration = "http.client.connection.duration"

	CallDuration = "plimsoll.call.duration"
	CallEscapes  = "plimsoll.call.escapes"

	RetryArmed   = "plimsoll.retry.armed"
	RetrySkipped = "plimsoll.retry.skipped"
	RetryDelay   = "plimsoll.retry.delay"

	BudgetTokens      = "plimsoll.retry_budget.tokens"
	BudgetCapacity    = "plimsoll.retry_budget.capacity"
	BudgetReserved    = "plimsoll.retry_budget.reserved"
	BudgetKept        = "plimsoll.retry_budget.kept"
	BudgetRefunded    = "plimsoll.retry_budget.refunded"
	BudgetReplenished = "plimsoll.retry_budget.replenished"

	ConnStale        = "plimsoll.conn.stale"
	ConnRecoveries   = "plimsoll.conn.recoveries"
	ConnWaitDuration = "plimsoll.conn.wait.duration"
	ConnWaiting      = "plimsoll.conn.waiting"

	BreakerState          = "plimsoll.breaker.state"
	BreakerTransitions    = "plimsoll.breaker.transitions"
	BreakerRejections     = "plimsoll.breaker.rejections"
	BreakerProbes         = "plimsoll.breaker.probes"
	BreakerCooldown       = "plimsoll.breaker.cooldown"
	BreakerStoreFallbacks = "plimsoll.breaker.store_fallbacks"

	ThrottleRecorded     = "plimsoll.throttle.recorded"
	ThrottleWaitDuration = "plimsoll.throttle.wait.duration"

	StreamOpened = "plimsoll.stream.opened"
	StreamClosed = "plimsoll.stream.closed"
	StreamBytes  = "plimsoll.stream.bytes"
	StreamEvents = "plimsoll.stream.events"

	Reloads    = "plimsoll.reloads"
	HookPanics = "plimsoll.hook.panics"
)

// The attribute keys of metrics. Those without the prefix plimsoll are
// OpenTelemetry's.
const (
	KeyClient    = "plimsoll.client"
	KeyAddress   = "server.address"
	KeyPort      = "server.port"
	KeyPartition = "plimsoll.partition"

	KeyMethod          = "http.request.method"
	KeyStatus          = "http.response.status_code"
	KeyErrorType       = "error.type"
	KeyProtocolVersion = "network.protocol.version"
	KeyConnectionState = "http.connection.state"

	KeyOutcome      = "plimsoll.outcome"
	KeySkipReason   = "plimsoll.skip.reason"
	KeyCause        = "plimsoll.cause"
	KeySettlement   = "plimsoll.settlement"
	KeyFresh        = "plimsoll.fresh"
	KeyBreakerState = "plimsoll.breaker.state"
	KeyBreakerFrom  = "plimsoll.breaker.from"
	KeyBreakerTo    = "plimsoll.breaker.to"
	KeyBreakerProbe = "plimsoll.breaker.probe"
	KeyBreakerStore = "plimsoll.breaker.store"
	KeyTruncated    = "plimsoll.truncated"
	KeyReason       = "plimsoll.reason"
	KeyReconnect    = "plimsoll.reconnect"
)

// Values that stand for what has no name of its own.
const (
	// Other is the address of the scope that takes what comes after the
	// bound on origins, with port 0.
	Other = "_other"
	// Shared is the address, with port 0, of a partition of which no single
	// origin is known.
	Shared = "_shared"
	// Unknown stands, by OpenTelemetry's conventions, for a request method
	// or an error type outside the known ones.
	Unknown = "_OTHER"
	// None is the skip reason of an escape for which no retry was wanted.
	None = "none"
)
