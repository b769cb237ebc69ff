package catalog

var connMetrics = []Metric{
	{
		Name: ConnStale, Kind: Counter, Unit: "{connection}", Scope: OfPartition,
		Description: "Reused connections that were dead before any byte of a response.",
		Attributes:  []Attribute{attrDead},
		Action:      "The server or a middlebox closes idle connections first: set IdleConnTimeout below its timeout.",
	},
	{
		Name: ConnRecoveries, Kind: Counter, Unit: "{request}", Scope: OfPartition,
		Description: "Requests that went through after their first connections were dead.",
		Attributes:  []Attribute{attrDead, attrFresh},
		Action:      "None for the calls, which succeed. A storm means that the server closes connections in bulk: a restart or a lost load balancer.",
	},
	{
		Name: ConnWaitDuration, Kind: Histogram, Float: true, Unit: "s", Scope: OfPartition,
		Description: "Time that requests queued for a connection slot, without dialling.",
		Buckets:     queueBuckets,
		Action:      "Above zero: MaxConnsPerHost is the bottleneck, or bodies are left unread.",
	},
	{
		Name: ConnWaiting, Kind: ObservedUpDown, Unit: "{request}", Scope: OfOrigin,
		Description: "Requests that wait for a connection slot.",
		Action:      "The pool is saturated: raise MaxConnsPerHost, or shed load.",
	},
}
