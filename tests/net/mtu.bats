# Tests that packets are as large as every member's path carries, and that a path that drops
# them is reported.

bats_require_minimum_version 1.5.0
load engine

setup_file() { engine_up 4 --mtu 9000; }
teardown_file() { cluster_down; }
setup() { engine_begins; }
teardown() {
  local node
  for node in "${NODES[@]}"; do
    lab on "$node" ip link set eth0 mtu 9000
    lab on "$node" iptables -w -t raw -F
  done
  engine_ends
}

# drops NODE BYTES [PROTOCOL]: a switch on its way drops, without a word, what is longer than BYTES (IP's length).
drops() {
  local node
  # What the filter judges must be packets, not 64 KB segments.
  for node in "${NODES[@]}"; do lab on "$node" ethtool -K eth0 tso off gso off gro off tx-udp-segmentation off > /dev/null; done
  lab on "$1" iptables -w -t raw -A PREROUTING -i eth0 -p "${3:-udp}" -m length --length "$(($2 + 1)):65535" -j DROP
}

# payloads BYTES: what every member says that a DATA packet carried.
payloads() {
  local node
  for node in "${NODES[@]}"; do
    [ "$(json "$node" packet_payload)" = "$1" ] || { echo "$node: $(json "$node" packet_payload)"; return 1; }
  done
}

@test "jumbo frames everywhere are used" {
  source_file 3000000
  group
  ends
  received
  payloads 8928
}

@test "one interface with 1500 decides for all" {
  lab on n2 ip link set eth0 mtu 1500
  source_file 3000000
  group
  ends
  received
  payloads 1444
}

@test "a switch that drops large packets is found out before any data" {
  drops n3 1500
  source_file 3000000
  group
  ends
  received
  payloads 1444
}

@test "a path below 1500 for UDP leaves TCP; without that it is named, with what to look at" {
  local node
  drops n3 1400
  source_file 3000000
  group
  ends
  received
  [ "$(json n0 transport)" = tcp ]
  STARTED=()
  for node in "${NODES[@]}"; do rm -f "$WORK/$node.rc"; lab on "$node" rm -f /tmp/received.copy; done
  group --transport=udp
  ends
  all_fail
  says n0 'n3|rank 3|10\.77\.1\.4'
  says n0 'MTU'
  absent n1
}

@test "a switch that drops large packets of TCP, too: a relay's become shorter, each connection's by itself" {
  local node
  for node in "${NODES[@]}"; do drops "$node" 1500 tcp; done
  source_file 3000000
  group --transport=tcp
  ends
  received
  rm -f "$WORK"/n*.rc
  STARTED=()
  for node in "${NODES[@]}"; do lab on "$node" iptables -w -t raw -F; done
  drops n2 1400 tcp
  group --transport=tcp --protection=none
  ends
  received
}
