# Tests that Slurm requeues jobs that failed by a node's fault (RequeueExit=75), and no others.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

# (Of the credentials see 13_requeue.bats.)
setup_file() { cluster_up 2 --conf RequeueExit=75 --conf AuthInfo=cred_expire=15; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { heal; test_ends; }

is_requeued() { [ "$(job_field "$JOB" Restarts)" = 1 ] && [ "$(job_field "$JOB" JobState)" = PENDING ]; }

@test "a job whose node has no daemon goes back to the queue, and runs once there is one" {
  input data 100000
  script 'echo SCRIPT; srun /srv/rank.sh'
  lab stop n1 stagecastd
  submit -N2 --stage-file=data job.sh
  wait_for 60 is_requeued || { lab exec scontrol show job "$JOB"; false; }
  no_rank_ran "$OUT"
  node_sentence "$OUT" n1 stagecastd
  start_daemon n1
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
}

@test "a job that asks for a file that is not there is not requeued" {
  sbatch_fails --stage-file=never::late
  [ "$(job_field "$JOB" Restarts)" = 0 ]
}
