// SPDX-License-Identifier: MIT

// A Go program that calls C functions, which call Go functions, one of which calls C again. Arguments:
// how many seconds, of time and of CPU time.
package main

/*
static unsigned long burn(unsigned long n)
{
	volatile unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++)
		sum += i;
	return sum;
}

extern long go_back(long);
extern long go_inner(long);

static long again(long n)
{
	return go_inner(n) + (long)burn(10000);
}

static long there(long n)
{
	return go_back(n) + (long)burn(20000);
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

type deadline struct {
	time time.Time
	cpu  time.Duration
}

//export go_back
func go_back(n C.long) C.long {
	return go_inner(n) + C.again(n+1)
}

//export go_inner
//go:noinline
func go_inner(n C.long) C.long {
	sum := n
	for i := C.long(0); i < 20000; i++ {
		sum += i ^ n
	}
	return sum
}

func call_c() int {
	return int(C.burn(50000)) + int(C.there(3))
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
		call_c()
	}
}
