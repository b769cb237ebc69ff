package catalog

import "slices"

var metrics = slices.Concat(httpMetrics, callMetrics, budgetMetrics, connMetrics, breakerMetrics, throttleMetrics, streamMetrics, clientMetrics)

// Bounds of the histograms. Those of requests are the ones that the HTTP
// conventions advise for http.client.request.duration.
var (
	requestBuckets    = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	callBuckets       = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	waitBuckets       = []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120}
	queueBuckets      = []float64{0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}
	connectionBuckets = []float64{0.01, 0.1, 1, 5, 10, 30, 60, 90, 300, 600, 1800, 3600}
)

var httpMetrics = []Metric{
	{
		Name: RequestDuration, Kind: Histogram, Float: true, Unit: "s", Scope: OfPartition,
		Description: "Duration of HTTP client requests.",
		Attributes: []Attribute{
			{Key: KeyMethod, Type: String, Values: methods, Description: "Request method; \"" + Unknown + "\" outside the known ones."},
			{Key: KeyStatus, Type: Int, Optional: true, Description: "Status of the response, if one came."},
			{Key: KeyErrorType, Type: String, Optional: true, Description: "The status from 400 on, else the error class; \"" + Unknown + "\" past the bound on combinations."},
			{Key: KeyProtocolVersion, Type: String, Values: protocols, Optional: true, Description: "HTTP version, if known."},
		},
		Buckets: requestBuckets,
		Action:  "Compare with the upstream's own latency; the difference is network, queueing or connection set-up. It ends at the response headers of each attempt.",
	},
	{
		Name: ActiveRequests, Kind: ObservedUpDown, Unit: "{request}", Scope: OfPartition,
		Description: "Number of active HTTP requests.",
		Action:      "A rise without a rise in traffic means that the upstream slows down.",
	},
	{
		Name: OpenConnections, Kind: ObservedUpDown, Unit: "{connection}", Scope: OfOrigin,
		Description: "Number of outbound HTTP connections that are currently active or idle on the client.",
		Attributes:  []Attribute{attrConn},
		Action:      "Compare with MaxConnsPerHost. Many idle ones: lower MaxIdleConnsPerHost.",
	},
	{
		Name: ConnectionDuration, Kind: Histogram, Float: true, Unit: "s", Scope: OfOrigin,
		Description: "The duration of the successfully established outbound HTTP connections.",
		Buckets:     connectionBuckets,
		Action:      "Short lives mean that keep-alive does not work: read bodies to the end, and compare IdleConnTimeout with the server's.",
	},
}

var callMetrics = []Metric{
	{
		Name: CallDuration, Kind: Histogram, Float: true, Unit: "s", Scope: OfPartition,
		Description: "Duration of calls, all attempts and waits included, up to the end of the response body.",
		Attributes:  []Attribute{attrOutcome},
		Buckets:     callBuckets,
		Action:      "Outcome recovered with a long duration: retries hide a slow or failing upstream.",
	},
	{
		Name: CallEscapes, Kind: Counter, Unit: "{call}", Scope: OfPartition,
		Description: "Calls whose caller got an error or a retryable status.",
		Attributes:  []Attribute{attrSkipOrNone},
		Action:      "Failures reach the caller. Bucket: the upstream fails for longer than the retry budget lasts. Deadline: the callers' deadlines leave no room for a retry.",
	},
	{
		Name: RetryArmed, Kind: Counter, Unit: "{retry}", Scope: OfPartition,
		Description: "Retries that were launched after their wait.",
		Attributes:  []Attribute{attrRetryCause},
		Action:      "Find the cause in the upstream; the calls still succeed while the budget lasts.",
	},
	{
		Name: RetrySkipped, Kind: Counter, Unit: "{retry}", Scope: OfPartition,
		Description: "Retries that were wanted and not armed.",
		Attributes:  []Attribute{attrSkip},
		Action:      "Bucket: the budget is empty. Deadline: raise the callers' deadlines or lower the backoff. Body: make the body replayable. Method: add an Idempotency-Key.",
	},
	{
		Name: RetryDelay, Kind: Histogram, Float: true, Unit: "s", Scope: OfPartition,
		Description: "Waits before retries that were launched.",
		Buckets:     waitBuckets,
		Action:      "Waits well above MaxDelay come from Retry-After: the upstream throttles.",
	},
}

var budgetMetrics = []Metric{
	{
		Name: BudgetTokens, Kind: ObservedGauge, Unit: "{token}", Scope: OfPartition,
		Description: "Tokens left in the retry budget.",
		Action:      "Falling: retries are charged faster than successes refill. At 0 failures reach the callers unretried. Each process has its own: aggregate with min.",
	},
	{
		Name: BudgetCapacity, Kind: ObservedGauge, Unit: "{token}", Scope: OfPartition,
		Description: "Capacity of the retry budget.",
		Action:      "Divide tokens by it.",
	},
	{
		Name: BudgetReserved, Kind: Counter, Unit: "{token}", Scope: OfPartition,
		Description: "Tokens reserved to arm retries.",
		Action:      "Compare with kept and refunded.",
	},
	{
		Name: BudgetKept, Kind: Counter, Unit: "{token}", Scope: OfPartition,
		Description: "Reserved tokens that were kept when the retry was settled.",
		Attributes:  []Attribute{attrKept},
		Action:      "This is what drains the budget: retries that fail again.",
	},
	{
		Name: BudgetRefunded, Kind: Counter, Unit: "{token}", Scope: OfPartition,
		Description: "Reserved tokens that went back when the retry was settled.",
		Attributes:  []Attribute{attrRefunded},
		Action:      "None; refunds are retries that helped.",
	},
	{
		Name: BudgetReplenished, Kind: Counter, Unit: "{token}", Scope: OfPartition,
		Description: "Tokens added by calls that needed no retry.",
		Action:      "None; at 0 with tokens below capacity no call succeeds.",
	},
}

var throttleMetrics = []Metric{
	{
		Name: ThrottleRecorded, Kind: Counter, Unit: "{throttle}", Scope: OfPartition,
		Description: "Retry-After answers that were remembered.",
		Action:      "The upstream asks to stay away: lower the request rate or ask for a higher limit.",
	},
	{
		Name: ThrottleWaitDuration, Kind: Histogram, Float: true, Unit: "s", Scope: OfPartition,
		Description: "Waits of calls for a remembered Retry-After.",
		Attributes:  []Attribute{attrCut},
		Buckets:     waitBuckets,
		Action:      "Calls queue behind the upstream's limit. Truncated: requests went out earlier than the server asked.",
	},
}

var streamMetrics = []Metric{
	{
		Name: StreamOpened, Kind: Counter, Unit: "{stream}", Scope: OfPartition,
		Description: "Event stream connections that were accepted.",
		Attributes:  []Attribute{attrAgain},
		Action:      "Many reconnects: see the reasons of closed streams and proxies' idle timeouts.",
	},
	{
		Name: StreamClosed, Kind: Counter, Unit: "{stream}", Scope: OfPartition,
		Description: "Event streams that ended.",
		Attributes:  []Attribute{attrReason},
		Action:      "Idle: the server sends no keep-alive comments within ReadIdleTimeout. A byte cap: raise it or find the runaway producer.",
	},
	{
		Name: StreamBytes, Kind: Counter, Unit: "By", Scope: OfPartition,
		Description: "Decoded bytes of event streams that ended.",
		Action:      "Compare with the caps of StreamConfig.",
	},
	{
		Name: StreamEvents, Kind: Counter, Unit: "{event}", Scope: OfPartition,
		Description: "Events of event streams that ended.",
		Action:      "None.",
	},
}

var clientMetrics = []Metric{
	{
		Name: Reloads, Kind: Counter, Unit: "{reload}", Scope: OfClient,
		Description: "Swaps of the client's transports and configuration.",
		Action:      "Compare with the rotation of certificates that you expect.",
	},
	{
		Name: HookPanics, Kind: ObservedCounter, Unit: "{panic}", Scope: OfClient,
		Description: "Panics of hooks and propagators that were recovered.",
		Action:      "Fix the hook; Config.OnPanic gets the value.",
	},
}
