# Tests that a faulty node is named, and that other jobs continue.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 4 --stagecast RateMax=40mbit; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { heal; test_ends; }

@test "stagecastd is stopped on one node: sbatch, srun, salloc" {
  input data 100000
  lab stop n2 stagecastd
  CODE=75 sbatch_fails --stage-file=data
  node_sentence "$OUT" n2 'stagecastd'
  CODE=75 srun_fails --stage-file=data
  node_sentence "$OUT" n2 'stagecastd'
  salloc_fails --stage-file=data
  node_sentence "$OUT" n2 'stagecastd'
  as_alice srun -N4 hostname | grep -qx n2   # a job without the option does not care
  start_daemon n2
  as_alice srun -N4 --stage-file=data true
}

@test "the daemon's socket was removed: it makes it again" {
  input data 100000
  lab on n2 rm /run/stagecast/stagecastd.sock
  as_alice srun -N4 --stage-file=data true
}

@test "steps and jobs that begin while a daemon is started anew wait for it" {
  input data 100000
  script 'srun -N4 true; touch between; while [ -e between ]; do sleep 0.1; done; srun -N4 true'
  submit -N4 --stage-file=data job.sh
  wait_for 40 [ -e "$WORK/between" ]
  lab stop n1 stagecastd
  rm "$WORK/between"
  sleep 0.5
  start_daemon n1
  wait_job "$JOB" COMPLETED
  lab stop n2 stagecastd
  (sleep 0.5; lab start n2 stagecastd) &
  as_alice srun -N4 --stage-file=data true
  wait
}

@test "the first job of all daemons, and a node hears of it from others before its own slurmd" {
  local node
  input data 100000
  for node in "${NODES[@]}"; do lab stop "$node" stagecastd; start_daemon "$node"; done
  script 'srun /srv/rank.sh'
  lab on n1 bash -c 'kill -STOP $(cat /run/lab/slurmd.pid)'
  submit -N4 --stage-file=data job.sh
  sleep 2
  lab on n1 bash -c 'kill -CONT $(cat /run/lab/slurmd.pid)'
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
}

@test "stagecastd is stopped on the first node" {
  input data 100000
  lab stop n0 stagecastd
  CODE=75 sbatch_fails --stage-file=data
  node_sentence "$OUT" n0 'stagecastd'
  start_daemon n0
}

@test "the configuration is missing, or garbage, on one node" {
  input data 100000
  local what
  for what in 'rm' 'head -c 3000 /dev/urandom >' 'echo StageRoot=relative/path >'; do
    lab stop n1 stagecastd
    lab on n1 bash -c "cp /etc/stagecast/stagecast.conf /run/lab/conf; $what /etc/stagecast/stagecast.conf"
    lab start n1 stagecastd
    CODE=75 sbatch_fails --stage-file=data
    node_sentence "$OUT" n1 'stagecastd'
    as_alice srun -N4 hostname | grep -qx n1
    lab on n1 bash -c 'cp /run/lab/conf /etc/stagecast/stagecast.conf; rm /run/lab/conf'
    start_daemon n1
  done
  daemon_logs | grep -q 'stagecast.conf'
}

@test "stagecast's ports are dropped on one node: TCP and UDP" {
  input data 100000
  unreachable n3
  CODE=75 sbatch_fails --stage-file=data
  reachable n3
  node_sentence "$OUT" n3 ''
}

@test "stagecast's UDP ports are dropped: the nodes behind them are named, no others, before StageTimeout" {
  input data 100000
  unreachable n3 udp
  CODE=75 sbatch_fails --stage-file=data
  node_sentence "$OUT" n3 'DataPortRange'
  [ "$(grep -c 'more node' "$OUT")" = 0 ] || { cat "$OUT"; false; }
  unreachable n1 udp
  CODE=75 sbatch_fails --stage-file=data
  reachable n1
  reachable n3
  node_sentence "$OUT" n1 'DataPortRange.*[(]and 1 more node: n3: the same[)]'
  unreachable n0 udp
  CODE=75 sbatch_fails --stage-file=data
  reachable n0
  grep -q 'stagecast: node n1: .*(the same on every node but n0)' "$OUT" || { cat "$OUT"; false; }
  grep -q 'of the source' "$OUT"
}

@test "a node that no multicast reaches gets the files, and explain names it" {
  input data 20000000
  lab on n3 iptables -w -t raw -A PREROUTING -p udp -d 239.0.0.0/8 -j DROP
  script 'srun /srv/rank.sh'
  submit -N4 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  lab on n3 iptables -w -t raw -F PREROUTING
  staged_everywhere "$OUT" data
  lab on n0 /srv/stagecast/bin/stagecast explain "$JOB" > "$WORK/said" || { cat "$WORK/said"; false; }
  grep -q '^  not reached by multicast: n3; ' "$WORK/said" || { cat "$WORK/said"; false; }
  [ "$(grep -c 'not reached' "$WORK/said")" = 1 ]
}

@test "the worker of a receiving node is killed" {
  begin
  lab on n2 pkill -KILL -u alice -x stagecast-worke
  wait_job "$JOB" FAILED
  exit_code_is 75
  no_rank_ran "$OUT"
  node_sentence "$OUT" n2 '(killed|signal|ended|died)'
}

@test "the worker of the source is killed" {
  begin
  lab on n0 pkill -KILL -u alice -x stagecast-worke
  wait_job "$JOB" FAILED
  exit_code_is 75
  no_rank_ran "$OUT"
  node_sentence "$OUT" n0 '(killed|signal|ended|died)'
}

@test "a worker is stopped (SIGSTOP): it counts as dead after StallTimeout" {
  begin
  lab on n2 pkill -STOP -u alice -x stagecast-worke
  wait_job "$JOB" FAILED
  exit_code_is 75
  node_sentence "$OUT" n2 ''
}

@test "a link that is down for 4 s, a receiver's or the source's, ends nothing" {
  local node
  for node in n2 n0; do
    begin
    lab on "$node" bash -c 'ip link set eth0 down; sleep 4; ip link set eth0 up'
    wait_job "$JOB" COMPLETED
    staged_everywhere "$OUT" data
  done
}

@test "stagecastd pauses for 4 s, on another node or on the first: that ends nothing" {
  local node
  for node in n2 n0; do
    begin
    lab on "$node" bash -c 'kill -STOP $(cat /run/lab/stagecastd.pid); sleep 4; kill -CONT $(cat /run/lab/stagecastd.pid)'
    wait_job "$JOB" COMPLETED
    staged_everywhere "$OUT" data
  done
}

@test "stagecastd is killed on one node in the middle" {
  begin
  lab on n2 bash -c 'kill -KILL $(cat /run/lab/stagecastd.pid)'
  wait_job "$JOB" FAILED
  exit_code_is 75
  no_rank_ran "$OUT"
  node_sentence "$OUT" n2 'stagecastd'
  wait_for 10 no_worker n2   # it noticed that its daemon is gone
  start_daemon n2
}
no_worker() { ! lab on "$1" pgrep -u alice -x stagecast-worke; }

@test "SIGTERM ends stagecastd cleanly: the running stage fails with an error message" {
  begin
  lab stop n2 stagecastd
  wait_job "$JOB" FAILED
  exit_code_is 75
  no_rank_ran "$OUT"
  node_sentence "$OUT" n2 'stagecastd'
  start_daemon n2
}

@test "stagecastd restarts during the job: the verdict is remembered, the clean-up done" {
  input data 100000
  script 'srun /srv/rank.sh > first; touch began; while [ ! -e go ]; do sleep 0.2; done; srun /srv/rank.sh > second'
  submit -N4 --stage-file=data job.sh
  wait_for 60 test -e "$WORK/began"
  restart_daemon n2
  # A daemon that comes up looks for what is left of ended jobs: a suspended one is none.
  lab exec scontrol suspend "$JOB"
  restart_daemon n1
  sleep 2
  lab exec scontrol resume "$JOB"
  touch "$WORK/go"
  wait_job "$JOB" COMPLETED
  staged_everywhere "$WORK/first" data
  staged_everywhere "$WORK/second" data
}

@test "scancel during staging: sbatch, srun, salloc end within seconds, and the log says so" {
  begin
  lab exec scancel "$JOB"
  wait_for 8 no_completing "$JOB"
  wait_job "$JOB" CANCELLED
  [ ! -e "$OUT" ] || no_rank_ran "$OUT"
  daemon_logs | grep -Eqi "cancel.*$JOB|$JOB.*cancel"
  local launcher
  for launcher in srun salloc; do
    as_alice "$launcher" -N4 --stage-file=data bash -c 'echo SCRIPT' > "$WORK/said" 2>&1 3>&- &
    wait_for 40 receiving n3
    JOB=$(lab exec squeue -h -o %A)
    lab exec scancel "$JOB"
    wait_for 8 no_completing "$JOB"
    wait_job "$JOB" CANCELLED
    no_rank_ran "$WORK/said"
    wait
  done
}

@test "an unanswering slurmctld does not end a staging" {
  begin
  lab exec pkill -STOP slurmctld
  sleep 7   # longer than the rest of the staging and three looks at the job's state
  lab exec pkill -CONT slurmctld
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
}

@test "clocks apart by an hour, both ways" {
  input data 1000000
  fault n1 'clock 3600 stagecastd,stagecast-worker,stagecast-pmix-host'
  fault n2 'clock -3600 stagecastd,stagecast-worker,stagecast-pmix-host'
  restart_daemon n1
  restart_daemon n2
  script 'srun /srv/rank.sh'
  submit -N4 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  no_fault n1
  no_fault n2
  restart_daemon n1
  restart_daemon n2
  staged_everywhere "$OUT" data
}

@test "the plugin cannot be loaded on one node, on the first node" {
  input data 100000
  local node
  for node in n2 n0; do
    lab on "$node" bash -c 'head -c 5000 /dev/urandom > /run/lab/plugin; mount --bind /run/lab/plugin /srv/stagecast/lib/slurm/stagecast.so'
    script 'echo SCRIPT; srun /srv/rank.sh'
    submit -N4 --stage-file=data job.sh
    wait_for 60 job_ended "$JOB"
    lab on "$node" bash -c 'umount /srv/stagecast/lib/slurm/stagecast.so; rm /run/lab/plugin'
    case $(job_field "$JOB" JobState) in FAILED | CANCELLED) ;; *) lab exec scontrol show job "$JOB"; cat "$OUT"; false ;; esac
    touch "$OUT"   # a job that was cancelled before its script began has none
    run ! grep -q '^RANK.*files=0' "$OUT"
    { cat "$OUT"; daemon_logs; } > "$WORK/said"
    grep -q "node $node: stagecast.so has not announced the job; is it in plugstack.conf" "$WORK/said"
  done
}
