# Tests stages on a network that does not carry multicast to every node: files then go by TCP, or, with
# Transport=udp, the job fails with the names of the nodes.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 4 --stagecast PushFrom=n0 --stagecast ConnectTimeout=2; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  local node
  for node in "${NODES[@]}"; do lab on "$node" iptables -w -t raw -F; done
  heal
  test_ends
}

block_multicast() { local node; for node; do lab on "$node" iptables -w -t raw -A PREROUTING -p udp -d 239.0.0.0/8 -j DROP || return 1; done; }
sent_by() { lab on "$1" cat /sys/class/net/eth0/statistics/tx_bytes; }
explains() { lab on n0 /srv/stagecast/bin/stagecast explain "$JOB" > "$WORK/said" || { cat "$WORK/said"; return 1; }; }
says() { grep -Eq "$1" "$WORK/said" || { cat "$WORK/said"; return 1; }; }

run_job() {
  script 'srun /srv/rank.sh'
  submit -N4 --stage-file=data job.sh
  wait_job "$JOB" "${1:-COMPLETED}"
}

@test "where multicast reaches no node files go by TCP, and the first node sends them once" {
  local before
  input data 20000000
  block_multicast n0 n1 n2 n3
  before=$(sent_by n0)
  run_job
  [ $(($(sent_by n0) - before)) -lt 40000000 ]
  staged_everywhere "$OUT" data
  explains
  says '^  transport: tcp unicast: multicast does not reach n1, n2, n3$'
  says '^  and not udp multicast: multicast does not reach n1'
}

@test "where multicast misses one node files go by TCP to all" {
  input data 20000000
  block_multicast n3
  run_job
  staged_everywhere "$OUT" data
  explains
  says '^  transport: tcp unicast: multicast does not reach n3$'
  says '^  not reached by multicast: n3; so all nodes'
  [ "$(grep -c 'not reached' "$WORK/said")" = 1 ]
  grep -q 'multicast does not reach n3' "$CLUSTER_DIR/log/stagecastd-n0.log"
}

@test "small files, trees and files that some nodes have in their cache, too" {
  input data 5000
  block_multicast n1
  run_job
  staged_everywhere "$OUT" data
  lab exec -u alice -d "$T" bash -c 'mkdir -p tree/deep; head -c 3000000 /dev/urandom > tree/deep/a; : > tree/empty; tar -czf tree.tgz tree'
  as_alice srun -N4 --stage-file=tree --stage-file=tree.tgz:out:extract \
    sh -c 'cd $STAGECAST_DIR; diff -r tree "$SLURM_SUBMIT_DIR/tree" && diff -r out/tree "$SLURM_SUBMIT_DIR/tree"'
}

@test "where multicast reaches every node it is used" {
  input data 3000000
  run_job
  staged_everywhere "$OUT" data
  explains
  says '^  transport: udp multicast: every node hears the group'
  says '^  and not tcp unicast: '
}

@test "with Transport=udp the job fails and names the nodes" {
  input data 3000000
  block_multicast n1 n3
  lab on n0 bash -c 'cp /etc/stagecast/stagecast.conf /run/lab/conf; echo Transport=udp >> /etc/stagecast/stagecast.conf'
  restart_daemon n0
  CODE=75 sbatch_fails --stage-file=data
  grep -q 'node n1: multicast does not reach n1, n3, and Transport=udp' "$OUT" || { cat "$OUT"; false; }
  lab on n0 bash -c 'mv /run/lab/conf /etc/stagecast/stagecast.conf'
  restart_daemon n0
}

# Only the first node's file has it: the others do as its plan says.
set_first() {   # LINES
  lab on n0 bash -c 'cp /etc/stagecast/stagecast.conf /run/lab/conf; sed -i "/^MulticastGroups=/d" /etc/stagecast/stagecast.conf
    printf "%s\n" "$@" >> /etc/stagecast/stagecast.conf' - "$@"
  restart_daemon n0
}
first_as_before() {
  lab on n0 bash -c '[ ! -e /run/lab/conf ] || mv /run/lab/conf /etc/stagecast/stagecast.conf'
  restart_daemon n0
}
block_broadcast() { local node; for node; do lab on "$node" iptables -w -t raw -A PREROUTING -p udp -d 255.255.255.255 -j DROP || return 1; done; }

@test "with Transport=verbs and no RDMA device files go as with auto, and a worker says why" {
  input data 3000000
  set_first Transport=verbs
  run_job
  staged_everywhere "$OUT" data
  explains
  says '^  transport: udp multicast: every node hears the group'
  grep -Eq 'verbs: rank 0 \(n0, .*RDMA' "$CLUSTER_DIR/log/stagecastd-n0.log"
  lab on n0 /srv/stagecast/bin/stagecast doctor > "$WORK/said" || true
  says '^warn   rdma: this node has no RDMA device; stagings go by UDP'
  block_multicast n3
  run_job
  staged_everywhere "$OUT" data
  explains
  says '^  transport: tcp unicast: multicast does not reach n3$'
  first_as_before
}

@test "where multicast passes nowhere and the site allows broadcast it is used" {
  input data 20000000
  block_multicast n0 n1 n2 n3
  set_first MulticastGroups=broadcast
  run_job
  staged_everywhere "$OUT" data
  explains
  says '^  transport: udp broadcast: every node hears the group \(255\.255\.255\.255\)'
  says '^  and not tcp unicast: '
  lab on n0 /srv/stagecast/bin/stagecast doctor > "$WORK/said" || true
  says '^ok     interface eth0: is up and can broadcast$'
  says '^warn   broadcast: .*RateMax is not set'
  first_as_before
}

@test "a node that a broadcast does not reach: files go by TCP, or with Transport=udp the job fails" {
  input data 3000000
  block_broadcast n3
  set_first MulticastGroups=broadcast
  run_job
  staged_everywhere "$OUT" data
  explains
  says '^  transport: tcp unicast: broadcast does not reach n3$'
  says '^  and not udp broadcast: broadcast does not reach n3$'
  says '^  not reached by broadcast: n3; so all nodes'
  doctor 0 -w 'n[0-3]'
  says '^warn   group: not heard by n3: they are in another LAN'
  first_as_before
  set_first MulticastGroups=broadcast Transport=udp
  CODE=75 sbatch_fails --stage-file=data
  grep -q 'node n3: broadcast does not reach n3, and Transport=udp' "$OUT" || { cat "$OUT"; false; }
  first_as_before
}

doctor() {   # CODE ARGS...
  local want=$1 got=0
  shift
  lab on n0 /srv/stagecast/bin/stagecast doctor --multicast "$@" < /dev/null > "$WORK/said" 2>&1 || got=$?
  [ "$got" = "$want" ] || { echo "exit code $got"; cat "$WORK/said"; return 1; }
}
empty_root() { [ -z "$(lab on "$1" find /var/spool/stagecast -mindepth 1 -name doctor)" ]; }

@test "doctor --multicast shows the transport, the nodes that do not hear the group, and leaves nothing" {
  local node
  doctor 0 -w 'n[0-3]'
  says '^ok     nodes: 4 of 4 nodes took part$'
  says '^ok     transport: udp multicast: every node hears the group \(239\..*packets carry [1-9][0-9]* bytes'
  says '^ok     tcp unicast: is not used: '
  run ! grep -v '^ok' "$WORK/said"
  block_multicast n2 n3
  doctor 0 -w n0,n1,n2,n3
  says '^ok     transport: tcp unicast: multicast does not reach n2, n3$'
  says '^warn   udp multicast: is not used: multicast does not reach n2, n3$'
  says '^warn   group: not heard by n2, n3: a switch'
  doctor 0 -w 'n[1-3]' --json
  python3 "$CLUSTER_TESTS"/lib/schema.py push "$WORK/said"
  grep -q '"unheard_group":\["n2","n3"\]' "$WORK/said"
  for node in "${NODES[@]}"; do wait_for 10 empty_root "$node"; done
  run ! lab on n0 sh -c 'ls /run/stagecast/doctor.*'
}

@test "doctor --multicast names a node that Slurm does not know, has no daemon or allows no push, and asks for root" {
  lab stop n2 stagecastd
  doctor 1 -w 'n[0-2],n9'
  start_daemon n2
  says '^WRONG  node n2: '
  says '^WRONG  node n9: '
  says '^ok     nodes: 2 of 4 nodes took part$'
  says '^ok     transport: udp multicast: '
  run -2 lab on n1 /srv/stagecast/bin/stagecast doctor --multicast -w n2
  [[ $output == *'WRONG  node n2: node n1 at 10.77.1.2 is none of this node'*PushFrom* ]] || { echo "$output"; false; }
  run -77 lab on n0 -u alice /srv/stagecast/bin/stagecast doctor --multicast -w n1
  [[ $output == *'only root'* ]]
  run -64 lab on n0 /srv/stagecast/bin/stagecast doctor --multicast
  [[ $output == *'-w NODES'* ]]
}

# A stage that waits for the stopped daemon of n2, until it is interrupted.
@test "doctor --multicast that is interrupted leaves no file and no process" {
  local signal node
  for signal in INT TERM; do
    lab on n2 bash -c 'kill -STOP "$(cat /run/lab/stagecastd.pid)"'
    lab on n0 bash -c '/srv/stagecast/bin/stagecast doctor --multicast -w "n[0-3]" < /dev/null > /run/lab/said 2>&1 &
      echo $! > /run/lab/doctor.pid; wait $!; echo $? > /run/lab/doctor.rc' 3>&- &
    wait_for 10 lab on n0 sh -c 'ls /run/stagecast/doctor.* > /dev/null 2>&1'
    lab on n0 bash -c "kill -$signal \$(cat /run/lab/doctor.pid)"
    wait_for 10 lab on n0 test -s /run/lab/doctor.rc
    lab on n2 bash -c 'kill -CONT "$(cat /run/lab/stagecastd.pid)"'
    [ "$(lab on n0 cat /run/lab/doctor.rc)" != 0 ] || { lab on n0 cat /run/lab/said; false; }
    lab on n0 rm /run/lab/doctor.rc /run/lab/doctor.pid
    run ! lab on n0 sh -c 'ls /run/stagecast/doctor.*'
    for node in "${NODES[@]}"; do
      wait_for 15 empty_root "$node"
      wait_for 15 lab on "$node" sh -c '! pgrep -x stagecast-worke'
    done
  done
  doctor 0 -w 'n[0-3]'
}
