# What coverage.bats covers with long messages, with short ones: three hosts with two ranks each.

bats_require_minimum_version 1.5.0
load mpi

setup_file() { mpi_up 3 comms types latency; }

# (Communicators on one node have no group.)
coverage() { preloaded "$@"; [ "$(count 'by groups')" -gt 0 ]; }
intra() { coverage comms "$1" force intra; }
types() { coverage types "$1" force all; }
loops() { coverage latency "$1" force 8192 1; }

@test "every kind of communicator and datatype, and the benchmarks' loops" {
  each_mpi intra
  each_mpi types
  each_mpi loops
}
