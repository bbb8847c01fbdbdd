# Tests a group that is all hosts of the LAN, where switches drop multicast: by broadcast, or, where that does
# not reach all, by TCP from host to host.
#
# The switch drops multicast as one does that snoops IGMP and has no querier: it knows no listener.

bats_require_minimum_version 1.5.0
load engine

setup_file() { engine_up 5 --rails 2 --rate 200mbit; }
teardown_file() { cluster_down; }
setup() {
  local port
  engine_begins
  for port in $(ports); do in_switch ip link set "$port" type bridge_slave mcast_flood off; done
}
teardown() {
  local node
  for node in "${NODES[@]}"; do lab on "$node" iptables -w -t raw -F PREROUTING; done
  engine_ends
}

ports() { in_switch ip -o link show type bridge_slave 2>/dev/null | sed 's/^[0-9]*: \([^@:]*\).*/\1/' | grep -- '-n'; }
block_broadcast() { local node; for node; do lab on "$node" iptables -w -t raw -A PREROUTING -p udp -d 255.255.255.255 -j DROP || return 1; done; }
why() { python3 -c 'import json, sys; print(json.loads(open(sys.argv[1]).read()).get("group_relayed", ""))' "$WORK/$1.json"; }
counted() { lab on "$1" cat "/sys/class/net/$2/statistics/$3_bytes"; }

@test "where the switch drops multicast all hosts receive what is broadcast, and the source sends it once" {
  local before protection node
  source_file 20000003
  for protection in encrypt none; do
    STARTED=()
    rm -f "$WORK"/n*.rc
    before=$(counted n0 eth0 tx)
    group --broadcast=yes --compress=no --rate-max=100mbit --protection=$protection
    ends
    received
    for node in "${NODES[@]}"; do [ "$(json "$node" transport)" = udp ]; done
    [ $(($(counted n0 eth0 tx) - before)) -lt 25000000 ]
  done
  stayed_small
}

@test "multicast does not pass that switch" {
  source_file 300000
  group
  ends
  received
  [ "$(json n0 transport)" = tcp ]
  [[ $(why n0) == 'multicast does not reach'*10.77.1.2*10.77.1.5* ]]
}

@test "several flows, with loss" {
  local node
  source_file 10000000
  for node in n1 n3; do
    lab on "$node" iptables -w -t raw -A PREROUTING -p udp -d 255.255.255.255 -m statistic --mode random --probability 0.02 -j DROP
  done
  group --broadcast=yes --flows=4 --rate-max=100mbit --compress=no
  ends
  received
  [ "$(json n1 transport)" = udp ]
  [ "$(json n1 packets_lost)" -gt 20 ]
}

@test "rails share the address, and each carries its half; a host with one rail: all use one" {
  local before rail
  source_file 20000000
  INTERFACE=eth0+eth1,eth0
  for rail in eth0 eth1; do before=("${before[@]}" "$(counted n1 $rail rx)"); done
  group --broadcast=yes --rate-max=150mbit --compress=no
  ends
  received
  [ "$(json n1 rails)" = 2 ]
  [ $(($(counted n1 eth0 rx) - before[0])) -gt 8000000 ]
  [ $(($(counted n1 eth1 rx) - before[1])) -gt 8000000 ]
  STARTED=()
  rm -f "$WORK"/n*.rc
  lab on n3 ip link set eth1 down
  group --broadcast=yes --rate-max=100mbit --compress=no
  ends
  lab on n3 ip link set eth1 up
  received
  [ "$(json n1 transport)" = udp ]
  run ! json n1 rails
}

@test "a host that a broadcast does not reach: all pass the file on by TCP, and say why" {
  block_broadcast n3
  source_file 20000000
  group --broadcast=yes --compress=no
  ends
  received
  [ "$(json n1 transport)" = tcp ]
  [ "$(why n1)" = 'broadcast does not reach rank 3 (10.77.1.4)' ]
  [[ $(json n3 group_unheard) == 'broadcast packets did not reach this node'* ]]
}

@test "forced, it fails, and every host names the one that it does not reach" {
  local node
  block_broadcast n3
  source_file 300000
  group --broadcast=yes --transport=udp
  ends
  all_fail
  for node in "${NODES[@]}"; do
    says "$node" 'broadcast does not reach rank 3 \(10.77.1.4\), and Transport=udp allows nothing else: .*another LAN'
  done
  absent n3
}

@test "a host of another subnet on the same LAN receives it, too" {
  lab on n4 bash -c 'ip addr add 10.99.0.4/24 brd + dev eth0; ip addr del 10.77.1.5/16 dev eth0
    ip route add 10.77.0.0/16 dev eth0'
  sed -i 's/^10.77.1.5$/10.99.0.4/' "$WORK/hosts"
  local node
  for node in n0 n1 n2 n3; do lab on "$node" ip route add 10.99.0.0/24 dev eth0; done
  source_file 5000000
  group --broadcast=yes
  ends
  for node in n0 n1 n2 n3; do lab on "$node" ip route del 10.99.0.0/24 dev eth0; done
  lab on n4 bash -c 'ip route del 10.77.0.0/16 dev eth0; ip addr add 10.77.1.5/16 brd + dev eth0; ip addr del 10.99.0.4/24 dev eth0'
  received
  [ "$(json n4 transport)" = udp ]
}

@test "a host outside of the group receives it and answers nothing" {
  local got sent
  source_file 5000000
  head -n 4 "$WORK/hosts" > "$WORK/four"
  mv "$WORK/four" "$WORK/hosts"
  got=$(counted n4 eth0 rx)
  sent=$(counted n4 eth0 tx)
  for node in n1 n2 n3; do engine $node --dest=/tmp/received.copy --broadcast=yes --compress=no; done
  engine n0 --source="$T/source" --broadcast=yes --compress=no
  ends
  received n1 n2 n3
  [ $(($(counted n4 eth0 rx) - got)) -gt 5000000 ]
  [ $(($(counted n4 eth0 tx) - sent)) -lt 5000 ]
}
