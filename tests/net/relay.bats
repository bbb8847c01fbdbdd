# Tests the engine without multicast: each host passes on by TCP what it receives.

bats_require_minimum_version 1.5.0
load engine

setup_file() { engine_up 6; }
teardown_file() { cluster_down; }
setup() { engine_begins; }
teardown() { engine_ends; }

relay() { group --transport=tcp --compress=no "$@"; }

@test "20 MB go down a chain: the source sends them once, and no packet by multicast" {
  source_file 20000003
  relay
  ends
  received
  [ "$(json n0 transport)" = tcp ]
  local node sent
  for node in "${NODES[@]}"; do
    [ "$(lab on "$node" bash -c 'nstat -asz IpExtOutMcastPkts | awk "/OutMcast/ { print \$2 }"')" = 0 ]
    sent=$(lab on "$node" cat /sys/class/net/eth0/statistics/tx_bytes)
    [ "$sent" -lt 30000000 ]
  done
}

opened_by() { lab on "$1" bash -c 'nstat -asz TcpActiveOpens TcpExtTCPSynRetrans | awk "/^Tcp/ { print \$2 }" | paste -sd " "'; }

@test "every host's first SYN is lost: the next connection is made before TCP repeats it" {
  local node opened repeated opened_before repeated_before before=() all=0
  source_file 3000000
  for node in "${NODES[@]}"; do
    lab on "$node" iptables -w -t raw -A PREROUTING -p tcp --syn --dport 6831:6893 \
      -m statistic --mode nth --every 1000000 --packet 0 -j DROP
    before+=("$(opened_by "$node")")
  done
  relay
  ends
  received
  for node in "${NODES[@]:1}"; do
    read -r opened repeated <<< "$(opened_by "$node")"
    read -r opened_before repeated_before <<< "${before[${node#n}]}"
    [ $((opened - opened_before)) -ge 2 ]
    all=$((all + repeated - repeated_before))
  done
  for node in "${NODES[@]}"; do lab on "$node" iptables -w -t raw -F PREROUTING; done
  [ "$all" -lt 5 ]   # 5 hosts would have waited a second each
}

@test "100 MB, as fast as possible: no host holds more than 64 MB for itself" {
  source_file 100000000
  relay
  ends
  received
  stayed_small
}

@test "a small file, an empty one, and each protection" {
  each_protection 50000
}

@test "a host in the chain that is killed is named, and the others do not wait for the time-out" {
  source_file 40000000
  relay --rate-max=80mbit --stall-timeout=4
  wait_for 10 listens n2
  sleep 1
  lab on n2 pkill -KILL -u alice stagecast-worke
  ends
  local node
  for node in n0 n1 n3 n4 n5; do
    [ "$(rc_of "$node")" = 1 ]
    grep -q '10.77.1.3.*no progress' "$WORK/$node.err"
  done
  lab on n2 bash -c 'rm -f /tmp/.*.stagecast.0.2'
}

held_before() { [ "$(echo "$(json "$1" held_at) < $(json "$2" held_at)" | bc)" = 1 ]; }

@test "a host behind a link of half the rate goes to the chain's end, and the one below it to the one above" {
  local node
  in_switch tc qdisc add dev p0-n3 root tbf rate 50mbit burst 128kb latency 30ms
  source_file 64000000
  relay --rate-max=100mbit
  wait_for 10 is_child_of n4 n3
  wait_for 25 is_child_of n3 n5
  wait_for 10 is_child_of n4 n2
  run ! is_child_of n4 n3
  ends
  in_switch tc qdisc del dev p0-n3 root
  received
  for node in n1 n2 n4 n5; do held_before $node n3; done
}

@test "a host in the chain that stops for 4 s delays no host behind it for longer than a moment" {
  source_file 40000000
  relay --rate-max=80mbit
  wait_for 10 listens n2
  sleep 1
  lab on n2 pkill -STOP -u alice stagecast-worke
  sleep 4
  lab on n2 pkill -CONT -u alice stagecast-worke
  ends
  received
}

@test "programs that connect to the ports and send garbage, or nothing, change nothing" {
  source_file 30000000
  relay --rate-max=80mbit
  wait_for 10 listens n1
  install -m 755 /dev/stdin "$CLUSTER_DIR/srv/connect.py" <<'CODE'
#!/usr/bin/env python3
import os, socket, sys, time
held, end = [], time.time() + 2
while time.time() < end:
    for port in range(6831, 6894):
        try:
            held.append(socket.create_connection((sys.argv[1], port), .2))
            held[-1].sendall(os.urandom(200) if len(held) % 2 else (60).to_bytes(4, "big") * 2 + os.urandom(60))
        except OSError:   # (The host may end it at once.)
            continue
    time.sleep(.01)
    del held[:-300]
CODE
  lab on login timeout 10 /srv/connect.py 10.77.1.2 < /dev/null > /dev/null 3>&-
  lab on n3 -u bob timeout 10 /srv/connect.py 10.77.1.4 < /dev/null > /dev/null 3>&-
  ends
  received
}

@test "a host that is not of the relay says so" {
  source_file 1000
  local node
  for node in n1 n2 n3 n4; do engine $node --dest=/tmp/received.copy --transport=tcp; done
  engine n5 --dest=/tmp/received.copy
  engine n0 --source="$T/source" --transport=tcp
  ends
  grep -q 'do not agree on the transport' "$WORK/n5.err"
}
