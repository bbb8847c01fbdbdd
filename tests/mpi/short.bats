# Tests short messages of libstagecast-bcast with every MPI that is installed: three hosts with two ranks each, or eight
# with one.

bats_require_minimum_version 1.5.0
load mpi

setup_file() { mpi_up 8 shorts latency; }

all_by_groups() { [ "$(count 'by MPI')" = 0 ] && [ "$(count 'by groups')" -gt 0 ]; }
# Each of LEADERS leaders but the source got each message, once.
complete() { [ $(($(count 'received by multicast') + $(count 'from another node'))) = $(($(count sent) * ($1 - 1))) ]; }

one_packet() {
  local HOSTS=8 PER_HOST=1
  preloaded latency "$1" force 1024 3
  all_by_groups
  # (Where processors are busy, the message from the node before is seen first now and then. The simulator counts without that.)
  [ $((20 * $(count 'from another node'))) -lt "$(count 'received by multicast')" ]
  [ "$(count sent)" = "$(count packets)" ]
}

# (Rounds do not depend on the number of nodes: no leader waits for what another one has got.)
@test "messages of one packet reach seven leaders by that packet" {
  each_mpi one_packet
}

ahead() { LIMIT=300 preloaded shorts "$1" force ahead "${STAGECAST_CALLS:-50000}"; all_by_groups; complete 3; }

@test "a root that does not wait makes 50,000 broadcasts, while a rank sleeps now and then" {
  each_mpi ahead
}

late() { preloaded shorts "$1" force late 200; all_by_groups; complete 3; }

@test "each rank in turn comes late by more calls than any leader may be ahead" {
  each_mpi late
}

roots() { preloaded shorts "$1" force roots 500; all_by_groups; complete 3; }

@test "another root in each call" {
  each_mpi roots
}

free_them() { preloaded shorts "$1" force free 15; all_by_groups; complete 3; }

@test "communicators and MPI end while a rank is late" {
  each_mpi free_them
}

silent() {
  local node rc=0 rule=(-t raw -p udp -d 239.192.68.0/24 -j DROP)
  for node in n0 n1 n2; do lab on $node iptables -w -A PREROUTING "${rule[@]}" < /dev/null; done
  preloaded shorts "$1" force roots 200 || rc=$?
  for node in n0 n1 n2; do lab on $node iptables -w -D PREROUTING "${rule[@]}" < /dev/null; done
  [ "$rc" = 0 ]
  all_by_groups
  complete 3
  [ "$(count 'received by multicast')" = 0 ]
}

@test "a group that carries nothing: all messages come from node to node" {
  each_mpi silent
}

lossy() {
  local rc=0 rule=(-t raw -p udp -d 239.192.68.0/24 -m statistic --mode random --probability 0.3 -j DROP)
  lab on n1 iptables -w -A PREROUTING "${rule[@]}" < /dev/null
  preloaded shorts "$1" force roots 200 || rc=$?
  lab on n1 iptables -w -D PREROUTING "${rule[@]}" < /dev/null
  [ "$rc" = 0 ]
  all_by_groups
  complete 3
  [ "$(count 'received by multicast')" -gt 0 ]
  [ "$(count 'from another node')" -gt 0 ]
}

@test "a node that loses a third of the packets" {
  each_mpi lossy
}

unused() {
  local HOSTS=8 PER_HOST=1
  # (A trial begins after 1,000 calls and takes 41; all eight ranks make 1,168 with bytes.)
  LIMIT=200 preloaded latency "$1" auto 2 36
  [[ $(count 'by groups') =~ ^[1-9] ]]
  grep -E 'stagecast: 8 ranks on 8 nodes, about [0-9]+ bytes: by (the group|MPI) ' "$WORK/out"
  SHORT=0 preloaded latency "$1" force 2 2
  run ! grep 'by the group' "$WORK/out"
  run ! grep 'or less' "$WORK/out"
}

@test "auto tries a group after a thousand calls, and keeps the faster way" {
  unused "${MPIS[0]}"
}
