# Tests that a host on a slow link keeps what the link carries, on its disk.

bats_require_minimum_version 1.5.0
load engine

setup_file() { engine_up 4 --disk --rate 100mbit; }
teardown_file() { cluster_down; }
setup() { engine_begins; }
teardown() { engine_ends; }

# A worker of HOST has a file without a name.
spills() { lab on "$1" sh -c "find /proc/[0-9]*/fd -lname '/tmp/#*(deleted)' 2>/dev/null | grep -q ."; }

@test "a host on a link of half the rate spills to its disk, and none of it stays" {
  local chunks
  source_file 64000000
  in_switch tc qdisc change dev p0-n3 root tbf rate 50mbit burst 128kb latency 30ms
  group
  wait_for 20 spills n3
  ends
  received
  stayed_small
  run ! spills n3
  # The first pass brought half; a third, when what found no buffer was dropped.
  chunks=$((64000000 / $(json n3 packet_payload)))
  [ "$(json n3 packets_repaired)" -lt $((chunks * 6 / 10)) ]
  for node in n1 n2; do [ "$(json "$node" packets_repaired)" -lt $((chunks / 10)) ]; done
}
