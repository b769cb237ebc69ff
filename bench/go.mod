module github.com/plimsoll-http/plimsoll/bench

go 1.26.0

replace github.com/plimsoll-http/plimsoll => ../

require (
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/plimsoll-http/plimsoll v0.0.0-00010101000000-000000000000
	github.com/sony/gobreaker/v2 v2.4.0
	github.com/tmaxmax/go-sse v0.12.0
)

require github.com/bits-and-blooms/bitset v1.24.4 // indirect
