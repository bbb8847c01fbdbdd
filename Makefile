# stagecast: one Makefile, few words.
#
#   make          the plugin, the daemon, the worker, the PMIx host, into build/; DEBUG=-g
#   make deps     installs the Debian packages (root); all, check and demo do it by themselves
#   make deps-build   only those that the programs and a package of them are built with
#   make demo     a job with a staged file on an emulated cluster: NODES= SIZE= RATE= LOSS=
#   make unit ROOM=core/rate   the unit tests of one folder or file of tests/unit, in seconds
#   make quick    without root: format, rules, unit tests, 200 simulations; make compdb
#   make check    every suite, at the end "N passed, N failed"; WHAT=
#   make check-on DIST=trixie   the same in a chroot of another Debian (root); WHAT= DIR=
#   make check-long   the same, then 10^5 simulations, 200 kills, 2000 model runs, sanitizers
#   make deb      a Debian package of it, into build/deb/; make rpm, into build/rpm/
#   make install  DESTDIR= PREFIX=/usr SYSCONFDIR=/etc; make uninstall takes it away
#
# The package under a real systemd: make nspawn (root; a container is made once, DIR=)
# What needs a kernel with soft-RoCE, in a virtual machine: make check-vm, make vm ARGS=
# One suite: unit, sim (RUNS= SEED=), sim-scale, fuzz, san, tsan, pmix, net, mpi, cluster; ARGS=
# Random requests on a cluster: make model RUNS=50 SEED=1; many jobs on one: make soak JOBS=200
# Random sequences of MPI's collectives: make mpi-sequences RUNS=10000 SEED=1
# The papers' algorithms beside ours: make sim-baselines
# Which lines they reach: make coverage (RUNS=), a page for each file in build/coverage/report/
# To measure: make bench PARTS="main-job peers" CELLS=short|all|"16:16M:100mbit:1%" REPS=5
# To fuzz: make fuzz TARGET=wire_body TIME=60 (needs clang; the targets are in tests/fuzz)
# One check: format-check, tidy, headers, exports, lint, judges. To mend: format, clean
#
# Sources are found by wildcard, one archive a folder: a new .cpp needs no change here.
# A program is its main and the archives of the folders it lists; what isn't called stays out.

BUILD      ?= build
PREFIX     ?= /usr
SYSCONFDIR ?= /etc
export BUILD

ifeq ($(origin CXX),default)
CXX := g++
endif
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DELETE_ON_ERROR:

# ------------------------------------------------------------------ packages (Debian 12, 13)
deps_build := \
  g++ make git ca-certificates          $(# to clone it and to build it) \
  libmunge-dev libssl-dev               $(# credentials, seals) \
  $(if $(filter x86_64,$(shell uname -m)),libipsec-mb-dev) $(# seals, where processors can) \
  libibverbs-dev librdmacm-dev          $(# InfiniBand and RoCE) \
  libxxhash-dev libisal-dev             $(# digests, CRC32C) \
  nlohmann-json3-dev                    $(# statistics) \
  libarchive-dev zlib1g-dev liblz4-dev liblzma-dev libzstd-dev $(# archives; compression) \
  libboost-filesystem-dev               $(# paths where they meet the disk) \
  libboost-program-options-dev          $(# command lines) \
  $(if $(SLURM_PREFIX),,libslurm-dev)   $(# the plugin, job states, addresses) \
  $(if $(PMIX_PREFIX),,libpmix-dev)     $(# how the workers find each other)
deps_deb := dpkg-dev debhelper          $(# make deb)
deps_judges := \
  rpm rpmlint lintian mandoc codespell reuse $(# packages, pages, licences, metrics)
deps_test := $(deps_deb) $(deps_judges) \
  catch2 bats parallel python3          $(# unit tests, cluster tests, tidy) \
  clang-format clang-tidy shellcheck    $(# format, lint) \
  slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge $(# a real cluster, emulated) \
  openmpi-bin libopenmpi-dev            $(# its jobs, and programs with libstagecast-mpi) \
  mpich libmpich-dev gfortran socat     $(# such programs, and mpirun's way to its hosts) \
  python3-mpi4py                        $(# one in Python) \
  openssh-server openssh-client clustershell $(# what starts programs where no daemon is) \
  iproute2 iptables ethtool             $(# its network: namespaces, rates, loss) \
  procps util-linux mount               $(# its hosts: processes and mounts) \
  xfsprogs btrfs-progs e2fsprogs        $(# their disks) \
  bindfs fuse3                          $(# a file system that refuses root) \
  zip unzip zstd lz4 xz-utils bzip2 openssl $(# archives, and what is in them) \
  systemd python3-seccomp               $(# confine the daemon as its unit says) \
  python3-jsonschema                    $(# what --json prints has its schema) \
  bc jq xxd strace tcpdump faketime     $(# what the tests look with)
deps_nspawn := systemd-container debootstrap $(# make nspawn)
deps_vm := \
  qemu-system-x86 busybox-static kmod zstd xz-utils $(# make vm: a machine, a kernel) \
  ibverbs-providers ibverbs-utils rdmacm-utils perftest $(# what its tests look with)
deps_fuzz := clang libclang-rt-dev      $(# make fuzz TARGET=)
deps_coverage := gcovr                  $(# make coverage)
deps_bench := \
  uftp udpcast                          $(# the peers) \
  pvm pvm-dev sshfs                     $(# what the papers compared, and a file system) \
  linux-perf                            $(# where the CPU time goes) \
  gnuplot-nox                           $(# plots)

# ---------------------------------------------------------------- what this machine offers
# Slurm and PMIx are taken from SLURM_PREFIX= and PMIX_PREFIX=, else where packages have them.
slurm_header := $(wildcard $(or $(SLURM_PREFIX),/usr)/include/slurm/spank.h)
pmix_header  := $(firstword $(wildcard $(if $(PMIX_PREFIX),$(PMIX_PREFIX)/include/pmix.h,\
    /usr/lib/*/pmix2/include/pmix.h /usr/include/pmix.h)))
# The compiler searches /usr by itself; named once more, /usr/include would come before the
# headers of C++, which then find none of C's.
unless_usr = $(if $(filter /usr /usr/include,$(realpath $1)),,$1)
include_in = $(foreach at,$(call unless_usr,$(1:%/=%)),-isystem $(at))
lib_below  = $(foreach at,$(call unless_usr,$1),-L$(at)/lib -Wl,-rpath,$(at)/lib)

ifneq (,$(slurm_header))
  SLURM_INC := $(call include_in,$(SLURM_PREFIX:%=%/include))
  SLURM_LIB := $(call lib_below,$(SLURM_PREFIX)) -lslurm
else
  absent += spank tests/unit/spank stager/slurm/slurm_query.cpp stager/slurm/slurm_nodes.cpp
  $(info no slurm/spank.h, so no plugin and no daemon: libslurm-dev, or SLURM_PREFIX=)
endif
ifneq (,$(pmix_header))
  PMIX_INC := $(call include_in,$(dir $(pmix_header)))
  PMIX_LIB := $(call lib_below,$(PMIX_PREFIX)) -lpmix
else
  absent += pmix/host pmix/pmix_% tests/unit/pmix/pmix_% tests/pmix
  PMIX_INC := -DSTAGE_WITHOUT_PMIX
  $(info no pmix.h, so no pmix/host, cards go by daemons: libpmix-dev, or PMIX_PREFIX=)
endif

# The library for MPI programs is made for each of these, by its own compiler.
MPICC_openmpi ?= mpicc.openmpi
MPICC_mpich   ?= mpicc.mpich
has_mpi = $(shell command -v $(MPICC_$1))
mpis   := $(foreach one,openmpi mpich,$(if $(call has_mpi,$(one)),$(one)))

# Debian 12 has Catch2 2, Debian 13 has Catch2 3.
ifneq (,$(wildcard /usr/include/catch2/catch_all.hpp))
  CATCH_INC := -Itests/catch3
  CATCH_LIB := -lCatch2Main -lCatch2
endif

# ------------------------------------------------------------------------------------- flags
WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast \
  -Wnon-virtual-dtor -Woverloaded-virtual -Wnull-dereference -Wcast-qual -Wcast-align \
  -Wformat=2 -Wimplicit-fallthrough -Wundef -Werror
ifeq (,$(findstring clang,$(CXX)))
WARNINGS += -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wuseless-cast
endif

ifdef SAN   # address,undefined or thread; the code they add confuses two of g++'s warnings
RELEASE := -O1 -fno-omit-frame-pointer -fsanitize=$(SAN) -fno-sanitize-recover=all \
  -Wno-null-dereference $(if $(findstring clang,$(CXX)),,-Wno-maybe-uninitialized)
LDFLAGS := -fsanitize=$(SAN)
else ifdef COVERAGE
RELEASE := -O0 --coverage -fprofile-update=atomic
LDFLAGS := --coverage
else
RELEASE := -O2 -fPIE -fstack-protector-strong -fstack-clash-protection -fcf-protection \
  -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(if $(findstring clang,$(CXX)),2,3 \
  -ftrivial-auto-var-init=zero)
LDFLAGS := -Wl,-z,relro,-z,now,-z,noexecstack
PIE     := -pie
endif

# A stack has files and lines; with all variables (-g) compiling takes half as long again.
DEBUG    ?= -g1
INCLUDES := -I. $(CATCH_INC) $(SLURM_INC) $(PMIX_INC)
CXXFLAGS := -std=c++20 $(DEBUG) -pthread -D_GLIBCXX_ASSERTIONS $(RELEASE) $(WARNINGS) \
  $(INCLUDES)
LDFLAGS  += -pthread -Wl,--as-needed
LIBS     := -lboost_filesystem -lboost_program_options -lmunge -lcrypto -lxxhash -lisal \
  -larchive -lz -llz4 -llzma -lzstd $(if $(wildcard /usr/include/intel-ipsec-mb.h),-lIPSec_MB) \
  $(if $(wildcard /usr/include/rdma/rdma_cma.h),-lrdmacm -libverbs)

# The plugin runs in slurmd, srun and slurmstepd. Its C++ runtime is linked in and hidden:
# so it brings no library into its host, rests on no version of one that the host happens to
# have, and its symbols can't meet those of another plugin. Everything is hidden by default: a
# hook asks for visibility("default") and is named in exports.lds.
SHARED_CXXFLAGS := -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -ffunction-sections
PLUGIN_LDFLAGS  := -shared -static-libstdc++ -static-libgcc -Wl,--gc-sections \
  -Wl,--exclude-libs,ALL -Wl,--version-script=spank/exports.lds

# Objects are made anew when the way to make them changed, not whenever this page did.
how := $(shell $(CXX) --version | head -n 1) $(CXX) $(CXXFLAGS) $(SHARED_CXXFLAGS)
ifneq ($(file <$(BUILD)/how),$(how))
$(shell mkdir -p $(BUILD))$(file >$(BUILD)/how,$(how))
endif

# Likewise what the programs know of their release and of where they are installed. The version
# is that of HEAD, once for all the makes of one call.
export STAGECAST_VERSION ?= $(shell etc/version)
places := -DSTAGECAST_VERSION='"$(STAGECAST_VERSION)"' -DSTAGECAST_PREFIX='"$(PREFIX)"' \
  -DSTAGECAST_SYSCONFDIR='"$(SYSCONFDIR)"'
ifneq ($(file <$(BUILD)/places),$(places))
$(shell mkdir -p $(BUILD))$(file >$(BUILD)/places,$(places))
endif

# ----------------------------------------------------------------------- folders and programs
# A folder and the folders in it that have sources.
rooms      = $(sort $(patsubst %/,%,$(dir $(wildcard $(foreach place,$1,$(place)/*.cpp \
  $(place)/*/*.cpp $(place)/*/*/*.cpp)))))
transport := $(call rooms,transport)
plugin    := $(call rooms,spank stager/control stager/spec transport/base transport/os)
shared    := $(call rooms,$(addprefix stager/,config control spec messages disk content \
  removal files cache))
daemon    := $(call rooms,$(addprefix stager/,daemon push slurm spawn link)) $(shared) pmix \
  $(transport)
worker    := $(call rooms,stager/worker stager/mpi/messages stager/mpi/addresses) $(shared) \
  pmix $(transport)
host      := $(call rooms,pmix transport/base transport/os)
bcast     := $(call rooms,$(addprefix stager/mpi/,addresses bcast messages) \
  $(addprefix transport/,base core fabric os run seal udp verbs wire))
mpi       := $(call rooms,stager/mpi transport/base transport/os)
mpi       := $(filter-out stager/mpi/bcast,$(mpi))
command   := $(call rooms,stager/cli) $(daemon)
all_parts := $(sort $(plugin) $(daemon) $(worker) $(host) $(command) $(mpi) $(bcast))

found    = $(filter-out $(absent) $(absent:%=%/%),$(wildcard $(addsuffix /*.cpp,$1)))
library  = $(filter-out %/main.cpp,$(call found,$1))
objects  = $(patsubst %.cpp,$(BUILD)/$1/%.o,$2)
archive  = $(BUILD)/$1/$(subst /,-,$2).a
archives = $(foreach folder,$2,$(if $(call library,$(folder)),$(call archive,$1,$(folder))))
# A program is made where its main exists and nothing that it needs is absent.
program  = $(if $(filter-out $(absent) $(absent:%=%/%),$(wildcard $2)),$(BUILD)/$1)

PLUGIN := $(call program,stagecast.so,spank/exports.lds)
DAEMON := $(if $(slurm_header),$(call program,stagecastd,stager/daemon/main.cpp))
WORKER := $(call program,stagecast-worker,stager/worker/main.cpp)
HOST   := $(call program,stagecast-pmix-host,pmix/host/main.cpp)
COMMAND := $(call program,stagecast,stager/cli/main.cpp)
PROBE  := $(call program,pmix-probe,tests/pmix/probe.cpp)
FAULTY := $(call program,faulty-worker,tests/net/faulty_worker.cpp)
MPI    := $(if $(wildcard stager/mpi/exports.lds),$(mpis:%=$(BUILD)/libstagecast-mpi-%.so))
BCAST  := $(if $(wildcard stager/mpi/bcast/exports.lds),\
  $(mpis:%=$(BUILD)/libstagecast-bcast-%.so))
UNIT   := $(BUILD)/unit-tests
SIM    := $(if $(call found,tests/sim),$(BUILD)/sim-tests)
SCALE  := $(BUILD)/sim-scale

.PHONY: all programs check check-long unit sim sim-scale san tsan pmix net mpi cluster bench
.PHONY: demo
.PHONY: quick compdb coverage bench-selftest check-on check-ci model soak nspawn reproducible
.PHONY: vm vm-boot check-vm
.PHONY: test-programs fuzz fuzz-replay fuzz-seeds fuzz-here
.PHONY: format format-check tidy headers exports lint judges
.PHONY: install install-doc uninstall deb dsc rpm clean
.PHONY: deps deps-build
.PHONY: ready-to-build ready-to-package ready-to-bench ready
all: ready-to-build
	@$(MAKE) programs
programs: $(PLUGIN) $(DAEMON) $(WORKER) $(HOST) $(COMMAND) $(PROBE) $(FAULTY) $(MPI) $(BCAST)

catch_main := tests/unit/catch_main.cpp
unit_tests := $(call found,tests/unit tests/unit/* tests/unit/*/*) tests/net/faulty_driver.cpp
# The tests of a folder are compiled together, by a list of their includes: what all of them
# include takes most of the time. Alone each is compiled for ROOM= and for clang's tools.
define newline


endef
hash          := \#
unit_alone    := $(filter-out %_test.cpp,$(unit_tests))
unit_folders  := $(patsubst %/,%,$(sort $(dir $(filter %_test.cpp,$(unit_tests)))))
together       = $(BUILD)/together/$(subst /,-,$1).cpp
unit_together := $(foreach folder,$(unit_folders),$(call together,$(folder)))
includes_of    = $(foreach test,$(filter %_test.cpp,$(call found,$1)),\
  $(hash)include "$(test)"$(newline))
differ         = $(subst $(strip $1),,$(strip $2))$(subst $(strip $2),,$(strip $1))
list_together  = $(if $(call differ,$(file <$1),$2),$(shell mkdir -p $(dir $1))$(file >$1,$2))
$(foreach folder,$(unit_folders),$(call \
  list_together,$(call together,$(folder)),$(call includes_of,$(folder))))
sim_world  := $(addprefix tests/sim/,world host network plan)
sim_rooms  := $(sim_world) $(addprefix tests/sim/,baselines relay mpi)
sim_tests  := $(call found,tests/sim $(sim_rooms)) $(catch_main)
sim_scale  := $(call found,$(sim_world) tests/sim/scale)

$(DAEMON): $(call objects,obj,stager/daemon/main.cpp) $(call archives,obj,$(daemon))
$(WORKER): $(call objects,obj,stager/worker/main.cpp) $(call archives,obj,$(worker))
$(COMMAND): $(call objects,obj,stager/cli/main.cpp)   $(call archives,obj,$(command))
$(HOST):   $(call objects,obj,pmix/host/main.cpp)     $(call archives,obj,$(host))
$(PROBE):  $(call objects,obj,tests/pmix/probe.cpp)   $(call archives,obj,$(host))
$(FAULTY): $(call objects,obj,$(call found,tests/net)) $(call archives,obj,$(worker))
$(UNIT):   $(call objects,obj,$(unit_alone)) $(unit_together:.cpp=.o) \
           $(call archives,obj,$(all_parts))
$(SIM):    $(call objects,obj,$(sim_tests))           $(call archives,obj,$(all_parts))
# The unit tests of one folder or file, with nothing compiled that these do not include.
ifdef ROOM
ROOM_UNIT  := $(BUILD)/unit-$(subst /,-,$(ROOM))
$(ROOM_UNIT): $(call objects,obj,$(shell tests/unit/needs $(ROOM)) $(catch_main))
endif
$(SCALE):  $(call objects,obj,$(sim_scale))           $(call archives,obj,$(transport))
# The ring of short messages, with a simulated MPI in place of an installed one.
sim_ring   := $(addprefix $(BUILD)/mpi/sim/,short_ring.o ring_calls.o)
$(SIM): $(sim_ring)
$(sim_ring): $(BUILD)/mpi/sim/%.o: $(wildcard stager/mpi/bcast/*.[ch] tests/sim/mpi/*.[ch]) \
        $(BUILD)/how
	@echo "  C    $*"; mkdir -p $(@D)
	@$(CXX) -x c -std=c11 $(DEBUG) -fexceptions $(RELEASE) -Wall -Wextra -Wconversion -Wshadow \
	    -Werror -Itests/sim/mpi -I. -c -o $@ $(filter %/$*.c,$^)

$(DAEMON) $(UNIT) $(ROOM_UNIT) $(SIM): LIBS += $(SLURM_LIB)
$(UNIT) $(ROOM_UNIT) $(SIM): LIBS += $(CATCH_LIB)
$(WORKER) $(HOST) $(PROBE) $(FAULTY) $(UNIT) $(ROOM_UNIT) $(SIM): LIBS += $(PMIX_LIB)
$(DAEMON) $(WORKER) $(HOST) $(COMMAND) $(PROBE) $(FAULTY) $(UNIT) $(ROOM_UNIT) $(SIM) $(SCALE):
	@echo "  LINK $@"
	@$(CXX) $(LDFLAGS) $(PIE) -o $@ $(filter %.o,$^) \
	    -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS)

# Of spank/ every object, because Slurm finds the hooks by name; of the rest what these call.
$(PLUGIN): $(call objects,obj,$(call found,spank)) \
           $(call archives,obj,$(filter-out spank,$(plugin))) spank/exports.lds
	@echo "  LINK $@"
	@$(CXX) $(LDFLAGS) $(PLUGIN_LDFLAGS) -o $@ $(filter %.o,$^) \
	    -Wl,--start-group $(filter %.a,$^) -Wl,--end-group

# Of each MPI only one file is compiled. The compiler of MPI knows what it links with. As of the
# plugin the C++ runtime is linked in and hidden: users' programs have theirs.
$(MPI): $(BUILD)/libstagecast-mpi-%.so: $(BUILD)/mpi/%.o \
        $(call objects,obj,$(call found,stager/mpi)) \
        $(call archives,obj,$(filter-out stager/mpi,$(mpi))) stager/mpi/exports.lds
	@echo "  LINK $@"
	@OMPI_CC=$(CXX) MPICH_CC=$(CXX) $(MPICC_$*) $(LDFLAGS) -shared -static-libstdc++ \
	    -static-libgcc -Wl,--gc-sections -Wl,--exclude-libs,ALL \
	    -Wl,--version-script=stager/mpi/exports.lds -Wl,-soname,$(@F).0 -o $@ \
	    $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group
MPI_CFLAGS := $(DEBUG) -O2 -fPIC -fvisibility=hidden -fstack-protector-strong -Wall -Wextra \
  -Wconversion -Wshadow -Werror
$(BUILD)/mpi/%.o: stager/mpi/stagecast_mpi.c stager/mpi/collectives.h stager/mpi/stagecast.h \
        $(BUILD)/how
	@echo "  MPI  $*"; mkdir -p $(@D)
	@$(MPICC_$*) -std=c99 $(MPI_CFLAGS) $(placeless) -I. -c -o $@ $<

# The library that takes the place of MPI_Bcast has the engine in it, of the libraries below.
bcast_c := $(notdir $(basename $(wildcard stager/mpi/bcast/*.c)))
define bcast_object
$(BUILD)/mpi/$1/$2.o: stager/mpi/bcast/$2.c $(wildcard stager/mpi/bcast/*.h) $(BUILD)/how
	@echo "  MPI  $1 $2"; mkdir -p $$(@D)
	@$(MPICC_$1) -std=c11 $(MPI_CFLAGS) $$(placeless) -I. -c -o $$@ $$<
$(BUILD)/libstagecast-bcast-$1.so: $(BUILD)/mpi/$1/$2.o
endef
$(foreach one,$(mpis),$(foreach file,$(bcast_c),$(eval $(call bcast_object,$(one),$(file)))))
BCAST_LIBS := -lcrypto -lxxhash -lisal $(filter -lIPSec_MB -lrdmacm -libverbs,$(LIBS))
$(BCAST): $(BUILD)/libstagecast-bcast-%.so: $(call archives,obj,$(bcast) stager/mpi) \
        stager/mpi/bcast/exports.lds
	@echo "  LINK $@"
	@OMPI_CC=$(CXX) MPICH_CC=$(CXX) $(MPICC_$*) $(LDFLAGS) -shared -static-libstdc++ \
	    -static-libgcc -Wl,--gc-sections -Wl,--exclude-libs,ALL \
	    -Wl,--version-script=stager/mpi/bcast/exports.lds -Wl,-soname,$(@F).0 -o $@ \
	    $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(BCAST_LIBS)

define archive_rule
$(call archive,$1,$2): $(call objects,$1,$(call library,$2)) $2/.
	@rm -f $$@ && ar rcs $$@ $$(filter %.o,$$^)
endef
$(foreach folder,$(all_parts),$(eval $(call archive_rule,obj,$(folder))))

# Nothing in an object tells where the clone lies: the same sources make the same programs. (Not
# part of "how": a clone that was moved is not made anew.)
# (gcov finds its files by the places that the objects name.)
placeless := $(if $(COVERAGE),,-ffile-prefix-map=$(CURDIR)=.)
# What a library has is compiled once, for the programs, too.
in_library := $(call objects,obj,$(call found,$(sort $(plugin) $(mpi) $(bcast))))
in_unit    := $(call objects,obj,$(filter tests/unit/%,$(unit_tests)))
# Unit tests are not optimised, because that takes longer than it saves.
flags_library := $(SHARED_CXXFLAGS)
flags_unit    := $(if $(SAN)$(findstring clang,$(CXX)),,-O0 -U_FORTIFY_SOURCE)
KIND          := program
$(in_library): private KIND := library
$(in_unit): private KIND := unit
# The headers of the standard library that most files include are compiled once, beforehand, for
# each kind of object, of which the flags must be the same; for unit tests with Catch2. A file
# names what it uses all the same (tests/tidy/headers.py): clang and the sanitizers compile
# without.
ifeq (,$(SAN)$(findstring clang,$(CXX)))
COMMON = $(BUILD)/precompiled/$(KIND).h
# (Out of such a header g++ warns of std::string's own copies, falsely: GCC's bug 105329.)
by_common = $(COMMON:%=-include % -Winvalid-pch -Wno-array-bounds -Wno-restrict \
  -Wno-stringop-overflow -Wno-stringop-overread -Wno-maybe-uninitialized)
common_program := etc/precompiled.h
common_library := etc/precompiled.h
common_unit    := tests/unit/common.h
precompiled := $(foreach kind,program library unit,$(BUILD)/precompiled/$(kind).h.gch)
$(precompiled): $(BUILD)/precompiled/%.h.gch: $(BUILD)/how
	@mkdir -p $(@D) && echo '#include "$(common_$*)"' >$(@:.gch=)
	@$(CXX) $(CXXFLAGS) $(flags_$*) $(placeless) -MMD -MP -MF $@.d -MT $@ -x c++-header -o $@ \
	    $(@:.gch=)
endif
.SECONDEXPANSION:
$(BUILD)/obj/%.o: %.cpp $(BUILD)/how $$(addsuffix .gch,$$(COMMON))
	@echo "  CXX  $<"; mkdir -p $(@D)
	@$(CXX) $(CXXFLAGS) $(flags_$(KIND)) $(by_common) $(placeless) \
	    -MMD -MP -c -o $@ $<
$(BUILD)/together/%.o: private KIND := unit
$(BUILD)/together/%.o: $(BUILD)/together/%.cpp $(BUILD)/how $$(addsuffix .gch,$$(COMMON))
	@echo "  CXX  $(subst -,/,$*)/*_test.cpp"
	@$(CXX) $(CXXFLAGS) $(flags_unit) $(by_common) $(placeless) -MMD -MP -c -o $@ $<
placed := $(addprefix $(BUILD)/obj/,stager/config/table.o transport/os/installation.o)
$(placed): private CXXFLAGS += $(places)
$(placed): $(BUILD)/places
# Under the sanitizers Catch2's main warns out of libstdc++'s <regex>, falsely.
$(call objects,obj,$(catch_main)): private CXXFLAGS += -w
$(call objects,obj,$(catch_main)): private COMMON :=
-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)

# ------------------------------------------------------------------------------------- tests
check: ready
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL tests/check $(WHAT)
quick:
	@$(MAKE) format-check tidy bench-selftest
	@$(MAKE) unit
	@$(MAKE) sim RUNS=$(or $(RUNS),200)
compdb:
	@$(MAKE) --no-print-directory -nB programs $(SIM) $(call objects,obj,$(unit_tests)) \
	    | tests/compdb >$(BUILD)/compile_commands.json
check-on:
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL tests/check-on $(or $(DIST),trixie) $(WHAT)
check-ci: ready
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL tests/check-ci
check-vm:
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL tests/check vm
check-long: check
	@$(MAKE) sim RUNS=100000
	@STAGECAST_KILL_ROUNDS=200 $(MAKE) cluster ARGS=tests/cluster/95_kills.bats
	@$(MAKE) model RUNS=2000 SEED=1000
	@$(MAKE) soak JOBS=200
	@$(MAKE) san RUNS=200
	@$(MAKE) tsan RUNS=200

own_world := unshare --mount --net --propagation unchanged tests/net/own_net \
  tests/net/own_root.py /mnt
unit: $(if $(ROOM),$(ROOM_UNIT),$(UNIT))
	@$(shell $(own_world) true 2>/dev/null && echo $(own_world)) $< $(ARGS)
sim: $(SIM)
	@$(if $(SIM),COMMIT=$$(git describe --always --dirty 2>&1) $(SIM) $(ARGS), \
	    echo "sim: nothing in tests/sim yet")
.PHONY: sim-baselines
sim-baselines: $(SIM)
	@mkdir -p docs/benchmarks && TABLE=docs/benchmarks/baselines.md $(SIM) '[.baselines]'
	@TABLE=docs/benchmarks/short.md $(SIM) '[.short-baselines]'
sim-scale: $(SCALE)
	@BUILD=$(abspath $(BUILD)) tests/sim/scale/run $(ARGS)
# (The sanitizers make a seed ten times as slow.)
san:
	@$(MAKE) unit sim fuzz-replay RUNS=$(or $(RUNS),200) BUILD=$(BUILD)/san SAN=address,undefined
# A forked process ends with threads that its parent has not joined yet.
tsan: export TSAN_OPTIONS ?= report_thread_leaks=0
tsan:
	@$(MAKE) unit sim RUNS=$(or $(RUNS),200) BUILD=$(BUILD)/tsan SAN=thread

# (What only the emulated clusters run of daemon, workers and plugin does not count.)
coverage:
	@$(if $(call missing,$(deps_coverage)),tests/deps --ask $(call missing,$(deps_coverage)),true)
	@# (Counts of an earlier build of a file are no use, and make programs complain.)
	@mkdir -p $(BUILD)/coverage && find $(BUILD)/coverage -name '*.gcda' -delete
	@$(MAKE) unit sim fuzz-replay RUNS=$(or $(RUNS),200) BUILD=$(BUILD)/coverage COVERAGE=1
	@mkdir -p $(BUILD)/coverage/report
	@gcovr --root . --object-directory $(BUILD)/coverage/obj --exclude tests/ \
	    --exclude-throw-branches --html-details $(BUILD)/coverage/report/index.html \
	    --print-summary -j $(shell nproc)

# A fuzz target is a program: under clang with libFuzzer, else one that replays its corpus.
# Of folders that do more than to parse only the parsers are linked.
TIME       ?= 60
fuzz_files := $(call found,tests/fuzz/*)
fuzz_names := $(basename $(notdir $(fuzz_files)))
fuzz_main  := tests/fuzz/$(if $(findstring fuzzer,$(SAN)),libfuzzer,replay).cpp
fuzz_whole := $(call rooms,transport/base transport/os transport/wire transport/seal \
  transport/core stager/control stager/spec stager/config)
fuzz_parts := $(addsuffix .cpp,$(addprefix stager/,cli/common/launcher \
  cli/launch/card_gathering cli/launch/launch_words \
  content/content content/part_note content/sha256 \
  daemon/stage/lifecycle daemon/tree/branches daemon/tree/failures daemon/tree/gather \
  daemon/group/collectives daemon/group/decision daemon/group/group \
  daemon/group/neighbour_links daemon/tree/outcome \
  daemon/tree/plan daemon/tree/tree daemon/tree/tree_message disk/disk_error disk/disk_io \
  disk/file_names disk/trusted_path files/archive/archive_reader files/archive/arrived_bytes \
  files/archive/byte_stream files/archive/decompression files/archive/filtered_stream \
  files/archive/gzip_stream files/archive/lz4_stream files/archive/read_trouble \
  files/archive/unpack_tree files/archive/unpacker files/archive/xz_stream \
  files/archive/zip_directory \
  files/libraries/elf_needs files/libraries/linker_cache files/manifest/attributes \
  files/manifest/manifest files/manifest/member_name files/manifest/tree_index \
  files/manifest/tree_node files/target/target link/frame_seal link/handshake \
  link/key_exchange messages/untrusted_fd messages/worker_setup messages/worker_socket \
  removal/cleanup_entry \
  removal/empty_directory removal/removal removal/subordinate_ids slurm/host_list \
  slurm/slurm_codec spawn/cleanup_lists spawn/event spawn/request) $(addprefix pmix/,\
  business_card host_message launch_channel)) \
  $(addprefix transport/,hop/hop_link.cpp hop/hop_packet.cpp hop/hop_rate.cpp \
  hop/hop_receiver.cpp hop/hop_sender.cpp verbs/verbs_place.cpp)
FUZZERS    := $(fuzz_names:%=$(BUILD)/fuzz/%)
$(foreach one,$(fuzz_files),$(eval \
  $(BUILD)/fuzz/$(basename $(notdir $(one))): $(call objects,obj,$(one))))
$(FUZZERS): $(call objects,obj,$(fuzz_main)) $(BUILD)/obj/fuzz-parts.a \
            $(call archives,obj,$(fuzz_whole))
	@echo "  LINK $@"; mkdir -p $(@D)
	@$(CXX) $(LDFLAGS) $(if $(findstring fuzzer,$(SAN)),-fsanitize=fuzzer,$(PIE)) -o $@ \
	    $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS)

$(BUILD)/obj/fuzz-parts.a: $(call objects,obj,$(fuzz_parts))
	@rm -f $@ && ar rcs $@ $^

# Inputs that reach new code are kept below BUILD; what breaks the target, too: a regression
# goes to tests/fuzz/corpus, named after the bug.
fuzz:
ifeq ($(origin TARGET),command line)
	@$(if $(call missing,$(deps_fuzz)),tests/deps --ask $(call missing,$(deps_fuzz)),true)
	@$(MAKE) fuzz-here BUILD=$(BUILD)/fuzzing CXX=clang++ \
	    SAN=address,undefined,fuzzer-no-link
else
	@$(MAKE) fuzz-replay
endif
fuzz-here: $(BUILD)/fuzz/$(TARGET)
	@mkdir -p $(BUILD)/corpus/$(TARGET)
	$< -max_total_time=$(TIME) -timeout=10 -max_len=4096 -print_final_stats=1 \
	    -artifact_prefix=$(BUILD)/$(TARGET). $(ARGS) \
	    $(BUILD)/corpus/$(TARGET) $(wildcard tests/fuzz/corpus/$(TARGET))
test-programs: $(UNIT) $(SIM) $(FUZZERS)
fuzz-replay: $(FUZZERS)
	@BUILD=$(abspath $(BUILD)) tests/fuzz/run $(fuzz_names)
fuzz-seeds: $(FUZZERS)
	@for one in $(fuzz_names); do mkdir -p tests/fuzz/corpus/$$one && \
	    $(BUILD)/fuzz/$$one --seeds tests/fuzz/corpus/$$one || exit 1; done

run   = BUILD=$(abspath $(BUILD)) tests/$@/run $(ARGS)
suite = @$(if $(wildcard tests/$@/run),$(run),echo "$@: no tests/$@/run yet")
pmix net mpi cluster model soak: programs
	$(suite)
.PHONY: mpi-sequences
mpi-sequences: programs
	@STAGECAST_CALLS=$(or $(RUNS),10000) STAGECAST_SEED=$(or $(SEED),1) \
	    BUILD=$(abspath $(BUILD)) tests/mpi/run tests/mpi/sequences.bats
bench-selftest:
	@tests/bench/selftest
reproducible: ready-to-package
	@tests/reproducible
vm: programs
	@$(if $(call missing,$(deps_vm)),tests/deps --ask $(call missing,$(deps_vm)),true)
	$(suite)
vm-boot: programs
	@BUILD=$(abspath $(BUILD)) tests/vm/run tests/vm/25_boot.bats
nspawn: ready-to-package
	@$(if $(call missing,$(deps_nspawn)),tests/deps --ask $(call missing,$(deps_nspawn)),true)
	@DEB_BUILD_OPTIONS=noautodbgsym $(MAKE) deb
	$(suite)
demo: ready
	@$(MAKE) $(PLUGIN) $(DAEMON) $(WORKER) $(HOST) $(COMMAND)
	$(suite)
bench: ready-to-bench
	@$(MAKE) programs
	$(suite)

# ------------------------------------------------------------------------------------- style
folders := $(wildcard spank stager transport pmix tests)
code    := $(shell find $(folders) -name '*.h' -o -name '*.cpp')
formatted := $(code) $(wildcard stager/*/*.c stager/*/*/*.c)
present := $(filter-out $(absent) $(absent:%=%/%),$(code))
scripts := $(shell grep -rlE '^\#!.*\b(ba)?sh$$' .ci tests etc)

format:
	@clang-format-14 -i $(formatted)
format-check:
	@if command -v clang-format-14 >/dev/null; then \
	    clang-format-14 --dry-run --Werror $(formatted); \
	    else echo "ok format-check # skip needs clang-format 14"; fi
tidy:
	@tests/tidy/run
judges:
	@tests/judges
exports: $(PLUGIN) $(DAEMON) $(WORKER) $(HOST) $(COMMAND) $(MPI) $(BCAST)
	@$(if $(PLUGIN),tests/tidy/exports $(PLUGIN) &&) tests/tidy/hardened $^

# Every header compiles alone. One that a .cpp is named after does: it comes first there (tidy).
# The same for a .c, which the compiler of an MPI compiles, as it does the headers of tests/mpi.
named   := $(patsubst %.cpp,%.h,$(filter %.cpp,$(present))) $(bcast_c:%=stager/mpi/bcast/%.h) \
  $(wildcard tests/mpi/*.h)
$(BUILD)/headers/stager/mpi/stagecast.h.ok: CXXFLAGS += -DSTAGECAST_WITHOUT_MPI
headers: $(patsubst %,$(BUILD)/headers/%.ok,$(filter-out $(named),$(filter %.h,$(present))))
$(BUILD)/headers/%.ok: % $(BUILD)/how
	@mkdir -p $(@D)
	@printf '#include "%s"\n' $< | \
	    $(CXX) $(CXXFLAGS) -MMD -MP -MF $(@:.ok=.d) -MT $@ -fsyntax-only -x c++ -
	@touch $@

lint: $(patsubst %,$(BUILD)/lint/%.ok,$(filter %.cpp,$(present)))
	@shellcheck --severity=warning $(scripts)
$(BUILD)/lint/%.ok: % .clang-tidy
	@echo "  LINT $<"; mkdir -p $(@D)
	@clang-tidy --quiet $< -- -std=c++20 $(INCLUDES) 2>/dev/null
	@touch $@

include etc/install.mk

# ---------------------------------------------------------------------------------- packages
installed = $(shell dpkg-query -W -f '$${db:Status-Abbrev}:$${Package}\n' $1 2>/dev/null | \
              sed -n 's/^ii *://p')
missing   = $(strip $(filter-out $(call installed,$1),$(call wanted,$1)))
# A header that is there is used, whatever package it is of: Debian's might be of another Slurm,
# or take the place of the site's package.
have_headers := $(if $(slurm_header),libslurm-dev) $(if $(pmix_header),libpmix-dev) \
  $(if $(wildcard /usr/include/munge.h),libmunge-dev)
wanted    = $(filter-out $(have_headers),$1)
deps:
	@tests/deps $(call wanted,$(deps_build)) $(deps_test)
deps-build:
	@tests/deps $(call wanted,$(deps_build)) $(deps_deb)
ready-to-build:
	@$(if $(call missing,$(deps_build)),tests/deps --ask $(call missing,$(deps_build)),true)
ready-to-package:
	@$(if $(call missing,$(deps_build) $(deps_deb)),tests/deps --ask \
	    $(call missing,$(deps_build) $(deps_deb)),true)
ready:
	@$(if $(call missing,$(deps_build) $(deps_test)),tests/deps --ask \
	    $(call missing,$(deps_build) $(deps_test)),true)
ready-to-bench: ready
	@$(if $(call missing,$(deps_bench)),tests/deps --ask $(call missing,$(deps_bench)),true)

clean:
	rm -rf $(BUILD)
