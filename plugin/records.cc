/* SPDX-License-Identifier: MIT */
/*
 * The records of .btloc and .btedge (docs/TAGS.md): what they contain, and how they get into the
 * object file.
 *
 * A function's records go into sections that belong to its code, so linkers drop them together with
 * the code: with the second copy of an inline function, or what --gc-sections finds unused. The
 * flags "o" (linked to the section of a symbol) and "G" (in its group) do that.
 */
#include "plugin.h"

#include <tuple>

#include "cgraph.h"
#include "output.h"

#define VERSION	       1
#define MAX_NAME_BYTES 60000 /* most bytes of a name in a record, which may have 65536 */
#define LOC_BYTES      32    /* bytes of a record before the names */
#define EDGE_BYTES     24

struct function_record {
	std::string symbol, group, name, file;
	unsigned flags;
	uint64_t id, shape;
	std::set<edge_record> edges;
};

static std::vector<function_record> functions;

bool edge_record::operator<(const edge_record &other) const
{
	return std::tie(flags, caller, callee) < std::tie(other.flags, other.caller, other.callee);
}

/* --- ids -------------------------------------------------------------------------------------- */

static uint64_t mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	x ^= x >> 31;
	return x;
}

static uint64_t hash_bytes(const std::string &bytes)
{
	uint64_t hash = 0;

	for (char c : bytes)
		hash = mix64(hash + (unsigned char)c + 1);
	return hash ? hash : 1;
}

const char *linkage_name(tree fndecl)
{
	const char *name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(fndecl));

	return *name == '*' ? name + 1 : name;
}

/* Returns the last two parts of the path of a function's source file. */
static std::string source_file(tree fndecl)
{
	std::string path = DECL_SOURCE_FILE(fndecl) ? DECL_SOURCE_FILE(fndecl) : "";
	size_t slash = path.rfind('/');

	if (slash != std::string::npos && slash > 0)
		slash = path.rfind('/', slash - 1);
	return slash == std::string::npos ? path : path.substr(slash + 1);
}

uint64_t function_id(tree fndecl)
{
	std::string name = linkage_name(fndecl);

	if (!TREE_PUBLIC(fndecl))
		name += std::string(1, '\0') + source_file(fndecl);
	return hash_bytes(name);
}

/* --- shapes ----------------------------------------------------------------------------------- */

static char type_letter(tree type)
{
	if (VOID_TYPE_P(type))
		return 'v';
	if (!TYPE_SIZE(type) || !tree_fits_uhwi_p(TYPE_SIZE(type)))
		return 'm';
	if (POINTER_TYPE_P(type) || INTEGRAL_TYPE_P(type) || TREE_CODE(type) == NULLPTR_TYPE)
		return tree_to_uhwi(TYPE_SIZE(type)) <= 64 ? 'i' : 'm';
	if (TYPE_MODE(type) == SFmode && SCALAR_FLOAT_TYPE_P(type))
		return 'f';
	return TYPE_MODE(type) == DFmode && SCALAR_FLOAT_TYPE_P(type) ? 'd' : 'm';
}

static uint64_t shape_of(tree fntype)
{
	function_args_iterator it;
	std::string letters;
	tree arg;

	if (!fntype || !prototype_p(fntype))
		return 0;
	letters += type_letter(TREE_TYPE(fntype));
	FOREACH_FUNCTION_ARGS(fntype, arg, it)
	{
		if (!VOID_TYPE_P(arg))
			letters += type_letter(arg);
	}
	if (stdarg_p(fntype))
		letters += '.';
	return hash_bytes(letters);
}

/* --- records that are kept -------------------------------------------------------------------- */

void record_function(tree fndecl, unsigned flags, const std::set<edge_record> &edges)
{
	function_record record;

	record.symbol = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(fndecl));
	record.group =
		DECL_COMDAT_GROUP(fndecl) ? IDENTIFIER_POINTER(DECL_COMDAT_GROUP(fndecl)) : "";
	record.name = linkage_name(fndecl);
	record.file = source_file(fndecl);
	record.flags = flags | (TREE_PUBLIC(fndecl) ? LOC_PUBLIC : LOC_LOCAL) |
		       (DECL_VIRTUAL_P(fndecl) ? LOC_VIRTUAL : 0);
	record.id = function_id(fndecl);
	record.shape = shape_of(TREE_TYPE(fndecl));
	record.edges = edges;
	functions.push_back(record);
}

/* Returns whether the callee never calls back: it is declared as a leaf, or is a built-in. */
static bool never_calls_back(gcall *call, tree callee)
{
	cgraph_node *node = cgraph_node::get(callee);

	return !(node && node->definition) &&
	       (gimple_call_flags(call) & ECF_LEAF || fndecl_built_in_p(callee));
}

bool edge_of_call(uint64_t caller, gcall *call, edge_record *ret_edge)
{
	unsigned tail = gimple_call_tail_p(call) ? EDGE_TAIL : 0;
	tree fn = gimple_call_fn(call), callee = gimple_call_fndecl(call);

	if (gimple_call_internal_p(call))
		return false;
	if (!callee) {
		if (fn && TREE_CODE(fn) == OBJ_TYPE_REF)
			tail |= EDGE_METHOD;
		*ret_edge = {tail | EDGE_INDIRECT, caller, shape_of(gimple_call_fntype(call))};
		return true;
	}
	if (never_calls_back(call, callee))
		return false;
	if (cgraph_node *node = cgraph_node::get(callee))
		callee = node->ultimate_alias_target()->decl;
	*ret_edge = {tail, caller, function_id(callee)};
	return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void write_text(const std::string &text)
{
	for (char c : text) {
		if (ISALNUM(c) || strchr("_.$/+-", c))
			putc(c, asm_out_file);
		else
			fprintf(asm_out_file, "\\%03o", (unsigned char)c);
	}
}

static void write_string(const std::string &text)
{
	fputs("\t.ascii\t\"", asm_out_file);
	write_text(text);
	fputs("\\000\"\n", asm_out_file);
}

/* Begins a section that is linked to the function's. */
static void go_to_section(const char *section, const function_record &f)
{
	fprintf(asm_out_file, "\t.section\t%s,\"o%s\",@progbits,", section,
		f.group.empty() ? "" : "G");
	assemble_name(asm_out_file, f.symbol.c_str());
	if (!f.group.empty())
		fprintf(asm_out_file, ",%s,comdat", f.group.c_str());
	fputs("\n\t.balign\t8\n", asm_out_file);
}

static void write_head(size_t bytes, unsigned flags)
{
	fprintf(asm_out_file, "\t.long\t%u\n\t.value\t%u, %u\n", (unsigned)bytes, VERSION, flags);
}

static void write_edges(const std::set<edge_record> &edges)
{
	for (const edge_record &edge : edges) {
		write_head(EDGE_BYTES, edge.flags);
		fprintf(asm_out_file, "\t.quad\t0x%llx, 0x%llx\n", (unsigned long long)edge.caller,
			(unsigned long long)edge.callee);
	}
}

static void write_function(const function_record &f)
{
	std::string name = f.name.substr(0, MAX_NAME_BYTES);
	std::string file = f.file.substr(0, 4096);
	size_t bytes = LOC_BYTES + name.size() + file.size() + 2;

	go_to_section(".btloc", f);
	write_head((bytes + 7) & ~(size_t)7, f.flags);
	fprintf(asm_out_file, "\t.quad\t0x%llx\n\t.quad\t", (unsigned long long)f.id);
	assemble_name(asm_out_file, f.symbol.c_str());
	fprintf(asm_out_file, "\n\t.quad\t0x%llx\n", (unsigned long long)f.shape);
	write_string(name);
	write_string(file);
	fputs("\t.balign\t8\n", asm_out_file);
	if (f.edges.empty())
		return;
	go_to_section(".btedge", f);
	write_edges(f.edges);
}

static bool can_be_first(cgraph_node *node)
{
	return node->address_taken || DECL_STATIC_CONSTRUCTOR(node->decl) ||
	       DECL_STATIC_DESTRUCTOR(node->decl) || MAIN_NAME_P(DECL_NAME(node->decl)) ||
	       (DECL_VIRTUAL_P(node->decl) && node->definition);
}

static void write_taken(void)
{
	std::set<edge_record> edges;
	cgraph_node *node;

	FOR_EACH_FUNCTION(node)
	{
		if (can_be_first(node))
			edges.insert(
				{EDGE_TAKEN, 0, function_id(node->ultimate_alias_target()->decl)});
	}
	if (edges.empty())
		return;
	fputs("\t.section\t.btedge,\"\",@progbits\n\t.balign\t8\n", asm_out_file);
	write_edges(edges);
}

void write_records(void)
{
	if (functions.empty())
		return;
	for (const function_record &f : functions)
		write_function(f);
	write_taken();
	functions.clear();
}
