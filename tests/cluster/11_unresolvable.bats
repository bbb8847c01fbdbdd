# Tests that NodeAddr suffices for node names that no resolver knows.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/fault
load lib/jobs
load lib/push

setup_file() { cluster_up 4 --unresolvable --stagecast PushRoots=/var/tmp/images --stagecast PushFrom=n0; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { lab on n2 rm -rf /var/tmp/images; test_ends; }

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

# Slurm is asked for one node alone then, not for all.
@test "a push to one node, by its name" {
  input image 200000
  lab on n2 mkdir -p /var/tmp/images
  push n0 -w n2 image /var/tmp/images/
  has image n2
}

@test "a push to a node that Slurm does not know" {
  input image 200000
  local rc=0
  push n0 -w n77 image /var/tmp/images/ || rc=$?
  [ "$rc" = 2 ]
  grep -q 'n77' "$WORK/said" || { cat "$WORK/said"; false; }
}
