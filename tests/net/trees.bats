# Tests a relay of many hosts, which goes by two trees: each host has two parents.

bats_require_minimum_version 1.5.0
load engine

setup_file() { engine_up 14; }
teardown_file() { cluster_down; }
setup() { engine_begins; }
teardown() { engine_ends; }

relay() { group --transport=tcp --relay=trees --compress=no "$@"; }
sent_by() { lab on "$1" cat /sys/class/net/eth0/statistics/tx_bytes; }

@test "each host sends 20 MB about once, to two hosts, and receives from two" {
  local node before=()
  source_file 20000003
  for node in "${NODES[@]}"; do before+=("$(sent_by "$node")"); done
  relay --rate-max=40mbit
  # Of 13 receivers the eighth and the seventh are the roots.
  wait_for 10 is_child_of n8 n0
  wait_for 10 is_child_of n7 n0
  wait_for 10 is_child_of n4 n8
  wait_for 10 is_child_of n12 n8
  wait_for 10 is_child_of n3 n7
  ends
  received
  for node in "${NODES[@]}"; do
    [ $(($(sent_by "$node") - before[${node#n}])) -lt 25000000 ]
  done
}

@test "a small file, an empty one, and each protection" {
  each_protection 5000000
}

@test "the root of a tree is killed: it is named, and the others do not wait for the time-out" {
  local node
  source_file 8000000
  relay --rate-max=20mbit --stall-timeout=4
  wait_for 10 is_child_of n4 n8
  lab on n8 pkill -KILL -u alice stagecast-worke
  ends
  for node in "${NODES[@]}"; do
    [ "$node" != n8 ] || continue
    [ "$(rc_of "$node")" = 1 ]
    grep -q '10.77.1.9.*no progress' "$WORK/$node.err"
  done
  lab on n8 bash -c 'rm -f /tmp/.*.stagecast.0.8'
}

@test "the root of a tree stops for 4 s: the others do not wait for it" {
  local node
  source_file 8000000
  relay --rate-max=20mbit
  wait_for 10 is_child_of n4 n8
  sleep 1
  lab on n8 pkill -STOP -u alice stagecast-worke
  wait_for 10 is_child_of n4 n0
  sleep 4
  lab on n8 pkill -CONT -u alice stagecast-worke
  ends
  received
}
