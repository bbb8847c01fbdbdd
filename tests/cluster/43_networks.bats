# Tests changes of a network's ports, addresses and sizes: a stage continues, or the right node is named.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() {
  cluster_up 4 --stagecast RateMax=40mbit
  install -m 755 "$CLUSTER_TESTS/attack/hold_ports.py" "$CLUSTER_DIR/srv/"
}
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  lab on n1 bash -c 'pkill -KILL -f "^([^ ]*python3) /srv/hold_ports.py"; true'
  lab on n0 ip link set eth0 mtu 1500
  heal
  test_ends
}

# hold NODE USER PORTS: a program there binds them in each way that there is. HELD: how many it got.
hold() {
  rm -f "$CLUSTER_DIR/srv/held"
  install -m 666 /dev/null "$CLUSTER_DIR/srv/held"
  lab on "$1" -u "$2" bash -c 'setsid python3 /srv/hold_ports.py "$0" < /dev/null > /srv/held 2>&1 &' "$3"
  wait_for 10 grep -q . "$CLUSTER_DIR/srv/held"
  HELD=$(cat "$CLUSTER_DIR/srv/held")
}

let_go() {
  lab on n1 bash -c 'pkill -KILL -f "^([^ ]*python3) /srv/hold_ports.py"; true'
  restart_daemon n1
}

jobs_pass() {
  local i
  for ((i = 0; i < $1; i++)); do as_alice srun -N4 --stage-file=data true; done
}

@test "programs that had ports of DataPortRange before the daemon cost nothing" {
  input data 1000
  lab stop n1 stagecastd
  hold n1 root 6831-6834
  [ "$HELD" -ge 4 ]
  start_daemon n1
  lab stop n2 stagecastd
  start_daemon n2
  jobs_pass 10
  daemon_logs | grep -q "other programs use UDP ports of DataPortRange.*ports=.*6831,6832,6833,6834"
  let_go
}

@test "where the first node's group needs a port that another node's program has, another is drawn" {
  input data 300000
  lab stop n1 stagecastd
  hold n1 root 6830-6860
  start_daemon n1
  jobs_pass 3
  daemon_logs | grep -q "the stage gets another port"
  let_go
}

@test "a user who tries to take all of DataPortRange stops no job" {
  input data 1000
  hold n1 bob 6830-6893
  jobs_pass 8
}

@test "an interface's first address is another network's: the one that the others reach is used" {
  input data 5000000
  lab on n1 bash -c 'ip addr del 10.77.1.2/16 dev eth0; ip addr add 192.168.50.5/24 dev eth0; ip addr add 10.77.1.2/16 brd + dev eth0'
  lab on n1 iptables -w -t raw -A PREROUTING -i eth0 -p udp -m statistic --mode random --probability 0.02 -j DROP
  as_alice srun -N4 --stage-file=data true
  lab on n1 bash -c 'iptables -w -t raw -F; ip addr del 192.168.50.5/24 dev eth0'
}

@test "the address has a label; Interface is an alternative name" {
  input data 1000
  lab on n1 bash -c 'ip addr del 10.77.1.2/16 dev eth0; ip addr add 10.77.1.2/16 brd + dev eth0 label eth0:1'
  as_alice srun -N4 --stage-file=data true
  lab on n1 /srv/stagecast/bin/stagecast doctor | grep -q '^ok *interface eth0'
  lab on n1 bash -c 'ip addr del 10.77.1.2/16 dev eth0; ip addr add 10.77.1.2/16 brd + dev eth0
    ip link property add dev eth0 altname data-network
    sed "s/^Interface=.*/Interface=data-network/" /etc/stagecast/stagecast.conf > /run/lab/altname
    cp /etc/stagecast/stagecast.conf /run/lab/conf; cat /run/lab/altname > /etc/stagecast/stagecast.conf'
  restart_daemon n1
  as_alice srun -N4 --stage-file=data true
  lab on n1 /srv/stagecast/bin/stagecast doctor | grep -q '^ok *interface eth0'
  lab on n1 bash -c 'cat /run/lab/conf > /etc/stagecast/stagecast.conf; rm /run/lab/conf; ip link property del dev eth0 altname data-network'
  restart_daemon n1
}

@test "the MTU of the source's interface shrinks in the middle" {
  input data 20000000
  script 'srun /srv/rank.sh'
  submit -N4 --stage-file=data job.sh
  wait_for 40 receiving n3
  lab on n0 ip link set eth0 mtu 1400
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
}

@test "a node whose packets reach no other node is named soon, and no other is" {
  input data 300000
  lab on n2 iptables -w -A OUTPUT -o eth0 -p udp -j DROP
  CODE=75 sbatch_fails --stage-file=data
  node_sentence "$OUT" n2 'no datagram of this node arrives at the source'
  [ "$(grep -c 'more node' "$OUT")" = 0 ] || { cat "$OUT"; false; }
}

@test "a source that receives no packets is named" {
  input data 300000
  lab on n0 iptables -w -A INPUT -i eth0 -p udp -j DROP
  CODE=75 sbatch_fails --stage-file=data
  node_sentence "$OUT" n0 'no datagram of the 3 other nodes arrives here'
}
