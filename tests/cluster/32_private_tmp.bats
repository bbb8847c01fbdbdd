# With a /tmp for each job (job_container/tmpfs): a job sees its staged files, or gets an error.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

# On one processor: Linux 6.18 numbers mount namespaces by processor, and refuses (EINVAL) to bind one whose
# number is lower than the own, which Slurm's plugin then takes for a sick node (measured: half of all jobs).

setup_file() {
  taskset -pc "$(taskset -pc $$ | grep -o '[0-9]*' | tail -n 1)" $$ > /dev/null
  cluster_up 2 --conf JobContainerType=job_container/tmpfs --conf PrologFlags=Alloc,Contain,DeferBatch \
    --file job_container.conf=$'AutoBasePath=true\nBasePath=/var/spool/slurmd/own'
}
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  local node
  for node in "${NODES[@]}"; do lab on "$node" rm -rf /tmp/d /var/tmp/d; done
  test_ends
}

@test "the plugin is active: a job's files in /tmp are not in the node's" {
  as_alice srun -N2 touch /tmp/mine
  run ! lab on n1 test -e /tmp/mine
}

@test "a file without DST, and one below /var/tmp, are seen by batch script and ranks" {
  input data 300000
  script 'cd "$STAGECAST_DIR" && sha256sum < data > batch.sum && [ -z "$(ls -A /tmp)" ] && echo private; srun /srv/rank.sh'
  submit -N2 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  grep -qx private "$OUT"
  staged_everywhere "$OUT" data
  as_alice srun -N2 --stage-file=data:/var/tmp/d:temp sha256sum /var/tmp/d > "$WORK/sums"
  [ "$(grep -c "^$(sha256sum < "$WORK/data" | cut -c 1-64) " "$WORK/sums")" = 2 ]
}

@test "a destination below /tmp or /dev/shm is refused at submission, with the reason" {
  input data 1000
  local client place
  for place in /tmp/d /tmp/ /dev/shm/d; do
    for client in 'sbatch --wrap true' 'srun true' 'salloc true'; do
      # shellcheck disable=SC2086  # a command and its words
      run as_alice ${client%% *} -N2 "--stage-file=data:$place" ${client#* }
      [ "$status" = 1 ] || { echo "$client: $status $output"; false; }
      [[ $output == *"$place: on this cluster each job has a "*" of its own"*'$STAGECAST_DIR'* ]] || { echo "$output"; false; }
    done
  done
  no_jobs
}

@test "in a list, too" {
  input data 1000
  printf '# two\ndata\ndata:/tmp/d\n' > "$WORK/list"
  chown 2001:2001 "$WORK/list"
  run as_alice sbatch -N2 --stage-file=@list --wrap true
  [ "$status" = 1 ]
  [[ $output == *"list, line 3: /tmp/d: on this cluster each job has a /tmp of its own"* ]] || { echo "$output"; false; }
}

@test "a step's own file below /tmp, which no client checks: its tasks do not start, and say why" {
  input data 1000
  script 'srun --stage-file=data:/tmp/d /srv/rank.sh; echo "step $?"; srun --stage-file=data /srv/rank.sh'
  submit -N2 job.sh
  wait_job "$JOB" COMPLETED
  grep -q 'node n0: /tmp: the job sees another directory here' "$OUT"
  grep -q '^step [1-9]' "$OUT"
  staged_everywhere "$OUT" data
}
