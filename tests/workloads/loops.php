<?php
// SPDX-License-Identifier: MIT
// A chain of small functions, for as many seconds as the argument says.
function f6($n) { $s = 0; for ($i = 0; $i < 20; $i++) $s = ($s * 31 + $n + $i) & 0xffffff; return $s; }
function f5($n) { return f6($n) + 1; }
function f4($n) { return f5($n) + 1; }
function f1($n) { return f4($n) + 1; }
function sum() { $s = 0; for ($i = 0; $i < 2000; $i++) $s += f1($i); return $s; }

$end = microtime(true) + (float)$argv[1];
$all = 0;
while (microtime(true) < $end)
	$all += sum();
echo $all, "\n";
