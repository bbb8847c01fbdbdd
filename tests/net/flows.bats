# Tests that a stream over several flows arrives as one.

bats_require_minimum_version 1.5.0
load engine

setup_file() {
  engine_up 4 --rate 200mbit
  install -m 755 "${STAGECAST_BUILD:-$CLUSTER_TESTS/../../build}/faulty-worker" "$CLUSTER_DIR/srv/"
}
teardown_file() { cluster_down; }
setup() { engine_begins; }
teardown() {
  lab on n2 iptables -w -F
  engine_ends
}

again() {
  rm -f "$WORK"/n*.rc
  STARTED=()
}

# flows_of NODE: how many flows brought at least a hundred packets.
flows_of() {
  python3 -c 'import json, sys
print(sum(n >= 100 for n in json.loads(open(sys.argv[1]).read()).get("flow_packets", [])))' "$WORK/$1.json"
}

@test "1, 2, 4 and 16 flows under each protection: the same bytes, each flow its share" {
  local flows protection
  source_file 20000003
  for flows in 1 2 4 16; do
    for protection in encrypt auth none; do
      again
      group --rate-max=100mbit --flows="$flows" --protection="$protection"
      ends
      received || { echo "$flows flows, $protection"; return 1; }
      [ "$flows" = 1 ] || [ "$(flows_of n1)" = "$flows" ]
      [ "$(json n1 packets_rejected)" = 0 ]
    done
  done
  stayed_small
}

@test "one byte over four flows" {
  source_file 1
  group --flows=4
  ends
  received
}

@test "loss, doubles, bent bits and reordering on all flows" {
  source_file 20000000
  printf '#!/bin/sh\nexec /srv/faulty-worker seed=3,drop=5000,burst=5,duplicate=10000,corrupt=5000,reorder=20000,hold=20 "$@"\n' \
    > "$CLUSTER_DIR/srv/misbehaving"
  chmod 755 "$CLUSTER_DIR/srv/misbehaving"
  WORKER=/srv/misbehaving
  group --rate-max=100mbit --flows=4
  ends
  received
  [ "$(json n1 packets_lost)" -gt 0 ]
  [ "$(json n1 packets_rejected)" -gt 0 ]
}

@test "a port that is blocked before one host costs it repairs, and other hosts nothing" {
  source_file 20000000
  # By the header, because the port is not known before the group has drawn it.
  lab on n2 iptables -w -A INPUT -p udp -d 239.0.0.0/8 -m u32 --u32 '0>>22&0x3C@8>>16&0x0F=1' -j DROP
  group --rate-max=100mbit --flows=2
  ends
  received
  [ "$(flows_of n1)" = 2 ]
  [ "$(flows_of n2)" = 1 ]
  [ "$(json n2 packets_repaired)" -gt 1000 ]
}

@test "an unauthorised peer's packets at every flow's port are counted, and change nothing" {
  source_file 60000000   # on its way while the packets come
  group --rate-max=100mbit --flows=4
  wait_for 10 group_seen n1
  [ "$(wc -w <<< "$PORTS")" -ge 4 ]
  local port
  for port in $PORTS; do
    lab on login timeout 10 /srv/garbage.py "$GROUP" "$port" 3000 < /dev/null > /dev/null 3>&- &
  done
  ends
  received
  [ "$(json n1 packets_rejected)" -gt 0 ]
}

@test "packets of one flow sent again on the others change nothing" {
  source_file 10000000
  capture login
  group --rate-max=60mbit --flows=3
  wait_for 10 group_seen n1
  wait_for 10 bash -c "[ \$(stat -c %s '$WORK/login.pcap') -gt 200000 ]"
  install -m 644 "$WORK/login.pcap" "$CLUSTER_DIR/srv/capture"
  lab on login timeout 20 /srv/replay.py /srv/capture shift < /dev/null > "$WORK/replayed" 3>&-
  lab on login pkill -INT tcpdump
  ends
  received
  grep -Eq 'replayed [1-9]' "$WORK/replayed"
}
