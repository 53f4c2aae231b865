# SPDX-License-Identifier: MIT
# Random call trees of Ruby's methods and blocks: ruby_tree.rb LEAVES OUT SEED SECONDS THREADS [TURNS [ENOUGH]]
#
# Each of 64 paths ends in a native function of its own, in the library LEAVES (python_leaves.c). The
# methods of a path call each other in a random one of the ways below. A first run writes each path
# to OUT, as the interpreter itself has its frames, and then the same calls are made for some
# SECONDS, and until the file ENOUGH is there, by some THREADS at once (0: by the first one). A leaf takes so many TURNS of
# its loop.
require "fiddle"
require "json"

# How one method calls the next: its lines.
LINKS = {
  "plain" => ["return %{nxt}(n)"],
  "lines" => ["x = [", "  n,", "  0]", "return %{nxt}(", "  x", "    .first", ")"],
  "while" => ["i = 0", "while i < 2", "  i += 1", "  r = %{nxt}(n) if i == 2", "end", "r"],
  "each" => ["[n].each do |v|", "  %{nxt}(v)", "end"],
  "map" => ["[n].map { |v| %{nxt}(v) }.first"],
  "sort_by" => ["[n].sort_by { |v| %{nxt}(v); 1 }"],
  "sort" => ["[2, 1].sort { |a, b| %{nxt}(n); a <=> b }"],
  "times" => ["1.times { %{nxt}(n) }"],
  "upto" => ["1.upto(1) { |v| %{nxt}(n) }"],
  "inject" => ["[1, 2].inject { |a, b| %{nxt}(n); a }"],
  "slice" => ["[1, 2].each_slice(2) { |v| %{nxt}(n) }"],
  "index" => ["[1].each_with_index { |v, i| %{nxt}(n) }"],
  "hash_each" => ["{1 => 2}.each { |k, v| %{nxt}(n) }"],
  "group" => ["[1].group_by { |v| %{nxt}(n) }"],
  "array_new" => ["Array.new(1) { %{nxt}(n) }"],
  "hash_new" => ["Hash.new { |h, k| %{nxt}(n) }[1]"],
  "loop" => ["loop do", "  %{nxt}(n)", "  break", "end"],
  "catch" => ["catch(:u) { %{nxt}(n); throw :u }"],
  "proc" => ["u = proc { |v| %{nxt}(v) }", "u.call(n)"],
  "lambda" => ["u = ->(v) { %{nxt}(v) }", "u.(n)"],
  "curry" => ["->(a, b) { %{nxt}(n) }.curry[1][2]"],
  "compose" => ["(->(v) { v } >> ->(v) { %{nxt}(v) }).call(n)"],
  "method" => ["method(:%{nxt}).call(n)"],
  "to_proc" => ["[n].each(&method(:%{nxt}))"],
  "yield" => ["def self.u_yield_%{nxt}(n)", "  yield n", "end", "u_yield_%{nxt}(n) { |v| %{nxt}(v) }"],
  "block" => ["def self.u_block_%{nxt}(n, &b)", "  b.call(n)", "end", "u_block_%{nxt}(n) { |v| %{nxt}(v) }"],
  "define_method" => ["u = Class.new { define_method(:u_m) { |v| T.%{nxt}(v) } }", "u.new.u_m(n)"],
  "missing" => ["u = Class.new do", "  def method_missing(name, *a)", "    T.%{nxt}(*a)", "  end", "end", "u.new.whatever(n)"],
  "send" => ["T.send(:%{nxt}, n)"],
  "public_send" => ["T.public_send(:%{nxt}, n)"],
  "splat" => ["%{nxt}(*[n])"],
  "super" => ["u = Class.new { def u_s(n) = T.%{nxt}(n) }", "v = Class.new(u) { def u_s(n) = super }", "v.new.u_s(n)"],
  "instance_eval" => ["Object.new.instance_eval { T.%{nxt}(n) }"],
  "instance_exec" => ["Object.new.instance_exec(n) { |v| T.%{nxt}(v) }"],
  "class_exec" => ["Class.new.class_exec { T.%{nxt}(n) }"],
  "initialize" => ["u = Class.new do", "  def initialize(n)", "    T.%{nxt}(n)", "  end", "end", "u.new(n)"],
  "eval" => ["eval(\"\\n\\nT.%{nxt}(n)\", binding, \"/made/eval_%{path}.rb\", 7)"],
  "class_eval" => ["u = Class.new", "u.class_eval(\"def self.u_c(n)\\n  T.%{nxt}(n)\\nend\", \"/made/class_%{path}.rb\", 3)",
                   "u.u_c(n)"],
  "rescue" => ["begin", "  raise KeyError", "rescue KeyError", "  %{nxt}(n)", "end"],
  "rescue_modifier" => ["(Integer('x') rescue %{nxt}(n))"],
  "ensure" => ["begin", "  n", "ensure", "  %{nxt}(n)", "end"],
  "ensure_raised" => ["begin", "  begin", "    raise 'u'", "  ensure", "    %{nxt}(n)", "  end", "rescue RuntimeError", "  n", "end"],
  "retry" => ["u = 0", "begin", "  u += 1", "  raise 'u' if u == 1", "  %{nxt}(n)", "rescue RuntimeError", "  retry", "end"],
  "raised_in_block" => ["begin", "  [1].each { |v| [1].each { raise 'u' } }", "rescue RuntimeError", "  [n].each { |v| %{nxt}(v) }",
                        "end"],
  "next_break" => ["[1, 2].each do |v|", "  next if v == 1", "  %{nxt}(n)", "  break", "end"],
  "coerce" => ["u = Class.new do", "  def coerce(o)", "    T.%{nxt}(1)", "    [1, 1]", "  end", "end", "1 + u.new"],
  "to_s" => ["u = Class.new do", "  def to_s", "    T.%{nxt}(1)", "    'u'", "  end", "end", "\"a\#{u.new}\""],
  "equal" => ["u = Class.new do", "  def ==(o)", "    T.%{nxt}(1)", "    true", "  end", "end", "[u.new].include?(u.new)"],
  "compare" => ["u = Class.new do", "  include Comparable", "  def <=>(o)", "    T.%{nxt}(1)", "    0", "  end", "end",
                "u.new < u.new"],
  "hash" => ["u = Class.new do", "  def hash", "    T.%{nxt}(1)", "    1", "  end", "end", "{u.new => 1}"],
  "enumerable" => ["u = Class.new do", "  include Enumerable", "  def each", "    yield T.%{nxt}(1)", "  end", "end", "u.new.to_a"],
  "enumerable_map" => ["u = Class.new do", "  include Enumerable", "  def each", "    yield 1", "  end", "end",
                       "u.new.map { |v| %{nxt}(n) }"],
  "case" => ["u = Class.new { def ===(o) = T.%{nxt}(1) }", "case n", "when u.new then 1", "end"],
  "to_proc_symbol" => ["u = Class.new { def u_y = T.%{nxt}(1) }", "[u.new].each(&:u_y)"],
  "gsub" => ["'u'.gsub(/u/) { %{nxt}(n); 'v' }"],
  "tap" => ["n.tap { |v| %{nxt}(v) }"],
  "then" => ["n.then { |v| %{nxt}(v) }"],
  "inherited" => ["u = Class.new { def self.inherited(c) = T.%{nxt}(1) }", "Class.new(u)"],
  "method_added" => ["u = Class.new { def self.method_added(m) = T.%{nxt}(1) }", "u.class_eval { def u_z = 1 }"],
  "const_missing" => ["u = Module.new { def self.const_missing(c) = T.%{nxt}(1) }", "u::WHATEVER"],
  "respond_to" => ["u = Class.new { def respond_to_missing?(*a) = T.%{nxt}(1) }", "u.new.respond_to?(:u_r)"],
  "struct" => ["Struct.new(:a) { def u_t = T.%{nxt}(a) }.new(n).u_t"],
  "enumerator" => ["u = Enumerator.new { |y| y << T.%{nxt}(n) }", "u.next"],
  "enumerator_each" => ["u = Enumerator.new { |y| y << T.%{nxt}(n) }", "u.each { |v| v }"],
  "external" => ["u = [1].each", "u.next", "%{nxt}(n)"],
  "lazy" => ["[n].lazy.map { |v| %{nxt}(v) }.first(1)"],
  "fiber" => ["Fiber.new { %{nxt}(n) }.resume"],
  "fiber_twice" => ["u = Fiber.new do", "  Fiber.yield 1", "  %{nxt}(n)", "end", "u.resume", "u.resume"],
  "recursion" => ["u = ->(d) { d > 0 ? u.(d - 1) : %{nxt}(n) }", "u.(5)"],
  "recursive" => ["def self.u_rec_%{nxt}(d, n)", "  d > 0 ? u_rec_%{nxt}(d - 1, n) : %{nxt}(n)", "end", "u_rec_%{nxt}(7, n)"],
  "arguments" => ["def self.u_arg_%{nxt}(a, b = 2, *c, d: 4, **e, &f)", "  %{nxt}(a)", "end", "u_arg_%{nxt}(n, 1, 2, d: 3, z: 4) { }"],
  "redefined" => ["def self.u_re_%{nxt}(n) = 1", "u_re_%{nxt}(n)", "def self.u_re_%{nxt}(n) = %{nxt}(n)", "u_re_%{nxt}(n)"],
  "optional" => ["def self.u_o_%{nxt}(a = 1, b = T.%{nxt}(a))", "  b", "end", "u_o_%{nxt}(n)"],
  "closure" => ["Fiddle::Closure::BlockCaller.new(Fiddle::TYPE_LONG, [Fiddle::TYPE_LONG]) { |v| T.%{nxt}(v); 1 }.then do |u|",
                "  Fiddle::Function.new(u, [Fiddle::TYPE_LONG], Fiddle::TYPE_LONG).call(n)", "end"],
  "load" => ["load(LOADS[%{path}] = T.u_file(%{path}, '%{nxt}'))"],
  "pattern" => ["case {a: n}", "in {a: Integer => v}", "  %{nxt}(v)", "end"],
  "array_hash" => ["[[2, 1], [1, 2]].to_h { |a, b| %{nxt}(n); [a, b] }"],
  "large" => ["a, b, c, d, e, f, g, h, i, j = *1..10", "z = [a, [b, [c, [d, [e, [f, [g, [h, [i, [j, %{nxt}(n)]]]]]]]]]]", "z"],
  "far" => (["x = 0"] + ["x += 1 if n == 17"] * 120 + ["%{nxt}(n)", "x"]),
}.freeze
# Ways that only the first thread has.
ALONE = {
  "signal" => ["trap('USR1') { T.%{nxt}(n) }", "Process.kill('USR1', $$); i = 0; i += 1 while i < 100",
               "trap('USR1', 'IGNORE')"],
  "trace" => ["u = TracePoint.new(:c_call) do |t|", "  u.disable", "  T.%{nxt}(n)", "end", "u.enable", "'u'.upcase"],
  "class_body" => ["u = Class.new { def self.inherited(c) = T.%{nxt}(1) }", "T.u_base(u)",
                   "T.module_eval('class U_%{path} < BASE; end; remove_const(:U_%{path})', '/made/body_%{path}.rb', 1)"],
}.freeze

LIBRARY, OUT, SEED, SECONDS, THREADS, TURNS, ENOUGH = ARGV.values_at(0, 1, 2, 3, 4, 5, 6)
NAMES = (0...64).map { |i| "leaf_#{i / 8}#{i % 8}" }
LEAVES = Fiddle.dlopen(LIBRARY).then do |library|
  NAMES.map { |name| Fiddle::Function.new(library[name], [Fiddle::TYPE_LONG], Fiddle::TYPE_VOID) }
end
TRUTH, KINDS, LOADS = {}, {}, {}
$learns = true

# The methods of all paths.
module T
  BASE = Class.new

  def self.u_base(c)
    remove_const(:BASE)
    const_set(:BASE, c)
  end

  def self.u_file(path, name)
    file = "#{OUT}.#{path}.rb"
    File.write(file, "\n\nT.#{name}(1)\n") unless LOADS[path]
    file
  end
end

# Names and lines of the thread's frames that are not of C functions, root first, from Ruby's own
# function for profilers.
module Frames
  HANDLE, LONG, POINTER = Fiddle::Handle::DEFAULT, Fiddle::TYPE_LONG, Fiddle::TYPE_VOIDP
  MOST = 2000
  OBJECTS, LINES = Fiddle::Pointer.malloc(8 * MOST), Fiddle::Pointer.malloc(4 * MOST)

  def self.function(name, arguments, result)
    Fiddle::Function.new(HANDLE[name], arguments, result, need_gvl: true)
  end

  ALL = function("rb_profile_frames", [Fiddle::TYPE_INT, Fiddle::TYPE_INT, POINTER, POINTER], Fiddle::TYPE_INT)
  NAME = function("rb_profile_frame_base_label", [LONG], LONG)
  FILE = function("rb_profile_frame_path", [LONG], LONG)

  # C functions have no line.
  def self.now
    n = ALL.call(0, MOST, OBJECTS, LINES)
    frames = OBJECTS[0, 8 * n].unpack("q*").zip(LINES[0, 4 * n].unpack("l*")).reject { |_, line| line == 0 }
    frames.map { |frame, line| [Fiddle.dlunwrap(NAME.call(frame)), line, Fiddle.dlunwrap(FILE.call(frame))] }.reverse
  end
end

# That function takes a block, or an eval, for the method around it. Locations have their names and
# files, but they also have C functions, with the lines of their callers.
def learn(path)
  frames = Frames.now
  frames.pop until frames.last[0].start_with?("f_")
  shown = caller_locations(1).reverse.select do |location|
    name, line, file = frames.first
    frames.shift if location.base_label == name && location.lineno == line && (location.path == file || name.start_with?("f_"))
  end
  raise "frames without locations: #{frames}" unless frames.empty?
  TRUTH[NAMES[path]] = shown.map { |l| [l.label, l.absolute_path || l.path, l.lineno] }
end

def make(path, chance, alone)
  links = alone ? LINKS.merge(ALONE) : LINKS
  kinds = Array.new(chance.rand(2..12)) { links.keys[chance.rand(links.size)] }
  kinds = kinds.each_with_index.reject { |k, i| (ALONE.key?(k) || k == "load") && kinds.index(k) != i }.map(&:first)
  lines = []
  kinds.each_with_index do |kind, i|
    lines += [""] * chance.rand(0..3) + ["def self.f_#{path}_#{i}(n)"]
    lines += links[kind].map { |line| "  " + line.gsub("%{nxt}", "f_#{path}_#{i + 1}").gsub("%{path}", path.to_s) }
    lines += ["end"]
  end
  lines += ["def self.f_#{path}_#{kinds.size}(n)", "  $learns ? learn(#{path}) : LEAVES[#{path}].call($turns)", "end"]
  T.module_eval(lines.join("\n"), "/made/path_#{path}.rb", 1)
  KINDS[NAMES[path]] = kinds
  :"f_#{path}_0"
end

def run_all(roots, finish)
  loop do
    roots.each { |root| T.send(root, 1) }
    break if Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) >= finish && ($learns || !ENOUGH || File.exist?(ENOUGH))
  end
end

chance, threads = Random.new(SEED.to_i), THREADS.to_i
roots = (0...64).map { |path| make(path, chance, threads == 0) }
$turns = 1
run_all(roots, 0)
File.write(OUT, JSON.dump("paths" => TRUTH, "links" => KINDS))
$learns = false
$turns = (TURNS || "100000").to_i
finish = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + SECONDS.to_f
if threads == 0
  run_all(roots, finish)
else
  (0...threads).map do |i|
    Thread.new { run_all(roots.select.with_index { |_, j| j % threads == i }, finish) }
  end.each(&:join)
end
