# Tests that the node cache saves the second job its transfer, and verifies everything.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/cache

setup_file() { cluster_up 4 --stagecast CacheDir=$CACHE --stagecast CacheSize=200M; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { test_ends; }

@test "the second job with the same file reads nothing and sends nothing" {
  old_input data 8000001
  run_staged --stage-file=data
  said .bytes_read 8000001
  staged_everywhere "$OUT" data
  wait_for 60 all_keep 8000001
  run_staged --stage-file=data
  staged_everywhere "$OUT" data
  said .bytes_read 0
  said .bytes_here 32000004
  # Offers, answers and the end; 8 MB would be more than 5,500 packets.
  wait_for 10 all_left "$JOB"
  [ "$(sent_by_all "$JOB")" -lt 300 ]
  # The same file for one node alone, and one that is new to the cache.
  submit -N1 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  explained "$JOB" "$(job_field "$JOB" NodeList)"
  said .bytes_read 0
}

@test "a changed file is another one, even with the same size and mtime" {
  old_input data 3000002
  run_staged --stage-file=data
  wait_for 60 all_keep 3000002
  old_input data 3000002
  run_staged --stage-file=data
  said .bytes_read 3000002
  staged_everywhere "$OUT" data
}

@test "a node that has no entry is sent the bytes from the source's, the others take theirs" {
  old_input data 5000003
  run_staged --stage-file=data
  wait_for 60 all_keep 5000003
  lab on n2 find $CACHE/2001 -type f -size 5000003c -delete
  run_staged --stage-file=data
  staged_everywhere "$OUT" data
  said .bytes_here 15000009
  said .bytes_read 0
}

@test "a spoilt entry is not believed, and goes" {
  old_input data 5000004
  run_staged --stage-file=data
  wait_for 60 all_keep 5000004
  lab on n1 bash -c 'printf spoilt | dd of="$0" bs=1 seek=2500000 conv=notrunc status=none' "$(entries n1 5000004)"
  run_staged --stage-file=data
  staged_everywhere "$OUT" data
  said .bytes_here 15000012
  wait_for 60 all_keep 5000004
  run_staged --stage-file=data
  said .bytes_here 20000016
  said .bytes_read 0
}

@test "root lists, verifies and removes entries" {
  old_input data 4000008
  run_staged --stage-file=data
  wait_for 60 all_keep 4000008
  local ls key
  ls=$(lab on n0 /srv/stagecast/bin/stagecast cache ls)
  grep -Eq '^[0-9a-f]{16} +4000008  [-0-9]+ [0-9:]+  alice$' <<< "$ls"
  key=$(awk '$2 == 4000008 { print $1 }' <<< "$ls")
  lab on n0 /srv/stagecast/bin/stagecast cache ls --json > "$WORK/said"
  python3 "$CLUSTER_TESTS/lib/schema.py" cache "$WORK/said"
  [ "$(jq -r '.files[] | select(.bytes == 4000008) | .user' "$WORK/said")" = alice ]
  [[ $(jq -r '.files[] | select(.bytes == 4000008) | .key' "$WORK/said") == "$key"* ]] || false
  run -64 lab on n0 /srv/stagecast/bin/stagecast cache verify --json
  lab on n0 /srv/stagecast/bin/stagecast cache verify > "$WORK/said"
  grep -q ', 0 are not$' "$WORK/said"
  lab on n0 bash -c 'printf spoilt | dd of="$0" bs=1 seek=99 conv=notrunc status=none' "$(entries n0 4000008)"
  run -1 lab on n0 /srv/stagecast/bin/stagecast cache verify
  grep -q "^$key .*SPOILT" <<< "$output"
  run -64 lab on n0 /srv/stagecast/bin/stagecast cache rm 12
  run -77 lab on n0 -u alice /srv/stagecast/bin/stagecast cache ls
  lab on n0 /srv/stagecast/bin/stagecast cache rm "$key" | grep -qx '1 removed'
  [ -z "$(entries n0 4000008)" ]
  run_staged --stage-file=data
  staged_everywhere "$OUT" data
  said .bytes_here 12000024
}

@test "a job's changes of its copy change nothing in the cache" {
  old_input data 5000005
  script 'srun bash -c "chmod u+w \$STAGECAST_DIR/data; echo spoilt > \$STAGECAST_DIR/data"'
  submit -N4 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  run_staged --stage-file=data
  staged_everywhere "$OUT" data
  run_staged --stage-file=data
  staged_everywhere "$OUT" data
}

@test "another user has no part in it, and can't get at it" {
  old_input data 3000006 644
  chmod 755 "$ALICE" "$WORK"
  run_staged --stage-file=data
  wait_for 60 all_keep 3000006
  script "srun /srv/rank.sh"
  install -d -m 700 -o 2002 -g 2002 "$WORK/bob"
  cp "$WORK/job.sh" "$WORK/bob/"
  JOB=$(lab exec -u bob -d "$T/bob" sbatch --parsable -N4 "--stage-file=$T/data" job.sh)
  wait_job "$JOB" COMPLETED
  explained "$JOB" n0
  said .bytes_read 3000006
  said .bytes_here 0
  chmod 700 "$ALICE"
  # Neither reading, nor writing, nor another name, nor taking its place.
  run ! lab on n0 -u bob ls $CACHE
  run ! lab on n0 -u bob bash -c "cat $CACHE/2001/*"
  run ! lab on n0 -u bob bash -c "echo x > $CACHE/2001/x"
  run ! lab on n0 -u bob mv $CACHE /var/spool/other
  run ! lab on n0 -u bob mkdir $CACHE/3000
  [ "$(lab on n0 stat -c '%U %a' $CACHE)" = 'root 700' ]
  [ "$(lab on n0 stat -c '%U %a' "$(entries n0 3000006)")" = 'root 400' ]
}

@test "a file on FUSE is never taken from the cache: its changes cannot be detected" {
  [ -e /dev/fuse ] || skip "no /dev/fuse here"
  command -v bindfs > /dev/null || skip "no bindfs here"
  local host node
  install -d -m 700 -o 2001 -g 2001 "$WORK/real" "$WORK/mine"
  old_input real/data 3000009
  cp -p "$WORK/real/data" "$WORK/data"
  for host in login "${NODES[@]}"; do lab on "$host" -u alice bindfs --no-allow-other "$T/real" "$T/mine"; done
  for _ in 1 2; do
    run_staged --stage-file=mine/data
    staged_everywhere "$OUT" data
    said .bytes_read 3000009
    said .bytes_here 0
  done
  for node in "${NODES[@]}"; do [ -z "$(entries "$node" 3000009)" ]; done
  for host in login "${NODES[@]}"; do lab on "$host" umount "$T/mine"; done
  # The same file by its own name is known the second time.
  run_staged --stage-file=real/data
  wait_for 60 all_keep 3000009
  run_staged --stage-file=real/data
  said .bytes_read 0
}

@test "tasks of an array that start at once on a node read the file once" {
  old_input data 6000007
  script "srun /srv/rank.sh"
  submit -N1 -n1 -w n1 --array=0-3 --stage-file=data job.sh
  local task sum=0
  wait_for "$JOB_TIMEOUT" no_jobs
  for task in $(lab exec squeue -h -t all -r -o %A -j "$JOB"); do
    explained "$task" n1
    said .outcome '"ok"'
    sum=$((sum + $(jq .bytes_read <<< "$SAID")))
  done
  [ "$sum" = 6000007 ]
}
