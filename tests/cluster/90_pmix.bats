# Does the worker, unchanged, wire up under whoever launched it: srun --mpi=pmix, mpirun?

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

setup_file() { cluster_up 3; }
teardown_file() { cluster_down; }
setup() {
  test_begins
  WORKER=/srv/stagecast/libexec/stagecast/stagecast-worker
}
teardown() {
  local node
  for node in "${NODES[@]}"; do lab on "$node" rm -f /tmp/copy; done
  test_ends
}

copied() {   # to the nodes beside the source's
  local node
  for node in n1 n2; do
    [ "$(lab on "$node" sha256sum /tmp/copy | cut -c 1-64)" = "$(sha256sum < "$WORK/data" | cut -c 1-64)" ]
  done
}

@test "srun --mpi=pmix" {
  input data 3000000
  as_alice srun --mpi=pmix -N3 "$WORKER" --source="$T/data" --dest=/tmp/copy --interface=eth0 --timeout=30 > "$WORK/out"
  copied
  [ "$(grep -c '"digest"' "$WORK/out")" = 3 ]
}

@test "mpirun" {
  input data 3000000
  as_alice salloc -N3 mpirun --map-by node -n 3 "$WORKER" --source="$T/data" --dest=/tmp/copy --interface=eth0 --timeout=30 \
    > "$WORK/out" 2> "$WORK/err" || { cat "$WORK/out" "$WORK/err"; false; }
  copied
}

@test "an Open MPI program inside a staged job" {
  input data 1000000
  script 'srun --mpi=pmix /srv/rank.sh'
  submit -N3 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
}
