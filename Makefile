# stagecast: one Makefile, few words.
#
#   make            everything into build/          make check     every test, cheap ones first
#   make deps       the Debian packages (root)      make demo      a job on an emulated cluster
#   make help       all targets
#
# Sources are found by wildcard, one archive per folder: a new .cpp needs no change here. A program
# is the archives of the folders below its name; the linker takes from each only what is called.

BUILD      ?= build
PREFIX     ?= /usr
SYSCONFDIR ?= /etc
DESTDIR    ?=
RUNS       ?= 200
SEED       ?= 1
export BUILD RUNS SEED

ifeq ($(origin CXX),default)
CXX := g++
endif
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:

# ------------------------------------------------------------------------------ packages (make deps)
DEPS := \
  g++ make git ca-certificates $(# build it, and clone it) \
  libslurm-dev libmunge-dev libpmix-dev $(# what it talks to: Slurm, munge, PMIx) \
  libssl-dev libxxhash-dev nlohmann-json3-dev $(# seals, digests, statistics) \
  libboost-filesystem-dev libboost-program-options-dev $(# paths on disk, command lines) \
  catch2 bats python3 $(# unit tests, cluster tests, tidy) \
  clang-format-14 clang-tidy-14 clang-14 libclang-rt-14-dev shellcheck $(# format, lint) \
  slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge $(# the emulated cluster is real Slurm) \
  openmpi-bin libopenmpi-dev $(# the job that the demo runs) \
  iproute2 iptables ethtool $(# its network: namespaces, rates, loss) \
  procps psmisc util-linux mount bindfs fuse3 $(# its hosts: processes, mounts, a root squash) \
  bc strace tcpdump netcat-openbsd $(# what its tests look with)

# ------------------------------------------------------------------------- what this machine offers
# Slurm and PMIx are found below SLURM_PREFIX= and PMIX_PREFIX=, else where Debian puts them.
slurm_header := $(firstword $(wildcard $(or $(SLURM_PREFIX),/usr)/include/slurm/spank.h))
pmix_header  := $(firstword $(wildcard \
                  $(or $(PMIX_PREFIX:%=%/include/pmix.h),/usr/lib/*/pmix2/include/pmix.h)))

ifdef slurm_header
  SLURM_INC := $(SLURM_PREFIX:%=-isystem %/include)
  SLURM_LIB := $(SLURM_PREFIX:%=-L%/lib -Wl,-rpath,%/lib) -lslurm
else
  absent += spank stager/daemon/slurm_query.cpp tests/unit/spank
  $(info no slurm/spank.h: spank/ and stagecastd are left out (package libslurm-dev, or SLURM_PREFIX=))
endif
ifdef pmix_header
  PMIX_INC := -isystem $(patsubst %/,%,$(dir $(pmix_header)))
  PMIX_LIB := $(PMIX_PREFIX:%=-L%/lib -Wl,-rpath,%/lib) -lpmix
else
  absent += pmix/host pmix/pmix_% tests/unit/pmix/host tests/unit/pmix/pmix_%
  PMIX_INC := -DSTAGE_WITHOUT_PMIX
  $(info no pmix.h: pmix/host is left out, workers know only host files (package libpmix-dev, or PMIX_PREFIX=))
endif

# --------------------------------------------------------------------------------------------- flags
WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast \
  -Wnon-virtual-dtor -Woverloaded-virtual -Wnull-dereference -Wcast-qual -Wcast-align -Wformat=2 \
  -Wimplicit-fallthrough -Wundef -Werror
ifeq (,$(findstring clang,$(CXX)))
WARNINGS += -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wuseless-cast
endif

ifdef SAN   # SAN=address,undefined or SAN=thread; their instrumentation confuses two warnings
HARDENING := -O1 -fno-omit-frame-pointer -fsanitize=$(SAN) -fno-sanitize-recover=all \
  -Wno-maybe-uninitialized -Wno-null-dereference
LDFLAGS   += -fsanitize=$(SAN)
else
HARDENING := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection \
  -fcf-protection
LDFLAGS   += -Wl,-z,relro,-z,now
endif

CXXFLAGS := -std=c++20 -g -pthread $(HARDENING) $(WARNINGS) -I. $(SLURM_INC) $(PMIX_INC)
LDFLAGS  += -pthread -Wl,--as-needed
LIBS     := -lboost_filesystem -lboost_program_options -lmunge -lcrypto -lxxhash

# The plugin is a guest in slurmd, srun and slurmstepd. Its C++ runtime is linked in and hidden:
# then it neither loads a library into its host, nor depends on the host's version of one, nor
# can its symbols meet those of another plugin.
PLUGIN_CXXFLAGS := -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -ffunction-sections
PLUGIN_LDFLAGS  := -shared -static-libstdc++ -static-libgcc -Wl,--gc-sections \
  -Wl,--exclude-libs,ALL -Wl,--version-script=spank/exports.lds

# Objects are rebuilt when the way to build them changed, not whenever this file did.
how := $(CXX) $(CXXFLAGS) $(PLUGIN_CXXFLAGS)
ifneq ($(file <$(BUILD)/how),$(how))
$(shell mkdir -p $(BUILD))$(file >$(BUILD)/how,$(how))
endif

# --------------------------------------------------------------------------- programs and their rooms
transport := $(addprefix transport/,wan tcp verbs udp run core seal wire base)
plugin    := spank stager/control transport/base
daemon    := $(addprefix stager/,daemon spawn link config worker control) pmix pmix/host $(transport)
worker    := $(addprefix stager/,worker files config control) pmix $(transport)
host      := pmix/host pmix transport/base
everyone  := spank $(addprefix stager/,daemon spawn link worker files config control) \
             pmix/host pmix $(transport)

found    = $(filter-out $(absent) $(absent:%=%/%),$(wildcard $(addsuffix /*.$2,$1)))
sources  = $(filter-out %/main.cpp,$(call found,$1,cpp))
archive  = $(BUILD)/$1/lib$(subst /,-,$2).a
archives = $(foreach room,$2,$(if $(call sources,$(room)),$(call archive,$1,$(room))))
objects  = $(patsubst %.cpp,$(BUILD)/$1/%.o,$2)

unit_sources := $(call found,tests/unit $(addprefix tests/unit/,$(everyone)),cpp)
sim_sources  := $(call found,tests/sim,cpp)

# A program is made as soon as the file with its main exists.
program  = $(if $(call found,$2,cpp),$(if $(wildcard $3),$(BUILD)/$1))
PLUGIN   := $(call program,stagecast.so,spank,spank/exports.lds)
DAEMON   := $(and $(slurm_header),$(call program,stagecastd,stager/daemon,stager/daemon/main.cpp))
WORKER   := $(call program,stagecast-worker,stager/worker,stager/worker/main.cpp)
HOST     := $(call program,stagecast-pmix-host,pmix/host,pmix/host/main.cpp)
PROGRAMS := $(PLUGIN) $(DAEMON) $(WORKER) $(HOST)
TESTS    := $(BUILD)/unit-tests $(if $(sim_sources),$(BUILD)/sim-tests)

.PHONY: all programs deps ready check check-long unit sim net cluster bench demo san tsan \
        lint format format-check headers exports tidy install clean help
all: ready
	@$(MAKE) --no-print-directory programs
programs: $(PROGRAMS)

link = @echo "  LINK $@"; $(CXX) $(LDFLAGS) -o $@ $(filter %.o,$^) \
  -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS)

$(DAEMON): $(call objects,obj,stager/daemon/main.cpp) $(call archives,obj,$(daemon))
	$(link) $(SLURM_LIB)
$(WORKER): $(call objects,obj,stager/worker/main.cpp) $(call archives,obj,$(worker))
	$(link) $(PMIX_LIB)
$(HOST): $(call objects,obj,pmix/host/main.cpp) $(call archives,obj,$(host))
	$(link) $(PMIX_LIB)
$(BUILD)/unit-tests: $(call objects,obj,$(unit_sources)) $(call archives,obj,$(everyone))
	$(link) $(SLURM_LIB) $(PMIX_LIB)
$(BUILD)/sim-tests: $(call objects,obj,tests/unit/catch_main.cpp $(sim_sources)) \
                    $(call archives,obj,$(everyone))
	$(link) $(SLURM_LIB) $(PMIX_LIB)

# Of spank/ every object (Slurm looks the hooks up by name), of the rest what these call.
$(PLUGIN): $(call objects,pic,$(call found,spank,cpp)) \
           $(call archives,pic,$(filter-out spank,$(plugin))) spank/exports.lds
	@echo "  LINK $@"
	@$(CXX) $(LDFLAGS) $(PLUGIN_LDFLAGS) -o $@ $(filter %.o %.a,$^)

define room_rule
$(call archive,$1,$2): $(call objects,$1,$(call sources,$2))
	@rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach room,$(everyone),$(eval $(call room_rule,obj,$(room))))
$(foreach room,$(filter-out spank,$(plugin)),$(eval $(call room_rule,pic,$(room))))

compile = @echo "  CXX  $<"; mkdir -p $(@D); $(CXX) $(CXXFLAGS) $1 -MMD -MP -c -o $@ $<
$(BUILD)/obj/%.o: %.cpp $(BUILD)/how
	$(call compile,)
$(BUILD)/pic/%.o: %.cpp $(BUILD)/how
	$(call compile,$(PLUGIN_CXXFLAGS))
# Catch2's main under the sanitizers warns out of libstdc++'s <regex>, falsely.
$(BUILD)/obj/tests/unit/catch_main.o: tests/unit/catch_main.cpp $(BUILD)/how
	$(call compile,-w)
-include $(shell find $(BUILD)/obj $(BUILD)/pic $(BUILD)/headers -name '*.d' 2>/dev/null)

# --------------------------------------------------------------------------------------------- tests
check: ready
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL tests/check

check-long: check
	@$(MAKE) --no-print-directory sim RUNS=100000
	@$(MAKE) --no-print-directory san
	@$(MAKE) --no-print-directory tsan

unit: $(BUILD)/unit-tests
	@$< $(ARGS)
sim: $(filter %/sim-tests,$(TESTS))
	@$(if $<,$< $(ARGS),echo "sim: no simulation in this tree")
san:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/san SAN=address,undefined unit sim
tsan:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan SAN=thread unit sim

suite = @if [ -x tests/$@/run ]; then tests/$@/run $(ARGS); else echo "$@: no tests/$@/run"; fi
net cluster bench: programs
	$(suite)
demo: ready
	@$(MAKE) --no-print-directory programs
	$(suite)

# --------------------------------------------------------------------------------------------- style
code    := $(wildcard $(foreach depth,* */* */*/* */*/*/*,$(foreach top,\
             spank stager transport pmix tests,$(top)/$(depth).h $(top)/$(depth).cpp)))
headers := $(filter-out $(absent:%=%/%) tests/%,$(filter %.h,$(code)))

format:
	@clang-format-14 -i $(code)
format-check:
	@clang-format-14 --dry-run --Werror $(code)
tidy:
	@tests/tidy/run

# Each header compiles alone, and twice.
headers: $(headers:%=$(BUILD)/headers/%.ok)
$(BUILD)/headers/%.ok: % $(BUILD)/how
	@mkdir -p $(@D)
	@printf '#include "%s"\n' $< $< | $(CXX) $(CXXFLAGS) -MMD -MP -MF $(@:.ok=.d) -MT $@ \
	    -fsyntax-only -x c++ - && touch $@

exports: $(PLUGIN)
	@$(if $<,tests/tidy/exports $<,echo "exports: no plugin in this tree")

lint: $(patsubst %,$(BUILD)/lint/%.ok,$(filter-out $(absent) $(absent:%=%/%),$(filter %.cpp,$(code))))
$(BUILD)/lint/%.ok: % .clang-tidy
	@echo "  LINT $<"; mkdir -p $(@D)
	@clang-tidy-14 --quiet $< -- -std=c++20 -I. $(SLURM_INC) $(PMIX_INC) 2>/dev/null && touch $@

# --------------------------------------------------------------------------------- install, machine
place = $(if $(wildcard $1),install -D -m $2 $1 $(DESTDIR)$3)
install: programs
	$(call place,$(PLUGIN),0755,$(PREFIX)/lib/slurm/stagecast.so)
	$(call place,$(DAEMON),0755,$(PREFIX)/sbin/stagecastd)
	$(call place,$(WORKER),0755,$(PREFIX)/libexec/stagecast/stagecast-worker)
	$(call place,$(HOST),0755,$(PREFIX)/libexec/stagecast/stagecast-pmix-host)

missing = dpkg-query -W -f '$${db:Status-Status} $${Package}\n' $(DEPS) 2>&1 | \
  sed -n 's/^dpkg-query: no packages found matching //p; /^installed /d; s/^[a-z-]* //p'
ready:
	@true
deps:
	apt-get update
	apt-get install --yes --no-install-recommends $(DEPS)

clean:
	rm -rf $(BUILD)
