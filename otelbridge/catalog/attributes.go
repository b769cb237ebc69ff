package catalog

import (
	"slices"

	"github.com/plimsoll-http/plimsoll/events"
)

var common = []Attribute{
	{Key: KeyClient, Type: String, Description: "Name of the client: Config.Name, or \"default\"."},
	{Key: KeyAddress, Type: String, Description: "Host of the origin; \"" + Other + "\" for what comes after the bound on origins, \"" + Shared + "\" for a partition of several origins."},
	{Key: KeyPort, Type: Int, Description: "Port of the origin, given or implied by the scheme; 0 where the address stands for several."},
	{Key: KeyPartition, Type: String, Optional: true, Description: "Key of budget, breaker and throttle, where it is not the origin."},
}

// methods are those that OpenTelemetry's HTTP conventions know, and the one
// that stands for the rest. OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS replaces
// them.
var methods = []string{
	"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE", Unknown,
}

// Methods returns the request methods that are known unless
// OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS says otherwise, without [Unknown].
func Methods() []string { return append([]string(nil), methods[:len(methods)-1]...) }

// ProtocolVersions returns the closed set of network.protocol.version where it
// is that of a response.
func ProtocolVersions() []string { return append([]string(nil), protocols...) }

// ConnProtocolVersions returns the closed set of network.protocol.version where
// it is that of a connection.
func ConnProtocolVersions() []string { return append([]string(nil), connProtocols...) }

var (
	// protocols are those of responses. A connection does not know of 1.0, in
	// which a server answers a request of 1.1.
	protocols     = []string{"1.0", "1.1", "2"}
	connProtocols = protocols[1:]
	yesNo         = []string{"false", "true"}

	// deadConnection are the classes that a dead connection can answer with;
	// any other counts as "other". "stale" is not among them: it is what the
	// request ends with when no connection is left to try.
	deadConnection = []events.ErrorClass{
		events.ClassReset, events.ClassEOF, events.ClassTLSTransport, events.ClassTimeout,
		events.ClassProtocol, events.ClassRefusedStream, events.ClassGoAway, events.ClassOther,
	}
)

var (
	attrOutcome    = closed(KeyOutcome, events.Outcomes(), "How the call ended for its caller.")
	attrRetryCause = closed(KeyCause, events.RetryCauses(), "What the retry answers.")
	attrSkip       = closed(KeySkipReason, events.SkipReasons(), "Why the wanted retry was not armed.")
	attrSkipOrNone = closed(KeySkipReason, append([]events.SkipReason{None}, events.SkipReasons()...),
		"Why the last wanted retry was not armed; \""+None+"\" where none was wanted.")
	attrKept = closed(KeySettlement, events.Settlements(), "What became of the reservation.")
	// A full charge refunds nothing.
	attrRefunded = closed(KeySettlement, []events.Settlement{events.SettledRefund, events.SettledPartial}, "What became of the reservation.")
	attrDead     = closed(KeyCause, deadConnection, "What the dead connection answered.")
	attrFresh    = Attribute{Key: KeyFresh, Type: Bool, Values: yesNo, Description: "Whether a forced fresh dial served the request."}
	attrConn     = Attribute{Key: KeyConnectionState, Type: String, Values: []string{"active", "idle"}, Description: "State of the connections in the pool."}
	attrState    = Attribute{Key: KeyBreakerState, Type: String, Values: texts(events.BreakerStates()), Description: "State that the series stands for."}
	attrRejected = Attribute{Key: KeyBreakerState, Type: String, Values: texts([]events.BreakerState{events.BreakerOpen, events.BreakerHalfOpen}), Description: "State in which the breaker refused."}
	attrFrom     = Attribute{Key: KeyBreakerFrom, Type: String, Values: texts(events.BreakerStates()), Description: "State before the transition."}
	attrTo       = Attribute{Key: KeyBreakerTo, Type: String, Values: texts(events.BreakerStates()), Description: "State after the transition."}
	attrMoved    = closed(KeyCause, transitionCauses(), "What caused the transition.")
	attrProbe    = Attribute{Key: KeyBreakerProbe, Type: String, Values: []string{"granted", "released"}, Description: "Whether the probe's lease was granted, or given back without a verdict."}
	attrStore    = Attribute{Key: KeyBreakerStore, Type: String, Values: []string{"lost", "back"}, Description: "Whether the shared store was lost or is back."}
	attrCut      = Attribute{Key: KeyTruncated, Type: Bool, Values: yesNo, Description: "Whether the wait was cut to the rest of the total retry time."}
	attrReason   = closed(KeyReason, events.StreamReasons(), "Terminal reason of the stream.")
	attrAgain    = Attribute{Key: KeyReconnect, Type: Bool, Values: yesNo, Description: "Whether the connection continues an earlier one of the same stream."}
)

// ConnCauses returns the closed set of plimsoll.cause on [ConnStale] and
// [ConnRecoveries]. A class outside it is reported as "other".
func ConnCauses() []events.ErrorClass { return append([]events.ErrorClass(nil), deadConnection...) }

// transitionCauses are the breaker causes of legal transitions.
func transitionCauses() []events.BreakerCause {
	return slices.DeleteFunc(events.BreakerCauses(), func(c events.BreakerCause) bool {
		return !slices.ContainsFunc(legal, func(t Transition) bool { return t.Cause == c })
	})
}

func closed[T ~string](key string, values []T, description string) Attribute {
	a := Attribute{Key: key, Type: String, Description: description}
	for _, v := range values {
		a.Values = append(a.Values, string(v))
	}
	return a
}

func texts[T interface{ String() string }](values []T) []string {
	var out []string
	for _, v := range values {
		out = append(out, v.String())
	}
	return out
}
