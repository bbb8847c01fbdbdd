# Tests that a file arrives at hosts that multicast does not reach, in groups that cannot go on by TCP.
#
# One host opens no TCP port. Multicast packets are dropped there before they reach a socket, as by a switch that does not
# forward the group; unicast passes.

bats_require_minimum_version 1.5.0
load engine

setup_file() { engine_up 6 --rate 200mbit; }
teardown_file() { cluster_down; }
setup() { engine_begins; }
teardown() {
  local node
  for node in "${NODES[@]}"; do lab on "$node" iptables -w -t raw -F PREROUTING; done
  engine_ends
}

group() {
  local node
  for node in "${NODES[@]:2}"; do engine "$node" --dest=/tmp/received.copy "$@"; done
  engine n1 --dest=/tmp/received.copy --transport=udp "$@"
  engine n0 --source="$T/source" "$@"
}
block_multicast() { local node; for node; do lab on "$node" iptables -w -t raw -A PREROUTING -p udp -d 239.0.0.0/8 -j DROP || return 1; done; }
unheard() { python3 -c 'import json, sys; print(json.loads(open(sys.argv[1]).read()).get("group_unheard", ""))' "$WORK/$1.json"; }

@test "hosts that multicast does not reach fetch the file, and say so" {
  block_multicast n3 n4
  source_file 30000000
  group
  ends
  received
  [[ $(unheard n3) == *"did not reach this node"* ]]
  [[ $(unheard n4) == *"did not reach this node"* ]]
  [ -z "$(unheard n1)" ]
  [ -z "$(unheard n5)" ]
  # The source sent it once to the group, and not to each of these besides.
  [ "$(json n0 packets_sent)" -lt 45000 ]
}

@test "small files, too" {
  local bytes
  block_multicast n2
  for bytes in 1 5000 80000; do
    source_file "$bytes"
    group
    ends
    received
    [[ $(unheard n2) == *"did not reach this node"* ]]
    STARTED=()
    for node in "${NODES[@]}"; do rm -f "$WORK/$node.rc"; lab on "$node" rm -f /tmp/received.copy; done
  done
}

@test "where multicast reaches no host all fetch it, with and without a configured rate" {
  local args
  block_multicast "${NODES[@]}"
  source_file 30000000
  for args in --rate=200mbit --protection=encrypt; do
    group "$args"
    ends
    received
    [[ $(unheard n5) == *"did not reach this node"* ]]
    # They give it on: hardly more than one of the five copies is the source's.
    echo "# source: $(json n0 packets_sent) packets" >&3
    [ "$(json n0 packets_sent)" -lt 52000 ]
    STARTED=()
    for node in "${NODES[@]}"; do rm -f "$WORK/$node.rc"; lab on "$node" rm -f /tmp/received.copy; done
  done
}

has_some() { lab on "$1" find /tmp -name '*received.copy*' -size +1M | grep -q .; }

@test "a switch that stops forwarding to a host in the middle" {
  source_file 120000000
  group
  wait_for 10 has_some n2
  block_multicast n2
  ends
  received
}
