# Tests that one user cannot exhaust a node's shared sockets and stages.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

# Jobs run on n0-n2; nothing that bob holds is part of one.
setup_file() {
  cluster_up 3 --cpus 16 --stagecast MaxStagesPerNode=4 --stagecast StageTimeout=90
  gcc -O2 -pthread -o "$CLUSTER_DIR/srv/flood" "$CLUSTER_TESTS/attack/flood.c"
  chmod 755 "$CLUSTER_DIR/srv/flood"
  install -m 755 "$CLUSTER_TESTS/attack/descriptors.py" "$CLUSTER_DIR/srv/"
}
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  local node
  for node in "${NODES[@]}"; do
    lab on "$node" bash -c 'pkill -KILL -u bob -x flood; pkill -KILL -u bob -x descriptors.py; true'
    lab on "$node" bash -c 'pkill -KILL -u alice -x bindfs; umount -l /tmp/fuse 2>/dev/null; rm -rf /tmp/fuse /tmp/real; true'
  done
  heal
  test_ends
}

as_bob() { lab exec -u bob -d /home/bob timeout -k 5 "$JOB_TIMEOUT" "$@" < /dev/null; }
ask() { lab on "$1" -u "$2" timeout 10 /srv/stagecast/bin/stagecast "${@:3}" < /dev/null; }

# flood NODE ARGS...: bob's, until the test ends.
flood() {
  local node=$1
  shift
  lab on "$node" -u bob -d / /srv/flood "$@" < /dev/null > "$WORK/flood" 2>&1 3>&- &
  wait_for 10 grep -q '[1-9][0-9][0-9]* came' "$WORK/flood"
}

@test "a flood of logins with a user's own munge credentials: stages of two nodes pass" {
  input data 100000
  flood n2 tcp 10.77.1.2 n1 8 "$(lab on n2 -u bob munge -n)"
  local i
  for i in 1 2 3 4 5 6; do as_alice srun -w n0,n1 -N2 --stage-file=data true; done
}

@test "200 silent connections of bob's to the unix socket: the prolog and alice are served" {
  input data 100000
  flood n0 hold /run/stagecast/stagecastd.sock 200
  local i
  for i in 1 2 3 4 5; do ask n0 alice status > "$WORK/said" 2>&1 || { cat "$WORK/said"; false; }; done
  for i in 1 2 3; do as_alice srun -w n0,n1 -N2 --stage-file=data true; done
  run ! ask n0 bob status
}

@test "descriptors of bob's that block the process that closes them: the prolog and alice are served" {
  input data 100000
  lab on n0 -u bob -d / /srv/descriptors.py /run/stagecast/stagecastd.sock 100 < /dev/null > "$WORK/sent" 2>&1 3>&- &
  wait_for 20 grep -q sent "$WORK/sent" || { cat "$WORK/sent"; false; }
  local i
  for i in 1 2 3; do as_alice srun -w n0,n1 -N2 --stage-file=data true; done
  ask n0 alice status
  log_since stagecastd-n0 | grep 'must bring no descriptors'
  lab on n0 bash -c 'kill "$(cat /run/lab/stagecastd.pid)"'   # Its end waits for none of them, either.
  wait_for 10 daemon_is_gone
  lab start n0 stagecastd
  as_alice srun -w n0,n1 -N2 --stage-file=data true
}
daemon_is_gone() { lab on n0 bash -c '! kill -0 "$(cat /run/lab/stagecastd.pid)"'; }

# hanging COUNT: COUNT steps of alice's on n0 whose source never answers.
hanging() {
  command -v bindfs > /dev/null || skip 'no bindfs here'
  lab on n0 -u alice bash -c 'mkdir -p /tmp/real /tmp/fuse; for i in {1..'"$1"'}; do echo $i > /tmp/real/f$i; done
    bindfs --no-allow-other /tmp/real /tmp/fuse && ls /tmp/fuse > /dev/null && pkill -STOP -u alice -x bindfs' || skip 'no FUSE here'
  as_alice salloc -Q -w n0 -N1 -n1 bash -c \
    'for i in {1..'"$1"'}; do srun --overlap --stage-file=/tmp/fuse/f$i:g$i:late true & done; wait' > "$WORK/hanging" 2>&1 3>&- &
}
queued() { [ "$(ask n0 root status --json | jq '[.stages[] | select(.phase == "queued")] | length')" -ge "$1" ]; }

@test "one user's stages that hang leave places for another's, and the rest wait in the queue" {
  hanging 8
  wait_for 40 queued 6
  ask n0 alice status > "$WORK/said"
  grep -q ': queued' "$WORK/said" || { cat "$WORK/said"; false; }
  local i
  for i in 1 2 3; do as_bob srun -w n0 -N1 -n1 --stage-file=/etc/hostname true; done
  lab on n0 pkill -CONT -u alice -x bindfs
  wait
}

@test "a stage that times out in the queue names what it waited for" {
  hanging 4
  wait_for 40 queued 2
  input data 100000
  OUT=$WORK/said
  run ! as_alice srun -w n0 -N1 -n1 --stage-timeout=4s --stage-file=data true
  printf '%s\n' "$output" > "$OUT"
  node_sentence "$OUT" n0 'already staging files for 2 other jobs or steps \(MaxStagesPerNode=4.*submit it again'
  lab on n0 pkill -CONT -u alice -x bindfs
  wait
}

@test "64 tasks of an array that come to one node at once all have their files" {
  input data 100000
  script 'cmp "$STAGECAST_FILES" '"$T/data"' && echo GOOD'
  local i
  JOB=$(as_alice sbatch --parsable -a 1-64 -w n0 -N1 -n1 --mem=1 -o "array-%a" --stage-file=data job.sh)
  wait_for 180 no_jobs
  for i in {1..64}; do grep -qx GOOD "$WORK/array-$i" || { echo "task $i:"; cat "$WORK/array-$i"; false; }; done
}

@test "stages of two nodes each that cross on three do not wait for each other" {
  local node
  input data 100000
  cat > "$WORK/crossing.sh" <<'S'
#!/bin/bash
for i in {1..5}; do
  for pair in n0,n1 n1,n2 n0,n2; do srun --overlap -N2 -n2 -w $pair --stage-file=data true & pids+=($!); done
done
for pid in "${pids[@]}"; do wait "$pid" || exit 1; done
echo GOOD
S
  chmod 755 "$WORK/crossing.sh"
  as_alice salloc -Q -N3 -n3 ./crossing.sh > "$WORK/said" 2>&1 || { cat "$WORK/said"; false; }
  grep -qx GOOD "$WORK/said"
  # Else this shows nothing: stages that began on both nodes.
  for node in n0 n1; do log_since "stagecastd-$node" | grep -q 'stage finished' || { echo "none began on $node"; false; }; done
}
