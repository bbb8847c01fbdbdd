# Tests broadcasts by InfiniBand's and RoCE's datagrams over soft-RoCE: results, no times.

bats_require_minimum_version 1.5.0
load vm

setup_file() {
  engine_up 4
  chmod a+rw /dev/infiniband/*
}
setup() { test_begins; }
teardown() { test_ends; }

# by TRANSPORT: every host's report names it.
by() {
  local k
  for ((k = 1; k <= LAN; k++)); do
    [ "$(json $k transport)" = "$1" ] || { echo "host $k: $(json $k transport)"; return 1; }
  done
}
# Packets of the object that host 1 sends: one copy and little more, however many receivers there are.
sends_once() { [ "$(json 1 packets_sent)" -lt $(($(stat -c %s "$WORK/source") * $1 / 100 / 4068 + 200)) ]; }

@test "4 MB go to 3 receivers by verbs, encrypted and once" {
  source_file 4000003
  group --transport=verbs --compress=no
  ends
  received
  by verbs
  [ "$(json 2 packet_payload)" = 4068 ]
  [ "$(json 2 packets_lost)" = 0 ] && [ "$(json 1 packets_rejected)" = 0 ]
  sends_once 100
}

@test "what links lose, 1 %, 5 % and bursts of it, is repaired, and each receiver has all bytes" {
  lan_loss 2 1
  lan_loss 3 5
  tc -n switch qdisc add dev b4 root netem loss gemodel 1% 20% 90% 0.1% limit 100000
  source_file 16000003
  group --transport=verbs --compress=no
  ends
  received
  by verbs
  local k
  for k in 2 3 4; do [ "$(json $k packets_lost)" -gt 0 ]; done
  [ "$(lan_lost 3)" -gt 50 ]
}

@test "files arrive with protection none and auth, too" {
  local protection
  for protection in none auth; do
    source_file 1000003
    group --transport=verbs --protection=$protection --compress=no
    ends
    received
    by verbs
  done
}

@test "two broadcasts at once by the same devices end each with its own bytes" {
  local k
  source_file 4000003
  head -c 3000001 /dev/urandom >"$WORK/other"
  for k in 2 3 4; do
    engine $k --dest="$WORK/here/$k" --transport=verbs --compress=no
    PORT=6840 engine $k.b --dest="$WORK/here/$k.b" --transport=verbs --compress=no
  done
  engine 1 --source="$WORK/source" --transport=verbs --compress=no
  PORT=6840 engine 1.b --source="$WORK/other" --transport=verbs --compress=no
  ends
  wait_for $LIMIT ended 1.b 2.b 3.b 4.b
  received
  by verbs
  for k in 2 3 4; do
    [ "$(rc_of $k.b)" = 0 ]
    [ "$(json $k.b transport)" = verbs ]
    cmp "$WORK/other" "$WORK/here/$k.b"
  done
}

@test "a receiver whose link drops the group's packets has all go on by TCP" {
  tc -n switch qdisc add dev b3 clsact
  tc -n switch filter add dev b3 egress protocol ip flower dst_ip 239.0.0.0/8 action drop
  source_file 2000003
  group --transport=verbs --compress=no
  ends
  tc -n switch qdisc del dev b3 clsact
  received
  by tcp
}

@test "a receiver that is killed is named by the others" {
  source_file 60000003
  
  group --transport=verbs --compress=no --rate-max=20mbit --stall-timeout=10
  sleep 4
  pkill -KILL -f -- "--dest=$WORK/here/4"
  ends
  [ "$(rc_of 1)" != 0 ]
  says 1 '10\.77\.0\.4'
}

@test "a device that is deleted during a broadcast leaves all bytes or a message, and no process waiting" {
  source_file 60000003
  group --transport=verbs --compress=no --rate-max=20mbit --stall-timeout=10
  sleep 4
  rdma link delete rxe4
  ends
  rdma link add rxe4 type rxe netdev h4
  chmod a+rw /dev/infiniband/*
  # (Linux 6.1 takes the device out of its groups and lets its queue pairs be: what the receiver lacks it requests.)
  if [ "$(rc_of 4)" = 0 ]; then
    received
  else
    says 4 'rxe4|RDMA device'
    says 1 '10\.77\.0\.4'
  fi
}

# without_verbs PATTERN: all received by another transport, and said why.
without_verbs() {
  local k
  received
  for ((k = 1; k <= LAN; k++)); do
    [ "$(json $k transport)" != verbs ] || { echo "host $k used verbs"; return 1; }
    says $k "$1" || return
  done
}

@test "where a port's MTU is below 2048 all do without verbs, with the remedy" {
  ip link set h3 mtu 1500
  source_file 1000003
  group --transport=verbs
  ends
  ip link set h3 mtu 4200
  without_verbs '10\.77\.0\.3.*rxe3 port 1 has an MTU of 1024 bytes.*MTU of h3 to 2200'
}

@test "where a limit of locked memory is too low all do without verbs, with the remedy" {
  local k
  source_file 1000003
  # shellcheck disable=SC2046  # words
  starts 2 $(launcher 1) prlimit --memlock=65536 -- $WORKER --interface=h2 \
    --timeout=$LIMIT --dest="$WORK/here/2" --transport=verbs
  for k in 3 4; do engine $k --dest="$WORK/here/$k" --transport=verbs; done
  engine 1 --source="$WORK/source" --transport=verbs
  ends
  without_verbs 'rxe2 port 1: locking .* LimitMEMLOCK='
}

@test "where users may not open the devices all do without verbs" {
  chmod 600 /dev/infiniband/*
  source_file 1000003
  group --transport=verbs
  ends
  chmod a+rw /dev/infiniband/*
  without_verbs '/dev/infiniband|RDMA'
}

@test "auto uses no RDMA" {
  source_file 1000003
  group
  ends
  received
  ! by verbs
}

@test "a group's packets have the TTL that is asked for" {
  ip netns exec switch timeout 100 tcpdump -i b2 -n -v -c 20 'dst net 239.0.0.0/8 and udp port 4791' >"$WORK/seen" 2>"$WORK/tcpdump.err" &
  wait_for 20 grep -q listening "$WORK/tcpdump.err"
  source_file 1000003
  group --transport=verbs --compress=no --ttl=3
  ends
  received
  by verbs
  wait_for 20 grep -q 'ttl 3,' "$WORK/seen"
  ! grep -E 'ttl [0-9]+,' "$WORK/seen" | grep -qv 'ttl 3,'
}
