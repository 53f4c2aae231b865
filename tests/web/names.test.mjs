// SPDX-License-Identifier: MIT
// Names as the page shows them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { shortName, shortPath, shortWaker, visible } from "../../web/names.js";

const MANAGED = ["<<", "<=>", "[]=", "block in <main>", "block in <class:P>", "f.<locals>.<lambda>", "A.put(int, B)", "get size"];

const NAMES = {
	"main": "main",
	"ns::process_batch<int, std::allocator<int> >(std::vector<int>&)": "ns::process_batch‹…›",
	"std::enable_if<true, int>::type ns::f<int>(int) const": "ns::f‹…›",
	"unsigned long long sum<double>(double*, int)": "sum‹…›",
	"int* find<int>(int*)": "find‹…›",
	"std::vector<int, std::allocator<int> >::push_back(int const&)": "std::vector‹…›::push_back",
	"std::map<std::string, std::function<int (int)> >::operator[](std::string const&)": "std::map‹…›::operator[]",
	"std::ostream& operator<< <char>(std::ostream&, char)": "operator<< ‹…›",
	"bool operator< <int>(A<int> const&, A<int> const&)": "operator< ‹…›",
	"Foo::operator()(int) const": "Foo::operator()",
	"Foo::operator bool() const": "Foo::operator bool",
	"Foo<int>::operator->() const": "Foo‹…›::operator->",
	"operator new(unsigned long)": "operator new",
	"operator delete[](void*)": "operator delete[]",
	"(anonymous namespace)::helper(int)": "(anonymous)::helper",
	"a::(anonymous namespace)::helper<1>(int)": "a::(anonymous)::helper‹…›",
	"main::{lambda(int, std::vector<int>)#2}::operator()(int, std::vector<int>) const": "main::{lambda#2}::operator()",
	"run(int)::{lambda()#1}::operator()() const": "run::{lambda#1}::operator()",
	"void f<(Kind)1>(int)": "f‹…›",
	"f(void (*)(int), int)": "f",
	"f() [clone .cold]": "f [clone .cold]",
	"work.constprop.0": "work",
	"work.isra.0.cold": "work.cold",
	"int f<int>(std::vector<int>&) [clone .isra.0]": "f‹…›",
	"f(int) [clone .constprop.0] [clone .cold]": "f [clone .cold]",
	"parse (lexer.c)": "parse (lexer.c)",
	"parse [prog+0x1240]": "parse [prog+0x1240]",
	"prog+0x1240": "prog+0x1240",
	// Rust
	"core::ptr::drop_in_place<alloc::vec::Vec<u8>>": "core::ptr::drop_in_place‹…›",
	"<core::iter::Map<I,F> as core::iter::Iterator>::next": "core::iter::Map‹…›::next",
	"<impl fmt::Display for Foo<T>>::fmt": "Foo‹…›::fmt",
	"alloc::vec::Vec<T>::push::h0123456789abcdef": "alloc::vec::Vec‹…›::push",
	"foo::bar::<u8>": "foo::bar::‹…›",
	// other languages
	"net/http.(*conn).serve": "net/http.(*conn).serve",
	"main.Map[go.shape.int,go.shape.string]": "main.Map‹…›",
	"main.main.func1": "main.main.func1",
	"<module>": "<module>",
	"f.<locals>.<lambda>": "f.<locals>.<lambda>",
	"java.lang.String.indexOf": "java.lang.String.indexOf",
	"LazyCompile: ~run /a b/x.js:1": "LazyCompile: ~run /a b/x.js:1",
	"C1 CompilerThread0": "C1 CompilerThread0",
	// what the server has cut in its middle
	"bool ns::run<std::vector<int, …r<char> >, A<int> >(int, B<int>)": "ns::run‹…›",
	"ns::f<A<B…>(int)": "ns::f‹…›",
	"f(std::map<int, …>, int) const": "f",
	"ns::T<a<b…>::g<int>(int)": "ns::T‹…›::g‹…›",
	"aaaa…bbbb": "aaaa…bbbb",
	"f<…": "f<…",
	"a>…>": "a>…>",
	// what cannot be read stays
	"f<int": "f<int",
	"f(int": "f(int",
	"a>b": "a>b",
	"": "",
	"<script>alert(1)</script>": "<script>alert</script>",
};

test("short names", () => {
	for (const [full, short] of Object.entries(NAMES))
		assert.equal(shortName(full), short, full);
});

test("a name is never empty, whatever it contains", () => {
	for (const name of ["()", "<>", "{}", "[]", "(int)", " ", "f )(", "operator", "operator ", "::", "\u0000", "<><>", "((((", "&", "a b c()"])
		assert.notEqual(shortName(name).length, 0, name);
	let text = "";
	for (let i = 0, seed = 7; i < 20000; i++) {
		seed = seed * 1103515245 + 12345 & 0x7fffffff;
		text += "<>()[]{}:ab o&*-"[(seed >> 8) % 16];
		if (text.length > seed % 40) {
			assert.equal(typeof shortName(text), "string");
			assert.ok(shortName(text).length > 0 || !text.trim(), JSON.stringify(text));
			text = "operator"[seed % 8];
		}
	}
});

test("a long name does not take long", () => {
	const begin = process.cpuUsage();
	shortName("<".repeat(4000) + ">".repeat(4000));
	shortName("a<".repeat(2000));
	shortName("x".repeat(4 << 20));
	const { user, system } = process.cpuUsage(begin);
	assert.ok(user + system < 20e6, "microseconds of CPU time; 45,000 where it is linear");
	assert.ok(shortName("y".repeat(4 << 20)).length < 1000);
});

test("hidden and direction-changing characters are shown", () => {
	assert.equal(visible("a\u202Eb"), "a⟨U+202E⟩b");
	assert.equal(shortName("evil\u2066name"), "evil⟨U+2066⟩name");
	assert.equal(visible("tab\tnul\u0000\u007f"), "tab⟨U+0009⟩nul⟨U+0000⟩⟨U+007F⟩");
	assert.equal(visible("zero\u200bwidth\ufeff"), "zero⟨U+200B⟩width⟨U+FEFF⟩");
	assert.equal(visible("tag\u{e0041}s\u{e01ef}"), "tag⟨U+E0041⟩s⟨U+E01EF⟩");
	assert.equal(visible("größe שלום 名前"), "größe שלום 名前");
	assert.equal(visible("x".repeat(10000), 100), "x".repeat(100) + "… (10,000 characters)");
});

test("a waker's last function says what it did", () => {
	assert.equal(shortWaker("holder: clone3 > f<int>(int) > unlock(lock&)"), "holder: unlock");
	assert.equal(shortWaker("holder: f<a<b> > > hold(lock&) > ... > __lll_lock_wake"), "holder: hold");
	assert.equal(shortWaker("holder: ... > __lll_lock_wake"), "holder: __lll_lock_wake");
	assert.equal(shortWaker("main: f<a<int> >(int)"), "main: f‹…›");
	assert.equal(shortWaker("an interrupt"), "an interrupt");
	assert.equal(shortWaker("evil\u202e: x"), "evil⟨U+202E⟩: x");
});

test("short paths keep their end", () => {
	assert.equal(shortPath("/usr/lib/libm.so.6", 40), "/usr/lib/libm.so.6");
	assert.equal(shortPath("/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", 26), "…/libstdc++.so.6.0.30");
	assert.ok(shortPath("/" + "a".repeat(100), 20).length <= 20);
});

test("names of functions that a runtime executes stay whole", () => {
	for (const kind of ["python", "ruby", "java", "javascript", "managed"])
		for (const name of MANAGED)
			assert.equal(shortName(name, kind), name);
	assert.equal(shortName("f<int>(int)", "native"), "f‹…›");
	assert.equal(shortName("f<int>(int)", "inlined"), "f‹…›");
	assert.equal(shortName("a\u202eb", "ruby"), "a⟨U+202E⟩b");
});
