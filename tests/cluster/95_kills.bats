# Tests kill -9 of a daemon, a worker or slurmd at any moment: no stray file, no wrong byte, and the next job runs.
#
# Rounds are drawn from a seed: which process is killed, on which node, when, and for how long. The same
# seed draws the same rounds; what runs at that moment is the machine's to say.
#   STAGECAST_KILL_ROUNDS=200 STAGECAST_KILL_SEED=7 tests/cluster/run tests/cluster/95_kills.bats

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

ROUNDS=${STAGECAST_KILL_ROUNDS:-20}
SEED=${STAGECAST_KILL_SEED:-$RANDOM}
VICTIMS=(stagecastd stagecast-worker slurmd stagecastd stagecast-pmix-host)

setup_file() { cluster_up 3 --stagecast RateMax=40mbit; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  local node
  for node in "${NODES[@]}"; do lab on "$node" rm -rf /var/tmp/k; done
  heal
  # The baseline was taken with the empty directory.
  for node in "${NODES[@]}"; do sed -i '/^local .var.tmp.k$/d' "$CLUSTER_DIR/log/residue-$node.start"; done
  test_ends
}

# kill_on NODE VICTIM: all of that name there; a daemon comes back after AWAY seconds.
kill_on() {
  local node=$1 victim=$2 before
  case $victim in
    stagecastd | slurmd) lab on "$node" bash -c 'kill -KILL "$(cat "/run/lab/$0.pid")"' "$victim" ;;
    # If there is one at this moment; spare hosts are root's.
    *) lab on "$node" pkill -KILL -u root,alice "${victim:0:15}" || KILLED="$KILLED (none there)" ;;
  esac
  sleep "$AWAY"
  case $victim in
    stagecastd) start_daemon "$node" ;;
    slurmd) lab start "$node" slurmd ;;
  esac
}

# What stands at the destination after a job, whatever became of it: the whole file, or nothing.
whole_or_absent() {
  local node said
  for node in "${NODES[@]}"; do
    said=$(lab on "$node" bash -c 'cd /var/tmp/k && for f in $(ls -A); do echo "$f $(sha256sum < "$f" | cut -c 1-64)"; done; rm -f data')
    [ -z "$said" ] || [ "$said" = "data $SUM" ] || { echo "$node: $said"; return 1; }
  done
}

# Slurm itself may lose a job whose slurmd was killed: then it is cancelled, and that must do. A slurmd that was killed in
# the job's last moments is asked again for its end when KillWait and two MessageTimeouts have passed, by what slurmctld
# does each minute (its job_mgr.c).
job_over() {
  local seconds=15 end=40
  [[ $KILLED != slurmd* ]] || seconds=3 end=120
  wait_for "$seconds" job_ended "$JOB" || lab exec scancel "$JOB"
  wait_for "$end" job_ended "$JOB" || { echo "job $JOB hangs"; return 1; }
  wait_for "$end" no_jobs || { lab exec squeue; return 1; }
  lab exec scontrol update nodename="n[0-$((CLUSTER_SIZE - 1))]" state=resume 2> /dev/null || true
  wait_for 20 nodes_idle || { lab exec sinfo -h -N -o '%N %T %E'; return 1; }
}

one_round() {
  local node=n$((RANDOM % CLUSTER_SIZE)) victim=${VICTIMS[RANDOM % ${#VICTIMS[@]}]} at
  at=$((RANDOM % 2600))   # from before the prolog until after the clean-up
  [ "$victim" != stagecast-pmix-host ] || at=$((200 + at / 6))   # it lives while the wire-up lasts
  at=$(printf '%d.%03d' $((at / 1000)) $((at % 1000)))
  AWAY=0.$((RANDOM % 10)) KILLED="$victim on $node after $at s"
  submit -N3 --stage-file=data --stage-file=data:/var/tmp/k/data:overwrite --no-requeue job.sh || return 1
  sleep "$at"
  kill_on "$node" "$victim" || return 1
  job_over || return 1
  if [ "$(job_field "$JOB" JobState)" = COMPLETED ]; then staged_everywhere "$OUT" data || return 1; fi
  whole_or_absent || return 1
  wait_for 15 residue_none || { residue_show; return 1; }
  as_alice srun -N3 --stage-file=small /srv/rank.sh > "$WORK/next" 2>&1 || { echo "the next job:"; cat "$WORK/next"; return 1; }
  staged_everywhere "$WORK/next" small
}

@test "$ROUNDS rounds" {
  local round states=''
  input data 4000000
  input small 50000
  SUM=$(sha256sum < "$WORK/data" | cut -c 1-64)
  script 'srun /srv/rank.sh'
  for round in "${NODES[@]}"; do lab on "$round" -u alice mkdir -p /var/tmp/k; done
  # The residue's baseline has the empty directory in it.
  wait_for 20 residue_settled
  RANDOM=$SEED
  for ((round = 1; round <= ROUNDS; round++)); do
    one_round || { echo "round $round of seed $SEED: killed $KILLED; before: $states"; false; }
    states="$states $(job_field "$JOB" JobState)"
    echo "# round $round of seed $SEED: killed $KILLED: ${states##* }" >&3
  done
}
