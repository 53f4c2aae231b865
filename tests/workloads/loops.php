<?php
// SPDX-License-Identifier: MIT
// A chain of small functions, for as many seconds of CPU time as the argument says.
function f6($n) { $s = 0; for ($i = 0; $i < 20; $i++) $s = ($s * 31 + $n + $i) & 0xffffff; return $s; }
function f5($n) { return f6($n) + 1; }
function f4($n) { return f5($n) + 1; }
function f1($n) { return f4($n) + 1; }
function sum() { $s = 0; for ($i = 0; $i < 2000; $i++) $s += f1($i); return $s; }

function used()
{
	$u = getrusage();
	return $u["ru_utime.tv_sec"] + $u["ru_stime.tv_sec"] + ($u["ru_utime.tv_usec"] + $u["ru_stime.tv_usec"]) / 1e6;
}

$end = used() + (float)$argv[1];
$all = 0;
while (used() < $end)
	$all += sum();
echo $all, "\n";
