// SPDX-License-Identifier: MIT

// Goroutines that have the runtime switch stacks all the time: that allocate, grow their stacks,
// wait for each other and ask for the time. Arguments: how many seconds. tests/live/test_go.py
// knows the program's calls from its instructions.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

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
func work(until time.Time) {
	for time.Now().Before(until) {
		done := make(chan int)
		go func() { done <- deep(300) }()
		grow(8)
		<-done
		runtime.Gosched()
	}
}

// Passes a number to and fro.
func talk(until time.Time) {
	there, back := make(chan int), make(chan int)
	go func() {
		for number := range there {
			back <- number + 1
		}
	}()
	for time.Now().Before(until) {
		there <- 1
		<-back
	}
	close(there)
}

func main() {
	var all sync.WaitGroup
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	until := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for _, one := range []func(time.Time){work, work, talk} {
		one := one
		all.Add(1)
		go func() {
			defer all.Done()
			one(until)
		}()
	}
	all.Wait()
}
