-- SPDX-License-Identifier: MIT
-- A chain of small functions, strings and a sort, for as many seconds of CPU time as the argument says.
local function f6(n) local s = 0 for i = 1, 20 do s = (s * 31 + n + i) % 16777216 end return s end
local function f5(n) return f6(n) + 1 end
local function f4(n) return f5(n) + 1 end
local function f1(n) return f4(n) + 1 end
local stop, sum, texts = os.clock() + tonumber(arg[1]), 0, {}

while os.clock() < stop do
	for i = 1, 2000 do
		sum = sum + f1(i)
		texts[i % 50 + 1] = tostring(sum)
	end
	table.sort(texts)
end
print(sum)
