# Tests that submission reports a Slurm configuration under which staging cannot work.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

teardown() { rm -rf "$WORK"; cluster_down; }

with_flags() {
  cluster_up 1 --conf "PrologFlags=$1"
  test_begins
  input data 10
}

submission_says() {
  run as_alice sbatch --stage-file=data --wrap true
  [ "$status" != 0 ]
  [[ $output == *stagecast:* && $output == *PrologFlags* && $output == *"$1"* ]] || { echo "$output"; return 1; }
  [ -z "$(lab exec squeue -h)" ]
}

@test "PrologFlags without Alloc" {
  with_flags ''
  submission_says Alloc
}

@test "PrologFlags with Serial" {
  with_flags Alloc,Serial
  submission_says Serial
}

@test "PrologFlags with RunInJob, which Slurm knows since 24.05" {
  local release
  release=$(slurmd -V | cut -d ' ' -f 2)
  [ "$(printf '%s\n' 24.05 "$release" | sort -V | head -n 1)" = 24.05 ] || skip "Slurm $release has no such flag"
  with_flags Alloc,RunInJob
  submission_says RunInJob
  run -1 lab on n0 /srv/stagecast/bin/stagecast doctor
  [[ $output == *'WRONG  PrologFlags: has RunInJob'* ]]
}

@test "PrologFlags=Alloc alone works: the group's verdict is the barrier" {
  cluster_up 3 --conf PrologFlags=Alloc
  test_begins
  input data 3000000
  script 'srun /srv/rank.sh'
  submit -N3 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
}

@test "PrologFlags=Contain (which means Alloc too) works" {
  cluster_up 2 --conf PrologFlags=Contain
  test_begins
  input data 3000000
  script 'srun /srv/rank.sh'
  submit -N2 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
}
