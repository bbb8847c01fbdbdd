# Tests stages on a network without multicast: Interface= names none, and files go by TCP from node to node.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 4 --stagecast Interface= --stagecast Compress=no --stagecast RateMax=40mbit --stagecast OnNodeFault=drop \
  --stagecast StageTimeout=60; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { heal; test_ends; }


# Multicast packets that the node has sent, and its memberships below 239.
multicast_of() {
  lab on "$1" bash -c 'nstat -asz IpExtOutMcastPkts | awk "/OutMcast/ { print \$2 }"; grep -c "EF " /proc/net/igmp; true'
}

@test "a file reaches every node by TCP, and no multicast packet leaves" {
  input data 8000000
  local node before=()
  for node in n0 n1 n2 n3; do before+=("$(multicast_of $node)"); done
  as_alice srun -N4 --stage-file=data sh -c 'cksum < $STAGECAST_DIR/data' > "$WORK/sums"
  [ "$(sort -u "$WORK/sums")" = "$(cksum < "$WORK/data")" ]
  [ "$(wc -l < "$WORK/sums")" = 4 ]
  for node in n0 n1 n2 n3; do
    [ "$(multicast_of $node)" = "${before[0]}" ]
    before=("${before[@]:1}")
  done
}

@test "explain says by what the files went, and why" {
  input data 100000
  as_alice sbatch -W -N4 --stage-file=data --wrap true > "$WORK/said"
  lab on n0 /srv/stagecast/bin/stagecast explain "$(grep -oE '[0-9]+' "$WORK/said")" > "$WORK/why"
  grep -q '^  transport: tcp unicast: .*no Interface=' "$WORK/why"
}

@test "a user who binds the TCP ports of DataPortRange stops no job, and the log names a port beyond it" {
  local before
  install -m 755 "$CLUSTER_TESTS/attack/hold_ports.py" "$CLUSTER_DIR/srv/"
  install -m 666 /dev/null "$CLUSTER_DIR/srv/held"
  input data 1000
  hold() { lab on n0 -u bob bash -c ': > /srv/held; setsid python3 /srv/hold_ports.py 6830-6893 TCP < /dev/null > /srv/held 2>&1 &'
           wait_for 10 grep -q . "$CLUSTER_DIR/srv/held"; }
  release() { lab on n0 bash -c 'pkill -KILL -f "^([^ ]*python3) /srv/hold_ports.py"; true'; }
  hold
  [ "$(cat "$CLUSTER_DIR/srv/held")" -ge 32 ]   # 6862-6893 are open to all users
  before=$(daemon_logs | grep -c 'listens on another port' || true)
  as_alice srun -N4 --stage-file=data true
  [ "$(daemon_logs | grep -c 'listens on another port' || true)" = "$before" ]
  release
  lab stop n0 stagecastd
  hold
  start_daemon n0
  as_alice srun -N4 --stage-file=data true
  daemon_logs | grep -q 'other programs use TCP ports of DataPortRange'
  [ "$(daemon_logs | grep -c 'listens on another port')" -gt "$before" ]
  release
  restart_daemon n0
}

@test "trees, archives and empty files arrive, too" {
  lab exec -u alice -d "$T" bash -c 'mkdir -p tree/deep; head -c 3000000 /dev/urandom > tree/deep/a; : > tree/empty; tar -czf tree.tgz tree; : > none'
  as_alice srun -N4 --stage-file=tree --stage-file=tree.tgz:out:extract --stage-file=none \
    sh -c 'cd $STAGECAST_DIR; diff -r tree "$SLURM_SUBMIT_DIR/tree" && diff -r out/tree "$SLURM_SUBMIT_DIR/tree" && [ -e none ] && [ ! -s none ]'
}

@test "RateMax limits what a node sends" {
  input data 10000000
  as_alice sbatch -W -N4 --stage-file=data --wrap true > "$WORK/said"
  lab on n0 /srv/stagecast/bin/stagecast explain --json "$(grep -oE '[0-9]+' "$WORK/said")" > "$WORK/why"
  python3 -c 'import json, sys; took = json.load(open(sys.argv[1]))["ended"][-1]["seconds"]["total"]; assert 1.5 < took < 20, took' "$WORK/why"
}

@test "a job with --stage-no-kill goes on without a node of the chain whose worker is killed, or stopped" {
  local signal
  input data 20000000
  for signal in KILL STOP; do
    script 'echo "DROPPED $STAGECAST_DROPPED_NODES"; srun -N3 --exclude=n1 /srv/rank.sh'
    submit -N4 --stage-no-kill --stage-file=data job.sh
    wait_for 40 receiving n3
    lab on n1 pkill "-$signal" -u alice -x stagecast-worke
    wait_job "$JOB" COMPLETED
    grep -qx 'DROPPED n1' "$OUT"
    staged_everywhere "$OUT" data on n0 n2 n3
    node_sentence "$OUT" n1 ''
  done
}

@test "the worker of a node in the chain is killed: the job fails with its name" {
  begin
  lab on n1 pkill -KILL -u alice -x stagecast-worke
  wait_job "$JOB" FAILED
  exit_code_is 75
  no_rank_ran "$OUT"
  node_sentence "$OUT" n1 '(killed|signal|ended|died)'
}

@test "a worker in the chain stops for 4 s: the nodes behind it pass it over, and the job runs" {
  begin
  lab on n1 pkill -STOP -u alice -x stagecast-worke
  sleep 4
  lab on n1 pkill -CONT -u alice -x stagecast-worke
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
}

@test "a link in the chain that is down for 4 s ends nothing" {
  begin
  lab on n2 bash -c 'ip link set eth0 down; sleep 4; ip link set eth0 up'
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
}

@test "nodes that take no connection are passed over" {
  input data 100000
  lab on n2 iptables -w -t raw -A PREROUTING -p tcp --dport 6830:6860 -j DROP
  lab on n3 iptables -w -t raw -A PREROUTING -p tcp --dport 6830:6860 -j DROP
  as_alice srun -N4 --stage-file=data /srv/rank.sh > "$WORK/out" 2>&1 || true
  lab on n2 iptables -w -t raw -F PREROUTING
  lab on n3 iptables -w -t raw -F PREROUTING
  staged_everywhere "$WORK/out" data
}

@test "data ports closed on all nodes: the job fails long before StageTimeout, and the message says which to open" {
  local node
  input data 100000
  for node in n0 n1 n2 n3; do
    lab on "$node" iptables -w -t raw -A PREROUTING -p tcp --dport 6830:6893 -j DROP
  done
  run as_alice srun -N4 --stage-file=data true
  for node in n0 n1 n2 n3; do lab on "$node" iptables -w -t raw -F PREROUTING; done
  [ "$status" != 0 ]
  grep -qE 'node n[0-3]: no connection from [0-9.]+ to the data port [0-9.]+:68[0-9]+ .*within [0-9]+ s.*open TCP 6830-6893' <<< "$output" ||
    { echo "$output"; false; }
}
