// SPDX-License-Identifier: MIT
// A chain of small functions, for as many seconds of CPU time as the argument says.
let sum = 0;
function f6(n) { sum = (sum * 31 + n) | 0; return sum; }
function f5(n) { return f6(n) + 1; }
function f4(n) { return f5(n) + 1; }
function f3(n) { return f4(n) + 1; }
function f2(n) { return f3(n) + 1; }
function f1(n) { return f2(n) + 1; }
function loop() { let s = 0; for (let i = 0; i < 2000; i++) s += f1(i); return s; }

function used() { const { user, system } = process.cpuUsage(); return (user + system) / 1e6; }

const end = used() + Number(process.argv[2]);
let all = 0;
while (used() < end)
	for (let k = 0; k < 100; k++)
		all += loop();
console.log(all);
