# stackd: build, test, measure, install. `make help` lists the targets.
#
#   V=1 shows commands, DEBUG=1 builds without optimisation, SAN=1 with ASan and UBSan (SAN=less and SAN=least: below),
#   CC=clang builds with clang, WERROR=1 turns warnings into errors (tests/check.sh does). All
#   output goes into $(B). WITHOUT="fold servers tags mpi web", or some of these, leaves parts out.

CLANG   ?= clang
BPFTOOL ?= $(firstword $(shell for b in bpftool /usr/sbin/bpftool /usr/lib/linux-tools/*/bpftool \
	/usr/lib/linux-tools-*/bpftool; do ! $$b version >/dev/null 2>&1 || echo $$b; done) bpftool)
PREFIX  ?= /usr/local
DESTDIR ?=
# The processor that is built for: arch/$(ARCH)/ is all that depends on it. For another one than this machine's,
# tests/arm64/root.sh makes a root with compilers and libraries. The port to arm64 is in the making.
MACHINE := $(patsubst aarch64,arm64,$(shell uname -m))
ARCH    := $(MACHINE)
B       ?= build
# What is generated is the same with sanitizers: B=build/san uses what is in build/gen.
GEN      = $(if $(SAN),$(B:%/san=%),$(B))/gen
Q        = $(if $(V),,@)
say      = $(if $(V),,@printf '  %-5s %s\n' $(1) $(2);)

# What a compilation has read is noted for both spellings of a folder: tests and benches say B=/.../build.
DEPS     = -MMD -MP $(addprefix -MT ,$(sort $@ $(abspath $@) $(patsubst $(CURDIR)/%,%,$(abspath $@))))

PKGS     = libbpf libelf libdw sqlite3 libzstd zlib liblzma libsystemd libprotobuf-c libseccomp
CSTD     = -std=gnu17 -D_GNU_SOURCE
STRICT   = -Wall -Wextra $(if $(WERROR),-Werror)
WARN     = $(STRICT) -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
# With sanitizers, -O2 takes gcc twice as long as -Og, and the large tests twenty times; and they
# need lines, and no variables.
OPT      = $(if $(DEBUG),-O0 -g3,$(if $(SAN),-Og -g1,-O2 -g))
# SAN=less leaves out what ASan reports as well, once the pointer is used: null pointers, and the ends
# of objects. SAN=least leaves out what is behind the most code of the rest, and harms nothing on this
# processor or is reported by ASan: unaligned accesses, and addresses that wrap. gcc compiles faster so, and
# tests run faster.
SANFLAGS = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer \
	$(if $(filter less least,$(SAN)),$(addprefix -fno-sanitize=,null object-size)) \
	$(if $(filter least,$(SAN)),$(addprefix -fno-sanitize=,alignment pointer-overflow))
# Headers are included by room, "store/store.h", whichever wing of lib/ the room is in.
WINGS    = code record show far
LIB_INC  = -Ilib $(WINGS:%=-Ilib/%)
CFLAGS  += $(CSTD) $(WARN) $(OPT) $(if $(SAN),$(SANFLAGS)) -I. $(LIB_INC) -Ibpf -I$(GEN)
# The names that compilers give processors; the decoder of instructions that arch/$(ARCH)/ uses.
TRIPLE_arm64   = aarch64-linux-gnu
BPF_ARCH       = $(patsubst x86_64,x86,$(ARCH))
DECODER_x86_64 = -lZydis
ifneq ($(ARCH),$(MACHINE))
TRIPLE        := $(TRIPLE_$(ARCH))
CC             = $(TRIPLE)-gcc
CXX            = $(TRIPLE)-g++
AR             = $(TRIPLE)-ar
PKG_CONFIG    := PKG_CONFIG_LIBDIR=/usr/lib/$(TRIPLE)/pkgconfig pkg-config
else
PKG_CONFIG    := pkg-config
endif
LIBS    := $(shell $(PKG_CONFIG) --libs $(PKGS))
LDLIBS  += $(LIBS) -lpfm -liberty $(DECODER_$(ARCH)) -ldl -lpthread -lm
# A hundred and more tests are linked with sanitizers; these linkers take a fifth of the time for it.
FAST_LD := $(if $(SAN),$(firstword $(foreach ld,gold lld,$(if $(shell command -v ld.$(ld)),$(ld)))))
LDFLAGS += $(if $(SAN),$(SANFLAGS) $(if $(FAST_LD),-fuse-ld=$(FAST_LD)))
VERSION := $(shell sed -n 's/^## \([0-9][^ ]*\).*/\1/p;T;q' CHANGELOG.md 2>/dev/null)
CFLAGS  += -DSTACKD_VERSION='"$(or $(VERSION),0)"'

ARCH_SRC   = $(wildcard arch/$(ARCH)/*.c)

# What a packager may leave out (lib/base/parts.h): a part is the folders that tests/lint/layers.txt
# lists, and a file of cli/without/ or daemon/without/ stands in for it.
# The server of `stackctl web` is left out as well where libmicrohttpd is missing, or older than its
# enum MHD_Result.
PARTS     := fold servers tags mpi web
WITHOUT   ?=
$(if $(filter-out $(PARTS),$(WITHOUT)),$(error WITHOUT="$(WITHOUT)": the parts are $(PARTS)))
WEB_LIBS  := $(if $(filter web,$(WITHOUT)),,$(shell $(PKG_CONFIG) --silence-errors --libs 'libmicrohttpd >= 0.9.71'))
# Tags need to know where a processor's compilers call functions, and libraries need its assembly code.
OMITTED   := $(sort $(filter-out web,$(WITHOUT)) $(if $(WEB_LIBS),,web) $(if $(filter arm64,$(ARCH)),tags))
has_code   = $(if $(wildcard arch/$(ARCH)/$(1)),$(2))
LEFT_OUT  := $(if $(OMITTED),$(shell sed -n '$(foreach part,$(OMITTED),s/^optional $(part): *//p;)' tests/lint/layers.txt))
has        = $(if $(filter $(1),$(OMITTED)),,$(2))
kept       = $(foreach file,$(1),$(if $(filter $(LEFT_OUT),$(patsubst %/,%,$(dir $(file)))),,$(file)))
stand_ins  = $(wildcard $(patsubst %,$(1)/without/%.c,$(OMITTED)))

LIB_SRC    = $(call kept,$(wildcard lib/base/*.c $(WINGS:%=lib/%/*/*.c) lib/code/runtime/*/*.c)) $(ARCH_SRC)
DAEMON_SRC = $(call kept,$(filter-out daemon/main.c daemon/without/%,$(wildcard daemon/*.c daemon/*/*.c))) $(call stand_ins,daemon)
CLI_SRC    = $(call kept,$(filter-out cli/without/%,$(wildcard cli/*.c cli/*/*.c))) $(call stand_ins,cli)
TEST_SRC   = $(wildcard tests/unit/test_*.c)
C_FILES    = $(wildcard arch/*.h arch/*/*.[ch] bpf/*.[ch] lib/base/*.[ch] $(WINGS:%=lib/%/*/*.[ch]) lib/code/runtime/*/*.[ch] daemon/*.[ch] daemon/*/*.[ch] cli/*.[ch] cli/*/*.[ch] mpi/*.[ch] tests/*/*.[ch] bench/*.[ch] \
	       libstacktag/*.[ch] libstacktag/*/*.c libstackalloc/*.[ch] libstackmpi/*.[ch] plugin/*.h plugin/*.cc)
OBJ        = $(patsubst %.c,$(B)/%.o,$(1))
TESTS      = $(patsubst tests/unit/%.c,$(B)/tests/%,$(TEST_SRC))
WORKLOADS  = $(B)/workloads/done

all: $(B)/stackd $(B)/stackctl $(call has,tags,stacktag) $(call has_code,alloc_probe.S,$(B)/libstackalloc.so) \
	$(call has_code,mpi_entry.S,$(B)/libstackmpi.so) $(call has_code,region_entry.S,$(B)/libstackregion.so)
	$(if $(WEB_LIBS)$(filter web,$(WITHOUT)),,@echo 'stackctl web is left out: pkg-config finds no libmicrohttpd of 0.9.71 or later')

help:
	@echo 'all man mpi deps demo check check-long check-repeat check-unit check-live check-kernels check-arm64 check-distros check-container lint format agree fuzz soak bench bench-quick install deb dist clean'

# --- the kernel half -------------------------------------------------------------------------
#
# `make dist` compiles it once, and puts its skeleton into bpf/prebuilt/: if that was made of these
# sources, neither clang nor bpftool is needed.

PREBUILT := $(if $(wildcard bpf/prebuilt/sources),$(shell sha256sum -c --status bpf/prebuilt/sources 2>/dev/null && \
	      echo bpf/prebuilt/stackd.skel.h))

# The folders that clang searches for headers when it compiles for this machine: for BPF it leaves out
# the one of <asm/types.h>, which depends on the distribution.
BPF_CLANG = $(CLANG)
BPF_FLAGS = -target bpf -D__TARGET_ARCH_$(BPF_ARCH) -mcpu=v3 -O2 -g -fdebug-prefix-map=$(CURDIR)=. $(STRICT) -I. -Ibpf \
	$(shell $(BPF_CLANG) $(TRIPLE:%=--target=%) -v -E -x c /dev/null 2>&1 | sed -n '/^.include </,/^End of/s/^ /-idirafter /p')

BPF_SRC = bpf/stackd.bpf.c $(wildcard bpf/*.h arch/*.h arch/*/*.h)

$(GEN)/stackd.bpf.o: $(BPF_SRC)
	@mkdir -p $(@D)
	$(call say,BPF,$@)$(BPF_CLANG) $(BPF_FLAGS) -c $< -o $@

ifdef PREBUILT
$(GEN)/stackd.skel.h: $(PREBUILT)
	@mkdir -p $(@D)
	$(call say,COPY,$@)cp $< $@
else
$(GEN)/stackd.skel.h: $(GEN)/stackd.bpf.o
	$(call say,SKEL,$@)$(BPFTOOL) gen skeleton $< name stackd_bpf > $@.tmp && mv $@.tmp $@
endif

# --- the user half ---------------------------------------------------------------------------

$(call OBJ,$(wildcard daemon/capture/sampler*.c)): $(GEN)/stackd.skel.h

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CFLAGS) $(DEPS) -c $< -o $@

$(GEN)/%.pb-c.c $(GEN)/%.pb-c.h: lib/show/export/%.proto
	@mkdir -p $(@D)
	$(call say,PROTO,$<)protoc-c --proto_path=$(<D) --c_out=$(GEN) $(<F)

$(B)/gen/%.pb-c.o: $(GEN)/%.pb-c.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CFLAGS) -c $< -o $@

$(call OBJ,$(wildcard lib/show/export/*.c)): $(GEN)/pprof.pb-c.h $(GEN)/otlp.pb-c.h

# Written where other parts are left out than before: then what is linked is made anew.
$(GEN)/left_out.h: FORCE
	@mkdir -p $(@D)
	@echo '#define LEFT_OUT "$(OMITTED)"' | cmp -s - $@ || echo '#define LEFT_OUT "$(OMITTED)"' > $@
FORCE:

$(B)/lib/base/parts.o $(B)/pic/lib/base/parts.o $(B)/libstackd.a $(B)/libstackd-daemon.a: $(GEN)/left_out.h

# The page of `stackctl web`: its files as arrays, with a table of their names; and all of them as one file. Modules
# are joined to one script, since each file is a request before the page is there.
WEB_FILES = $(sort $(wildcard web/*.html web/*.js web/*.css))
WEB_OUT   = $(GEN)/web/index.html $(GEN)/web/app.js $(GEN)/web/style.css

$(GEN)/web/app.js: web/one_file.awk $(WEB_FILES)
	@mkdir -p $(@D)
	$(call say,JOIN,$@)awk -f $< -v folder=web -v only=$(@F) > $@.tmp && mv $@.tmp $@

$(GEN)/web/index.html $(GEN)/web/style.css: $(GEN)/web/%: web/%
	@mkdir -p $(@D)
	$(Q)sed '/rel="modulepreload"/d' $< > $@

$(GEN)/web_files.inc: $(WEB_OUT)
	$(call say,BYTES,web)n=0; { for file in $^; do n=$$((n + 1)); \
		echo "static const uint8_t web_file_$$n[] = {"; od -An -v -tx1 $$file | sed 's/ \(..\)/0x\1,/g'; echo '0};'; done; \
		echo 'static const struct web_file web_files[] = {'; n=0; for file in $^; do n=$$((n + 1)); \
		echo "{\"$${file##*/}\", web_file_$$n, sizeof(web_file_$$n) - 1},"; done; echo '{0}};'; } > $@

$(GEN)/one_file.html: web/one_file.awk $(WEB_FILES)
	@mkdir -p $(@D)
	$(call say,JOIN,web)awk -f $< -v folder=web > $@.tmp && mv $@.tmp $@

$(GEN)/one_file.html.inc: $(GEN)/one_file.html
	$(call say,BYTES,$<)od -An -v -tx1 $< | sed 's/ \(..\)/0x\1,/g' > $@

$(B)/cli/web/web_files.o: $(GEN)/web_files.inc
$(B)/lib/show/web/one_file.o: $(GEN)/one_file.html.inc

# With sanitizers, without what no test is linked with; with SAN=less or least, no test that `make check` runs so.
UNLINKED := $(if $(SAN),$(shell sed '/^#/d' tests/unit/unlinked.txt $(if $(filter less least,$(SAN)),tests/unit/unlinked_plain.txt)))

$(B)/libstackd.a: $(call OBJ,$(filter-out $(UNLINKED),$(LIB_SRC))) $(B)/gen/pprof.pb-c.o $(B)/gen/otlp.pb-c.o
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

# The daemon but for its main(): tests link it.
$(B)/libstackd-daemon.a: $(call OBJ,$(filter-out $(UNLINKED),$(DAEMON_SRC)))
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

$(B)/stackd: $(B)/daemon/main.o $(B)/libstackd-daemon.a $(B)/libstackd.a
	$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/stackctl: $(call OBJ,$(CLI_SRC)) $(B)/libstackd.a
	$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(WEB_LIBS) -lncursesw -ltinfo

# --- for MPI jobs (docs/FLEETS.md): stackctl-mpi, once for each MPI whose headers are there --------
#
# No other target needs it. Debian's compilers are named mpicc.openmpi and mpicc.mpich.

MPI_SRC   = $(wildcard mpi/*.c)
MPI_KINDS = $(foreach kind,openmpi mpich,$(if $(shell command -v mpicc.$(kind)),$(kind)))

define mpi_program
$(B)/mpi/$(1)/%.o: mpi/%.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)OMPI_CC=$(CC) MPICH_CC=$(CC) mpicc.$(1) $$(CFLAGS) $$(DEPS) -c $$< -o $$@

$(B)/mpi/$(1)/stackctl-mpi: $(MPI_SRC:mpi/%.c=$(B)/mpi/$(1)/%.o) $(filter-out $(B)/cli/main.o,$(call OBJ,$(CLI_SRC))) $(B)/libstackd.a
	$$(call say,LD,$$@)OMPI_CC=$(CC) MPICH_CC=$(CC) mpicc.$(1) $$(LDFLAGS) -o $$@ $$^ $$(LDLIBS) $(WEB_LIBS) -lncursesw -ltinfo
endef
$(foreach kind,openmpi mpich,$(eval $(call mpi_program,$(kind))))

mpi: $(if $(filter mpi,$(OMITTED)),mpi-left-out,$(MPI_KINDS:%=$(B)/mpi/%/stackctl-mpi))

mpi-left-out:
	@echo 'stackctl-mpi: left out (make WITHOUT=mpi)' >&2; exit 2

# What is installed of it: what was made, and its manual page; the plain name is that of the first.
MPI_BUILT = $(call has,mpi,$(strip $(foreach kind,openmpi mpich,$(if $(wildcard $(B)/mpi/$(kind)/stackctl-mpi),$(kind)))))

# The daemon with the program of another clang, which tests/kernels tries: build/bpf/clang-19/stackd.
# A newer object in that folder, made by the compiler of another root, is used unchanged.
$(B)/bpf/%/stackd.bpf.o: BPF_CLANG = $*
$(B)/bpf/%/stackd.bpf.o: $(BPF_SRC)
	@mkdir -p $(@D)
	$(call say,BPF,$@)$(BPF_CLANG) $(BPF_FLAGS) -c $< -o $@

$(B)/bpf/%/stackd.skel.h: $(B)/bpf/%/stackd.bpf.o
	$(call say,SKEL,$@)$(BPFTOOL) gen skeleton $< name stackd_bpf > $@.tmp && mv $@.tmp $@

$(B)/bpf/%/stackd: $(B)/bpf/%/stackd.skel.h $(B)/daemon/main.o $(B)/libstackd-daemon.a $(B)/libstackd.a
	$(call say,LD,$@)$(CC) -I$(@D) $(CFLAGS) $(LDFLAGS) -o $@ $(wildcard daemon/capture/sampler*.c) \
		$(filter-out %.h,$^) $(LDLIBS)

.PRECIOUS: $(B)/bpf/%/stackd.bpf.o $(B)/bpf/%/stackd.skel.h

# The daemon with faults on purpose in its workers, for tests (daemon/worker/fault_injection.h).
$(B)/faults/stackd: daemon/worker/fault_injection.c $(B)/daemon/main.o $(B)/libstackd-daemon.a $(B)/libstackd.a
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(CFLAGS) -DSTACKD_FAULTS $(LDFLAGS) -o $@ $^ $(LDLIBS)

# --- for programs that keep a tag (docs/TAGS.md) ---------------------------------------------

TAG_SRC     = $(wildcard libstacktag/*.c)
TAG_CFLAGS  = $(CSTD) $(WARN) -O2 -g -fPIC -fvisibility=hidden -I. $(LIB_INC)
PLUGIN_GCC ?= gcc
PLUGIN_CXX ?= g++
PLUGIN_INC := $(wildcard $(shell $(PLUGIN_GCC) -print-file-name=plugin 2>/dev/null)/include)
PLUGIN      = $(if $(wildcard $(PLUGIN_INC)/gcc-plugin.h),$(B)/stacktag.so)

$(B)/libstacktag/%.o: libstacktag/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(TAG_CFLAGS) $(DEPS) -c $< -o $@

$(B)/libstacktag.a: $(TAG_SRC:%.c=$(B)/%.o)
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $^

$(B)/libstacktag.so.1: $(TAG_SRC:%.c=$(B)/%.o)
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,$(@F),-z,defs -o $@ $^ && ln -sf $(@F) $(B)/libstacktag.so

# The decoder within a program: the parts of lib that it needs, as code for shared libraries.
DECODE_SRC = $(wildcard libstacktag/decode/*.c)
PIC        = $(B)/pic/libstackd.a

# These parts are compiled once, for programs and for the shared library: hidden symbols cost a program
# nothing there, since its linker makes direct accesses of those by way of the GOT. The library has no
# sanitizers.
PIC_SRC = $(ARCH_SRC) $(wildcard $(foreach part,base code/elf code/cfi code/runtime code/runtime/* record/stack code/sym code/callgraph record/tag,lib/$(part)/*.c))
ifdef SAN
PIC_OBJ = $(PIC_SRC:%.c=$(B)/pic/%.o)
else
PIC_OBJ = $(call OBJ,$(PIC_SRC))
$(PIC_OBJ): CFLAGS += -fPIC -fvisibility=hidden
endif

$(B)/pic/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(TAG_CFLAGS) -Ibpf -I$(GEN) $(DEPS) -c $< -o $@

$(PIC): $(PIC_OBJ)
	@mkdir -p $(@D)
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $^

$(B)/libstacktag-decode.so.1: $(DECODE_SRC:%.c=$(B)/pic/%.o) $(PIC)
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,$(@F),-z,defs,--exclude-libs,ALL,--gc-sections -o $@ $^ \
		-lZydis -lelf -lm && ln -sf $(@F) $(B)/libstacktag-decode.so

$(B)/stacktag.so: $(wildcard plugin/*.cc plugin/*.h)
	@mkdir -p $(@D)
	$(call say,CXX,$@)$(PLUGIN_CXX) -std=gnu++17 -O2 -g -fPIC -fno-rtti -shared $(STRICT) \
		-isystem $(PLUGIN_INC) -o $@ $(filter %.cc,$^)

stacktag: $(B)/libstacktag.a $(B)/libstacktag.so.1 $(B)/libstacktag-decode.so.1 $(PLUGIN)

# --- for programs whose allocations are sampled (docs/ALLOC.md) -------------------------------

ALLOC_OBJ = $(patsubst %.c,$(B)/pic/%.o,$(wildcard libstackalloc/*.c)) $(B)/pic/arch/$(ARCH)/alloc_probe.o

$(B)/pic/%.o: %.S
	@mkdir -p $(@D)
	$(call say,AS,$@)$(CC) -g $(DEPS) -c $< -o $@

# No access to a thread's variables may ask for memory, and no call of the library's own.
$(ALLOC_OBJ): TAG_CFLAGS += -ftls-model=initial-exec
$(B)/libstackalloc.so: $(ALLOC_OBJ)
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,$(@F),-z,defs,-z,now -o $@ $^ -lm

# --- for programs whose calls of MPI are counted (docs/REGIONS.md) ------------------------------

CALL_ENTRIES = $(addprefix $(B)/pic/arch/$(ARCH)/,region_entry.o call_probe.o)
MPI_CALL_OBJ = $(patsubst %.c,$(B)/pic/%.o,$(wildcard libstackmpi/*.c lib/code/mpi/*.c)) $(B)/pic/arch/$(ARCH)/mpi_entry.o $(CALL_ENTRIES)
REGION_OBJ = $(addprefix $(B)/pic/libstackmpi/,inside.o path.o region.o request.o table.o unload.o) $(CALL_ENTRIES)

$(MPI_CALL_OBJ): TAG_CFLAGS += -ftls-model=initial-exec -Ilib/code
$(B)/libstackmpi.so: $(MPI_CALL_OBJ)
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,$(@F),-z,defs,-z,now -o $@ $^

# The same for named regions, without MPI.
$(B)/libstackregion.so: $(REGION_OBJ)
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,$(@F),-z,defs,-z,now -o $@ $^

# Manual pages: written by the programs themselves, from the tables that --help shows. Their date
# is that of the changes, so that a build can be repeated.
MAN_EPOCH = $(or $(SOURCE_DATE_EPOCH),$(shell date -r CHANGELOG.md +%s))
$(B)/man/done: $(B)/stackctl $(B)/stackd
	@mkdir -p $(@D)
	$(call say,MAN,$(@D))rm -f $(@D)/*.[18] && export SOURCE_DATE_EPOCH=$(MAN_EPOCH) && $< help --man > $(@D)/stackctl.1 && for verb in $$($< help --verbs); do \
		$< help --man $$verb > $(@D)/stackctl-$$verb.1 || exit 1; done && $(B)/stackd --man > $(@D)/stackd.8 && touch $@

# The documents for users are manual pages, too, where there is lowdown: docs/MARKS.md is stackd-marks(7). Terminals have
# no fonts of constant width.
DOCUMENTS   = $(wildcard docs/*.md docs/find/*.md)
FOR_MANUAL  = $(filter-out $(addprefix docs/,README.md ARCHITECTURE.md DECISIONS.md WORKERS.md COST.md find/README.md),$(DOCUMENTS))
$(B)/man/documents: $(FOR_MANUAL) $(B)/man/done
	@mkdir -p $(@D)
	$(call say,MAN,$(@D)/*.7)rm -f $(@D)/*.7 && for page in $(FOR_MANUAL); do \
		name=stackd-$$(echo $${page#docs/} | sed 's/\.md$$//;s,/,-,' | tr A-Z a-z); \
		lowdown -s -tman -M title=$$name -M section=7 -M source=stackd -M date=$$(date -u -d @$(MAN_EPOCH) +%F) $$page > $@.tmp && \
			sed 's/\\f(C\([BI]\)/\\f\1/g; s/\\f(CR/\\fB/g; s/\\fC/\\fB/g' $@.tmp > $(@D)/$$name.7 || exit 1; done && rm $@.tmp && touch $@

man: $(B)/man/done $(if $(shell command -v lowdown),$(B)/man/documents)

# The kernel's types that its program needs, of all: tests/check.sh makes it for each run.
$(B)/check/kernel.btf: $(GEN)/stackd.bpf.o
	@mkdir -p $(@D)
	$(call say,BTF,$@)$(BPFTOOL) gen min_core_btf /sys/kernel/btf/vmlinux $@ $<

-include $(filter-out $(B)/roots/% $(B)/deb/% $(B)/arm64/%,$(wildcard $(B)/*/*.d $(B)/*/*/*.d $(B)/*/*/*/*.d $(B)/*/*/*/*/*.d $(B)/pic/*/*/*/*/*.d))

# --- tests -----------------------------------------------------------------------------------

# `make check` builds the tests that tests/unit/plain.txt lists without sanitizers, the others with (LONG=1:
# all with); and those that have more cases without (tests/unit/length.h) both ways.
UNIT_TESTS = $(notdir $(TEST_SRC:.c=))
BOTH_WAYS  = $(notdir $(basename $(shell grep -lw by_build $(TEST_SRC))))
IN_PLAIN  := $(if $(LONG),,$(shell sed '/^#/d' tests/unit/plain.txt))
PLAIN      = $(sort $(IN_PLAIN) $(BOTH_WAYS))
SANITIZED  = $(filter-out $(IN_PLAIN),$(UNIT_TESTS))

# Optimising a test takes gcc two to five times as long, which is worth it for few of them.
BUSY_TESTS = $(patsubst %,$(B)/tests/test_%,fold fold_increments tag_search tagset_share import perfdata_hostile)
$(B)/tests/%: tests/unit/%.c $(B)/libstackd.a
	@mkdir -p $(@D)
	$(call say,TEST,$@)$(CC) $(CFLAGS) $(if $(filter $@,$(BUSY_TESTS)),,-O0) $(LDFLAGS) -Itests/unit $(DEPS) -MF $@.d -o $@ $< \
		$(filter %.o %-daemon.a,$^) $(B)/libstackd.a $(LDLIBS) -lcmocka -ljansson

# These test parts of the daemon, on their own or all together (recorder).
$(patsubst %,$(B)/tests/test_%,branch_event branches extents load_error prefix deep record recorder await_interpreters reorder ring \
	remakes requests room segment caller_check caller_check_asked noreturn_check root_check judge judge_jit tables numbers table_wait known_tags tag_paths tagger window budget command_words outage mark_spec \
	region_name worker_wire run_counters wait_reason wakeup_frame wait_object sandbox online_cpus mpi_calls mpi_pending mpi_layout mpi_bytes ranks container_names percpu_distance probe_place probe_move attach \
	alloc_coverage counter_spec event_spec copied_text code_windows walks_ahead new_mappings fork_server refusals slow_files namer names_again user_shares mapping_shares recorder_files recorder_calls cpu_share slowness watch intake readings planted_returns phases gil process_memory machine short_lived sideband environments fetcher): \
	$(B)/libstackd-daemon.a

$(B)/tests/linked_code.so $(B)/tests/linked_parts.so $(B)/tests/linked_outside.so $(B)/tests/linked_runtime.so: \
	$(B)/tests/%.so: tests/unit/%.S
	@mkdir -p $(@D)
	$(call say,AS,$@)$(CC) -shared -o $@ $<
$(B)/tests/test_solve_linked: | $(B)/tests/linked_code.so
$(B)/tests/test_solve_parts: | $(B)/tests/linked_parts.so
$(B)/tests/test_solve_runtime: | $(B)/tests/linked_runtime.so
$(B)/tests/test_external_returns: | $(B)/tests/linked_outside.so
$(B)/tests/mpi_open.so: MPI =
$(B)/tests/mpi_unproven.so: MPI = -DNO_DOUBLE
$(B)/tests/mpi_mpich.so: MPI = -DMPICH
$(B)/tests/mpi_open.so $(B)/tests/mpi_unproven.so $(B)/tests/mpi_mpich.so: tests/unit/mpi_layout.S
	@mkdir -p $(@D)
	$(call say,AS,$@)$(CC) -shared -Wl,-Bsymbolic $(MPI) -o $@ $<
$(B)/tests/test_mpi_layout: | $(B)/tests/mpi_open.so $(B)/tests/mpi_unproven.so $(B)/tests/mpi_mpich.so \
	$(B)/tests/linked_code.so

unit-tests: $(TESTS)
plain-tests: $(PLAIN:%=$(B)/tests/%)
sanitized-tests: $(SANITIZED:%=$(B)/tests/%)
names-of-tests: ; @printf 'plain %s\n' $(PLAIN); printf 'sanitized %s\n' $(SANITIZED)

$(B)/agree/%: tests/agree/%.c $(B)/libstackd.a
	@mkdir -p $(@D)
	$(call say,TEST,$@)$(CC) $(CFLAGS) $(LDFLAGS) -Itests/agree $(DEPS) -MF $@.d -o $@ $< \
		$(B)/libstackd.a $(LDLIBS)

$(B)/bench/%: bench/%.c $(B)/libstackd.a
	@mkdir -p $(@D)
	$(call say,BENCH,$@)$(CC) $(CFLAGS) $(LDFLAGS) -Itests/unit $(DEPS) -MF $@.d -o $@ $< \
		$(filter %.o %-daemon.a,$^) $(B)/libstackd.a $(LDLIBS)

$(B)/bench/forget $(B)/bench/alloc_pair $(B)/bench/alloc_seeds: $(B)/libstackd-daemon.a

# Makes the stores of tests/cli and tests/exports.
$(B)/tests/make_store: tests/cli/make_store.c $(wildcard tests/cli/make_*.h) tests/unit/recording_fixture.h $(B)/libstackd.a
	@mkdir -p $(@D)
	$(call say,TEST,$@)$(CC) $(CSTD) -I. -Ilib -Ilib/code -Ilib/record -Ilib/show -Ibpf -o $@ $< $(B)/libstackd.a \
		$(shell $(PKG_CONFIG) --libs sqlite3 libzstd) -lpthread

# Tests the sampling and the set of sampled blocks apart from the library.
$(B)/tests/test_stackalloc: $(B)/libstackalloc/live.o $(B)/libstackalloc/sample.o

# The published alignment algorithm, which tests and bench compare lib/record/align with.
$(B)/tests/test_servat $(B)/bench/align_speed: $(B)/tests/unit/servat.o

# bench/walk.py needs programs with frame pointers, and the kernel's walk to compare with.
WALK_BENCH = $(B)/bench/deep $(B)/bench/changing $(B)/bench/replay $(B)/bench/getstack $(B)/bench/prices

$(GEN)/%.bpf.o: bench/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$@)$(BPF_CLANG) $(BPF_FLAGS) -c $< -o $@

$(GEN)/getstack.skel.h $(GEN)/prices.skel.h: $(GEN)/%.skel.h: $(GEN)/%.bpf.o
	$(call say,SKEL,$@)$(BPFTOOL) gen skeleton $< name $*_bpf > $@.tmp && mv $@.tmp $@

$(B)/bench/getstack: $(GEN)/getstack.skel.h
$(B)/bench/prices: $(GEN)/prices.skel.h

$(B)/bench/deep: bench/deep.c
	@mkdir -p $(@D)
	$(call say,BENCH,$@)$(CC) $(CSTD) $(WARN) -O2 -g -fno-omit-frame-pointer -o $@ $<

$(B)/bench/replay: bench/replay.c
	@mkdir -p $(@D)
	$(call say,BENCH,$@)$(CC) $(CSTD) $(WARN) -O2 -g -fno-omit-frame-pointer -o $@ $<

$(B)/bench/bt: bench/bt.c
	@mkdir -p $(@D)
	$(call say,BENCH,$@)$(CC) $(CSTD) $(WARN) -O2 -g -o $@ $<

$(B)/bench/changing: bench/changing.cc
	@mkdir -p $(@D)
	$(call say,BENCH,$@)$(CXX) -std=c++17 $(STRICT) -O2 -g -fno-omit-frame-pointer -o $@ $<

walk-bench: $(WALK_BENCH)

# bench/cost.py counts what a walk costs: the BPF program, interpreted.
$(B)/bench/cost $(B)/bench/cost_live: $(patsubst %,$(B)/bench/cost_%.o,vm load stacks world helpers)
cost-bench: $(GEN)/stackd.bpf.o $(B)/bench/cost $(B)/bench/cost_live $(B)/bench/cost_record

$(WORKLOADS): $(wildcard tests/workloads/*)
	$(call say,MAKE,tests/workloads)$(MAKE) -s -C tests/workloads B=$(abspath $(B))/workloads
	@touch $@

# Some of the programs once more, with tags: by the plugin, if it is there, and by the library alone
# (tests/live/test_tags.py).
ONLY_functions = chain chain_nonpie threads plugin
ONLY_plugin    = $(ONLY_functions) chain_static chain_static_pie chain_stripped recursion deep leader_exits fork_exec dlopen_dlclose \
	signal_handler sigaltstack vdso plt plt_ibt redzone alloca realigned ucontext tail_calls noreturn jit registers rust_names \
	cpp_names exceptions inlined
TAGGED_LIB  = -L$(abspath $(B)) -Wl,-rpath,$(abspath $(B)) -Wl,--no-as-needed -Wl,-u,stacktag_current -lstacktag
TAGGED_ARGS = $(if $(PLUGIN),plugin='-fplugin=$(abspath $(PLUGIN))') functions='-finstrument-functions'
$(WORKLOADS)-tagged: $(WORKLOADS) $(B)/libstacktag.a $(B)/libstacktag.so.1 $(PLUGIN)
	$(call say,MAKE,tests/workloads-tagged)for kind in $(TAGGED_ARGS); do $(MAKE) -s -C tests/workloads \
		B=$(abspath $(B))/workloads/tagged-$${kind%%=*} TAGGED="$${kind#*=} $(TAGGED_LIB)" \
		ONLY="$$(case $$kind in plugin*) echo $(ONLY_plugin) ;; *) echo $(ONLY_functions) ;; esac)" || exit 1; done
	@touch $@

workloads: $(WORKLOADS) $(WORKLOADS)-tagged

# Emulated branch records: a tool for valgrind, its programs, and the scorer of call paths.
$(B)/emulator/score: tests/emulator/score.c $(B)/libstackd.a
	@mkdir -p $(@D)
	$(call say,TEST,$@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(B)/libstackd.a $(LDLIBS)

emulator: $(B)/emulator/score
	$(call say,MAKE,tests/emulator)$(MAKE) -s -C tests/emulator B=$(abspath $(B))/emulator

deps:
	$(Q)./deps.sh $(or $(GROUPS),build $(if $(PREBUILT),,bpf))

check: ; $(Q)tests/check.sh $(if $(TEST),TEST=$(TEST),all)
check-long: ; $(Q)tests/check.sh long
check-repeat: ; $(Q)tests/repeat.py --times $(or $(TIMES),20) $(if $(PART),--part $(PART)) $(if $(RESULTS),--results $(RESULTS)) $(if $(STOPS),--stops) $(if $(SUM),--sum) $(TEST)
check-unit: ; $(Q)tests/check.sh unit
check-live: ; $(Q)tests/check.sh live
check-kernels: ; $(Q)tests/check.sh kernels
check-distros: ; $(Q)tests/check.sh distros
check-arm64: ; $(Q)tests/check.sh arm64
check-container: ; $(Q)tests/check.sh container
lint: ; $(Q)tests/check.sh lint
demo: ; $(Q)docs/demo.sh

format:
	$(Q)clang-format -i $(C_FILES)

agree: ; $(Q)tests/agree/run.sh full
fuzz: ; $(Q)tests/fuzz/run.sh $(or $(SECONDS),120)

soak: all workloads ; $(Q)python3 bench/soak.py $(or $(SECONDS),3600)
bench: ; $(Q)bench/run.sh full
bench-quick: ; $(Q)bench/run.sh quick

# --- installing ------------------------------------------------------------------------------

install: all man $(call has,tags,install-tags)
	install -D -m 0755 $(B)/stackd $(DESTDIR)$(PREFIX)/sbin/stackd
	install -D -m 0755 $(B)/stackctl $(DESTDIR)$(PREFIX)/bin/stackctl
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man8 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/vendor-completions
	install -m 0644 $(B)/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 0644 $(B)/man/*.8 $(DESTDIR)$(PREFIX)/share/man/man8
	if ls $(B)/man/*.7 >/dev/null 2>&1; then install -d $(DESTDIR)$(PREFIX)/share/man/man7 && \
		install -m 0644 $(B)/man/*.7 $(DESTDIR)$(PREFIX)/share/man/man7; fi
	install -d $(DESTDIR)$(PREFIX)/share/doc/stackd/docs/find
	install -m 0644 README.md CONTRIBUTING.md $(DESTDIR)$(PREFIX)/share/doc/stackd
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/stackd/LICENSES $(wildcard LICENSES/*.txt)
	install -m 0644 $(wildcard docs/*.md) docs/flamegraph.svg $(DESTDIR)$(PREFIX)/share/doc/stackd/docs
	install -m 0644 $(wildcard docs/find/*.md docs/find/*.c) $(DESTDIR)$(PREFIX)/share/doc/stackd/docs/find
	$(B)/stackctl completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/stackctl
	$(B)/stackctl completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/vendor-completions/_stackctl
	install -D -m 0644 $(B)/libstackalloc.so $(DESTDIR)$(PREFIX)/lib/stackd/libstackalloc.so
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/lib/stackd $(B)/libstackmpi.so $(B)/libstackregion.so
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/include arch/$(ARCH)/stackd_region.h
	for unit in stackd.service $(call has,servers,stackd-push.service) stackd-metrics.service stackd-metrics.timer; do \
		sed 's|@PREFIX@|$(PREFIX)|g' systemd/$$unit > $(DESTDIR)$(PREFIX)/lib/systemd/system/$$unit || exit 1; done
	install -D -m 0644 systemd/stackd.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/stackd.conf
	for kind in $(MPI_BUILT); do install -m 0755 $(B)/mpi/$$kind/stackctl-mpi $(DESTDIR)$(PREFIX)/bin/stackctl-mpi.$$kind || exit 1; done
	$(if $(MPI_BUILT),ln -sf stackctl-mpi.$(firstword $(MPI_BUILT)) $(DESTDIR)$(PREFIX)/bin/stackctl-mpi && \
		SOURCE_DATE_EPOCH=$(MAN_EPOCH) $(B)/mpi/$(firstword $(MPI_BUILT))/stackctl-mpi --man \
		> $(DESTDIR)$(PREFIX)/share/man/man1/stackctl-mpi-merge.1)
	$(if $(DESTDIR),,-ldconfig) # programs with tags find libstacktag

install-tags: stacktag
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/lib/stackd $(DESTDIR)$(PREFIX)/include
	install -m 0644 $(wildcard libstacktag/*.h) $(DESTDIR)$(PREFIX)/include
	install -m 0644 $(B)/libstacktag.a $(B)/libstacktag.so.1 $(B)/libstacktag-decode.so.1 $(DESTDIR)$(PREFIX)/lib
	for l in libstacktag libstacktag-decode; do ln -sf $$l.so.1 $(DESTDIR)$(PREFIX)/lib/$$l.so || exit 1; done
	$(if $(PLUGIN),install -m 0644 $(PLUGIN) $(DESTDIR)$(PREFIX)/lib/stackd)
	for pc in stacktag stacktag-decode $(if $(PLUGIN),stacktag-gcc); do sed 's|@PREFIX@|$(PREFIX)|g;s|@VERSION@|$(or $(VERSION),0)|g' \
		libstacktag/$$pc.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/$$pc.pc || exit 1; done

deb: all man
	$(Q)packaging/deb.sh $(B) $(or $(VERSION),0)

dist:
	$(Q)packaging/dist.sh $(B) $(or $(VERSION),0)

clean:
	rm -rf $(B)

.PHONY: FORCE install-tags mpi-left-out all help deps deb dist check check-long check-repeat check-unit check-live check-kernels check-arm64 check-distros check-container \
	lint format demo agree fuzz bench bench-quick install clean \
	unit-tests plain-tests sanitized-tests names-of-tests workloads emulator walk-bench man stacktag mpi
.DELETE_ON_ERROR:
