# Tests that a requeued job, which keeps its id, is staged again.
#
# slurmd runs no prolog for a job id whose credential it still knows, so Slurm waits that long (120 s by
# default) before a requeued job may begin. These clusters have shorter-lived credentials; forcing
# the start by StartTime=now would start the job without its prolog.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

setup_file() { cluster_up 3 --conf AuthInfo=cred_expire=15 --stagecast RateMax=40mbit; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { test_ends; }

pending() { [ "$(job_field "$JOB" JobState)" = PENDING ] && no_completing "$JOB"; }
receiving() { lab on n1 bash -c 'ls /var/spool/stagecast/*/.data.stagecast.*'; }
all_sent() {
  [ "$(log_since stagecastd-n0 | sed -n "s/.*worker left job=$JOB .*packets_sent=\([0-9]*\).*/\1/p" | tail -n 1)" -ge $((20000000 / 1444 * 95 / 100)) ]
}
no_worker() { ! lab on "$1" pgrep -u alice -x stagecast-worke; }

@test "requeued while it runs: staged again, with the content of that moment" {
  input data 1000000
  script 'srun /srv/rank.sh > "out.${SLURM_RESTART_COUNT:-0}"; touch "began.${SLURM_RESTART_COUNT:-0}"
[ -n "$SLURM_RESTART_COUNT" ] || sleep 100'
  submit -N3 --stage-file=data job.sh
  wait_for 60 test -e "$WORK/began.0"
  staged_everywhere "$WORK/out.0" data
  input data 1200000
  lab exec scontrol requeue "$JOB"
  wait_for 30 pending
  wait_for 15 residue_none   # the first life's files are gone
  wait_job "$JOB" COMPLETED
  staged_everywhere "$WORK/out.1" data
}

@test "requeued while it is staged: that ends within seconds, and the next life stages afresh" {
  input data 20000000
  script 'srun /srv/rank.sh'
  submit -N3 --stage-file=data job.sh
  wait_for 40 receiving
  lab exec scontrol requeue "$JOB"
  wait_for 10 pending
  wait_for 10 no_worker n1
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
  # All of it: there is no cache that could have kept what had come.
  wait_for 20 all_sent
}

second_life() { [ -e "$WORK/began.1" ]; }

@test "a step from outside into a requeued job may take longer than slurmctld is left alone" {
  input data 20000000
  script 'touch "began.${SLURM_RESTART_COUNT:-0}"; sleep 100'
  submit -N3 job.sh
  wait_for 60 test -e "$WORK/began.0"
  lab exec scontrol requeue "$JOB"
  wait_for 90 second_life
  as_alice srun --jobid="$JOB" -N3 --overlap --stage-file=data /srv/rank.sh > "$WORK/step.out"
  staged_everywhere "$WORK/step.out" data
  lab exec scancel "$JOB"
  wait_job "$JOB" CANCELLED
}
