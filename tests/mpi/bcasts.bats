# Tests libstagecast-bcast with every MPI that is installed: three hosts with two ranks each.

bats_require_minimum_version 1.5.0
load mpi

setup_file() { mpi_up 3 bcasts fortran tool early_begin; }

random_sequence() {
  bcasts "$1" force random "${STAGECAST_SEED:-1}" "${STAGECAST_CALLS:-60}"
  [[ $(summary) == *', 0 begun by a group and repeated by MPI'* ]]
  [[ $(summary) != *': 0 by groups'* ]]
}

@test "random collectives, communicators, roots, layouts and lengths: every rank gets what was sent" {
  each_mpi random_sequence
}

threads() { bcasts "$1" force threads 8; }

@test "three threads broadcast at once" {
  each_mpi threads
}

# (With ranks that poll, as they do where each has a processor.)
early() {
  WAITS="" BEFORE=/srv/mpi/tool-$1.so bcasts "$1" force early 3
  [ "$(grep -c '^tool: rank [0-5] saw [1-9]' "$WORK/out")" = 6 ]
  [[ $(summary) == *': 3 by groups'* ]]
}

@test "messages that end only by MPI's progress in a sender that is in MPI_Bcast already, and a tool that takes calls before the library" {
  each_mpi early
}

in_fortran() {
  preloaded fortran "$1" force 10
  [[ $(summary) == *': 11 by groups'*', 0 by MPI, 0 begun'* ]]
  grep -q 'bytes or less, as rank 0 made them: 33 by groups .*, 0 by MPI;' "$WORK/out"
}

@test "programs in Fortran, by both of its bindings, while other ranks make the call in C" {
  has_fortran openmpi && has_fortran mpich || skip "no Fortran compiler"
  each_mpi in_fortran
}

modes() {
  bcasts "$1" off large 400000 2
  [[ $(summary) == *'STAGECAST_BCAST=off'*': 0 by groups (0 bytes), 0 by MPI'* ]]
  bcasts "$1" auto large 400000 7
  grep -E 'stagecast: 6 ranks on 3 nodes, about 400000 bytes: by (the group|MPI) ' "$WORK/out"
  [[ $(summary) =~ 'as rank 0 made them: '[3-5]' by groups' ]]
}

@test "off leaves all to MPI, and auto keeps the way that was faster" {
  each_mpi modes
}

elsewhere() {
  LIMIT=40 bcasts "$1" force elsewhere 400000 2
  [ -z "$(summary)" ]
}

@test "MPI that begins without the library is left alone, whatever each rank's environment says" {
  each_mpi elsewhere
}

captured() { [ "$(stat -c %s "$WORK/capture")" -gt 400000 ]; }

secret() {
  lab on n1 tcpdump -i eth0 -B 16384 --immediate-mode -U -s 0 -w - 'udp and dst net 239.0.0.0/8' < /dev/null > "$WORK/capture" 2> "$WORK/tcpdump" 3>&- &
  wait_for 10 grep -q 'listening on' "$WORK/tcpdump"
  bcasts "$1" force secret 400000
  wait_for 20 captured
  lab on n1 pkill -INT tcpdump < /dev/null
  wait $! || true
  [[ $(summary) == *': 1 by groups'* ]]
  [ "$(count sent)" = 1 ]
  run ! grep -a 'a word that no one' "$WORK/capture"
}

@test "what is broadcast cannot be read from the network, long or short" {
  each_mpi secret
}

duplicating() {
  LIMIT=40 bcasts "$1" auto duplicating 400000
}

@test "a communicator's first long message while another one is being duplicated, in another order on each rank" {
  each_mpi duplicating
}

# (Open MPI needs no copy. MPICH does, and ends the program.)
scarce() {
  local rc=0
  LIMIT=30 bcasts "$1" force scarce 33554432 > "$WORK/said" || rc=$?
  if [ "$1" = openmpi ]; then
    [ "$rc" = 0 ]
    [[ $(summary) == *': 0 by groups (0 bytes), 1 by MPI, 0 begun by a group'* ]]
  else
    run ! grep -E 'rank [0-9]: call' "$WORK/out"
    grep -E 'rank 2: ok|Fatal error in .*' "$WORK/out"
  fi
  hosts_swept
  hosts_listen
}

@test "a rank without memory for a copy of what has gaps: the MPI has the message on all ranks" {
  each_mpi scarce
}

early_begin() {
  AFTER=/srv/mpi/early_begin-$1.so bcasts "$1" force large 400000 2
  [[ $(summary) == *': 2 by groups'* ]]
}

@test "MPI that is begun by another library's constructor" {
  each_mpi early_begin
}

on_some() {
  local node
  for node in n0 n1; do lab on "$node" install -m 755 "/srv/mpi/libstagecast-bcast-$1.so.0" /tmp/bcast.so < /dev/null; done
  # shellcheck disable=SC2046
  lab on n0 -u alice -d /tmp timeout -k 5 100 \
    $(ENVIRONMENT="LD_PRELOAD=/tmp/bcast.so:/srv/mpi/blocking.so" launcher "$1") "/srv/mpi/bcasts-$1" large 64 3 < /dev/null > "$WORK/out" 2>&1 3>&- &
  wait_for 60 grep -q 'waits for others in MPI_Init; all ranks or none must load libstagecast-bcast' "$WORK/out"
  run ! grep -E 'rank [0-9]: (ok|call)' "$WORK/out"
  hosts_swept
  wait $! || true
  hosts_listen
}

@test "ranks without the library get no message that was not for them, and a sentence says why they wait" {
  each_mpi on_some
}

# unreachable COMMAND...: while multicast does not reach n2.
unreachable() {
  local rc=0 rule=(-t raw -p udp -d 239.192.68.0/24 -j DROP)
  lab on n2 iptables -w -A PREROUTING "${rule[@]}" < /dev/null
  "$@" || rc=$?
  lab on n2 iptables -w -D PREROUTING "${rule[@]}" < /dev/null
  return $rc
}

# (Two failures, whatever the number of communicators, and then the MPI has all.)
unreached() {
  unreachable bcasts "$1" force dups 400000 4
  [[ $(summary) == *': 0 by groups (0 bytes), 10 by MPI, 2 begun by a group and repeated by MPI'* ]]
  [ "$(grep -c 'a group of 3 nodes failed, .*: node at .*: multicast does not reach this node' "$WORK/out")" = 2 ]
  [ "$(grep -c 'left to the MPI for 10 s' "$WORK/out")" = 1 ]
  unreachable bcasts "$1" auto large 400000 4
  [[ $(summary) == *': 0 by groups (0 bytes), 2 by MPI, 2 begun by a group and repeated by MPI'* ]]
}

@test "a node that multicast does not reach: MPI carries what the group could not, and the program tries no more for a while" {
  each_mpi unreached
}

# waits MPI WORD...: some rank says that it waits, whatever the MPI makes of such a call.
waits() {
  local one=$1 running
  shift
  rm -f "$WORK/out"
  LIMIT=40 bcasts "$one" force "$@" 3>&- > /dev/null &
  running=$!
  wait_for 30 grep -Eq 'has waited [0-9]+ s for other ranks in an MPI_Bcast|rank [0-9]: an error|Fatal error|MPI_ERR_TRUNCATE' "$WORK/out"
  hosts_swept
  wait "$running" || true
  hosts_listen
}

on_both_sides() {
  waits "$1" differ 60000 70000
  waits "$1" differ 70000 60000
  waits "$1" odd 8190 10
}

@test "lengths on both sides of those that groups carry: a rank says that it waits" {
  each_mpi on_both_sides
}

# answered MPI WORD...: every rank has the message or an error, and none waits.
answered() {
  local one=$1
  shift
  LIMIT=60 bcasts "$one" force "$@"
  run ! grep 'has waited' "$WORK/out"
}

on_one_side() {
  answered "$1" differ 4 40
  [ "$1" = openmpi ] || [ "$(grep -c 'rank [1-5]: an error' "$WORK/out")" = 5 ]   # (There is room, to Open MPI.)
  answered "$1" differ 40 4
  [ "$(grep -c 'rank [1-5]: an error' "$WORK/out")" = 5 ]
  answered "$1" odd 3000 -1
  answered "$1" differ 400000 300000
  [[ $(summary) == *': 0 by groups (0 bytes), 1 by MPI, 0 begun by a group'* ]]
  [ "$(grep -c 'rank [1-5]: an error' "$WORK/out")" = 5 ]
}

@test "lengths that differ among short messages, or among long ones: every rank has the message or an error" {
  each_mpi on_one_side
}

other_mpi() {
  local other=mpich
  [ "$1" = openmpi ] || other=openmpi
  cp "$CLUSTER_DIR/srv/mpi/libstagecast-bcast-$other.so.0" "$CLUSTER_DIR/srv/mpi/libstagecast-bcast-other-$1.so.0"
  OTHER=other- bcasts "$1" force large 400000 2
  [ "$(grep -c 'MPI_Bcast is left to the MPI: the program runs on another MPI' "$WORK/out")" = 1 ]
  run ! grep 'as rank 0 made them' "$WORK/out"
}

@test "the library for the other MPI says so once, and keeps out" {
  [ ${#MPIS[@]} = 2 ] || skip "one MPI"
  each_mpi other_mpi
}

begun() { grep -q begun "$WORK/out"; }

killed_rank() {
  local rc=0 running
  rm -f "$WORK/out"
  bcasts "$1" force large 60000000 200 3>&- > "$WORK/said" &
  running=$!
  wait_for 30 begun
  lab on n1 pkill -KILL -u alice -o "bcasts-$1" < /dev/null
  wait "$running" || rc=$?
  [ $rc != 0 ]
  grep 'only 0 ranks are right' "$WORK/said"
  run ! grep 'and 124' "$WORK/said"
}

@test "a killed rank: mpirun ends the program in the middle of a broadcast" {
  each_mpi killed_rank
}
