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

@test "4 MB go to 3 receivers by verbs, without being asked for it, encrypted and once" {
  source_file 4000003
  group --compress=no
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

@test "each protection works, and a group of another key does not disturb" {
  local protection
  for protection in none auth; do
    source_file 1000003
    group --transport=verbs --protection=$protection --compress=no
    ends
    received
    by verbs
  done
}

@test "a receiver whose link drops the group's packets has all go on by TCP" {
  tc -n switch qdisc add dev b3 clsact
  tc -n switch filter add dev b3 egress protocol ip flower dst_ip 239.0.0.0/8 action drop
  source_file 2000003
  group --compress=no
  ends
  tc -n switch qdisc del dev b3 clsact
  received
  by tcp
}

@test "with Transport=verbs such a receiver ends the broadcast and is named" {
  tc -n switch qdisc add dev b3 clsact
  tc -n switch filter add dev b3 egress protocol ip flower dst_ip 239.0.0.0/8 action drop
  source_file 2000003
  group --transport=verbs
  ends
  tc -n switch qdisc del dev b3 clsact
  [ "$(rc_of 1)" != 0 ]
  says 1 '10\.77\.0\.3'
  [ ! -e "$WORK/here/2" ] && [ ! -e "$WORK/here/3" ]
}

@test "a receiver that is killed is named by the others" {
  source_file 60000003
  
  group --transport=verbs --compress=no --rate-max=20mbit --stall-timeout=10
  sleep 4
  pkill -KILL -f -- '--rank=3 '
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

@test "an MTU below 2048 is refused with a remedy, and auto does without verbs" {
  ip link set h3 mtu 1500
  source_file 1000003
  group --transport=verbs
  ends
  local k
  for k in 1 2 3 4; do
    [ "$(rc_of $k)" != 0 ]
    says $k 'rxe3 port 1 has an MTU of 1024 bytes.*MTU of h3 to 2200'
  done
  source_file 1000003
  group
  ends
  ip link set h3 mtu 4200
  received
  ! by verbs
}

@test "a limit of locked memory is named, and auto does without verbs" {
  source_file 1000003
  local k
  limited() { starts 2 prlimit --memlock=65536 -- $WORKER --hosts="$WORK/hosts" --rank=1 --key-file="$WORK/key" \
    --interface=h2 --timeout=$LIMIT --dest="$WORK/here/2" "$@"; }
  limited --transport=verbs
  for k in 3 4; do engine $k --dest="$WORK/here/$k" --transport=verbs; done
  engine 1 --source="$WORK/source" --transport=verbs
  ends
  for k in 1 2 3 4; do
    [ "$(rc_of $k)" != 0 ]
    says $k 'rxe2 port 1: locking .* LimitMEMLOCK='
  done
  source_file 1000003
  limited
  for k in 3 4; do engine $k --dest="$WORK/here/$k"; done
  engine 1 --source="$WORK/source"
  ends
  received
  ! by verbs
}

@test "a user who may not open the devices gets another transport" {
  chmod 600 /dev/infiniband/*
  source_file 1000003
  group
  ends
  chmod a+rw /dev/infiniband/*
  received
  ! by verbs
}
