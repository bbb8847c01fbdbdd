# Tests that a directory is staged as a whole on every node, or is absent.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 3 --stagecast MaxBytes=50000000 --stagecast RateMax=40mbit; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { no_place /tmp/d; test_ends; }

# tree NAME: directories, empty and full, small files and a long one, links of both kinds, a file of holes.
tree() {
  local top=$WORK/$1 i
  mkdir -p "$top/a/b" "$top/empty"
  for ((i = 0; i < 300; i++)); do echo "$1 $i" > "$top/a/$i"; done
  head -c 3000000 /dev/urandom > "$top/a/b/long"
  ln "$top/a/b/long" "$top/again"
  ln -s a/b/long "$top/link"
  ln -s /no/where "$top/dangling"
  : > "$top/nothing"
  printf x > "$top/"$'odd \n\xff name'
  truncate -s 20000000 "$top/holes"
  chmod 500 "$top/a/b"
  chmod 751 "$top/a/7"
  chown -R -h 2001:2001 "$top"
  find "$top" -exec touch -h -d '2024-02-29 12:34:56.789' {} +
}

# What a tree is, as one line a member and a digest of all contents; to be run at both ends.
look() {
  cat <<'END'
cd "$1" && find . -printf '%P %y %m %U %G %T@ %n %l' \( -type d -printf '\n' -o -printf ' %s\n' \) | LC_ALL=C sort
find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum
stat -c %i again a/b/long | uniq | wc -l
END
}

# same_everywhere NAME PATH [NODE...]: what lies there is the tree.
same_everywhere() {
  local name=$1 path=$2 node
  shift 2
  [ $# -gt 0 ] || set -- "${NODES[@]}"
  bash -c "$(look)" look "$WORK/$name" > "$WORK/want" || return 1
  for node; do
    lab on "$node" bash -c "$(look)" look "$path" > "$WORK/have" || return 1
    diff "$WORK/want" "$WORK/have" || { echo "on $node"; return 1; }
  done
}

nothing_there() {
  local node
  for node in "${NODES[@]}"; do [ -z "$(lab on "$node" find /tmp/d -mindepth 1)" ] || return 1; done
}

@test "a tree arrives: modes, times, owner, links, holes" {
  tree data
  place /tmp/d
  as_alice srun -N3 --stage-file=data:/tmp/d/data \
    bash -c 'echo "$STAGECAST_FILES"' > "$WORK/files"
  [ "$(grep -cx /tmp/d/data "$WORK/files")" = 3 ]
  same_everywhere data /tmp/d/data
  local node
  for node in "${NODES[@]}"; do [ "$(lab on "$node" stat -c %b /tmp/d/data/holes)" -lt 100 ]; done
}

@test "in the job's own directory, beside a file, by sbatch" {
  tree data
  input file 100000
  script 'srun bash -c "ls \$STAGECAST_DIR; cat \$STAGECAST_DIR/file | wc -c; cat \$STAGECAST_DIR/data/a/299"'
  submit -N3 --stage-file=data/ --stage-file=file job.sh
  wait_job "$JOB" COMPLETED
  [ "$(sort "$OUT" | uniq -c | tr -s ' ' | paste -sd,)" = ' 3 100000, 3 data, 3 data 299, 3 file' ] || { cat "$OUT"; false; }
}

@test "a second job replaces, with overwrite; without it an existing one is an error" {
  tree data
  place /tmp/d
  as_alice srun -N3 --stage-file=data:/tmp/d/data true
  lab on n1 -u alice bash -c 'echo mine > /tmp/d/data/mine'
  sbatch_fails --stage-file=data:/tmp/d/data
  sentence "$OUT" 'n[012]' /tmp/d/data 'exists already'
  lab on n1 test -e /tmp/d/data/mine
  as_alice srun -N3 --stage-file=data:/tmp/d/data:keep true
  lab on n1 test -e /tmp/d/data/mine
  echo other > "$WORK/data/a/0"
  as_alice srun -N3 --stage-file=data:/tmp/d/data:overwrite true
  same_everywhere data /tmp/d/data
}

@test "temp: gone at the job's end" {
  tree data
  place /tmp/d
  as_alice srun -N3 --stage-file=data:/tmp/d/data:temp test -e /tmp/d/data/a/b/long
  wait_for 20 nothing_there || { lab on n0 find /tmp/d; false; }
}

@test "names that move from one directory to another at the start: all arrive, or the job fails" {
  local before
  mkdir -p "$WORK/box/cur" "$WORK/box/new"
  (cd "$WORK/box" && seq -f 'cur/c%g' 30000 | xargs touch && seq -f 'new/n%g' 3000 | xargs touch)
  chown -R 2001:2001 "$WORK/box"
  before=$(lab on n0 pgrep -c stagecast-worke || true)
  as_alice srun -N3 --stage-file=box sh -c 'find $STAGECAST_DIR/box -type f | wc -l' > "$WORK/counts" 2>&1 &
  for _ in {1..400}; do
    [ "$(lab on n0 pgrep -c stagecast-worke || true)" = "$before" ] || break
    sleep 0.01
  done
  mv "$WORK"/box/new/* "$WORK/box/cur/"
  wait $! || true
  if grep -q 'changed while it was read\|No such file' "$WORK/counts"; then return; fi
  [ "$(grep -cx 33000 "$WORK/counts")" = 3 ] || { cat "$WORK/counts"; false; }
}

@test "a member that does not report its size: named" {
  srun_fails --stage-file=/proc/sys/kernel/random
  sentence "$OUT" n0 '/proc/sys/kernel/random/[a-z_]*' 'does not report its size'
}

@test "an unreadable member, a pipe: named, and nothing is anywhere" {
  tree data
  place /tmp/d
  chmod 000 "$WORK/data/a/7"
  chown 0:0 "$WORK/data/a/7"
  sbatch_fails --stage-file=data:/tmp/d/data
  sentence "$OUT" n0 "$T/data/a/7" 'Permission denied'
  rm "$WORK/data/a/7"
  mkfifo "$WORK/data/a/pipe"
  srun_fails --stage-file=data:/tmp/d/data
  sentence "$OUT" n0 "$T/data/a/pipe" 'is a pipe'
  nothing_there
}

@test "a full disk, no inodes: each node that lacks something is named, nothing stays" {
  tree data
  place /tmp/d
  disk_full n1 /tmp/d
  lab on n2 mount -t tmpfs -o nr_inodes=100,mode=1777 few /tmp/d
  sbatch_fails --stage-file=data:/tmp/d/data:temp
  sentence "$OUT" n1 /tmp/d/data 'No space left on device; .* are needed'
  grep -q 'n2.*inodes are needed' "$OUT" || { cat "$OUT"; false; }
  wait_for 10 nothing_there
  no_disk_full n1 /tmp/d
  no_disk_full n2 /tmp/d
}

@test "more than MaxBytes, holes not counted" {
  tree data
  truncate -s 900000000 "$WORK/data/holes"
  place /tmp/d
  as_alice srun -N3 --stage-file=data:/tmp/d/data:temp true
  head -c 50000000 /dev/zero > "$WORK/data/a/large"
  chown 2001:2001 "$WORK/data/a/large"
  sbatch_fails --stage-file=data:/tmp/d/data
  node_sentence "$OUT" n0 'MaxBytes'
}

receiving() { lab on n1 bash -c 'ls -d /tmp/d/.data.stagecast.*/a'; }

@test "a worker is killed at work: nothing stays" {
  tree data
  head -c 20000000 /dev/urandom > "$WORK/data/large"
  chown 2001:2001 "$WORK/data/large"
  place /tmp/d
  script 'echo SCRIPT'
  submit -N3 --stage-file=data:/tmp/d/data job.sh
  wait_for 40 receiving
  lab on n1 pkill -KILL -u alice -x stagecast-worke
  wait_job "$JOB" FAILED
  no_rank_ran "$OUT"
  wait_for 20 nothing_there || { lab on n1 find /tmp/d | head; false; }
}

@test "a member changes while it is read: it is named, and one that grows has its earlier length" {
  tree data
  head -c 20000000 /dev/urandom > "$WORK/data/large"
  seq 9 > "$WORK/data/log"
  chown 2001:2001 "$WORK/data/large" "$WORK/data/log"
  while sleep 0.01; do echo more >> "$WORK/data/log"; done 3>&- &
  local writer=$!
  as_alice srun -N3 --stage-file=data sh -c 'cmp -n 18 $STAGECAST_DIR/data/log data/log'
  kill $writer
  place /tmp/d
  script 'echo SCRIPT'
  submit -N3 --stage-file=data:/tmp/d/data job.sh
  wait_for 40 receiving
  truncate -s 1000 "$WORK/data/large"
  wait_job "$JOB" FAILED
  sentence "$OUT" n0 "$T/data/large" 'changed while it was read'
  wait_for 20 nothing_there
}
