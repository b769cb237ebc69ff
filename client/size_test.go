package client

import (
	"testing"
	"unsafe"
)

// A healthy call is one allocation. Above 512 bytes the size classes are 576,
// 640 and 704, and an object with pointers takes 8 bytes of its own.
func TestTheMemoryOfACallKeepsItsSizeClass(t *testing.T) {
	if size := unsafe.Sizeof(memory{}); unsafe.Sizeof(uintptr(0)) == 8 && size > 640-8 {
		t.Errorf("a call takes %d bytes, more than the %d of its size class", size, 640-8)
	}
}
