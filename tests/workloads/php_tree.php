<?php
// SPDX-License-Identifier: MIT
// Random call trees of PHP's functions: php -d ffi.enable=1 php_tree.php LEAVES OUT SEED SECONDS [TURNS]
//
// Each of 64 paths ends in a native function of its own, in the library LEAVES (python_leaves.c). The functions of a
// path call each other in a random one of the ways below. A first run writes each path to OUT, as debug_backtrace()
// has it, and then the same calls are made for some SECONDS of CPU time. A leaf takes so many TURNS of its loop.
declare(strict_types=1);

// How one function calls the next, NEXT: its lines. PATH is the number of the path, ID one of the function.
const LINKS = [
    'plain' => ['return NEXT($n);'],
    'lines' => ['$x = [', '  $n,', '  0];', 'return NEXT(', '  max(', '    $x', '  )', ');'],
    'while' => ['$i = 0;', 'while ($i++ < 2) {', '  $r = $i == 2 ? NEXT($n) : 0;', '}', 'return $r;'],
    'foreach' => ['foreach ([$n] as $v) {', '  NEXT($v);', '}'],
    'array_map' => ['return array_map(fn($v) => NEXT($v), [$n]);'],
    'array_map_name' => ["return array_map('NEXT', [\$n]);"],
    'array_map_two' => ['array_map(function ($a, $b) {', '  return NEXT($a);', '}, [$n], [2]);'],
    'array_filter' => ['array_filter([$n], function ($v) {', '  NEXT($v);', '  return true;', '});'],
    'array_walk' => ['$a = [$n];', 'array_walk($a, fn(&$v, $k) => NEXT($v));'],
    'array_walk_recursive' => ['$a = [[$n]];', 'array_walk_recursive($a, function (&$v, $k) { NEXT($v); });'],
    'array_reduce' => ['return array_reduce([$n], fn($a, $v) => NEXT($v));'],
    'usort' => ['$a = [2, 1];', 'usort($a, function ($x, $y) use ($n) {', '  NEXT($n);', '  return $x <=> $y;', '});'],
    'uksort' => ['$a = [2 => 1, 1 => 2];', 'uksort($a, fn($x, $y) => NEXT($n) ? 1 : 0);'],
    'udiff' => ['array_udiff([1], [2], function ($x, $y) use ($n) { NEXT($n); return $x <=> $y; });'],
    'preg' => ["preg_replace_callback('/u/', function (\$m) use (\$n) {", '  NEXT($n);', "  return 'v';", "}, 'u');"],
    'preg_array' => ["preg_replace_callback_array(['/u/' => fn(\$m) => gettype(NEXT(\$n))], 'u');"],
    'call_user_func' => ["return call_user_func('NEXT', \$n);"],
    'call_user_func_array' => ["return call_user_func_array('NEXT', [\$n]);"],
    'variable' => ["\$f = 'NEXT';", 'return $f($n);'],
    'callable_array' => ['class ID { function m($n) { return NEXT($n); } }', '---', '$f = [new ID, "m"];', 'return $f($n);'],
    'callable_static' => ['class ID { static function m($n) { return NEXT($n); } }', '---', "return call_user_func('ID::m', \$n);"],
    'first_class' => ['$f = NEXT(...);', 'return $f($n);'],
    'from_callable' => ["\$f = Closure::fromCallable('NEXT');", 'return array_map($f, [$n]);'],
    'closure' => ['$f = function ($v) {', '  return NEXT($v);', '};', 'return $f($n);'],
    'static_closure' => ['$f = static fn($v) => NEXT($v);', 'return $f($n);'],
    'closure_in_method' => ['class ID {', '  function m($n) {', '    return (function ($v) {', '      return NEXT($v);', '    })($n);',
                            '  }', '}', '---', 'return (new ID)->m($n);'],
    'closure_bound' => ['class ID { private $v = 1; }', '---', '$f = function ($n) { return NEXT($n + $this->v - 1); };',
                        'return Closure::bind($f, new ID, ID::class)($n);'],
    'closure_call' => ['class ID { }', '---', 'return (function ($n) { return NEXT($n); })->call(new ID, $n);'],
    'closure_freed' => ['$f = fn($v) => (fn($w) => NEXT($w))($v);', 'return $f($n);'],
    'method' => ['class ID { function m($n) {', '  return NEXT($n);', '} }', '---', 'return (new ID)->m($n);'],
    'static' => ['class ID { static function m($n) { return static::k($n); }', '  static function k($n) { return NEXT($n); } }', '---',
                 'return ID::m($n);'],
    'parent' => ['class ID_p { function m($n) { return NEXT($n); } }', 'class ID extends ID_p {', '  function m($n) {',
                 '    return parent::m($n);', '  }', '}', '---', 'return (new ID)->m($n);'],
    'trait' => ['trait ID_t { function m($n) { return NEXT($n); } }', 'class ID { use ID_t; }', '---', 'return (new ID)->m($n);'],
    'anonymous' => ['$o = new class { function m($n) { return NEXT($n); } };', 'return $o->m($n);'],
    'enum' => ['enum ID { case A; function m($n) { return NEXT($n); } }', '---', 'return ID::A->m($n);'],
    'call' => ['class ID { function __call($k, $a) { return NEXT(...$a); } }', '---', 'return (new ID)->whatever($n);'],
    'call_static' => ['class ID { static function __callStatic($k, $a) { return NEXT($a[0]); } }', '---', 'return ID::whatever($n);'],
    'call_mapped' => ['class ID { function __call($k, $a) { return NEXT(...$a); } }', '---', 'return array_map([new ID, "u"], [$n]);'],
    'get' => ['class ID { function __get($k) { return NEXT(1); } }', '---', 'return (new ID)->whatever;'],
    'set' => ['class ID { function __set($k, $v) { NEXT($v); } }', '---', '$o = new ID;', '$o->whatever = $n;'],
    'isset' => ['class ID { function __isset($k) { NEXT(1); return true; } }', '---', 'return isset((new ID)->whatever);'],
    'unset' => ['class ID { function __unset($k) { NEXT(1); } }', '---', '$o = new ID;', 'unset($o->whatever);'],
    'to_string' => ['class ID { function __toString(): string { NEXT(1); return "u"; } }', '---', 'return "a" . new ID;'],
    'invoke' => ['class ID { function __invoke($n) { return NEXT($n); } }', '---', 'return (new ID)($n);'],
    'invoke_mapped' => ['class ID { function __invoke($n) { return NEXT($n); } }', '---', 'return array_map(new ID, [$n]);'],
    'construct' => ['class ID {', '  function __construct($n) {', '    NEXT($n);', '  }', '}', '---', 'new ID($n);'],
    'destruct' => ['class ID { function __destruct() { NEXT(1); } }', '---', '$o = new ID;', '$o = null;', 'return 1;'],
    'destruct_local' => ['class ID { function __destruct() { NEXT(1); } }', 'function u_ID() { $o = new ID; return 1; }', '---',
                         '$x = 1;', '$r = u_ID();', 'return $r;'],
    'destruct_method' => ['class ID_d { function __destruct() { NEXT(1); } }', 'class ID { function m() {', '  $o = new ID_d;', '  return 1;', '} }', '---',
                          'array_map([new ID, "m"], [1]);'],
    'destruct_cycle' => ['class ID { public $o; function __destruct() { NEXT(1); } }', '---', '$o = new ID;', '$o->o = $o;', '$o = null;',
                         'gc_collect_cycles();'],
    'clone' => ['class ID { function __clone() { NEXT(1); } }', '---', 'return clone new ID;'],
    'serialize' => ['class ID { function __serialize(): array { NEXT(1); return []; } }', '---', 'return serialize(new ID);'],
    'unserialize' => ['class ID { function __unserialize(array $a): void { NEXT(1); } }', '---', 'return unserialize(\'O:\' . strlen("ID") . \':"ID":0:{}\');'],
    'json' => ['class ID implements JsonSerializable { function jsonSerialize(): mixed { return NEXT(1); } }', '---',
               'return json_encode([new ID]);'],
    'offset_get' => ['class ID extends ArrayObject { function offsetGet(mixed $k): mixed { return NEXT($k); } }', '---', 'return (new ID)[1];'],
    'array_access' => ['class ID implements ArrayAccess {', '  function offsetGet(mixed $k): mixed { return NEXT($k); }',
                       '  function offsetSet(mixed $k, mixed $v): void { }', '  function offsetExists(mixed $k): bool { return true; }',
                       '  function offsetUnset(mixed $k): void { } }', '---', 'return (new ID)[1];'],
    'count' => ['class ID implements Countable { function count(): int { NEXT(1); return 1; } }', '---', 'return count(new ID);'],
    'aggregate' => ['class ID implements IteratorAggregate { function getIterator(): Iterator {', '  NEXT(1);', '  return new ArrayIterator([1]);',
                    '} }', '---', 'foreach (new ID as $v) { }'],
    'iterator' => ['class ID implements Iterator { private $i = 0;', '  function current(): mixed { return NEXT(1); }',
                   '  function key(): mixed { return 1; }', '  function next(): void { $this->i++; }', '  function rewind(): void { $this->i = 0; }',
                   '  function valid(): bool { return $this->i < 1; } }', '---', 'foreach (new ID as $v) {', '  $r = $v;', '}'],
    'iterator_to_array' => ['return iterator_to_array(new CallbackFilterIterator(new ArrayIterator([$n]), fn($v) => NEXT($v) || true));'],
    'iterator_apply' => ['$i = new ArrayIterator([1]);', 'iterator_apply($i, function () use ($n) { NEXT($n); return true; });'],
    'heap' => ['class ID extends SplMinHeap { function compare($a, $b): int { NEXT(1); return 0; } }', '---', '$h = new ID;', '$h->insert(1);',
               '$h->insert(2);'],
    'generator' => ['function u_ID($n) {', '  yield 1;', '  yield NEXT($n);', '}', '---', 'foreach (u_ID($n) as $v) { }'],
    'generator_send' => ['function u_ID($n) { $x = yield 1; NEXT($x); }', '---', '$g = u_ID($n);', '$g->current();', '$g->send($n);'],
    'generator_array' => ['function u_ID($n) { yield NEXT($n); }', '---', 'return iterator_to_array(u_ID($n));'],
    'generator_finally' => ['function u_ID($n) { try { yield 1; yield 2; } finally { NEXT($n); } }', '---', '$g = u_ID($n);', '$g->current();',
                            '$g = null;', '$x = 1;'],
    'generator_throw' => ['function u_ID($n) { try { yield 1; } catch (Exception $e) { yield NEXT($n); } }', '---', '$g = u_ID($n);', '$g->current();',
                          '$g->throw(new Exception);'],
    'generator_closure' => ['$g = (function () use ($n) {', '  yield 1;', '  NEXT($n);', '})();', '$g->next();', '$g->next();'],
    'yield_from' => ['function u_ID($n) { yield 1; yield NEXT($n); }', 'function u_delegate_ID($n) { yield from u_ID($n); }', '---',
                     'foreach (u_delegate_ID($n) as $v) { }'],
    'yield_from_array' => ['function u_ID($n) { yield from [1, 2]; yield NEXT($n); }', '---', 'foreach (u_ID($n) as $v) { }'],
    'include' => ['return include FILE;'],
    'require' => ['$v = require(', '  FILE', ');', 'return $v;'],
    'eval' => ['return eval("\n\nreturn NEXT(\$n);");'],
    'eval_function' => ["\$f = eval('return function (\$n) {' . \"\\n\" . 'return NEXT(\$n); };');", 'return $f($n);'],
    'catch' => ['try {', "  throw new Exception('u');", '} catch (Exception $e) {', '  return NEXT($n);', '}'],
    'finally' => ['try {', '  return 1;', '} finally {', '  NEXT($n);', '}'],
    'finally_thrown' => ['try {', '  try {', "    throw new Exception('u');", '  } finally {', '    NEXT($n);', '  }', '} catch (Exception $e) {', '}'],
    'thrown_below' => ["function u_ID() { throw new Exception('u'); }", '---', 'try {', '  array_map(fn() => u_ID(), [1]);', '} catch (Exception $e) {',
                       '  return NEXT($n);', '}'],
    'thrown_deep' => ["function u_ID(\$d) { if (\$d) u_ID(\$d - 1); else throw new Exception('u'); }", '---', 'try { u_ID(9); }', 'catch (Exception) { }',
                      'return NEXT($n);'],
    'destruct_thrown' => ['class ID { function __destruct() { NEXT(1); } }', "function u_ID() { \$o = new ID; throw new Exception('u'); }", '---', 'try {',
                          '  u_ID();', '} catch (Exception $e) {', '}'],
    'error_handler' => ['set_error_handler(function ($k, $s) use ($n) {', '  NEXT($n);', '  return true;', '});', "trigger_error('u');", 'restore_error_handler();'],
    'error_notice' => ['set_error_handler(fn($k, $s) => NEXT($n) || true);', '$u = [];', '$v = $u[17];', 'restore_error_handler();'],
    'autoload' => ['spl_autoload_register($f = function ($c) { NEXT(1); });', "class_exists('NotThere_ID');", 'spl_autoload_unregister($f);'],
    'ob' => ['ob_start(function ($s) use ($n) { NEXT($n); return ""; });', 'ob_end_flush();'],
    'reflection' => ["return (new ReflectionFunction('NEXT'))->invoke(\$n);"],
    'reflection_new' => ['class ID { function __construct($n) { NEXT($n); } }', '---', 'return (new ReflectionClass("ID"))->newInstance($n);'],
    'default' => ['class ID { function __construct(public $n = 1) { NEXT($n); } }', 'function u_ID($o = new ID) { return $o; }', '---', 'return u_ID();'],
    'match' => ['return match (true) {', '  $n > 100 => 1,', '  default => NEXT($n),', '};'],
    'coalesce' => ['$a = [];', 'return $a["u"] ?? NEXT($n);'],
    'reference' => ['function &u_ID(&$a) { NEXT($a); return $a; }', '---', '$v = $n;', '$w = &u_ID($v);'],
    'named' => ['function u_ID($a, $b = 2, ...$c) { return NEXT($a); }', '---', 'return u_ID(b: 3, a: $n);'],
    'variadic' => ['function u_ID(...$a) { return NEXT(...$a); }', '---', 'return u_ID(...[$n]);'],
    'extra' => ['function u_ID($a) { return NEXT(func_get_args()[0]); }', '---', 'return u_ID($n, 2, 3, 4);'],
    'typed' => ['function u_ID(int $a, ?string $b = null, int ...$c): ?int {', '  NEXT($a);', '  return null;', '}', '---', 'return u_ID($n, "u", 1, 2);'],
    'recursion' => ['function u_ID($d, $n) { return $d > 0', '  ? u_ID($d - 1, $n)', '  : NEXT($n); }', '---', 'return u_ID(7, $n);'],
    'recursion_deep' => ['function u_ID($d, $n) { return $d > 0 ? u_ID($d - 1, $n) : NEXT($n); }', '---', 'return u_ID(60, $n);'],
    'recursion_mapped' => ['$f = function ($d) use (&$f, $n) { return $d > 0 ? array_map($f, [$d - 1]) : NEXT($n); };', '$f(5);', '$f = null;'],
    'many_locals' => ['$a = range(1, 40);', '[$b, $c, $d, $e, $f, $g, $h] = $a;', 'return [$a, [$b, [$c, [$d, [$e, [$f, [$g, NEXT($h)]]]]]]];'],
    'static_variable' => ['static $v = 0;', '$v++;', 'return NEXT($n);'],
    'fiber' => ['$f = new Fiber(function () use ($n) {', '  NEXT($n);', '});', '$f->start();'],
    'fiber_resumed' => ['$f = new Fiber(function ($n): void {', '  $n = Fiber::suspend(1);', '  NEXT($n);', '});', '$f->start($n);', '$f->resume($n);'],
    'fiber_nested' => ['$f = new Fiber(function () use ($n) {', '  $g = new Fiber(fn() => Fiber::suspend(1) && NEXT($n));', '  $g->start();', '  $g->resume(1);', '});', '$f->start();'],
    'fiber_beside' => ['$f = new Fiber(function () { array_map(fn($v) => Fiber::suspend($v), [1]); });', '$f->start();', 'NEXT($n);', '$f->resume(1);'],
    'qsort' => ['return qsort(fn($a, $b) => NEXT($n) ? 1 : 0);'],
    'switch' => ['switch ($n) {', '  case 17: return 1;', '  default:', '    NEXT($n);', '}'],
    'concat' => ['return "a{$n}" . gettype(NEXT($n)) . "b";'],
    'far' => ['$x = 0;', '$x += $n == 17 ? 1 : 0;', '', '', '', '', '', '', '', '', '', 'NEXT($n);', 'return $x;'],
    'namespaced' => ['return space\ID\u($n);'],
];

[, $library, $out, $seed, $seconds] = $argv;
$turns = (int) ($argv[5] ?? 100000);
$names = [];
for ($i = 0; $i < 64; $i++) {
    $names[] = sprintf('leaf_%d%d', $i >> 3, $i & 7);
}
$leaves = FFI::cdef(implode("\n", array_map(fn($name) => "void $name(long);", $names)), $library);
$c = FFI::cdef('void qsort(void *, size_t, size_t, int (*)(const void *, const void *));', 'libc.so.6');
$learns = true;
$truth = $kinds = [];
mt_srand((int) $seed);

function qsort($f)
{
    global $c;
    static $two;
    $two ??= FFI::new('int[2]');
    $c->qsort(FFI::addr($two), 2, 4, $f);
}

// Returns whether a line can be a function's. PHP gives that of another one if an exception was thrown since an object
// was destroyed on the way of one.
function is_within($line, $function)
{
    if (!str_starts_with($function, 'f_')) {
        return true;
    }
    $of = new ReflectionFunction($function);
    return $line >= $of->getStartLine() && $line <= $of->getEndLine();
}

// Names, files and lines of the functions of a path, root first. An entry has the place of the call, which is in the
// function of the entry below; what a file includes, and what is evaluated, are functions, too. A fiber begins a path.
function learn($path)
{
    global $truth, $names;
    $shown = [];
    $entries = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
    foreach ($entries as $i => $entry) {
        if (($entry['class'] ?? '') === 'Fiber') {
            break;
        }
        if (!isset($entry['file'])) {
            continue;
        }
        $in = $entries[$i + 1] ?? ['function' => 'include'];
        $is_file = !isset($in['class']) && in_array($in['function'], ['include', 'require', 'eval']);
        $class = isset($in['class']) ? explode("\0", $in['class'])[0] . '::' : '';
        if ($class !== 'FFI::' && !str_contains($in['function'], 'u_delegate_')) {
            $line = is_within($entry['line'], $in['function']) ? $entry['line'] : 0;
            array_unshift($shown, [$is_file ? '{main}' : $class . $in['function'], $entry['file'], $line]);
        }
    }
    $truth[$names[$path]] = $shown;
    return 1;
}

// Ways for a path. PHP lets no fiber begin while it destroys an object, or writes what was buffered.
function choose($count)
{
    $chosen = [];
    while (count($chosen) < $count) {
        $kind = array_rand(LINKS);
        $stops = implode(' ', $chosen);
        if (!in_array($kind, $chosen) && !(str_starts_with($kind, 'fiber') && preg_match('/destruct|generator|yield|ob/', $stops))) {
            $chosen[] = $kind;
        }
    }
    return $chosen;
}

function make($path)
{
    global $out, $names, $kinds;
    $text = "<?php\n";
    $chosen = choose(mt_rand(2, 11));
    $kinds[$names[$path]] = $chosen;
    $count = count($chosen);
    foreach ($chosen as $i => $kind) {
        $lines = LINKS[$kind];
        $split = array_search('---', $lines);
        $before = $split === false ? [] : array_slice($lines, 0, $split);
        $lines = $split === false ? $lines : array_slice($lines, $split + 1);
        $file = "$out.{$path}_$i.php";
        $next = "f_{$path}_" . ($i + 1);
        $text .= str_repeat("\n", mt_rand(0, 3));
        $piece = implode("\n", [...$before, "function f_{$path}_$i(\$n) {", ...array_map(fn($line) => '  ' . $line, $lines), '}']) . "\n";
        if ($kind === 'namespaced') {
            file_put_contents("$out.space_{$path}_$i.php", "<?php\nnamespace space\\u_{$path}_$i;\nfunction u(\$n) { return \\$next(\$n); }\n");
            $text .= "require " . var_export("$out.space_{$path}_$i.php", true) . ";\n";
            $piece = str_replace('space\ID', "space\\u_{$path}_$i", $piece);
        }
        file_put_contents($file, "<?php\n\nreturn $next(\$n);\n");
        $text .= str_replace(['NEXT', 'FILE', 'ID', 'PATH'], [$next, var_export($file, true), "c_{$path}_$i", $path], $piece);
    }
    $text .= "function f_{$path}_$count(\$n) {\n  global \$learns, \$leaves, \$turns;\n" .
             "  return \$learns ? learn($path) : \$leaves->{$names[$path]}(\$turns);\n}\n";
    file_put_contents("$out.$path.php", $text);
    require "$out.$path.php";
}

function cpu()
{
    $used = getrusage();
    return $used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec'] + ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']) / 1e6;
}

function run_all($finish)
{
    do {
        for ($path = 0; $path < 64; $path++) {
            "f_{$path}_0"(1);
        }
    } while (cpu() < $finish);
}

for ($path = 0; $path < 64; $path++) {
    make($path);
}
run_all(0);
file_put_contents($out, json_encode(['paths' => $truth, 'links' => $kinds]));
$learns = false;
run_all(cpu() + (float) $seconds);
