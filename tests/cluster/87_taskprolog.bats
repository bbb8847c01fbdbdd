# Tests that with etc/examples/taskprolog.sh no task runs without its files where Slurm can't load the plugin.
#
# All hosts have the script as TaskProlog=; n2 has a plugin that is made for another release of Slurm.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

setup_file() {
  cluster_up 3 --conf TaskProlog=/srv/taskprolog.sh
  local srv
  srv=$(lab path)/srv
  install -m 755 "$CLUSTER_TESTS/../../etc/examples/taskprolog.sh" "$srv/taskprolog.sh"
  gcc -shared -fPIC -o "$srv/other.so" -x c - <<'C'
const char plugin_name[] = "stagecast";
const char plugin_type[] = "spank";
const unsigned int plugin_version = 25u << 16 | 11u << 8 | 6u;
C
  lab on n2 mount --bind /srv/other.so /srv/stagecast/lib/slurm/stagecast.so
  lab stop n2 slurmd
  lab start n2 slurmd
  # (Otherwise the mount would count as left behind.)
  wait_for 20 residue_settled
  local node
  for node in n0 n1 n2; do cp "$CLUSTER_DIR/log/residue-$node.now" "$CLUSTER_DIR/log/residue-$node.start"; done
}
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { test_ends; }

# refused FILE: no task ran on n2, and it says why.
refused() {
  grep -q 'stagecast: node n2: Slurm here has not loaded the plugin' "$1" || { cat "$1"; return 1; }
  ! grep -q 'RAN n2' "$1" || { cat "$1"; return 1; }
}
job_runs() { [ "$(job_field "$JOB" JobState)" = RUNNING ]; }
RUN='echo RAN $SLURMD_NODENAME'

@test "sbatch and srun on that node end with 75 and the reason" {
  input data 1000
  submit -N1 -w n2 --stage-file=data --wrap "$RUN"
  wait_job "$JOB" FAILED
  [ "$(job_field "$JOB" ExitCode)" = 75:0 ]
  refused "$OUT"
  submit -N1 -w n2 --export=NONE --stage-file=data --wrap "$RUN"
  wait_job "$JOB" FAILED
  refused "$OUT"
  run -75 as_alice srun -N1 -w n2 --stage-file=data bash -c "$RUN"
  echo "$output" > "$WORK/out"
  refused "$WORK/out"
}

@test "salloc's steps, an array, an optional file and a heterogeneous job do, too" {
  input data 1000
  as_alice salloc -N1 -w n2 --stage-file=data srun bash -c "$RUN" > "$WORK/out" 2>&1 || true
  refused "$WORK/out"
  as_alice srun -N1 -w n2 --stage-file=absent::optional bash -c "$RUN" > "$WORK/out" 2>&1 || true
  refused "$WORK/out"
  as_alice sbatch -W -a 0-1 -N1 -w n2 --stage-file=data -o array.%a --wrap "$RUN" || true
  refused "$WORK/array.0"
  refused "$WORK/array.1"
  submit -N1 -w n0 --stage-file=data : -N1 -w n2 --stage-file=data --wrap "srun --het-group=0,1 bash -c '$RUN'"
  wait_for 60 job_ended "$JOB"
  refused "$OUT"
}

@test "a step's own files: its tasks on that node do not run" {
  input data 1000
  submit -N1 -w n2 --wrap "$RUN; srun --stage-file=data bash -c 'echo STEP RAN'"
  wait_for 60 job_ended "$JOB"
  grep -q 'RAN n2' "$OUT"
  ! grep -q 'STEP RAN' "$OUT" || { cat "$OUT"; false; }
}

@test "a node of several: the tasks on it do not run either" {
  input data 1000
  as_alice srun -N2 -w n0,n2 --stage-file=data bash -c "$RUN" > "$WORK/out" 2>&1 || true
  refused "$WORK/out"
}

@test "jobs without files run there as ever, those within a job with files, too" {
  input data 1000
  as_alice srun -N1 -w n0 --stage-file=data sbatch -W -N1 -w n2 -o "$T/inner" --wrap "$RUN"
  grep -qx 'RAN n2' "$WORK/inner"
  [ "$(as_alice srun -N1 -w n2 bash -c "$RUN")" = 'RAN n2' ]
  submit -N1 -w n2 --wrap "$RUN"
  wait_job "$JOB" COMPLETED
  grep -qx 'RAN n2' "$OUT"
}

@test "where the plugin is loaded each kind of job runs with its files" {
  input data 1000
  input step 1000
  local with='[ -s "$STAGECAST_DIR/data" ] && echo RAN $SLURMD_NODENAME'
  submit -N2 -w n0,n1 --stage-file=data --wrap "$with; srun bash -c '$with'; srun --stage-file=step bash -c '$with'"
  wait_job "$JOB" COMPLETED
  [ "$(grep -c '^RAN n' "$OUT")" = 5 ]
  submit -N1 -w n0 --export=NONE --stage-file=data --wrap "$with; srun --export=NONE /bin/bash -c '$with'"
  wait_job "$JOB" COMPLETED
  [ "$(grep -c '^RAN n' "$OUT")" = 2 ]
  [ "$(as_alice srun -N2 -w n0,n1 --stage-file=data bash -c "$with" | wc -l)" = 2 ]
  as_alice salloc -N1 -w n1 --stage-file=data srun bash -c "$with"
  as_alice srun -N1 -w n0 --stage-file=absent::optional true
  as_alice srun -N1 -w n0 --stage-file=data:/tmp/elsewhere:temp true
  as_alice sbatch -W -a 0-1 -N1 -w n0,n1 -N2 --stage-file=data -o array.%a --wrap "$with"
  grep -q '^RAN' "$WORK/array.1"
  as_alice srun -N1 -w n0 --stage-file=data sbatch -W -N1 -w n1 -o "$T/inner" --wrap true
  submit -N1 -w n1 --wrap 'sleep 20'
  wait_for 20 job_runs
  as_alice srun --jobid="$JOB" --overlap true
  as_alice scancel "$JOB"
  submit -N1 -w n0 --stage-file=data : -N1 -w n1 --wrap "srun --het-group=0,1 true && echo BOTH RAN"
  wait_job "$JOB" COMPLETED
  grep -q 'BOTH RAN' "$OUT"
}

@test "doctor names the plugin there, with and without slurmctld, and where it is right says so" {
  local how
  for how in '' --local; do
    # shellcheck disable=SC2086
    run -1 lab on n2 /srv/stagecast/bin/stagecast doctor $how
    [[ $output == *'WRONG  plugin: /srv/stagecast/lib/slurm/stagecast.so is made for Slurm 25.11, and Slurm '*"can't load it"* ]]
    lab on n0 /srv/stagecast/bin/stagecast doctor $how > "$WORK/said" || true
    grep -q 'ok     plugin: is made for Slurm ' "$WORK/said"
  done
}
