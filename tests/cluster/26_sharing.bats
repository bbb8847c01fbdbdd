# Tests that nodes that need the same file at once read it once, and that each has the right bytes after any failure.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault
load lib/cache

setup_file() {
  cluster_up 4 --cpus 5 --stagecast CacheDir=$CACHE --stagecast CacheSize=200M --stagecast LogLevel=debug
}
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { heal; test_ends; }

kept() { [ -n "$(entries "$1" "$2")" ]; }
gone() { lab on "$1" bash -c "find $CACHE -type f -size $2c -delete"; }

# tasks JOB: each task's job id, number and node.
tasks() { lab exec squeue -h -t all -r -o '%A %K %N' -j "$1"; }
explain() { lab on "$2" /srv/stagecast/bin/stagecast explain "$1" --json | jq -c '.ended[0]'; }
read_by() { explain "$1" "$(job_field "$1" NodeList)" | jq .bytes_read; }

# on_node NODE NAME: a job there that stages the file and is over.
on_node() {
  submit -N1 -n1 -w "$1" "--stage-file=$2" job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" "$2" on "$1"
}

said_by() { log_since "stagecastd-$1" | grep -q "$2"; }
asked() { [ "$(daemon_logs | grep -c 'asks for the lease of a file')" = "$1" ]; }
kill_daemon() { lab on "$1" bash -c 'kill -KILL "$(cat /run/lab/stagecastd.pid)"'; }

# lease_server_of NAME SIZE: sets LEASE_SERVER to the node that keeps its lease, and OTHERS to those that don't.
# No node has the file then, and the lease server knows nothing of it.
lease_server_of() {
  local node
  log_mark
  on_node n0 "$1"
  OTHERS=()
  for node in "${NODES[@]}"; do
    if said_by "$node" 'asks for the lease of a file'; then LEASE_SERVER=$node; else OTHERS+=("$node"); fi
  done
  wait_for 20 kept n0 "$2"
  gone n0 "$2"
  restart_daemon n0
  [ "$LEASE_SERVER" = n0 ] || restart_daemon "$LEASE_SERVER"
  log_mark
}

# A node does not ask a lease server again for a while that was silent once; the next test shall find it asking.
forget_silence() { restart_daemon "$1"; }

# slow_reader NODE NAME [MS]: a job there reads the file, for seconds; READER is its id.
slow_reader() {
  fault "$1" "read ${3:-700} /home/alice/"
  submit -N1 -n1 --no-requeue -w "$1" "--stage-file=$2" job.sh
  READER=$JOB
  wait_for 20 asked 1
  wait_for 20 staging "$READER" "$1"
  no_fault "$1"
}

# waiting_on NODE NAME N: a job there waits, the Nth that asks; JOB and OUT are its.
waiting_on() {
  submit -N1 -n1 -w "$1" "--stage-file=$2" job.sh
  wait_for 20 asked "$3"
  staging "$JOB" "$1"
}

@test "20 array tasks at once on 4 nodes read the source once" {
  old_input data 6000001
  script "srun /srv/rank.sh"
  submit -N1 -n1 --array=0-19 --stage-file=data job.sh
  wait_for "$JOB_TIMEOUT" no_jobs
  local id task node sum=0 count=0 nodes
  while read -r id task node; do
    [ "$(explain "$id" "$node" | jq -r .outcome)" = ok ]
    staged_everywhere "$WORK/slurm-${JOB}_$task.out" data on "$node"
    sum=$((sum + $(explain "$id" "$node" | jq .bytes_read)))
    count=$((count + 1))
  done < <(tasks "$JOB")
  [ "$count" = 20 ]
  nodes=$(tasks "$JOB" | awk '{ print $3 }' | sort -u | wc -l)
  [ "$nodes" = 4 ]
  [ "$sum" = 6000001 ]
  [ "$(daemon_logs | grep -c "fetching a file from another node's cache")" = 3 ]
  for node in "${NODES[@]}"; do kept "$node" 6000001; done
}

@test "two jobs of two nodes each read the source once" {
  old_input data 7000011
  script "srun /srv/rank.sh"
  submit -N2 -n2 -w n0,n1 --stage-file=data job.sh
  local one=$JOB out=$OUT
  submit -N2 -n2 -w n2,n3 --stage-file=data job.sh
  wait_job "$one" COMPLETED
  wait_job "$JOB" COMPLETED
  staged_everywhere "$out" data on n0 n1
  staged_everywhere "$OUT" data on n2 n3
  local sum
  sum=$(($(explain "$one" n0 | jq .bytes_read) + $(explain "$JOB" n2 | jq .bytes_read)))
  [ "$sum" = 7000011 ]
}

@test "a job of another node, later, reads nothing" {
  old_input data 5000002
  script "srun /srv/rank.sh"
  on_node n1 data
  [ "$(read_by "$JOB")" = 5000002 ]
  wait_for 20 kept n1 5000002
  on_node n2 data
  [ "$(read_by "$JOB")" = 0 ]
  # And a changed file is another one.
  old_input data 5000002
  on_node n3 data
  [ "$(read_by "$JOB")" = 5000002 ]
}

@test "another user's file of the same name is read for that user" {
  old_input data 3000003 644
  chmod 755 "$ALICE" "$WORK"
  script "srun /srv/rank.sh"
  on_node n1 data
  wait_for 20 kept n1 3000003
  install -d -m 700 -o 2002 -g 2002 "$WORK/bob"
  cp "$WORK/job.sh" "$WORK/bob/"
  JOB=$(lab exec -u bob -d "$T/bob" sbatch --parsable -N1 -n1 -w n2 "--stage-file=$T/data" job.sh)
  wait_job "$JOB" COMPLETED
  [ "$(read_by "$JOB")" = 3000003 ]
  run ! grep -q 'fetching a file' <(daemon_logs)
  chmod 700 "$ALICE"
}

@test "a spoilt entry of another node is not believed" {
  old_input data 5000004
  script "srun /srv/rank.sh"
  on_node n1 data
  wait_for 20 kept n1 5000004
  lab on n1 bash -c 'printf spoilt | dd of="$0" bs=1 seek=2500000 conv=notrunc status=none' "$(entries n1 5000004)"
  on_node n2 data
  [ "$(read_by "$JOB")" = 5000004 ]
  said_by n2 'another node sent other bytes than it announced'
}

@test "the daemon that holds the file is killed: the next node reads" {
  old_input data 5000005
  script "srun /srv/rank.sh"
  on_node n1 data
  wait_for 20 kept n1 5000005
  kill_daemon n1
  on_node n2 data
  [ "$(read_by "$JOB")" = 5000005 ]
  start_daemon n1
  forget_silence n2
}

@test "a node that waits for a slow reader gets its bytes, and reads nothing" {
  old_input data 8000010
  script "srun /srv/rank.sh"
  # Longer than a PMIx host waits for its worker.
  slow_reader n0 data 950
  submit -N2 -n2 -w n1,n2 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data on n1 n2
  [ "$(explain "$JOB" n1 | jq .bytes_read)" = 0 ]
  said_by n1 'fetching a file from another node'
  wait_job "$READER" COMPLETED
  run ! grep 'PMIx host was lost' <(daemon_logs)
}

@test "the lease server's daemon is killed while a node waits: that one reads" {
  old_input data 8000006
  script "srun /srv/rank.sh"
  lease_server_of data 8000006
  slow_reader "${OTHERS[0]}" data
  waiting_on "${OTHERS[1]}" data 2
  kill_daemon "$LEASE_SERVER"
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data on "${OTHERS[1]}"
  [ "$(read_by "$JOB")" = 8000006 ]
  said_by "${OTHERS[1]}" "the lease server of a file does not answer"
  wait_job "$READER" COMPLETED
  staged_everywhere "$WORK/slurm-$READER.out" data on "${OTHERS[0]}"
  start_daemon "$LEASE_SERVER"
  forget_silence "${OTHERS[1]}"
}

@test "a lease server that does not answer costs a job its time, not its file" {
  old_input data 3000007
  script "srun /srv/rank.sh"
  lease_server_of data 3000007
  unreachable "$LEASE_SERVER"
  on_node "${OTHERS[0]}" data
  [ "$(read_by "$JOB")" = 3000007 ]
  said_by "${OTHERS[0]}" "the lease server of a file does not answer"
  reachable "$LEASE_SERVER"
  forget_silence "${OTHERS[0]}"
}

@test "the reader is killed in the middle: one of those that wait reads, once" {
  old_input data 8000008
  script "srun /srv/rank.sh"
  slow_reader n0 data
  waiting_on n2 data 2
  local one=$JOB out=$OUT id sum=0
  waiting_on n3 data 3
  lab on n0 pkill -KILL -u alice -x stagecast-worke
  wait_job "$READER" FAILED
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data on n3
  wait_job "$one" COMPLETED
  staged_everywhere "$out" data on n2
  for id in "$one" "$JOB"; do sum=$((sum + $(read_by "$id"))); done
  [ "$sum" = 8000008 ]
}

@test "the reader's daemon is killed in the middle: the one that waits reads" {
  old_input data 8000009
  script "srun /srv/rank.sh"
  lease_server_of data 8000009
  slow_reader "${OTHERS[0]}" data
  waiting_on "${OTHERS[1]}" data 2
  kill_daemon "${OTHERS[0]}"
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data on "${OTHERS[1]}"
  [ "$(read_by "$JOB")" = 8000009 ]
  start_daemon "${OTHERS[0]}"
  wait_for 60 job_ended "$READER"
}
