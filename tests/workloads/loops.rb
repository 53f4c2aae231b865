# SPDX-License-Identifier: MIT
# A chain of small functions, for as many seconds of CPU time as the argument says.
def f6(n) s = 0; 20.times { |i| s = (s * 31 + n + i) & 0xffffff }; s end
def f5(n) f6(n) + 1 end
def f4(n) f5(n) + 1 end
def f1(n) f4(n) + 1 end
def sum() s = 0; i = 0; while i < 2000; s += f1(i); i += 1; end; s end

def used() Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) end

stop = used + ARGV[0].to_f
all = 0
all += sum while used < stop
puts all
