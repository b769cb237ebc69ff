package catalog

import "github.com/plimsoll-http/plimsoll/events"

var (
	spanErrorType = optional(spanAttr(KeyErrorType, String, "The status from 400 on, else the error class."))
	spanProtocol  = optional(Attribute{Key: KeyProtocolVersion, Type: String, Values: protocols, Description: "HTTP version, if known."})
	spanLevel     = optional(spanAttr(KeyTokensLevel, Int, "Tokens in the partition afterwards."))
	spanAttempt   = spanAttr(KeyAttempt, Int, "Number of the attempt that failed, from 1.")
)

// unlessHealthy says when a call's span has an attribute. Most calls are
// healthy, and their spans are to cost little.
const unlessHealthy = " Left out of a healthy call's span."

var callEvents = []Event{
	{
		Name: "CallStarted", Form: CallSpan, Span: SpanCall, Metrics: []string{ActiveRequests},
		Meaning: "A call begins, before any wait.",
		Action:  "None.",
	},
	{
		Name: "CallDone", Form: CallSpan, Span: SpanCall, Metrics: []string{CallDuration, CallEscapes},
		Attributes: []Attribute{
			optional(closed(KeyOutcome, events.Outcomes(), attrOutcome.Description+unlessHealthy)),
			optional(spanAttr(KeyAttempts, Int, "Attempts that were sent. Left out when 1.")),
			optional(spanAttr(KeyRecoveries, Int, "Resends on other connections, over all attempts.")),
			optional(closed(KeySkipReason, events.SkipReasons(), "Why the last wanted retry was not armed.")),
			spanErrorType,
			optional(spanAttr(KeyClient, String, "Name of the client."+unlessHealthy)),
			optional(spanAttr(KeyAddress, String, "Host of the origin."+unlessHealthy)),
			optional(spanAttr(KeyPort, Int, "Port of the origin."+unlessHealthy)),
		},
		Meaning: "A call ends: at its return, or at the end of its response body.",
		Action:  "Outcome escaped: see the skip reason and the error type.",
	},
	{
		Name: "AttemptStarted", Form: AttemptSpan, Metrics: []string{RequestDuration},
		Attributes: []Attribute{
			{Key: KeyMethod, Type: String, Values: methods, Description: "Request method; \"" + Unknown + "\" outside the known ones."},
			spanAttr(KeyAddress, String, "Host of the origin."),
			spanAttr(KeyPort, Int, "Port of the origin."),
			spanAttr(KeyURLFull, String, "URL without credentials, its query redacted."),
			optional(spanAttr(KeyURLTemplate, String, "The route that the caller gave.")),
			optional(spanAttr(KeyMethodOriginal, String, "The method, where it is not a known one.")),
		},
		Meaning: "A request is sent.",
		Action:  "None.",
	},
	{
		Name: "AttemptDone", Form: AttemptSpan, Metrics: []string{RequestDuration},
		Attributes: []Attribute{
			optional(spanAttr(KeyStatus, Int, "Status of the response, if one came.")),
			spanErrorType,
			spanProtocol,
			optional(spanAttr(KeyResendCount, Int, "Sends of the same request before: redirects, retries and recoveries. Left out when 0.")),
		},
		Meaning: "The response headers, or the error, of one request.",
		Action:  "Error type: see the upstream or the network.",
	},
}

var retryEvents = []Event{
	{
		Name: "RetryArmed", Form: ChildSpan, Span: SpanBackoff, Metrics: []string{RetryArmed, RetryDelay},
		Attributes: []Attribute{
			spanAttempt,
			attrRetryCause,
			optional(spanAttr(KeyTokensCost, Int, "Tokens reserved for the retry.")),
			spanLevel,
		},
		Meaning: "The wait is over and the next attempt launches.",
		Action:  "Find the cause in the upstream; the calls still succeed while the budget lasts.",
	},
	{
		Name: "RetrySkipped", Form: SpanEvent, Span: EventRetrySkipped, Metrics: []string{RetrySkipped},
		Attributes: []Attribute{
			attrSkip,
			spanAttempt,
			spanAttr(KeyErrorType, String, "The status, else the error class."),
			spanAttr(KeyTokensLevel, Int, "Tokens in the partition."),
			spanAttr(KeyTokensNeeded, Int, "Tokens that the retry needed."),
			spanAttr(KeyRemaining, Float, "Time left for waiting."),
			optional(spanAttr(KeyDelay, Float, "The delay that did not fit.")),
		},
		Meaning: "A retry was wanted and not armed.",
		Action:  "Bucket: the budget is empty. Deadline: raise the callers' deadlines or lower the backoff. Body: make the body replayable. Method: add an Idempotency-Key.",
	},
	{
		Name: "BudgetReserved", Form: SpanEvent, Span: EventBudgetReserved, Metrics: []string{BudgetReserved, BudgetTokens, BudgetCapacity},
		Attributes: []Attribute{
			spanAttr(KeyTokensReserved, Int, "Tokens taken."),
			spanAttr(KeyTokensLevel, Int, "Tokens in the partition afterwards."),
		},
		Meaning: "Tokens were taken to arm a retry.",
		Action:  "Compare with what is kept.",
	},
	{
		Name: "BudgetSettled", Form: SpanEvent, Span: EventBudgetSettled, Metrics: []string{BudgetKept, BudgetRefunded, BudgetTokens},
		Attributes: []Attribute{
			attrKept,
			spanAttr(KeyTokensReserved, Int, "Tokens that were taken."),
			spanAttr(KeyTokensKept, Int, "Tokens that are gone."),
			spanAttr(KeyTokensRefunded, Int, "Tokens that went back."),
			spanAttr(KeyTokensLevel, Int, "Tokens in the partition afterwards."),
		},
		Meaning: "What became of a reservation.",
		Action:  "Much kept: retries fail again.",
	},
	{
		Name: "BudgetReplenished", Form: SpanEvent, Span: EventBudgetReplenished, Metrics: []string{BudgetReplenished, BudgetTokens},
		Attributes: []Attribute{
			spanAttr(KeyTokensAdded, Int, "Tokens added."),
			spanAttr(KeyTokensLevel, Int, "Tokens in the partition afterwards."),
		},
		Meaning: "A call that needed no retry refilled the budget.",
		Action:  "None.",
	},
	{
		Name: "ThrottleRecorded", Form: SpanEvent, Span: EventThrottleRecorded, Metrics: []string{ThrottleRecorded},
		Attributes: []Attribute{
			spanAttr(KeyDelay, Float, "How long the server asked to stay away."),
			spanAttr(KeyUntil, String, "When that ends (RFC 3339)."),
		},
		Meaning: "A Retry-After is remembered for the partition.",
		Action:  "Lower the request rate or ask for a higher limit.",
	},
	{
		Name: "ThrottleWaited", Form: ChildSpan, Span: SpanThrottleWait, Metrics: []string{ThrottleWaitDuration},
		Attributes: []Attribute{attrCut},
		Meaning:    "A call waited for a remembered Retry-After.",
		Action:     "Calls queue behind the upstream's limit.",
	},
}
