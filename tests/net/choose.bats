# Tests that a group whose multicast does not reach all hosts goes on by TCP from host to host, and
# that forced multicast fails and names them.
#
# Multicast packets are dropped at a host before they reach a socket, as by a switch that does not
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

block_multicast() { local node; for node; do lab on "$node" iptables -w -t raw -A PREROUTING -p udp -d 239.0.0.0/8 -j DROP || return 1; done; }
why() { python3 -c 'import json, sys; print(json.loads(open(sys.argv[1]).read()).get("group_relayed", ""))' "$WORK/$1.json"; }
sent_by() { lab on "$1" cat /sys/class/net/eth0/statistics/tx_bytes; }
again() {
  local node
  STARTED=()
  for node in "${NODES[@]}"; do rm -f "$WORK/$node.rc"; lab on "$node" rm -f /tmp/received.copy; done
}

@test "where multicast reaches no host all pass the file on: the source sends it once" {
  block_multicast "${NODES[@]}"
  source_file 30000000
  local before node
  before=$(sent_by n0)
  group --compress=no
  ends
  received
  for node in "${NODES[@]}"; do [ "$(json "$node" transport)" = tcp ]; done
  [[ $(why n0) == *"does not reach"*10.77.1.2*10.77.1.6* ]]
  echo "# the source sent $(($(sent_by n0) - before)) bytes" >&3
  [ $(($(sent_by n0) - before)) -lt 40000000 ]
}

@test "where multicast misses some hosts, too, and every host knows which" {
  block_multicast n3 n5
  source_file 30000000
  local before
  before=$(sent_by n0)
  group --compress=no
  ends
  received
  [ "$(json n1 transport)" = tcp ]
  [[ $(why n0) == *10.77.1.4*10.77.1.6* ]]
  [[ $(why n0) != *10.77.1.2* ]]
  [[ $(why n4) == "$(why n0)" ]]
  [ $(($(sent_by n0) - before)) -lt 40000000 ]
}

@test "where multicast does not leave the source's subnet" {
  # Hosts of the other subnet hear each other's multicast, and not the source's.
  local node
  for node in n3 n4 n5; do lab on "$node" iptables -w -t raw -A PREROUTING -p udp -s 10.77.1.1 -d 239.0.0.0/8 -j DROP; done
  source_file 30000000
  group --compress=no --protection=auth
  ends
  received
  [ "$(json n0 transport)" = tcp ]
  [[ $(why n0) == *10.77.1.4*10.77.1.5*10.77.1.6* ]]
}

@test "small files and an empty one, whatever has arrived where multicast is heard" {
  local bytes
  block_multicast n2
  for bytes in 0 1 5000 80000 1000000; do
    source_file "$bytes"
    group
    ends
    received
    [ "$(json n1 transport)" = tcp ]
    again
  done
}

@test "a directory, and a copy on the source's own host" {
  block_multicast n1 n4
  lab on n0 -u alice bash -c "mkdir -p $T/tree/deep; head -c 3000000 /dev/urandom > $T/tree/deep/a; : > $T/tree/empty; echo b > $T/tree/b"
  local node
  for node in "${NODES[@]:1}"; do engine "$node" --dest=/tmp/tree.copy; done
  engine n0 --source="$T/tree" --dest=/tmp/tree.copy
  ends
  for node in "${NODES[@]}"; do
    [ "$(rc_of "$node")" = 0 ]
    lab on "$node" diff -r "$T/tree" /tmp/tree.copy
    lab on "$node" rm -rf /tmp/tree.copy
  done
  [ "$(json n0 transport)" = tcp ]
}

@test "where multicast reaches all hosts it is used" {
  source_file 5000000
  group
  ends
  received
  [ "$(json n0 transport)" = udp ]
  [ -z "$(why n0)" ]
}

@test "forced multicast fails, and every host names those that do not hear it" {
  local bytes node
  block_multicast n2 n4
  for bytes in 5000 30000000; do
    source_file "$bytes"
    group --transport=udp
    ends
    all_fail
    for node in "${NODES[@]}"; do
      says "$node" 'multicast does not reach rank 2 \(10.77.1.3\), rank 4 \(10.77.1.5\), and Transport=udp'
    done
    absent n2
    absent n4
    again
  done
}

@test "without TCP between the hosts the message says so" {
  block_multicast n2
  local node
  for node in "${NODES[@]}"; do lab on "$node" iptables -w -t raw -A PREROUTING -p tcp --dport 6831:6893 -j DROP; done
  source_file 300000
  group --stall-timeout=3
  ends
  all_fail
  says n0 'data ports .DataPortRange, TCP. are closed'
}

@test "a host that opens no TCP port keeps all to multicast and repairs" {
  block_multicast n3
  source_file 5000000
  local node
  for node in n1 n2 n3 n4; do engine $node --dest=/tmp/received.copy; done
  engine n5 --dest=/tmp/received.copy --transport=udp
  engine n0 --source="$T/source"
  ends
  received
  [ "$(json n0 transport)" = udp ]
}
