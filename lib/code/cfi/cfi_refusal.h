/* SPDX-License-Identifier: MIT */
/*
 * Reasons for refusing call frame information. The bytes are hostile (a profiled process controls
 * its files): the reader refuses contents that are inconsistent, unknown or beyond a limit, and
 * counts them by these reasons.
 */
#ifndef CFI_CFI_REFUSAL_H
#define CFI_CFI_REFUSAL_H

/* X(enumerator, name, unit, meaning). The unit is what is counted: files, sections, FDEs or rows.
 * The names are in the output of `stats`. */
#define CFI_REFUSALS(X)                                                                            \
	X(SECTION_HEADERS, "section_headers", FILE, "section headers or names out of the file")    \
	X(SECTION_SIZE, "section_size", SECTION, "larger than the limit")                          \
	X(SECTION_READ, "section_read", SECTION, "outside of the file, or does not decompress")    \
	X(ENTRY_LENGTH, "entry_length", SECTION, "an entry's length leads out of it")              \
	X(CIE_LIMIT, "cie_limit", SECTION, "more CIEs than the limit")                             \
	X(FDE_CIE, "fde_cie", FDE, "its CIE pointer does not lead to a CIE")                       \
	X(CIE_VERSION, "cie_version", FDE, "a CIE of an unknown version or address size")          \
	X(CIE_AUGMENTATION, "cie_augmentation", FDE, "a CIE with an unknown augmentation")         \
	X(CIE_ENCODING, "cie_encoding", FDE, "a CIE with a pointer encoding that is not known")    \
	X(CIE_MALFORMED, "cie_malformed", FDE, "a CIE that is cut short or contradicts itself")    \
	X(FDE_MALFORMED, "fde_malformed", FDE, "cut short, or its range wraps around")             \
	X(FDE_EMPTY, "fde_empty", FDE, "its range has no bytes")                                   \
	X(OPCODE, "opcode", ROW, "a call frame instruction that is not supported")                 \
	X(INSTRUCTION, "instruction", ROW, "a call frame instruction that is cut short or wrong")  \
	X(STATE_DEPTH, "state_depth", ROW, "too many remembered states")                           \
	X(CFA_MISSING, "cfa_missing", ROW, "no rule for the CFA")                                  \
	X(CFA_EXPRESSION, "cfa_expression", ROW, "the CFA is an expression that is not known")

enum cfi_refusal {
#define CFI_X(e, name, unit, meaning) CFI_REFUSED_##e,
	CFI_REFUSALS(CFI_X)
#undef CFI_X
		CFI_REFUSED_COUNT,
	CFI_ACCEPTED = CFI_REFUSED_COUNT
};

#endif
