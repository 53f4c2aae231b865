// SPDX-License-Identifier: MIT

// A Go program that starts programs all the time. Arguments: how many seconds, of time
// and of CPU time.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

type deadline struct {
	time time.Time
	cpu  time.Duration
}

//go:noinline
func spawn() {
	exec.Command("/bin/true").Run()
}

// The time, which the runtime asks for on another stack, and as much CPU time, which a busy machine gives later.
func goesOn(until deadline) bool {
	var used syscall.Rusage

	if time.Now().Before(until.time) {
		return true
	}
	return syscall.Getrusage(syscall.RUSAGE_SELF, &used) == nil &&
		time.Duration(used.Utime.Nano()+used.Stime.Nano()) < until.cpu
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	length := time.Duration(seconds * float64(time.Second))
	until := deadline{time.Now().Add(length), length}
	for goesOn(until) {
		spawn()
	}
}
