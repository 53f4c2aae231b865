# SPDX-License-Identifier: MIT
# Code that is made again and again: perl_churn.pl LEAVES SECONDS
#
# Each turn makes functions with the next of 64 names, at the next of 64 lines of the next of 64 files, which call the leaf of
# that name (perl_leaves.c): one that is defined again and again, a closure, a method of a package that is deleted, while it
# runs, too, functions that lose their names while they run, or are undefined afterwards, evaluated code itself, and functions of
# sort that are replaced. What was there before is freed.
use strict;
use warnings;
no warnings qw(redefine once);
use DynaLoader ();
use Symbol     ();

my ($library, $seconds) = @ARGV;
my $handle = DynaLoader::dl_load_file($library, 0) or die DynaLoader::dl_error();
my $boot   = DynaLoader::dl_find_symbol($handle, "boot_leaves") or die;
DynaLoader::dl_install_xsub("Leaves::boot", $boot)->();
my @names = map { sprintf "leaf_%o%o", $_ >> 3, $_ & 7 } 0 .. 63;

# Evaluates text at the line of a leaf, in its file.
sub made {
    my ($k, $text) = @_;
    my $result = eval sprintf qq{#line %d "/churn/%s.pl"\n%s}, 100 + $k, $names[$k], $text;
    die $@ if $@;
    return $result;
}

for (my $turn = 0; (times)[0] < $seconds; $turn++) {
    no strict 'refs';
    my $k    = $turn % 64;
    my $name = $names[$k];
    my $leaf = "Leaves::$name(20000)";

    made($k, "sub redefined { $leaf; 1 } 1");
    redefined();
    my $f = made($k, "my \$k = $k; sub { $leaf; \$k }");
    $f->();
    $f = undef;
    made($k, "package P_$name; sub call_$name { $leaf; 1 } 1");
    &{"P_${name}::call_$name"}();
    Symbol::delete_package("P_$name");
    made($k, "package Q_$name; sub call_$name { Symbol::delete_package('Q_$name'); $leaf; 1 } 1");
    &{"Q_${name}::call_$name"}();
    made($k, "package R_$name; sub call_$name { %R_${name}:: = (); $leaf; 1 } 1");
    &{"R_${name}::call_$name"}();
    Symbol::delete_package("R_$name");
    made($k, "sub gone_$name { delete \$main::{gone_$name}; $leaf; 1 } 1");
    &{"gone_$name"}();
    made($k, "sub undefined_$name { $leaf; 1 } 1");
    &{"undefined_$name"}();
    undef &{"undefined_$name"};
    delete $main::{"undefined_$name"};
    eval "\n" x (99 + $k) . "$leaf; 1" or die $@;
    made($k, "*order = sub { $leaf; 0 }");
    my @sorted = sort order 1, 2;
    made($k, "sub order_$name { *order_$name = sub { 1 }; $leaf; 0 } 1");
    my $order = "order_$name";
    @sorted = sort $order 1, 2;
    delete $main::{$order};
}
