# Tests that with every launcher the file is on every node before the first rank starts.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

job_runs() { [ "$(job_field "$1" JobState)" = RUNNING ]; }

setup_file() { cluster_up 3; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { test_ends; }

ran_with() { grep -c "^RANK .*files=$1 status=ok\$" "$OUT"; }

@test "sbatch: the batch script and every rank find it" {
  input data 3000000
  script 'sha256sum < "$STAGECAST_DIR/data"; ls -d "$STAGECAST_DIR"; srun /srv/rank.sh'
  submit -N3 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  [ "$(head -n 1 "$OUT")" = "$(sha256sum < "$WORK/data")" ]
  grep -qx "/var/spool/stagecast/$JOB" "$OUT"
  [ "$(ran_with 1)" = 3 ]
  staged_everywhere "$OUT" data
}

@test "srun" {
  input data 3000000
  OUT=$WORK/out
  as_alice srun -N3 --stage-file=data /srv/rank.sh > "$OUT"
  [ "$(ran_with 1)" = 3 ]
  staged_everywhere "$OUT" data
}

@test "salloc, then srun twice" {
  input data 3000000
  OUT=$WORK/out
  as_alice salloc -N3 --stage-file=data bash -c 'srun /srv/rank.sh; srun -N2 /srv/rank.sh' > "$OUT"
  [ "$(ran_with 1)" = 5 ]
  staged_everywhere "$OUT" data
}

@test "#SBATCH in the script, and an option on the command line beside it" {
  input one 1000
  input two 2000000
  script '#SBATCH --nodes=3
#SBATCH --stage-file=one
srun /srv/rank.sh'
  submit --stage-file=two job.sh
  wait_job "$JOB" COMPLETED
  [ "$(ran_with 2)" = 3 ]
  staged_everywhere "$OUT" one two
}

@test "two files by a repeated option, on sbatch and on srun" {
  input one 1000
  input two 2000000
  script 'srun /srv/rank.sh'
  submit -N3 --stage-file=one --stage-file="$T/two" job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" one two
  OUT=$WORK/out
  as_alice srun -N3 --stage-file=one --stage-file=two /srv/rank.sh > "$OUT"
  [ "$(ran_with 2)" = 3 ]
  staged_everywhere "$OUT" one two
}

@test "late: a file that the job before makes" {
  submit -N1 --wrap 'sleep 1; head -c 1500000 /dev/urandom > made; chmod 640 made'
  local first=$JOB
  script 'srun /srv/rank.sh'
  submit -N3 --dependency="afterok:$first" --stage-file=made::late job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" made
}

@test "an array of 4, each task with its file" {
  input data 2000000
  script 'srun /srv/rank.sh'
  as_alice sbatch -W -a 0-3 -N2 --stage-file=data -o array.%a job.sh
  local task
  for task in 0 1 2 3; do
    OUT=$WORK/array.$task
    [ "$(ran_with 1)" = 2 ]
    [ "$(grep -c "$(sha256sum < "$WORK/data" | cut -c 1-64)" "$OUT")" = 2 ]
  done
}

@test "a heterogeneous job: each component its own file" {
  input one 1000000
  input two 2000000
  script 'srun --het-group=0,1 /srv/rank.sh'
  submit -N1 --stage-file=one : -N2 --stage-file=two job.sh
  wait_job "$JOB" COMPLETED
  [ "$(ran_with 1)" = 3 ]
  staged_everywhere "$OUT" one on n0
  staged_everywhere "$OUT" two on n1 n2
}

@test "--export=NONE" {
  input data 1000000
  script 'srun /srv/rank.sh'
  submit -N3 --export=NONE --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  [ "$(ran_with 1)" = 3 ]
  staged_everywhere "$OUT" data
}

@test "six jobs at once do not disturb each other" {
  local -a jobs=()
  local i
  script 'srun /srv/rank.sh'
  for i in 1 2 3 4 5 6; do
    input "data$i" $((i * 300000))
    submit -N "$((i % 3 + 1))" -n "$((i % 3 + 1))" --stage-file="data$i" -o "out.$i" job.sh
    jobs+=("$JOB")
  done
  for i in 1 2 3 4 5 6; do
    OUT=$WORK/out.$i
    wait_job "${jobs[i - 1]}" COMPLETED
    [ "$(ran_with 1)" = $((i % 3 + 1)) ]
    [ "$(grep -c "$(sha256sum < "$WORK/data$i" | cut -c 1-64)" "$OUT")" = $((i % 3 + 1)) ]
  done
}

@test "a step's own file, in a job with one and in a job without" {
  input job 1000000
  input step 500000
  script 'srun --stage-file=step bash -c "/srv/rank.sh; dirname \$STAGECAST_FILES; echo \$STAGECAST_DIR \$STAGECAST_STEP_DIR" > own
srun bash -c "ls -A /var/spool/stagecast/\$SLURM_JOB_ID || :" > after'
  submit -N3 job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$WORK/own" step
  [ "$(grep -cx "/var/spool/stagecast/$JOB/step.0" "$WORK/own")" = 3 ]
  [ "$(grep -cx "/var/spool/stagecast/$JOB /var/spool/stagecast/$JOB/step.0" "$WORK/own")" = 3 ]
  run ! grep -q step "$WORK/after"   # removed at the step's end

  script 'srun -N2 --stage-file=step bash -c "/srv/rank.sh; echo \$STAGECAST_DIR \$STAGECAST_STEP_DIR" > own
srun /srv/rank.sh > inherited'
  submit -N3 --stage-file=job job.sh
  wait_job "$JOB" COMPLETED
  [ "$(grep -c "$(sha256sum < "$WORK/step" | cut -c 1-64)" "$WORK/own")" = 2 ]
  [ "$(grep -cx "/var/spool/stagecast/$JOB /var/spool/stagecast/$JOB/step.0" "$WORK/own")" = 2 ]
  staged_everywhere "$WORK/inherited" job
}

@test "a step of another job, begun in one that stages, is none of this one's" {
  input data 1000
  script 'sleep 60'
  submit -N1 job.sh
  local other=$JOB
  script 'srun --jobid='"$other"' --overlap -N1 -n1 sh -c "echo ran in \$SLURM_JOB_ID"'
  wait_for 60 job_runs "$other"
  submit -N1 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  grep -q "ran in $other" "$OUT" || { cat "$OUT"; return 1; }
  lab exec scancel "$other"
  wait_job "$other" CANCELLED
}

@test "an inherited option stages once" {
  input data 1000000
  script 'srun bash -c "ls -A \$STAGECAST_DIR; stat -c %i \$STAGECAST_DIR/data" > first
srun bash -c "ls -A \$STAGECAST_DIR; stat -c %i \$STAGECAST_DIR/data" > second'
  submit -N1 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  [ -s "$WORK/first" ]
  cmp "$WORK/first" "$WORK/second"
  run ! grep -q '^step' "$WORK/second"
}

@test "relative and absolute destinations: one goes with the job, one stays, temp goes" {
  input data 1000000
  script 'srun bash -c "/srv/rank.sh \$STAGECAST_DIR/a/b/data /tmp/stays/data /var/tmp/goes/data"'
  local node
  for node in "${NODES[@]}"; do lab on "$node" -u alice mkdir /tmp/stays /var/tmp/goes; done
  submit -N3 --stage-file=data:a/b/data --stage-file=data:/tmp/stays/data --stage-file=data:/var/tmp/goes/data:temp job.sh
  wait_job "$JOB" COMPLETED
  [ "$(grep -c "^FILE .* $(sha256sum < "$WORK/data" | cut -c 1-64)" "$OUT")" = 9 ]
  for node in "${NODES[@]}"; do
    [ "$(lab on "$node" sha256sum /tmp/stays/data | cut -c 1-64)" = "$(sha256sum < "$WORK/data" | cut -c 1-64)" ]
    wait_for 10 lab on "$node" test ! -e /var/tmp/goes/data
    lab on "$node" rm -r /tmp/stays /var/tmp/goes
  done
}

@test "one node only" {
  input data 1000000
  OUT=$WORK/out
  as_alice srun -N1 -w n1 --stage-file=data /srv/rank.sh > "$OUT"
  staged_everywhere "$OUT" data on n1
}

@test "forty short jobs leave no descriptor behind" {
  input data 10000
  local before after i
  before=$(daemon_descriptors)
  for i in $(seq 20); do as_alice srun -N3 --stage-file=data true & done 3>&-
  wait
  for i in $(seq 20); do as_alice srun -N2 --stage-file=data true & done 3>&-
  wait
  wait_for 20 no_jobs
  wait_for 10 few_more_than "$before"
}

daemon_descriptors() { lab on n0 bash -c 'ls /proc/$(cat /run/lab/stagecastd.pid)/fd | wc -l'; }
few_more_than() { [ "$(daemon_descriptors)" -le $(($1 + 6)) ]; }

@test "a step that is begun from outside of its job knows the job's files, or does not start" {
  input data 1000
  local job
  as_alice salloc -Q --no-shell -N2 -J well --stage-file=data
  job=$(lab exec squeue -h -n well -o %A)
  as_alice srun --jobid="$job" sh -c 'cmp $STAGECAST_DIR/data data && echo same' > "$WORK/out"
  [ "$(grep -cx same "$WORK/out")" = 2 ]
  lab exec scancel "$job"
  as_alice salloc -Q --no-shell -N2 -J ill --stage-file=late::late
  job=$(lab exec squeue -h -n ill -o %A)
  run as_alice srun --jobid="$job" echo ran
  [[ $output == *'late: No such file'* && $output != *ran* ]] || { echo "$output"; false; }
  lab exec scancel "$job"
}

@test "a step's list, of Windows, with a line twice" {
  input data 1000
  printf '\xef\xbb\xbfdata\r\n\r\ndata\r\n' > "$WORK/list"
  chown 2001:2001 "$WORK/list"
  script 'srun --stage-file=@list sh -c "cmp \$STAGECAST_STEP_DIR/data data && echo same"'
  submit -N2 job.sh
  wait_job "$JOB" COMPLETED
  [ "$(grep -cx same "$OUT")" = 2 ]
}
