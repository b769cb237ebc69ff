//go:build !linux && !darwin && !windows

package main

import "os"

func terminalWidth(*os.File) int { return 0 }

func isConsole(file *os.File) bool { return file.Name() != os.DevNull }

func colorsOn(*os.File) bool { return true }
