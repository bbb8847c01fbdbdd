# Tests that the engine repairs what the network loses.

bats_require_minimum_version 1.5.0
load engine

setup_file() { engine_up 5 --rate 200mbit --loss 2%; }
teardown_file() { cluster_down; }
setup() { engine_begins; }
teardown() { engine_ends; }

@test "2 % loss at every host: every byte arrives, repairs are counted, and no host needs much memory" {
  source_file 50000000
  group --rate-max=150mbit
  ends
  received
  stayed_small
  local node repaired=0
  for node in "${NODES[@]:1}"; do repaired=$((repaired + $(json "$node" packets_repaired))); done
  [ "$repaired" -gt 0 ]
}

@test "a rate above the link's: late, not wrong" {
  source_file 10000000
  group --rate-max=400mbit
  ends
  received
}

@test "one byte, 2 % loss, five times" {
  local round
  for round in 1 2 3 4 5; do
    rm -f "$WORK"/n*.rc
    STARTED=()
    source_file 1
    group
    ends && received || { echo "round $round"; return 1; }
  done
}
