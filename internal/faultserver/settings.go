package faultserver

import (
	"fmt"

	"golang.org/x/net/http2"
)

const (
	defaultStreams = 250
	defaultWindow  = 65535 // RFC 9113, section 6.9.2
	minFrame       = 16384 // RFC 9113, section 4.2
	maxFrame       = 1<<24 - 1
	maxWindow      = 1<<31 - 1
)

// check returns an error that names the field out of range.
func (s Settings) check() error {
	if s.InitialWindowSize > maxWindow {
		return fmt.Errorf("InitialWindowSize is %d, the most is %d", s.InitialWindowSize, maxWindow)
	}
	if s.MaxFrameSize != 0 && (s.MaxFrameSize < minFrame || s.MaxFrameSize > maxFrame) {
		return fmt.Errorf("MaxFrameSize is %d, use %d to %d", s.MaxFrameSize, minFrame, maxFrame)
	}
	return nil
}

// streams, window and frame are the values with the defaults filled in.
func (s Settings) streams() int {
	if s.MaxConcurrentStreams == 0 {
		return defaultStreams
	}
	return int(s.MaxConcurrentStreams)
}

func (s Settings) window() int64 {
	if s.InitialWindowSize == 0 {
		return defaultWindow
	}
	return int64(s.InitialWindowSize)
}

func (s Settings) frame() uint32 {
	if s.MaxFrameSize == 0 {
		return minFrame
	}
	return s.MaxFrameSize
}

func (s Settings) list() []http2.Setting {
	return []http2.Setting{
		{ID: http2.SettingMaxConcurrentStreams, Val: uint32(s.streams())},
		{ID: http2.SettingInitialWindowSize, Val: uint32(s.window())},
		{ID: http2.SettingMaxFrameSize, Val: s.frame()},
	}
}
