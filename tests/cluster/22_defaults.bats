# Tests variables instead of options, ~, a shorter time-out and --stage-verbose.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 2; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  reachable n1
  lab exec sed -i s/StageReport=yes/StageReport=no/ /etc/stagecast/stagecast.conf
  test_ends
}

@test "the options are in the clients' help" {
  local client
  for client in sbatch salloc srun; do
    as_alice "$client" --help > "$WORK/help"
    grep -q -- '--stage-file=SRC' "$WORK/help"
    grep -q -- '--stage-timeout=TIME' "$WORK/help"
    grep -q -- '--stage-verbose' "$WORK/help"
    grep -q -- '--stage-no-kill' "$WORK/help"
  done
}

@test "a variable stands for the option" {
  input data 100000
  OUT=$WORK/out
  as_alice env SLURM_STAGE_FILE=data srun -N2 /srv/rank.sh > "$OUT"
  staged_everywhere "$OUT" data
  as_alice env SALLOC_STAGE_FILE=data salloc -N2 srun /srv/rank.sh > "$OUT" 2> /dev/null
  staged_everywhere "$OUT" data
  as_alice env SBATCH_STAGE_FILE=data sbatch --parsable -N2 -o batch.out --wrap 'srun /srv/rank.sh' > "$WORK/job"
  wait_job "$(cat "$WORK/job")" COMPLETED
  staged_everywhere "$WORK/batch.out" data
  rm "$WORK/batch.out"
}

@test "a variable that names nothing is refused by its name" {
  run ! as_alice env SBATCH_STAGE_FILE=nowhere sbatch --wrap true
  [[ $output == *SBATCH_STAGE_FILE*nowhere* ]]
  no_jobs
}

@test "~ is home" {
  input data 100000
  OUT=$WORK/out
  as_alice env HOME="$T" srun -N2 -D /tmp "--stage-file=~/data" /srv/rank.sh > "$OUT"
  staged_everywhere "$OUT" data
}

# (Slurm itself expands such a name where it makes a job's output file.)
@test "a directory of submission called like a pattern" {
  local name='run%j 100%% $USER'
  mkdir "$WORK/$name"
  echo one > "$WORK/$name/in.1"
  printf '%s\n' 'in.%1a:listed' > "$WORK/$name/list"
  printf '%s\n' '#!/bin/bash' '#SBATCH --array=1 -N2 --stage-file=in.%a --stage-file=@list' \
    'srun sh -c "cat \$STAGECAST_DIR/in.1 \$STAGECAST_DIR/listed"' > "$WORK/$name/job.sh"
  chown -R 2001:2001 "$WORK/$name"
  lab exec -u alice -d "$T/$name" timeout "$JOB_TIMEOUT" srun -N2 --stage-file=in.1 sh -c 'cat $STAGECAST_DIR/in.1' > "$WORK/out"
  lab exec -u alice -d "$T/$name" timeout "$JOB_TIMEOUT" sbatch -W -o "$T/batch" job.sh
  [ "$(sort "$WORK/out" "$WORK/batch" | uniq -c | tr -s ' ')" = ' 6 one' ] || { cat "$WORK/out" "$WORK/batch"; false; }
}

@test "a job may give up sooner than the site" {
  input data 100000
  run ! as_alice sbatch --stage-timeout=0:21 --stage-file=data --wrap true
  [[ $output == *--stage-timeout=0:21*20s* ]]
  run ! as_alice sbatch --stage-timeout=6 --stage-file=data --wrap true
  [[ $output == *'--stage-timeout=6 has no unit; write 6min or 6s'* ]]
  run ! as_alice sbatch --stage-timeout=soon --stage-file=data --wrap true
  [[ $output == *--stage-timeout=soon* ]]
  [[ $output != *'--stage-file: --stage-timeout'* ]]
  unreachable n1
  CODE=75 sbatch_fails --stage-timeout=6s --stage-file=data
  grep -q 'stagecast' "$OUT"
}

@test "--stage-verbose reports once" {
  input data 100000
  submit -N2 --stage-verbose --stage-file=data --wrap 'srun -n4 --overcommit true; srun true'
  wait_job "$JOB" COMPLETED
  [ "$(grep -c 'stagecast: staged 1 file, 100.0 KB, on 2 nodes in ' "$OUT")" = 1 ]
  as_alice srun -N2 --stage-verbose --stage-file=data true 2> "$WORK/err"
  [ "$(grep -c 'stagecast: staged 1 file, 100.0 KB, on 2 nodes in ' "$WORK/err")" = 1 ]
  as_alice srun -N1 --stage-verbose --stage-file=data true 2> "$WORK/err"
  grep -q 'stagecast: staged 1 file, 100.0 KB, on 1 node in ' "$WORK/err" || { cat "$WORK/err"; false; }
}

@test "StageReport=yes on the host of sbatch reports once, in a batch job's output" {
  input data 100000
  local sign='stagecast: staged 1 file, 100.0 KB, on 2 nodes in '
  lab exec sed -i s/StageReport=no/StageReport=yes/ /etc/stagecast/stagecast.conf
  submit -N2 --stage-file=data --wrap 'srun -n4 --overcommit true'
  wait_job "$JOB" COMPLETED
  as_alice srun -N2 --stage-file=data true 2> "$WORK/err"
  lab exec -u alice -d "$T" env SBATCH_STAGE_REPORT=no sbatch -W -N2 -o "$T/quiet" --stage-file=data --wrap true
  lab exec sed -i s/StageReport=yes/StageReport=no/ /etc/stagecast/stagecast.conf
  [ "$(grep -c "$sign" "$OUT")" = 1 ] || { cat "$OUT"; false; }
  run ! grep -q "$sign" "$WORK/err" "$WORK/quiet"
}
