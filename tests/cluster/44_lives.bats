# Tests jobs that end as they begin, begin twice, or never begin: their nodes become free, and they get their files.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

# Credentials live so briefly that a requeued job comes back while its nodes are as busy as before.
setup_file() { cluster_up 3 --cpus 16 --conf AuthInfo=cred_expire=5 --stagecast AnnounceTimeout=12 --stagecast StageTimeout=60; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  local node
  for node in n0 n1 n2; do lab on "$node" bash -c 'umount -q /usr/sbin/slurmstepd; rm -f /run/lab/slurmstepd'; done
  touch "$ALICE/enough"
  lab on n0 bash -c 'kill -CONT "$(cat /run/lab/slurmd.pid)"'
  test_ends
}

slurmd() { lab on n0 bash -c 'kill -s "$0" "$(cat /run/lab/slurmd.pid)"' "$1"; }
prolog_waits() { lab on n1 pgrep -f 'spank prolog'; }
is_pending() { [ "$(job_field "$JOB" JobState)" = PENDING ]; }
gone() { [ -z "$(lab exec squeue -h -j "$1" 2> /dev/null)" ]; }

# has_begun JOB: waits until its script runs. A job that is requeued between its prolog and its script ends as FAILED in slurmctld.
has_begun() { wait_for 30 test -e "$WORK/begun-$1"; }

# busy: steps follow each other on n0, so that slurmd looks at its jobs' credentials again and again.
busy() {
  as_alice bash -c 'end=$((SECONDS + 80)); while [ $SECONDS -lt $end ] && [ ! -e ~/enough ]; do srun -w n0 -n1 true; done' > /dev/null 2>&1
}

@test "requeued jobs on a busy node, where Slurm may leave the prolog out, have their files" {
  input data 100000
  local jobs=() i
  rm -f "$ALICE/enough"
  busy 3>&- & busy 3>&- &
  script '[ -n "$SLURM_RESTART_COUNT" ] || { : > "begun-$SLURM_JOB_ID"; sleep 60; exit 1; }; cmp "$STAGECAST_DIR/data" data && echo same'
  for i in 1 2 3 4 5 6; do
    submit -w n0 -N1 -n1 -o 'life-%j' --open-mode=append --requeue --stage-file=data job.sh
    jobs+=("$JOB")
  done
  for i in "${jobs[@]}"; do has_begun "$i"; done
  for i in "${jobs[@]}"; do lab exec scontrol requeue "$i"; sleep 0.4; done
  for i in "${jobs[@]}"; do wait_job "$i" COMPLETED; done
  touch "$ALICE/enough"
  [ "$(cat "$WORK"/life-* | grep -c '^same$')" = 6 ] || { cat "$WORK"/life-*; false; }
}

# without_prolog NODE...: slurmd runs none there, as where it remembers an earlier life of the job.
without_prolog() {
  local node
  # shellcheck disable=SC2016
  printf '%s\n' '#!/bin/sh' '[ "$1 $2" = "spank prolog" ] && exit 0' 'exec /run/lab/slurmstepd "$@"' > "$CLUSTER_DIR/srv/slurmstepd"
  chmod 755 "$CLUSTER_DIR/srv/slurmstepd"
  for node in "$@"; do
    lab on "$node" bash -c 'cp /usr/sbin/slurmstepd /run/lab/ && mount --bind /srv/slurmstepd /usr/sbin/slurmstepd'
  done
}

# second_life_without NODE...: a job on three nodes is requeued, and its second life has its files.
second_life_without() {
  input data 100000
  script '[ -n "$SLURM_RESTART_COUNT" ] || { : > "begun-$SLURM_JOB_ID"; sleep 60; exit 1; }; srun -N3 bash -c "cmp \$STAGECAST_DIR/data data && echo same"'
  submit -N3 -o 'life-%j' --open-mode=append --requeue --stage-file=data job.sh
  has_begun "$JOB"
  without_prolog "$@"
  lab exec scontrol requeue "$JOB"
  wait_for 20 is_pending
  wait_for 30 nodes_idle
  sleep 2   # slurmd takes a launch in the second in which it killed the first life for a part of that
  lab exec scontrol update "job=$JOB" starttime=now
  wait_job "$JOB" COMPLETED
  [ "$(grep -c '^same$' "$WORK/life-$JOB")" = 3 ] || { cat "$WORK/life-$JOB"; false; }
}

@test "a requeued job of three nodes has its files where the first runs no prolog" { second_life_without n0; }
@test "a requeued job of three nodes has its files where the second runs no prolog" { second_life_without n1; }
@test "a requeued job of three nodes has its files where the last runs no prolog" { second_life_without n2; }
@test "a requeued job of three nodes has its files where none runs a prolog" { second_life_without n0 n1 n2; }

@test "a job that is cancelled before its first node has begun it frees the others at once" {
  input data 100000
  local try began
  script 'true'
  for try in 1 2 3 4; do
    slurmd STOP
    submit -N3 --stage-file=data job.sh
    wait_for 10 prolog_waits
    lab exec scancel "$JOB"
    sleep 0.5
    slurmd CONT
    began=$SECONDS
    wait_for 40 gone "$JOB"
    [ $((SECONDS - began)) -le 10 ] || { echo "try $try: COMPLETING for $((SECONDS - began)) s"; false; }
  done
}

@test "a job of which one node's prolog never comes ends, with the sentence" {
  input data 100000
  script 'true'
  lab stop n1 slurmd
  submit -N2 -w n0,n1 --stage-file=data job.sh
  sleep 15
  lab start n1 slurmd
  wait_for 60 job_ended "$JOB"
  [ "$(job_field "$JOB" JobState)" = CANCELLED ]
  lab exec scontrol show job "$JOB" | grep -q 'AdminComment=stagecast: node n1: '
  wait_for 60 nodes_idle
}
