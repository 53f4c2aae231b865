<?php
// SPDX-License-Identifier: MIT
// Code that is made again and again: php -d ffi.enable=1 php_churn.php LEAVES FOLDER SECONDS
//
// Each turn makes functions with the next of 64 names, at the next of 64 lines, which call the leaf of that name
// (python_leaves.c): a closure of a file that is included each time, one that is evaluated, a method of a class that is
// evaluated, and the evaluated code itself. What was there before is freed.
[, $library, $folder, $seconds] = $argv;
$names = $leaf = [];
for ($i = 0; $i < 64; $i++) {
    $names[] = sprintf('leaf_%d%d', $i >> 3, $i & 7);
}
$leaves = FFI::cdef(implode("\n", array_map(fn($name) => "void $name(long);", $names)), $library);
foreach ($names as $i => $name) {
    file_put_contents("$folder/$name.php", "<?php\n" . str_repeat("\n", $i) . "return function (\$leaves) {\n  \$leaves->$name(20000);\n};\n");
}

function cpu()
{
    $used = getrusage();
    return $used['ru_utime.tv_sec'] + $used['ru_utime.tv_usec'] / 1e6;
}

$finish = cpu() + (float) $seconds;
for ($turn = 0; cpu() < $finish; $turn++) {
    $k = $turn % 64;
    $name = $names[$k];
    $lines = str_repeat("\n", $k);
    $f = include "$folder/$name.php";
    array_map($f, [$leaves]);
    $f = eval("{$lines}return function (\$leaves) { \$leaves->$name(20000); };");
    $f($leaves);
    $f = null;
    eval("$lines\$leaves->$name(20000);");
    if ($turn < 6400) { // such a class is never freed
        $o = eval("{$lines}return new class { function call_$name(\$leaves) { \$leaves->$name(20000); } };");
        $o->{"call_$name"}($leaves);
    }
}
