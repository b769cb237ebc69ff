//go:build amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x

package budget

import (
	"testing"
	"unsafe"
)

// The padding is measured for 64 bits.
func TestABalanceHasCacheLinesOfItsOwn(t *testing.T) {
	if size := unsafe.Sizeof(Partition{}); size != 128 {
		t.Errorf("a Partition has %d bytes, want 128", size)
	}
	if p := small(t, 1).Partition("a"); uintptr(unsafe.Pointer(p))%64 != 0 {
		t.Errorf("a Partition begins within a cache line: %p", p)
	}
}
