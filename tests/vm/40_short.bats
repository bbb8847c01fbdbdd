# Tests short messages of MPI programs by RDMA devices over soft-RoCE: results, no times.

bats_require_minimum_version 1.5.0
load vm

setup_file() {
  lan_up 3
  chmod a+rw /dev/infiniband/*
  export MPI=/run/stagecast-mpi
  mkdir -p $MPI
  command -v mpicc.mpich > /dev/null && [ -e "$BUILD/libstagecast-bcast-mpich.so" ] || return 0
  cp "$BUILD/libstagecast-bcast-mpich.so" $MPI/ || return
  mpicc.mpich -std=gnu11 -O1 -I"$BATS_TEST_DIRNAME/../.." -pthread -o $MPI/shorts "$BATS_TEST_DIRNAME/../mpi/shorts.c" || return
  # What mpiexec starts the other hosts' processes by, and a rank on its host's interface.
  printf '%s\n' '#!/bin/sh' shift 'exec sh -c "$*"' > $MPI/rsh
  printf '%s\n' '#!/bin/sh' 'export STAGECAST_INTERFACE=h$((PMI_RANK + 1))' 'exec "$@"' > $MPI/rank
  chmod 755 $MPI/rsh $MPI/rank
}
setup() {
  [ -x $MPI/shorts ] || skip "no MPICH is installed"
  test_begins
}
teardown() { [ ! -x $MPI/shorts ] || test_ends; }

# shorts WORD...: three ranks, each the only one on its host.
shorts() {
  local names
  names=$(seq -s , -f 10.77.0.%g 3)
  ulimit -l unlimited
  starts 1 env LD_PRELOAD= STAGECAST_BCAST_VERBOSE=1 mpiexec.hydra -np 3 -ppn 1 -hosts "$names" -iface h1 -launcher rsh \
    -launcher-exec $MPI/rsh -genv LD_PRELOAD $MPI/libstagecast-bcast-mpich.so -genv STAGECAST_BCAST force \
    -genv STAGECAST_BCAST_SHORT 8192 $MPI/rank $MPI/shorts "$@"
  wait_for $((LIMIT + 25)) ended 1
  [ "$(rc_of 1)" = 0 ] || return
  [ "$(grep -ho 'rank [0-9]: ok' "$WORK"/1.{out,err} | sort -u | wc -l)" = 3 ]
}
# count WORDS: the number before these words in what the library says of short messages.
count() { grep -hoP "stagecast: MPI_Bcast of 8192 bytes or less.* \K[0-9]+(?= $1)" "$WORK"/1.{out,err}; }
complete() { [ $(($(count 'received by multicast') + $(count 'from another node'))) = $(($(count sent) * 2)) ]; }

@test "short messages of three ranks go by RDMA, from each root" {
  local before
  before=$(packets_in 3)
  shorts roots 100
  complete
  [ "$(count 'received by multicast')" -gt 0 ]
  [ "$(packets_in 3)" -ge $((before + 30)) ]
}

@test "short messages arrive by the ring where RDMA is lost, and by UDP where a rank may not open its device" {
  tc -n switch qdisc add dev b3 clsact
  tc -n switch filter add dev b3 egress protocol ip flower dst_ip 239.0.0.0/8 action drop
  shorts roots 50
  tc -n switch qdisc del dev b3 clsact
  complete
  local before
  chmod go-rw /dev/infiniband/*
  before=$(packets_in 3)
  shorts roots 50
  chmod a+rw /dev/infiniband/*
  complete
  [ "$(count 'received by multicast')" -gt 0 ]
  [ "$(packets_in 3)" = "$before" ]
}
