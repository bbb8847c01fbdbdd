# Tests that a step that stages for too long can be ended like other steps, without harm to its node.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

UNKILLABLE=4   # seconds until slurmd drains a node whose step does not end

# At this rate a step's file takes minutes.
setup_file() { cluster_up 3 --stagecast RateMax=1mbit --stagecast StageTimeout=5m --conf "UnkillableStepTimeout=$UNKILLABLE"; }
teardown_file() { cluster_down; }
setup() {
  test_begins
  input data 40000000
  input small 1000
  as_alice sbatch --parsable -N3 -n6 --wrap 'sleep 300' > "$WORK/job"
  JOB=$(cat "$WORK/job")
  OUT=$WORK/step.out
  wait_for 40 job_runs
}
teardown() {
  lab exec scancel "$JOB"
  wait_job "$JOB" CANCELLED
  heal
  test_ends
}

job_runs() { [ "$(job_field "$JOB" JobState)" = RUNNING ]; }
receiving() { lab on n2 bash -c 'ls /var/spool/stagecast/*/step.*/.data.stagecast.*'; }
no_step_on() { ! lab on "$1" bash -c 'pgrep -u alice -x stagecast-worke || ls -d /var/spool/stagecast/*/step.*'; }
none_drained() { ! lab exec sinfo -h -o %T | grep -i drain; }

# Begins a step in the background, and returns in the middle of its staging.
begin_step() {
  as_alice srun --jobid="$JOB" --overlap -N3 -n6 --stage-file=data "$@" /srv/rank.sh > "$OUT" 2>&1 3>&- &
  STEP=$!
  wait_for 40 receiving
}

# The step has ended, nothing of it has run or is left, and its nodes serve the job's next one.
step_is_gone() {
  local rc=0 node
  wait "$STEP" || rc=$?
  [ "$rc" != 0 ] && [ "$rc" != 124 ] || { echo "srun: $rc"; cat "$OUT"; return 1; }
  no_rank_ran "$OUT"
  for node in n0 n1 n2; do wait_for 20 no_step_on "$node"; done
  sleep $((UNKILLABLE + 2))
  none_drained
  as_alice srun --jobid="$JOB" --overlap -N3 --stage-file=small /srv/rank.sh > "$WORK/next"
  staged_everywhere "$WORK/next" small
}

@test "Ctrl-C, twice, as srun wants it" {
  begin_step
  lab exec pkill -INT -u alice -x srun
  sleep 0.3
  lab exec pkill -INT -u alice -x srun
  step_is_gone
}

@test "scancel JOB.STEP" {
  begin_step
  lab exec -u alice scancel "$JOB.0"
  step_is_gone
}

@test "scancel -s KILL JOB.STEP" {
  begin_step
  lab exec -u alice scancel -s KILL "$JOB.0"
  step_is_gone
}

@test "a step that ends by itself, in time, says why" {
  begin_step --stage-timeout=0:05
  step_is_gone
  sentence "$OUT" 'n[0-2]' '' 'stage-timeout' || node_sentence "$OUT" 'n[0-2]' 'stage-timeout=5'
}
