package catalog

// Bounds on the number of series of one instrument. OpenTelemetry's SDK drops
// the attributes of whatever comes after 2,000.
const (
	// MaxSeries is how many series one instrument may have with the default
	// bound on origins.
	MaxSeries = 1900
	// DefaultMaxOrigins is how many scopes of a client are told apart
	// before the rest shares [Other].
	DefaultMaxOrigins = 100
	// PerOrigin is how many combinations of an open metric every scope may
	// have in any case. What MaxSeries leaves beyond that is given to the
	// scopes that ask first.
	PerOrigin = 8
	// PerOverflow is how many combinations stand for those of a scope
	// that found no room: one for success, one for failure.
	PerOverflow = 2
)

// MaxSeries returns the most series that the metric can have when maxOrigins
// scopes are told apart, with the scope that takes the rest included.
func (m Metric) MaxSeries(maxOrigins int) int {
	switch scopes := maxOrigins + 1; {
	case m.Scope == OfClient:
		return len(m.Combinations())
	case m.Open():
		return scopes*(PerOrigin+PerOverflow) + SharedCombinations(maxOrigins)
	default:
		return scopes * len(m.Combinations())
	}
}

// SharedCombinations returns how many combinations of an open metric may be
// remembered beyond [PerOrigin] by all scopes together.
func SharedCombinations(maxOrigins int) int {
	return max(0, MaxSeries-(maxOrigins+1)*(PerOrigin+PerOverflow))
}
