// SPDX-License-Identifier: MIT

// Goroutines that have the runtime switch stacks all the time: that allocate, grow their stacks,
// wait for each other and ask for the time. Arguments: how many seconds, of time and of CPU time.
// tests/live/test_go.py knows the program's calls from its instructions.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

type deadline struct {
	time time.Time
	cpu  time.Duration
}

type node struct {
	left, right *node
	text        string
}

func grow(depth int) *node {
	if depth == 0 {
		return &node{text: strconv.Itoa(depth + 1000)}
	}
	return &node{left: grow(depth - 1), right: grow(depth - 1)}
}

func deep(n int) int {
	var room [64]int
	room[n%64] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + room[(n+1)%64]
}

// Allocates, and has a new goroutine's stack grow.
func work(until deadline) {
	for goesOn(until) {
		done := make(chan int)
		go func() { done <- deep(300) }()
		grow(8)
		<-done
		runtime.Gosched()
	}
}

// Passes a number to and fro.
func talk(until deadline) {
	there, back := make(chan int), make(chan int)
	go func() {
		for number := range there {
			back <- number + 1
		}
	}()
	for goesOn(until) {
		there <- 1
		<-back
	}
	close(there)
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
	var all sync.WaitGroup
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	length := time.Duration(seconds * float64(time.Second))
	until := deadline{time.Now().Add(length), length}
	for _, one := range []func(deadline){work, work, talk} {
		one := one
		all.Add(1)
		go func() {
			defer all.Done()
			one(until)
		}()
	}
	all.Wait()
}
