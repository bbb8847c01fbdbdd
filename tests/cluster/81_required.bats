# Tests that "required" in plugstack.conf works like "optional".

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 2 --plug 'required /srv/stagecast/lib/slurm/stagecast.so conf=/etc/stagecast/stagecast.conf'; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { no_place /tmp/d; heal; test_ends; }

@test "it stages" {
  input data 1000000
  script 'srun /srv/rank.sh'
  submit -N2 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
}

@test "it fails the job alone: sbatch, srun, salloc" {
  input data 5000000
  place /tmp/d
  disk_full n1 /tmp/d
  sbatch_fails --stage-file=data:/tmp/d/data
  sentence "$OUT" n1 /tmp/d/data 'No space left on device'
  srun_fails --stage-file=data:/tmp/d/data
  sentence "$OUT" n1 /tmp/d/data 'No space left on device'
  salloc_fails --stage-file=data:/tmp/d/data
  sentence "$OUT" n1 /tmp/d/data 'No space left on device'
}

@test "the daemon is stopped: only jobs with the option fail" {
  input data 1000
  lab stop n1 stagecastd
  CODE=75 sbatch_fails --stage-file=data
  node_sentence "$OUT" n1 stagecastd
  as_alice srun -N2 true
}

is_drained() { lab exec sinfo -h -N -n n1 -o %E | grep -qx 'Prolog error'; }

@test "a plugin that can't be loaded: the node is drained, slurmd does not start, and no job runs without its files" {
  input data 1000
  lab on n1 bash -c 'head -c 5000 /dev/urandom > /run/lab/plugin; mount --bind /run/lab/plugin /srv/stagecast/lib/slurm/stagecast.so'
  run ! as_alice srun -w n1 -N1 --stage-file=data sh -c 'echo RAN'
  [[ $output != *RAN* ]] || false
  wait_for 20 is_drained
  lab stop n1 slurmd
  lab start n1 slurmd
  wait_for 20 lab on n1 grep -q 'slurmd initialization failed' /var/log/slurmd-n1.log
  lab on n1 bash -c 'umount -l /srv/stagecast/lib/slurm/stagecast.so; rm /run/lab/plugin'
  lab start n1 slurmd
  lab exec scontrol update nodename=n1 state=resume
  wait_for 40 as_alice srun -w n1 -N1 --stage-file=data true
}
