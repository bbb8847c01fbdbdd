# Tests that `stagecast push` brings a file to the nodes that accept it, and names the others.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault
load lib/push

setup_file() { cluster_up 16 --cpus 2 --stagecast PushRoots=/var/tmp/images --stagecast PushFrom=n0 --stagecast ConnectTimeout=2; }
teardown_file() { cluster_down; }
setup() { push_begins; }
teardown() { push_ends; }

@test "two nodes of sixteen are down: fourteen are done, two are named, exit 1" {
  input image 20000000
  lab stop n5 stagecastd
  lab stop n11 stagecastd
  local rc=0
  push n0 -w 'n[0-15]' image /var/tmp/images/ || rc=$?
  heal
  cat "$WORK/said"
  [ "$rc" = 1 ]
  grep -q 'node n5: stagecastd does not answer at 10.77.1.6:6829' "$WORK/said"
  grep -q 'node n11: stagecastd does not answer at 10.77.1.12:6829' "$WORK/said"
  grep -q '14 of 16 nodes have /var/tmp/images/' "$WORK/said"
  has image n{0..4} n{6..10} n{12..15}
  empty_on n5 n11
  # Mounts of NFS need the ports below 1024: none is kept after the connections between daemons.
  for node in n{0..15}; do
    [ -z "$(lab on "$node" ss -Htan state time-wait 'sport < :1024')" ] || { lab on "$node" ss -tan state time-wait; false; }
  done
}
