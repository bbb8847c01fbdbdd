# Tests that an archive is extracted again without being read or sent, and that everything is verified.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault
load lib/cache

setup_file() {
  cluster_up 3 --stagecast CacheDir=$CACHE --stagecast CacheSize=40M --stagecast MaxBytes=100000000
  install -m 755 "$CLUSTER_TESTS/attack/archives.py" "$CLUSTER_DIR/srv/"
  look_script
}
teardown_file() { cluster_down; }
setup() {
  test_begins
  later_try
  RANK='/srv/look.sh $STAGECAST_DIR/env'
}
teardown() { heal; no_place /tmp/d; no_place /tmp/outside; test_ends; }

# pack NAME: of the tree, so old that it is known again; BYTES is how long it is.
pack() {
  tar -C "$WORK/env" --owner=2001 --group=2001 -cf "$WORK/$1" .
  chown 2001:2001 "$WORK/$1"
  touch -d '2024-02-29 12:34:56' "$WORK/$1"
  BYTES=$(stat -c %s "$WORK/$1")
  wait_for 10 is_old "$1"
}

nothing_there() {
  local node
  for node in "${NODES[@]}"; do [ -z "$(lab on "$node" find /tmp/d -mindepth 1)" ] || return 1; done
}

@test "the second job with the same archive reads nothing and sends nothing" {
  tree 8000000
  pack env.tar
  run_staged --stage-file=env.tar::extract
  unpacked_everywhere
  said .bytes_read "$BYTES"
  wait_for 60 all_keep "$BYTES"
  run_staged --stage-file=env.tar::extract
  unpacked_everywhere
  said .bytes_read 0
  said .bytes_here "$((3 * BYTES))"
  # Offers, answers and the end; 9 MB would be more than 6,000 packets.
  wait_for 10 all_left "$JOB"
  [ "$(sent_by_all "$JOB")" -lt 300 ]
  [ "$(lab on n1 stat -c '%U %a' "$(entries n1 "$BYTES")")" = 'root 400' ]
  # The same bytes as a file, and on one node alone.
  RANK=/srv/rank.sh run_staged --stage-file=env.tar
  staged_everywhere "$OUT" env.tar
  said .bytes_read 0
  script "srun $RANK"
  submit -N1 --stage-file=env.tar::extract job.sh
  wait_job "$JOB" COMPLETED
  explained "$JOB" "$(job_field "$JOB" NodeList)"
  said .bytes_read 0
}

@test "an archive that was staged as a file, and a zip" {
  tree 3000000
  (cd "$WORK/env" && zip -qry ../env.zip .)
  chown 2001:2001 "$WORK/env.zip"
  BYTES=$(stat -c %s "$WORK/env.zip")
  wait_for 10 is_old env.zip
  RANK=/srv/rank.sh run_staged --stage-file=env.zip
  wait_for 60 all_keep "$BYTES"
  run_staged --stage-file=env.zip::extract
  unpacked_everywhere
  said .bytes_read 0
  said .bytes_here "$((3 * BYTES))"
}

@test "one member changed, and the archive made again with its length and time: everything again" {
  tree 3000000
  pack env.tar
  run_staged --stage-file=env.tar::extract
  wait_for 60 all_keep "$BYTES"
  head -c 370 /dev/urandom > "$WORK/env/lib/site/10.py"
  touch -d '2024-02-29 12:34:56' "$WORK/env/lib/site/10.py"
  pack env.tar
  run_staged --stage-file=env.tar::extract
  unpacked_everywhere
  said .bytes_read "$BYTES"
  said .bytes_here 0
}

@test "a node that has no entry is sent the bytes from the source's, the others unpack theirs" {
  tree 4000000
  pack env.tar
  run_staged --stage-file=env.tar::extract
  wait_for 60 all_keep "$BYTES"
  lab on n2 find $CACHE/2001 -type f -size "${BYTES}c" -delete
  run_staged --stage-file=env.tar::extract
  unpacked_everywhere
  said .bytes_here "$((2 * BYTES))"
  said .bytes_read 0
  wait_for 60 all_keep "$BYTES"
}

@test "a spoilt entry is not unpacked, and goes" {
  tree 5000000
  pack env.tar
  run_staged --stage-file=env.tar::extract
  wait_for 60 all_keep "$BYTES"
  lab on n1 bash -c 'printf spoilt | dd of="$0" bs=1 seek=2500000 conv=notrunc status=none' "$(entries n1 "$BYTES")"
  run_staged --stage-file=env.tar::extract
  unpacked_everywhere
  said .bytes_here "$((2 * BYTES))"
  wait_for 60 all_keep "$BYTES"
  run_staged --stage-file=env.tar::extract
  unpacked_everywhere
  said .bytes_here "$((3 * BYTES))"
}

@test "hostile archives that the cache has: the same sentence, and nothing anywhere" {
  as_alice python3 /srv/archives.py "$T"
  place /tmp/d
  place /tmp/outside
  local one why node bytes
  for node in "${NODES[@]}"; do lab on "$node" -u alice bash -c 'echo secret > /tmp/outside/secret'; done
  wait_for 10 is_old through.zip
  while read -r one why; do
    bytes=$(stat -c %s "$WORK/$one")
    RANK=/srv/rank.sh run_staged --stage-file="$one"
    wait_for 60 all_keep "$bytes"
    srun_fails --stage-file="$one:/tmp/d/x:extract"
    sentence "$OUT" '[^ ]*' "$T/$one" "$why"
    wait_for 10 nothing_there
    all_keep "$bytes"
    for node in "${NODES[@]}"; do lab on "$node" find $CACHE/2001 -type f -size "${bytes}c" -delete; done
  done <<'END'
up.tar goes up by
absolute.tar.gz absolute name
through.tar lies below 'way', which is a link
hard.tar absolute name
device.tar is a device
fifo.tar is a device, a pipe
bomb.tar.gz unpacks to more than
up.zip goes up by
END
  for node in "${NODES[@]}"; do
    [ "$(lab on "$node" bash -c 'cd /tmp/outside && ls && cat secret && stat -c %h secret' | paste -sd,)" = secret,secret,1 ]
  done
}

unpacking() { lab on n1 bash -c 'ls -d /tmp/d/.x.stagecast.*/lib'; }

@test "a job is cancelled while a node extracts its entry: no partial file stays, the entry does" {
  tree 12000000
  pack env.tar
  run_staged --stage-file=env.tar::extract
  wait_for 60 all_keep "$BYTES"
  place /tmp/d
  fault n1 "read 100 $CACHE"
  script 'echo SCRIPT'
  submit -N3 --stage-file=env.tar:/tmp/d/x:extract+temp job.sh
  wait_for 40 unpacking
  lab exec scancel "$JOB"
  wait_job "$JOB" CANCELLED
  no_fault n1
  wait_for 20 nothing_there || { for one in "${NODES[@]}"; do lab on "$one" find /tmp/d | head; done; false; }
  all_keep "$BYTES"
  run_staged --stage-file=env.tar::extract
  unpacked_everywhere
  said .bytes_here "$((3 * BYTES))"
}

@test "a node that extracts its entry slowly is waited for, like a receiver" {
  tree 11000000
  pack env.tar
  run_staged --stage-file=env.tar::extract
  wait_for 60 all_keep "$BYTES"
  fault n1 "read 200 $CACHE"   # More than StallTimeout in all.
  run_staged --stage-file=env.tar::extract
  unpacked_everywhere
  said .bytes_here "$((3 * BYTES))"
}

@test "a node without enough space for the contents is named; a cache without space keeps nothing" {
  tree 6000000
  pack env.tar
  run_staged --stage-file=env.tar::extract
  wait_for 60 all_keep "$BYTES"
  place /tmp/d
  disk_full n1 /tmp/d
  sbatch_fails --stage-file=env.tar:/tmp/d/x:extract+temp
  sentence "$OUT" n1 /tmp/d/x 'No space left on device'
  no_disk_full n1 /tmp/d
  wait_for 10 nothing_there
  tree 50000000
  pack more.tar
  run_staged --stage-file=more.tar:env:extract
  unpacked_everywhere
  said .outcome '"ok"'
  wait_for 20 grep -q 'cannot keep a file in the node cache' <(daemon_logs)
  [ -z "$(entries n0 "$BYTES")" ]
}

@test "another user's job with the same archive has nothing of it" {
  tree 3500000
  pack env.tar
  chmod 755 "$ALICE" "$WORK"
  chmod 644 "$WORK/env.tar"
  wait_for 10 is_old env.tar
  run_staged --stage-file=env.tar::extract
  wait_for 60 all_keep "$BYTES"
  install -d -m 700 -o 2002 -g 2002 "$WORK/bob"
  cp "$WORK/job.sh" "$WORK/bob/"
  JOB=$(lab exec -u bob -d "$T/bob" sbatch --parsable -N3 "--stage-file=$T/env.tar::extract" job.sh)
  wait_job "$JOB" COMPLETED
  explained "$JOB" n0
  said .bytes_read "$BYTES"
  said .bytes_here 0
  chmod 700 "$ALICE"
}
