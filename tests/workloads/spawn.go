// SPDX-License-Identifier: MIT

// A Go program that starts programs all the time. Arguments: how many seconds.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

//go:noinline
func spawn() {
	exec.Command("/bin/true").Run()
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	until := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for time.Now().Before(until) {
		spawn()
	}
}
