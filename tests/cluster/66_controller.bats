# Tests which queries staging makes to slurmctld, and which node list it believes.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/fault
load lib/jobs

setup_file() {
  cluster_up 6 --conf AuthInfo=cred_expire=15 --stagecast RateMax=10mbit --stagecast StageTimeout=60 --stagecast OnNodeFault=requeue \
    --stagecast WatchInterval=10
}
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { no_place /tmp/d; heal; test_ends; }

# All that slurmctld was asked, by type; "REQUEST_X 12" a line. Asking for it is left out.
rpcs() {
  lab exec sdiag | sed -n '/by message type/,/by user/p' \
    | sed -n 's/^[[:space:]]*\([A-Z_]*\) .*count:\([0-9]*\).*/\1 \2/p' | grep -v REQUEST_STATS_INFO | sort
}

# cost NODES ARGS...: RPCS of a job that does nothing, RAN the seconds until its script, in whole ones. It
# is awaited by its file, as Slurm's commands would be counted.
cost() {
  local nodes=$1 began
  shift
  rm -f "$WORK/ran"
  script 'touch ran'
  lab exec sdiag --reset
  began=$SECONDS
  submit -N "$nodes" "$@" job.sh
  wait_for 80 test -e "$WORK/ran" || { echo "the job did not run"; return 1; }
  RAN=$((SECONDS - began + 1))
  sleep 3   # its end and epilogs
  rpcs > "$WORK/rpcs"
  RPCS=$(awk '{ n += $2 } END { print n + 0 }' "$WORK/rpcs")
  wait_job "$JOB" COMPLETED
  wait_for 20 no_jobs
}

@test "a staging costs slurmctld two calls, one per ten seconds, and its reports, on two nodes as on six" {
  input data 16000000
  local nodes plain
  for nodes in 2 6; do
    cost "$nodes"
    plain=$RPCS
    cp "$WORK/rpcs" "$WORK/plain"
    cost "$nodes" --stage-file=data
    echo "# $nodes nodes: $plain calls without files, $RPCS with, in $RAN s" >&3
    { diff "$WORK/plain" "$WORK/rpcs" || true; } | sed -n 's/^[<>]/# &/p' >&3
    [ "$RAN" -ge 12 ]   # else nothing is shown
    [ "$((RPCS - plain))" -le $((2 + (RAN + 9) / 10 + 3)) ]   # One report after 10 s, and one at the end.
    [ "$((RPCS - plain))" -ge 1 ]   # they are counted at all
  done
}

@test "a step's node list that is not of the job makes no other node work" {
  input data 1000
  install -d "$CLUSTER_DIR/srv/f"
  sed 's/SLURM_STEP_NODELIST/SLURM_STEP_NODELISX/g' "$(ls /usr/lib/*/slurm-wlm/libslurmfull.so)" > "$CLUSTER_DIR/srv/f/libslurmfull.so"
  run as_alice salloc -Q -w n1 -N1 env LD_PRELOAD=/srv/f/libslurmfull.so SLURM_STEP_NODELIST=n1,n0 \
    srun --stage-file=data true
  rm -r "$CLUSTER_DIR/srv/f"
  [ "$status" != 0 ]
  [[ $output == *"stagecast: node n1: "*"names n0, which is not a node of the job (n1)"* ]] || { echo "$output"; false; }
  [ -z "$(log_since stagecastd-n0 | grep 'job=')" ] || { log_since stagecastd-n0; false; }
  # A list that is the job's is as good as ever.
  as_alice salloc -Q -N2 srun --stage-file=data true
}

admin_comment() { lab exec scontrol show job "$JOB" | sed -n 's/^ *AdminComment=\(.*[^ ]\) *$/\1/p'; }
requeued() { [ "$(job_field "$JOB" Restarts)" = 1 ]; }

@test "a user's error fails the job, and its AdminComment says why" {
  input data 100000
  place /tmp/d
  lab on n1 -u alice mkdir /tmp/d/data
  sbatch_fails --stage-file=data:/tmp/d/data
  [[ $(admin_comment) == "stagecast: node n1: "*/tmp/d/data* ]] || { admin_comment; false; }
  [ "$(job_field "$JOB" Restarts)" = 0 ]
}

@test "a node's fault sends a batch job back to the queue, and the next life runs" {
  input data 100000
  lab stop n2 stagecastd
  script 'echo SCRIPT; srun /srv/rank.sh'
  submit -N6 --hold --stage-file=data job.sh
  lab exec scontrol update job "$JOB" AdminComment='project 7'   # a site's own
  lab exec scontrol release "$JOB"
  wait_for 40 requeued
  start_daemon n2
  [[ $(admin_comment) == "project 7 ; stagecast: node n2: stagecastd"*"(requeued)" ]] || { admin_comment; false; }
  [ ! -e "$OUT" ] || no_rank_ran "$OUT"
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
  [ "$(grep -c SCRIPT "$OUT")" = 1 ]
}

@test "a requeued job is kept off the node at fault, and runs on others" {
  input data 100000
  lab stop n1 stagecastd
  script 'srun -l sh -c "echo \$SLURMD_NODENAME; cat \$STAGECAST_DIR/data | sha256sum"'
  submit -N2 -x n5 --stage-file=data job.sh   # On n0 and n1, the first ones.
  wait_for 40 requeued
  wait_job "$JOB" COMPLETED
  start_daemon n1
  [[ $(admin_comment) == "stagecast: node n1: stagecastd"*"(requeued without n1)" ]] || { admin_comment; false; }
  [[ $(job_field "$JOB" ExcNodeList) =~ ^n(5,n1|\[1,5\])$ ]] || { job_field "$JOB" ExcNodeList; false; }
  [ "$(grep -c "$(sha256sum < "$WORK/data" | cut -c 1-64)" "$OUT")" = 2 ]
  run ! grep -q ': n[15]$' "$OUT"
}

@test "a job that asked for the node by name may get it again" {
  input data 100000
  lab stop n2 stagecastd
  script true
  submit -N2 -w n1,n2 --stage-file=data job.sh
  wait_for 40 requeued
  start_daemon n2
  [[ $(admin_comment) == *"(requeued)" ]] || { admin_comment; false; }
  [[ $(job_field "$JOB" ExcNodeList) == *null* ]] || { job_field "$JOB" ExcNodeList; false; }
  lab exec scancel "$JOB"
}

@test "a job that must not be requeued fails, and says why" {
  input data 100000
  lab stop n2 stagecastd
  CODE=75 sbatch_fails --no-requeue --stage-file=data
  node_sentence "$OUT" n2 stagecastd
  [[ $(admin_comment) == "stagecast: node n2: stagecastd"* ]] || { admin_comment; false; }
  srun_fails --stage-file=data
  node_sentence "$OUT" n2 stagecastd
  start_daemon n2
}

@test "Slurm tells how far a long staging is, and what others wrote is kept" {
  input data 16000000   # 13 s at the RateMax
  script 'sleep 2'
  submit -N2 --hold --stage-file=data job.sh
  lab exec scontrol update job "$JOB" AdminComment='project 7'
  lab exec scontrol release "$JOB"
  staging() { [[ $(admin_comment) == 'project 7 ; stagecast: staging, after 1'*' s: '*' of 16.0 MB are on all 2 nodes, '*' s to go, slowest n'[01]* ]]; }
  wait_for 40 staging || { admin_comment; false; }
  # The login host has no daemon.
  as_alice /srv/stagecast/bin/stagecast status "$JOB" > "$WORK/said" || { cat "$WORK/said"; false; }
  grep -q "^job $JOB: RUNNING on n\[0-1\]: staging, after 1. s: .* are on all 2 nodes" "$WORK/said" || { cat "$WORK/said"; false; }
  wait_job "$JOB" COMPLETED
  [[ $(admin_comment) == 'project 7 ; stagecast: staged 1 file, 16.0 MB, on 2 nodes in '* ]] || { admin_comment; false; }
  # Who waits at a terminal reads it there.
  as_alice srun -N2 --stage-file=data true 2> "$WORK/err"
  grep -q 'stagecast: staging, after 1. s: .* of 16.0 MB are on all 2 nodes, .* s to go' "$WORK/err" || { cat "$WORK/err"; false; }
}
