# SPDX-License-Identifier: MIT
# Code that is evaluated again and again: ruby_churn.rb LEAVES SECONDS [auto]
#
# Each turn evaluates the same code with the next of 64 names, at the next of 64 lines, which calls the leaf of that
# name (python_leaves.c): a method that is new, one that is defined anew, and an eval. What was there before is freed,
# and all objects are moved together now and then (auto: at each collection).
require "fiddle"

LIBRARY = Fiddle.dlopen(ARGV[0])
NAMES = (0...64).map { |i| "leaf_#{i / 8}#{i % 8}" }
LEAF = NAMES.map { |name| Fiddle::Function.new(LIBRARY[name], [Fiddle::TYPE_LONG], Fiddle::TYPE_VOID) }
GC.auto_compact = true if ARGV[2] == "auto"
finish = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + ARGV[1].to_f

module M
end

turn = 0
while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < finish
  k = turn % 64
  name = NAMES[k]
  M.module_eval("def self.call_#{name}(n)\n LEAF[#{k}].call(n)\nend\ndef self.redefined(n)\n LEAF[#{k}].call(n)\nend\n",
                "/churn/#{name}.rb", 1 + k)
  M.send("call_#{name}", 20000)
  M.redefined(20000)
  eval("LEAF[#{k}].call(20000)", binding, "/churn/a_longer_name_of_a_file_#{name}.rb", 100 + k)
  M.singleton_class.send(:remove_method, "call_#{name}")
  GC.start if turn % 50 == 0
  GC.compact if turn % 97 == 0
  turn += 1
end
