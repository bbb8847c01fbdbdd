# Tests the PMIx hosts of a job beside the job's own PMIx, and stages where no host can be.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 3; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  heal
  test_ends
}

@test "an Open MPI program inside a staged job" {
  input data 1000000
  script 'srun --mpi=pmix /srv/rank.sh'
  submit -N3 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
}

spare_listens() { lab on "$1" bash -c 'ss -Hltnp "src 127.0.0.1" | grep -q stagecast-pmix'; }
no_spare() { ! lab on "$1" pgrep -x stagecast-pmix-; }

@test "a spare listens behind its gate, as a user without rights" {
  wait_for 10 spare_listens n0
  [ "$(lab on n0 bash -c 'ps -o user:16= -p "$(pgrep -x stagecast-pmix-)"')" = stagecast ]
}

host_directory_gone() { ! lab on n0 test -e "$HOST_DIRECTORY"; }

# A host's directory becomes a user's: it must not be on the small file system of /run.
@test "a host's directory is in StageRoot and goes with its host; no user may write in RunDir" {
  wait_for 10 spare_listens n0
  HOST_DIRECTORY=$(lab on n0 bash -c 'ls -d /var/spool/stagecast/.host.*')
  input data 1000
  as_alice srun -N3 --stage-file=data true
  wait_for 10 host_directory_gone
  [ -z "$(lab on n0 find /run/stagecast -type d '(' ! -user root -o -perm /022 ')')" ]
}

@test "without user namespaces there is no listener, and a stage's cards go over the daemons" {
  local node
  for node in n0 n2; do   # n1 still has hosts
    fault "$node" 'unshare 28'
    restart_daemon "$node"
    wait_for 10 grep -q 'no PMIx on this node' "$CLUSTER_DIR/log/stagecastd-$node.log"
    wait_for 10 no_spare "$node"
  done
  input data 1000000
  script 'srun /srv/rank.sh'
  submit -N3 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
  submit -w n1,n2 -N2 --stage-file=data job.sh   # the first node has hosts, the second has none
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data on n1 n2
  no_spare n0
  lab on n0 /srv/stagecast/bin/stagecast doctor > "$WORK/said" || true
  grep -q '^warn   PMIx: ' "$WORK/said" || { cat "$WORK/said"; false; }
  for node in n0 n2; do no_fault "$node"; restart_daemon "$node"; wait_for 10 spare_listens "$node"; done
}
