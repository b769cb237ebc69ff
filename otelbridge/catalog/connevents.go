package catalog

import "github.com/plimsoll-http/plimsoll/events"

var (
	spanConn  = spanAttr(KeyConnID, Int, "Number of the connection in its process, from 1.")
	spanSpeak = Attribute{Key: KeyProtocolVersion, Type: String, Values: connProtocols, Description: "HTTP version that the connection speaks."}
	spanAge   = spanAttr(KeyConnAge, Float, "Time since the connection was opened.")
	spanAfter = spanAttr(KeyRetryAfter, Float, "How long until a retry is certainly worth attempting; 0 if that is not known.")
)

var connEvents = []Event{
	{
		Name: "ConnOpened", Form: SpanEvent, Span: EventConnOpened, Metrics: []string{OpenConnections},
		Attributes: []Attribute{spanConn, spanSpeak, spanAttr(KeyDuration, Float, "Time to dial and shake hands.")},
		Meaning:    "A connection was dialled.",
		Action:     "Many per request: keep-alive does not work, or MaxIdleConnsPerHost is too small.",
	},
	{
		Name: "ConnAcquired", Form: SpanEvent, Span: EventConnAcquired, Metrics: []string{ConnWaitDuration, ConnWaiting, OpenConnections},
		Attributes: []Attribute{
			spanConn, spanSpeak,
			spanAttr(KeyConnReused, Bool, "Whether the connection had served before."),
			spanAttr(KeyConnWait, Float, "Time in the queue for a slot, without dialling."),
			spanAge,
		},
		Meaning: "A request got a connection.",
		Action:  "Long waits: MaxConnsPerHost is the bottleneck.",
	},
	{
		Name: "ConnReleased", Form: SpanEvent, Span: EventConnReleased, Metrics: []string{OpenConnections},
		Attributes: []Attribute{
			spanConn,
			spanAttr(KeyConnHandedOn, Bool, "Whether it was given to a waiting request directly."),
			spanAge,
			spanAttr(KeyConnRemaining, Int, "Requests that still run on it."),
		},
		Meaning: "A request is done with its connection.",
		Action:  "None.",
	},
	{
		Name: "ConnClosed", Form: SpanEvent, Span: EventConnClosed, Metrics: []string{ConnectionDuration, OpenConnections},
		Attributes: []Attribute{
			spanConn, spanSpeak,
			closed(KeyConnCause, events.ConnCauses(), "Why it was closed."),
			spanAge,
		},
		Meaning: "A connection's socket was closed.",
		Action:  "Cause peer with a short age: the server's idle timeout is below IdleConnTimeout.",
	},
	{
		Name: "ConnStale", Form: SpanEvent, Span: EventConnStale, Metrics: []string{ConnStale},
		Attributes: []Attribute{spanConn, spanAttr(KeyConnTry, Int, "Number of the dead connection in this attempt, from 1."), attrDead},
		Meaning:    "A reused connection was dead, and another one is taken.",
		Action:     "Set IdleConnTimeout below the server's.",
	},
	{
		Name: "ConnRecovered", Form: ChildSpan, Span: SpanRecovery, Metrics: []string{ConnRecoveries},
		Attributes: []Attribute{
			spanConn,
			spanAttr(KeyRecoveries, Int, "Resends that it took."),
			attrDead,
			attrFresh,
		},
		Meaning: "The request went through on another connection.",
		Action:  "A storm: the server closes connections in bulk.",
	},
}

var breakerEvents = []Event{
	{
		Name: "BreakerChanged", Form: SpanEvent, Span: EventBreakerChanged, Metrics: []string{BreakerTransitions, BreakerState, BreakerCooldown},
		Attributes: []Attribute{
			attrFrom, attrTo, attrMoved,
			optional(spanAttr(KeyBreakerCooldown, Float, "Cooldown of the opening.")),
			optional(spanAfter),
		},
		Meaning: "The breaker of a partition changed its state.",
		Action:  "To open: check the upstream.",
	},
	{
		Name: "BreakerRejected", Form: SpanEvent, Span: EventBreakerRejected, Metrics: []string{BreakerRejections},
		Attributes: []Attribute{attrRejected, spanAfter},
		Meaning:    "The breaker refused an attempt.",
		Action:     "Serve a fallback where you have one.",
	},
	{
		Name: "BreakerProbe", Form: SpanEvent, Span: EventBreakerProbe, Metrics: []string{BreakerProbes},
		Attributes: []Attribute{attrProbe},
		Meaning:    "A half-open breaker's probe lease was granted, or given back without a verdict.",
		Action:     "Many released: callers cancel too early for a probe to tell.",
	},
	{
		Name: "BreakerStoreChanged", Form: SpanEvent, Span: EventBreakerStore, Metrics: []string{BreakerStoreFallbacks},
		Attributes: []Attribute{attrStore},
		Meaning:    "The breaker's shared store was lost, so that a local gate decides, or is back.",
		Action:     "Check the store.",
	},
}

var streamEvents = []Event{
	{
		Name: "StreamOpened", Form: SpanEvent, Span: EventStreamOpened, Metrics: []string{StreamOpened},
		Attributes: []Attribute{spanAttr(KeyReconnects, Int, "Connections of this stream before this one.")},
		Meaning:    "An event stream's response was accepted.",
		Action:     "Many reconnects: see why streams close.",
	},
	{
		Name: "StreamClosed", Form: SpanEvent, Span: EventStreamClosed, Metrics: []string{StreamClosed, StreamBytes, StreamEvents},
		Attributes: []Attribute{
			attrReason,
			spanAttr(KeyStreamBytes, Int, "Decoded bytes over all connections."),
			spanAttr(KeyStreamEvents, Int, "Events over all connections."),
			spanAttr(KeyReconnects, Int, "Connections after the first."),
			spanAttr(KeyDuration, Float, "Time from opening to end."),
		},
		Meaning: "The end of an event stream.",
		Action:  "Idle: no keep-alive comments within ReadIdleTimeout. A byte cap: raise it or find the runaway producer.",
	},
	{
		Name: "Reloaded", Form: SpanEvent, Span: EventReloaded, Metrics: []string{Reloads},
		Attributes: []Attribute{spanAttr(KeyGeneration, Int, "Number of the new generation, from 2.")},
		Meaning:    "The transports and the configuration were swapped.",
		Action:     "Compare with the rotation of certificates that you expect.",
	},
}
