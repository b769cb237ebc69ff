package main

import (
	"os"
	"syscall"
	"unsafe"
)

var (
	kernel32       = syscall.NewLazyDLL("kernel32.dll")
	setConsoleMode = kernel32.NewProc("SetConsoleMode")
	getScreenInfo  = kernel32.NewProc("GetConsoleScreenBufferInfo")
)

// isConsole tells a console from other character devices, such as NUL.
func isConsole(file *os.File) bool {
	var mode uint32
	return syscall.GetConsoleMode(syscall.Handle(file.Fd()), &mode) == nil
}

// terminalWidth asks the console; 0 if there is none.
func terminalWidth(file *os.File) int {
	var info struct { // CONSOLE_SCREEN_BUFFER_INFO
		size, cursor             [2]int16
		attributes               uint16
		left, top, right, bottom int16
		largest                  [2]int16
	}
	if ok, _, _ := getScreenInfo.Call(file.Fd(), uintptr(unsafe.Pointer(&info))); ok == 0 {
		return 0
	}
	return int(info.right-info.left) + 1
}

// colorsOn asks the console to heed escape sequences, which it does from
// Windows 10 on, and reports whether it does.
func colorsOn(file *os.File) bool {
	const processed, sequences = 1, 4 // ENABLE_PROCESSED_OUTPUT, ENABLE_VIRTUAL_TERMINAL_PROCESSING
	var mode uint32
	if syscall.GetConsoleMode(syscall.Handle(file.Fd()), &mode) != nil {
		return false
	}
	if mode&sequences != 0 {
		return true
	}
	ok, _, _ := setConsoleMode.Call(file.Fd(), uintptr(mode|processed|sequences))
	return ok != 0
}
