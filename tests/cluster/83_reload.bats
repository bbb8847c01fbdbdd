# Tests that a running stagecastd takes a new configuration, and refuses a wrong one without harm.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 2; }
teardown_file() { cluster_down; }
setup() {
  test_begins
  local node
  for node in "${NODES[@]}"; do lab on "$node" cp /etc/stagecast/stagecast.conf /run/lab/before; done
}
teardown() {
  local node
  for node in "${NODES[@]}"; do
    lab on "$node" mv /run/lab/before /etc/stagecast/stagecast.conf
    hang_up "$node"
  done
  heal
  test_ends
}

hang_up() { lab on "$1" bash -c 'kill -HUP "$(cat /run/lab/stagecastd.pid)"'; }
append() { lab on "$1" bash -c 'echo "$0" >> /etc/stagecast/stagecast.conf' "$2"; }
said() { log_since "stagecastd-$1" | grep -Eq "$2"; }

@test "a limit that was lowered holds for the next job, without a restart" {
  input data 100000
  as_alice srun -N2 --stage-file=data true
  local pid
  pid=$(lab on n0 cat /run/lab/stagecastd.pid)
  append n0 MaxBytes=50000
  as_alice srun -N2 --stage-file=data true   # the daemon has not reloaded yet
  hang_up n0
  wait_for 10 said n0 'configuration was read again changed=MaxBytes$'
  sbatch_fails --stage-file=data
  node_sentence "$OUT" n0 MaxBytes
  lab on n0 kill -0 "$pid"
}

@test "a node that allows less refuses before the first byte, and is named" {
  input data 100000
  append n1 MaxBytes=50000
  hang_up n1
  wait_for 10 said n1 'configuration was read again changed=MaxBytes$'
  sbatch_fails --stage-file=data
  node_sentence "$OUT" n1 'this node allows .*MaxBytes'
  [ "$(lab on n0 /srv/stagecast/bin/stagecast explain "$JOB" --json | jq .ended[0].bytes_read)" = 0 ]
  as_alice srun -N1 -w n0 --stage-file=data true
}

queued() { [ "$(lab on n0 /srv/stagecast/bin/stagecast status --json | jq '[.stages[] | select(.phase == "queued")] | length')" = 1 ]; }

@test "one staging more than MaxStagesPerNode waits, and begins when there is a place" {
  input data 20000000
  append n0 RateMax=40mbit
  append n0 MaxStagesPerNode=1
  hang_up n0
  wait_for 10 said n0 'configuration was read again changed=.*MaxStagesPerNode'
  script 'srun /srv/rank.sh'
  submit -N2 --stage-file=data job.sh
  wait_for 40 staging "$JOB"
  local first=$OUT
  as_alice srun -N2 --stage-file=data true > "$WORK/said" 2>&1 3>&- &
  local second=$!
  wait_for 10 queued
  wait_job "$JOB" COMPLETED
  staged_everywhere "$first" data
  wait $second || { cat "$WORK/said"; false; }
  as_alice srun -N2 --stage-file=data true
}

@test "a wrong file changes nothing: its line is in the log, and jobs go on" {
  input data 100000
  append n1 MaxBytes=50000
  append n1 TreeWidht=3
  local lines
  lines=$(lab on n1 bash -c 'wc -l < /etc/stagecast/stagecast.conf')
  hang_up n1
  wait_for 10 said n1 "configuration is wrong.*stagecast.conf, line $lines: .*TreeWidht.*TreeWidth"
  as_alice srun -N2 --stage-file=data /srv/rank.sh > "$WORK/out"
  staged_everywhere "$WORK/out" data
}

@test "a key that waits for a restart is named, and the old value stays" {
  input data 100000
  append n1 Port=7999
  append n1 StallTimeout=9
  lab on n1 sed -i '/^StallTimeout=10/d' /etc/stagecast/stagecast.conf
  hang_up n1
  wait_for 10 said n1 'read again changed=StallTimeout$'
  wait_for 10 said n1 'take effect only after.*keys=Port$'
  as_alice srun -N2 --stage-file=data true
}

@test "in the middle of a stage it harms no job" {
  local node
  for node in "${NODES[@]}"; do
    append "$node" RateMax=40mbit
    hang_up "$node"
  done
  wait_for 10 said n0 'changed=RateMax$'
  input data 10000000
  script 'srun /srv/rank.sh'
  submit -N2 --stage-file=data job.sh
  wait_for 40 staging "$JOB" n1
  append n1 MaxBytes=1
  for node in "${NODES[@]}"; do hang_up "$node"; done
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
}

@test "another StageRoot after a restart: a running job keeps its own, and leaves nothing there" {
  input data 100000
  script 'touch began; while [ ! -e go ]; do sleep 0.1; done
srun bash -c "test -e \$STAGECAST_DIR/data"
srun --stage-file=data bash -c "test -e \$STAGECAST_STEP_DIR/data"'
  submit -N2 --stage-file=data job.sh
  wait_for 40 test -e "$WORK/began"
  lab stop n0 stagecastd
  lab on n0 sed -i 's,^StageRoot=.*,StageRoot=/var/spool/other,' /etc/stagecast/stagecast.conf
  start_daemon n0
  touch "$WORK/go"
  wait_job "$JOB" COMPLETED
  wait_for 20 lab on n0 bash -c '[ -z "$(find /var/spool/stagecast /run/stagecast/jobs -mindepth 1)" ]'
  as_alice srun -N2 --stage-file=data bash -c 'case $(hostname):$STAGECAST_DIR in
    n0:/var/spool/other/* | n1:/var/spool/stagecast/*) ;; *) exit 1 ;; esac'
  lab on n0 cp /run/lab/before /etc/stagecast/stagecast.conf
  lab stop n0 stagecastd
  start_daemon n0
  lab on n0 rm -r /var/spool/other
}
