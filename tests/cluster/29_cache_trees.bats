# Tests that a directory is made again without being read or sent, and that everything is verified.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault
load lib/cache

setup_file() {
  cluster_up 3 --stagecast CacheDir=$CACHE --stagecast CacheSize=40M
  look_script
}
teardown_file() { cluster_down; }
setup() {
  test_begins
  later_try
  RANK='/srv/look.sh $STAGECAST_DIR/env'
}
teardown() { heal; no_place /tmp/d; test_ends; }

# old_tree BYTES: a tree so old that it is known again; BYTES is what is in its files, KEPT how long it is in a cache. What is
# read of it is a little more, its index.
tree_is_old() { [ "$(($(date +%s) - $(find "$WORK/env" -printf '%C@\n' | cut -d. -f1 | sort -n | tail -n 1)))" -ge 4 ]; }
old_tree() {
  tree "$1"
  settled_tree
}
settled_tree() {
  BYTES=$(find "$WORK/env" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')
  KEPT=$((BYTES + 1048576))
  wait_for 10 tree_is_old
}

read_whole() { [ "$(jq .bytes_read <<< "$SAID")" -ge "$BYTES" ] || { echo "not $BYTES read in $SAID"; return 1; }; }

@test "the second job with the same tree reads nothing and sends nothing" {
  old_tree 8000000
  run_staged --stage-file=env
  unpacked_everywhere
  read_whole
  wait_for 60 all_keep "$KEPT"
  run_staged --stage-file=env
  unpacked_everywhere
  said .bytes_read 0
  said .bytes_here "$((3 * BYTES))"
  # Offers, answers and the end; 9 MB would be more than 6,000 packets.
  wait_for 10 all_left "$JOB"
  [ "$(sent_by_all "$JOB")" -lt 300 ]
  [ "$(lab on n1 stat -c '%U %a' "$(entries n1 "$KEPT")")" = 'root 400' ]
}

@test "one member's time changed, or one's bytes and no time: everything again" {
  old_tree 3000000
  run_staged --stage-file=env
  wait_for 60 all_keep "$KEPT"
  touch -d '2024-02-29 12:34:57' "$WORK/env/lib/site/10.py"
  settled_tree
  run_staged --stage-file=env
  unpacked_everywhere
  read_whole
  wait_for 60 all_keep "$KEPT" 2
  head -c 370 /dev/urandom > "$WORK/env/lib/site/10.py"
  touch -d '2024-02-29 12:34:57' "$WORK/env/lib/site/10.py"
  settled_tree
  run_staged --stage-file=env
  unpacked_everywhere
  read_whole
  said .bytes_here 0
}

@test "a node that has no entry is sent the tree; a spoilt entry is not believed, and goes" {
  old_tree 4000000
  run_staged --stage-file=env
  wait_for 60 all_keep "$KEPT"
  lab on n2 find $CACHE/2001 -type f -size "${KEPT}c" -delete
  run_staged --stage-file=env
  unpacked_everywhere
  said .bytes_here "$((2 * BYTES))"
  said .bytes_read 0
  wait_for 60 all_keep "$KEPT"
  lab on n1 bash -c 'printf spoilt | dd of="$0" bs=1 seek=2500000 conv=notrunc status=none' "$(entries n1 "$KEPT")"
  run_staged --stage-file=env
  unpacked_everywhere
  said .bytes_here "$((2 * BYTES))"
  wait_for 60 all_keep "$KEPT"
}

making() { lab on n1 bash -c 'ls -d /tmp/d/.x.stagecast.*/lib'; }
nothing_there() {
  local node
  for node in "${NODES[@]}"; do [ -z "$(lab on "$node" find /tmp/d -mindepth 1)" ] || return 1; done
}

@test "a slow node is waited for; a job that is cancelled meanwhile leaves nothing, and the entries" {
  old_tree 11000000
  run_staged --stage-file=env
  wait_for 60 all_keep "$KEPT"
  place /tmp/d
  fault n1 "read 400 $CACHE"
  script 'echo SCRIPT'
  submit -N3 --stage-file=env:/tmp/d/x:temp job.sh
  wait_for 40 making
  lab exec scancel "$JOB"
  wait_job "$JOB" CANCELLED
  wait_for 20 nothing_there || { for one in "${NODES[@]}"; do lab on "$one" find /tmp/d | head; done; false; }
  all_keep "$KEPT"
  run_staged --stage-file=env
  unpacked_everywhere
  said .bytes_here "$((3 * BYTES))"
}

@test "a job's changes of its tree change nothing in the cache, and another user cannot use the entry" {
  old_tree 3500000
  RANK='bash -c "echo spoilt > \$STAGECAST_DIR/env/lib/site/299.py; rm \$STAGECAST_DIR/env/bin/tool"' run_staged --stage-file=env
  run_staged --stage-file=env
  unpacked_everywhere
  wait_for 60 all_keep "$KEPT"
  chmod 755 "$ALICE" "$WORK"
  install -d -m 700 -o 2002 -g 2002 "$WORK/bob"
  cp "$WORK/job.sh" "$WORK/bob/"
  JOB=$(lab exec -u bob -d "$T/bob" sbatch --parsable -N3 "--stage-file=$T/env" job.sh)
  wait_job "$JOB" COMPLETED
  explained "$JOB" n0
  read_whole
  said .bytes_here 0
  chmod 700 "$ALICE"
}

@test "a tree for which a node or a cache has no room fails or runs as ever, and is not kept" {
  old_tree 50000000
  run_staged --stage-file=env
  unpacked_everywhere
  said .outcome '"ok"'
  wait_for 20 grep -q 'cannot keep a file in the node cache' <(daemon_logs)
  [ -z "$(entries n0 "$KEPT")" ]
  place /tmp/d
  disk_full n1 /tmp/d
  sbatch_fails --stage-file=env:/tmp/d/x:temp
  sentence "$OUT" n1 /tmp/d/x 'No space left on device'
  no_disk_full n1 /tmp/d
}
