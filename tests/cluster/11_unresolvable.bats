# Node names that no resolver knows: does NodeAddr suffice?

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

setup_file() { cluster_up 4 --unresolvable; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { test_ends; }

@test "names do not resolve here" {
  run ! lab on n1 getent hosts n0
}

@test "sbatch" {
  input data 2000000
  script 'srun /srv/rank.sh'
  submit -N4 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
}

@test "srun on some of the nodes" {
  input data 2000000
  OUT=$WORK/out
  as_alice srun -w n1,n3 --stage-file=data /srv/rank.sh > "$OUT"
  staged_everywhere "$OUT" data on n1 n3
}
