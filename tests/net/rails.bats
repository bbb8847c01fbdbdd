# Tests that a stream uses several interfaces at once, and continues when one dies.

bats_require_minimum_version 1.5.0
load engine

has_multipath() { [ -e /proc/sys/net/mptcp/enabled ]; }
setup_file() {
  local node
  engine_up 4 --rails 2 --rate 200mbit
  has_multipath || return 0
  for node in "${NODES[@]}"; do # Each announces its second rail to multipath TCP.
    lab on "$node" ip mptcp limits set add_addr_accepted 7 subflows 7
    lab on "$node" ip mptcp endpoint add "$(lab on "$node" ip -4 -br address show eth1 | grep -oE '10[.0-9]+')" dev eth1 port 6899 signal
  done
}
teardown_file() { cluster_down; }
setup() {
  engine_begins
  INTERFACE=eth0+eth1
}
teardown() {
  local node
  for node in "${NODES[@]}"; do lab on "$node" ip link set eth1 mtu 1500 up; done
  wait_for 10 links_up
  engine_ends
}

links_up() {
  local node
  for node in "${NODES[@]}"; do lab on "$node" ip -br link show eth1 | grep -q LOWER_UP || return 1; done
}

# bytes NODE INTERFACE tx|rx
bytes() { lab on "$1" cat "/sys/class/net/$2/statistics/$3_bytes"; }

# Remembers the counters of NODE's interfaces; since NODE INTERFACE tx|rx: bytes since then.
declare -gA SEEN
look_at() { local key; for key in eth0:tx eth0:rx eth1:tx eth1:rx; do SEEN[$1:$key]=$(bytes "$1" "${key%:*}" "${key#*:}"); done; }
since() { echo $(($(bytes "$1" "$2" "$3") - SEEN[$1:$2:$3])); }
since_is_over() { [ "$(since "$1" "$2" "$3")" -gt "$4" ]; }

@test "both rails of source and receivers carry about half, under each protection, with 2 and 4 flows" {
  local protection flows node way rail
  source_file 20000003
  for flows in 1 4; do
    for protection in encrypt none; do
      rm -f "$WORK"/n*.rc
      STARTED=()
      look_at n0
      look_at n1
      group --rate-max=150mbit --flows="$flows" --protection="$protection" --compress=no
      ends
      received || { echo "$flows flows, $protection"; return 1; }
      [ "$(json n1 rails)" = 2 ]
      for way in n0:tx n1:rx; do
        for rail in eth0 eth1; do
          since_is_over "${way%:*}" $rail "${way#*:}" 8000000 || { echo "$way $rail: $(since "${way%:*}" $rail "${way#*:}")"; return 1; }
        done
      done
    done
  done
  # What peers say to each other takes the first rail.
  [ "$(since n1 eth1 tx)" -lt 100000 ]
  stayed_small
}

@test "packets are as large as the smaller of two rails allows" {
  source_file 1000000
  lab on n1 ip link set eth1 mtu 1400
  group
  ends
  received
  [ "$(json n2 packet_payload)" -lt 1372 ]
}

@test "at what the rails carry, with queues that differ, the source sends little more than once" {
  source_file 100000000
  look_at n0
  group --compress=no
  ends
  received
  [ "$(json n1 rails)" = 2 ]
  [ $(($(since n0 eth0 tx) + $(since n0 eth1 tx))) -lt 125000000 ]
}

# down_in_mid_transfer NODE DIRECTION: its second rail, once 2 MB went by it. All receive the file nevertheless.
down_in_mid_transfer() {
  source_file 20000000
  look_at "$1"
  group --rate-max=60mbit --compress=no
  wait_for 20 since_is_over "$1" eth1 "$2" 2000000
  lab on "$1" ip link set eth1 down
  ends
  received
}

@test "a rail that goes down at the source in mid-transfer" {
  down_in_mid_transfer n0 tx
  [ "$(since n0 eth1 tx)" -lt 9000000 ]
  since_is_over n0 eth0 tx 11000000
}

@test "a rail that goes down at one receiver costs it repairs" {
  down_in_mid_transfer n2 rx
  [ "$(json n2 packets_repaired)" -gt 1000 ]
}

@test "a host with one rail: all use one" {
  source_file 5000000
  INTERFACE=eth0+eth1,eth0
  lab on n3 ip link set eth1 down
  look_at n0
  group --rate-max=100mbit --flows=2 --compress=no
  ends
  received
  [ "$(since n0 eth1 tx)" -lt 100000 ]
  run ! json n1 rails
  [ "$(json n1 packets_lost)" -lt 500 ]
}

@test "rails of which one is missing, and nothing else named: the message names it" {
  source_file 1000
  lab on n3 ip link set eth1 down
  engine n3 --dest=/tmp/received.copy
  ends
  [ "$(rc_of n3)" = 1 ]
  says n3 "network interface 'eth1' is down"
}

@test "a relay uses the rails that are announced to multipath TCP, and only the first with a rate limit" {
  has_multipath || skip "a kernel without multipath TCP"
  local rail
  source_file 40000000
  look_at n0
  look_at n2
  group --transport=tcp --compress=no
  ends
  received
  echo "# n0 sent $(since n0 eth0 tx) and $(since n0 eth1 tx) bytes" >&3
  for rail in eth0 eth1; do
    since_is_over n0 $rail tx 10000000
    since_is_over n2 $rail rx 10000000
  done
  [ $(($(since n0 eth0 tx) + $(since n0 eth1 tx))) -lt 60000000 ]

  rm -f "$WORK"/n*.rc
  STARTED=()
  look_at n0
  group --transport=tcp --compress=no --rate-max=150mbit
  ends
  received
  [ "$(since n0 eth1 tx)" -lt 100000 ]
}

@test "a relay goes on by its first rail when the other goes down in mid-transfer" {
  has_multipath || skip "a kernel without multipath TCP"
  source_file 60000000
  look_at n1
  group --transport=tcp --compress=no
  wait_for 20 since_is_over n1 eth1 rx 4000000
  lab on n1 ip link set eth1 down
  ends
  received
}

@test "a firewall that drops, or refuses, multipath TCP leaves a relay plain TCP" {
  has_multipath || skip "a kernel without multipath TCP"
  local node refusal
  source_file 5000000
  for refusal in DROP "REJECT --reject-with tcp-reset"; do
    for node in "${NODES[@]}"; do lab on "$node" iptables -w -A INPUT -p tcp --tcp-option 30 -j $refusal; done
    group --transport=tcp --compress=no
    ends
    received
    for node in "${NODES[@]}"; do lab on "$node" iptables -w -F INPUT; done
    rm -f "$WORK"/n*.rc
    STARTED=()
  done
}

@test "a relay with rails of which none is announced uses the first" {
  has_multipath || skip "a kernel without multipath TCP"
  local node
  source_file 5000000
  for node in "${NODES[@]}"; do lab on "$node" ip mptcp endpoint flush; done
  look_at n0
  group --transport=tcp --compress=no
  ends
  received
  [ "$(since n0 eth1 tx)" -lt 100000 ]
}
