# What MPICH's tests of broadcast and communicators, the Intel MPI benchmarks' Bcast and osu_bcast cover, by programs of our own,
# with libstagecast-bcast and every MPI that is installed: three hosts with two ranks each.

bats_require_minimum_version 1.5.0
load mpi

setup_file() { mpi_up 3 comms types latency; }

by_groups() { [[ $(summary) != *': 0 by groups'* && $(summary) == *', 0 begun by a group and repeated by MPI'* ]]; }

# Every message that has bytes goes by the group, where a communicator can have one.
every_message() {
  local LEAST=1
  preloaded "$@"
  by_groups
}

intra() { every_message comms "$1" force intra "$T/file"; }

@test "every kind of communicator, from each of its ranks, short and long messages, and a file by MPI's calls" {
  each_mpi intra
}

intra_auto() {
  preloaded comms "$1" auto intra
  grep -q 'by the group (\|by MPI (' "$WORK/out"
}

@test "the same while auto tries both ways" {
  each_mpi intra_auto
}

inter() { every_message comms "$1" force inter; }

@test "intercommunicators in both directions, their duplicates, and what is merged from them" {
  each_mpi inter
}

# Of the first seventy 64 have groups, of which 32 are used twice. Then there are too few descriptors for twenty.
many() {
  preloaded comms "$1" force many 70
  by_groups
  [[ $(summary) =~ ': '([0-9]+)' by groups ('[0-9]+' bytes), '([0-9]+)' by MPI' ]]
  ((BASH_REMATCH[1] >= 96 && BASH_REMATCH[1] < 126 && BASH_REMATCH[2] > 9))
}

@test "seventy communicators at the same time: 64 have groups, and fewer where descriptors are scarce, which are left to the program" {
  each_mpi many
}

types() { every_message types "$1" force all; }

@test "every kind of datatype: gaps stay as they are" {
  each_mpi types
}

# MPICH has its checks of arguments at each rank, and so has Open MPI: an error on every rank.
errors() { every_message types "$1" force errors; }

@test "wrong calls: the MPI's own errors on all ranks, and the next call is right" {
  each_mpi errors
}

# Rows: lengths 0, 1, 2 .. 65536, for each root and for a root that changes.
loops() {
  local rows=$((18 * (3 + 5 + 7 + 3 * 3 + 2 * 4)))
  every_message latency "$1" force 65536 1
  [ "$(grep -c '^latency ' "$WORK/out")" = "$rows" ]
  [ "$(grep -c '^latency all 6 ' "$WORK/out")" = $((18 * 7)) ]
}

@test "the benchmarks' loops by length and root, on some ranks, on all, and on several groups at once" {
  each_mpi loops
}
