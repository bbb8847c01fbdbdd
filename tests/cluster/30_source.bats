# Tests that a job fails in time, with the reason, if its source has changed since submission.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 3 --stagecast RateMax=40mbit; }   # 20 MB take 4 s: time to interfere
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { test_ends; }

# Submits job.sh held, lets the world change, then lets it go.
held() {
  script 'echo SCRIPT; srun /srv/rank.sh'
  submit -H -N3 "$@" job.sh
}
go() { lab exec scontrol release "$JOB"; }

receiving() { lab on n1 bash -c 'ls /var/spool/stagecast/*/.data.stagecast.*'; }

@test "sbatch: it vanished after submission" {
  input data 1000
  held --stage-file=data
  rm "$WORK/data"
  go
  wait_job "$JOB" FAILED
  exit_code_is 1
  no_rank_ran "$OUT"
  sentence "$OUT" n0 "$T/data" 'No such file or directory'
}

@test "sbatch: it became unreadable" {
  input data 1000
  held --stage-file=data
  chmod 000 "$WORK/data"
  go
  wait_job "$JOB" FAILED
  exit_code_is 1
  no_rank_ran "$OUT"
  sentence "$OUT" n0 "$T/data" 'Permission denied'
}

@test "the first node's user database does not know the user, whose group may read it" {
  input data 1000
  chown 2002:2100 "$WORK/data"; chmod 640 "$WORK/data"
  as_alice srun -N3 --stage-file=data true   # "project" is alice's group, too
  lab on n0 bash -c 'sed /^alice:/d /etc/passwd > /run/lab/passwd; mount --bind /run/lab/passwd /etc/passwd'
  srun_fails --stage-file=data
  lab on n0 umount /etc/passwd
  sentence "$OUT" n0 "$T/data" 'Permission denied'
  grep -q 'node has no user with uid 2001, so only your group 2001 is used' "$OUT" || { cat "$OUT"; false; }
}

@test "sbatch: it became a fifo" {
  input data 1000
  held --stage-file=data
  rm "$WORK/data"; mkfifo "$WORK/data"; chmod 666 "$WORK/data"
  go
  wait_job "$JOB" FAILED
  exit_code_is 1
  node_sentence "$OUT" n0 "$T/data: .*pipe.*; .*regular file"
}

@test "srun and salloc: it is not there on the node" {
  mkdir "$WORK/deep"
  input deep/data 1000
  chown 2001:2001 "$WORK/deep"
  hide n0 "$T/deep/data"
  CODE=1 srun_fails --stage-file=deep/data
  sentence "$OUT" n0 "$T/deep/data" 'No such file or directory'
  salloc_fails --stage-file=deep/data
  sentence "$OUT" n0 "$T/deep/data" 'No such file or directory'
  [ "$(grep -c "stagecast: node n0" "$OUT")" -ge 2 ]   # each step says so
  show n0 "$T/deep/data"
}

@test "late, and no job made it" {
  sbatch_fails --stage-file=never::late
  sentence "$OUT" n0 "$T/never" 'No such file or directory; check the path'
  grep -q "; the job's first node, this one, must see it when the job starts" "$OUT"
}

@test "it is truncated while it is read" {
  input data 20000000
  held --stage-file=data
  go
  wait_for 40 receiving
  truncate -s 5000000 "$WORK/data"
  wait_job "$JOB" FAILED
  exit_code_is 1
  no_rank_ran "$OUT"
  sentence "$OUT" n0 "$T/data" '(changed|shorter|truncated)'
}

@test "it is changed while it is read" {
  input data 20000000
  held --stage-file=data
  go
  wait_for 40 receiving
  head -c 1000000 /dev/urandom | dd of="$WORK/data" conv=notrunc bs=1000000 seek=19 status=none
  wait_job "$JOB" FAILED
  exit_code_is 1
  no_rank_ran "$OUT"
  sentence "$OUT" n0 "$T/data" 'changed'
}

@test "optional: the job runs without it, and knows" {
  input good 100000
  held --stage-file=good --stage-file=bad::optional+late
  go
  wait_job "$JOB" COMPLETED
  [ "$(grep -c '^RANK .*status=partial$' "$OUT")" = 3 ]
  staged_everywhere "$OUT" good
}
