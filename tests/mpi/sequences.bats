# Random sequences of collectives with libstagecast-bcast and every MPI that is installed: three hosts with two ranks each.
#
# make mpi runs 40. make mpi-sequences RUNS=10000 SEED=1 runs that many, and goes on after a failure.

bats_require_minimum_version 1.5.0
load mpi

setup_file() { mpi_up 3 sequences; }

# In one program, whose start takes longer than many sequences.
AT_ONCE=250

# some MPI FIRST COUNT: every fifth time with the mode in which long messages are tried out.
some() {
  local LIMIT=$((400 + 4 * $3)) mode=force
  ((($2 - 1) / AT_ONCE % 5 != 4)) || mode=auto
  preloaded sequences "$1" "$mode" "$2" "$3" || return 1
  [ "$mode" = auto ] || (($3 < 40)) || [[ $(summary) != *': 0 by groups'* ]] || { echo "no group was used"; return 1; }
}

# What was wrong, and what rank 0's messages did.
tell() {
  echo "# $1: seeds $2 to $(($2 + $3 - 1)): $4"
  [ "$4" = right ] || grep -v '^seed ' "$WORK/out" | tail -n 40 | sed 's/^/#   /'
  ! ((${STAGECAST_CALLS:-0} > AT_ONCE)) || grep 'MPI_Bcast of' "$WORK/out" | sed 's/^/#   /'
}

@test "random sequences of collectives on communicators that come and go" {
  local first=${STAGECAST_SEED:-1} left=${STAGECAST_CALLS:-40} count one failed=0
  while ((left > 0)); do
    count=$((left < AT_ONCE ? left : AT_ONCE))
    for one in "${MPIS[@]}"; do
      if some "$one" "$first" "$count"; then
        tell "$one" "$first" "$count" right >&3
      else
        tell "$one" "$first" "$count" wrong >&3
        failed=$((failed + 1))
        hosts_swept
        hosts_listen
      fi
      clean_tmp
    done
    first=$((first + count)) left=$((left - count))
  done
  [ "$failed" = 0 ]
}
