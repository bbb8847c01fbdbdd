# Tests that the whole job fails with the reason if one node cannot write the file.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 3 --stagecast MaxBytes=50000000; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { no_place /tmp/d; test_ends; }

# What a healthy node holds after a job that never ran is the whole file or none, and none if it was temporary.
whole_or_absent() {
  local node path want
  want=$(sha256sum < "$WORK/data" | cut -c 1-64)
  for node in "${NODES[@]}"; do
    for path in $(lab on "$node" find /tmp/d -type f); do
      [ "$path $(lab on "$node" sha256sum "$path" | cut -c 1-64)" = "/tmp/d/data $want" ] || { echo "$node: $path"; return 1; }
    done
  done
}
gone_everywhere() {
  local node
  for node in "${NODES[@]}"; do [ -z "$(lab on "$node" find /tmp/d -type f)" ] || return 1; done
}

@test "full: sbatch, srun, salloc" {
  input data 5000000
  place /tmp/d
  disk_full n1 /tmp/d
  sbatch_fails --stage-file=data:/tmp/d/data:temp
  sentence "$OUT" n1 /tmp/d/data 'No space left on device'
  srun_fails --stage-file=data:/tmp/d/data:temp
  sentence "$OUT" n1 /tmp/d/data 'No space left on device'
  salloc_fails --stage-file=data:/tmp/d/data:temp
  sentence "$OUT" n1 /tmp/d/data 'No space left on device'
  wait_for 10 gone_everywhere || { echo "a temporary file stayed"; false; }
  no_disk_full n1 /tmp/d
}

@test "not writable" {
  input data 100000
  place /tmp/d
  lab on n1 chown root /tmp/d
  sbatch_fails --stage-file=data:/tmp/d/data
  sentence "$OUT" n1 /tmp/d/data 'Permission denied'
}

not_made() { local node; for node in "${NODES[@]}"; do lab on "$node" test ! -e /tmp/made || return 1; done; }
@test "missing directories are made, and go with a temporary file or a failed staging" {
  input data 100000
  as_alice srun -N3 --stage-file=data:/tmp/made/a/data:temp sh -c 'cmp /tmp/made/a/data data && stat -c %U /tmp/made' > "$WORK/out"
  [ "$(grep -cx alice "$WORK/out")" = 3 ]
  wait_for 20 not_made
  place /tmp/d
  lab on n1 chown root /tmp/d
  # (What was whole at an absolute DST stays where it is, with the directories above it.)
  sbatch_fails --stage-file=data:/tmp/made/a/data:temp --stage-file=data:/tmp/d/data
  wait_for 20 not_made
}

@test "on a shared file system" {
  input data 100000
  sbatch_fails --stage-file=data:/home/alice/copy
  node_sentence "$OUT" 'n[0-2]' '/home/alice/copy.*share'
  [ ! -e "$ALICE/copy" ]
}

# (What the submitting host knows it refuses: 20_submission. A name with a pattern only nodes know.)
@test "outside DestRoots" {
  input data 100000
  sbatch_fails --stage-file=data:/dev/shm/%j
  node_sentence "$OUT" 'n[0-2]' '/dev/shm/[0-9]+.*not allowed'
}

@test "a prefix of a root's name is not below that root" {
  input data 100000
  sbatch_fails --stage-file=data:/tmpfile%j
  node_sentence "$OUT" 'n[0-2]' '/tmpfile[0-9]+.*not allowed'
}

@test "existing and different; existing and the same" {
  input data 100000
  place /tmp/d
  lab on n1 -u alice bash -c 'echo mine > /tmp/d/data'
  sbatch_fails --stage-file=data:/tmp/d/data
  sentence "$OUT" n1 /tmp/d/data '(exists|differ)'
  [ "$(lab on n1 cat /tmp/d/data)" = mine ]
  lab on n1 rm /tmp/d/data
  whole_or_absent
  OUT=$WORK/out
  as_alice srun -N3 --stage-file=data:/tmp/d/data /srv/rank.sh > "$OUT"
  staged_everywhere "$OUT" data
  as_alice srun -N3 --stage-file=data:/tmp/d/data /srv/rank.sh > "$OUT"
  staged_everywhere "$OUT" data
}

@test "keep, newer and overwrite say what happens to an existing file" {
  input data 100000
  place /tmp/d
  local mine='[ "$(cat /tmp/d/data)" = mine ]'
  lab on n1 -u alice bash -c 'echo mine > /tmp/d/data'
  as_alice srun -N3 --stage-file=data:/tmp/d/data:keep true
  lab on n1 bash -c "$mine"
  lab on n1 touch -d '2030-01-01' /tmp/d/data
  as_alice srun -N3 --stage-file=data:/tmp/d/data:newer true
  lab on n1 bash -c "$mine"
  lab on n1 touch -d '1990-01-01' /tmp/d/data
  as_alice srun -N3 --stage-file=data:/tmp/d/data:newer /srv/rank.sh > "$WORK/out"
  staged_everywhere "$WORK/out" data
  lab on n1 -u alice bash -c 'echo mine > /tmp/d/data'
  as_alice srun -N3 --stage-file=data:/tmp/d/data:overwrite /srv/rank.sh > "$WORK/out"
  staged_everywhere "$WORK/out" data
  lab on n1 -u alice ln -sfn nowhere /tmp/d/data
  sbatch_fails --stage-file=data:/tmp/d/data:keep
  sentence "$OUT" n1 /tmp/d/data 'neither a file nor a link'
  lab on n1 rm /tmp/d/data
}

no_job_directory() {
  local node
  for node in "${NODES[@]}"; do [ -z "$(lab on "$node" ls /var/spool/stagecast)" ] || return 1; done
}

@test "temp removes the staged file, and neither the source nor an earlier file" {
  input data 100000
  place /tmp/d
  lab on n0 -u alice cp "$T/data" /tmp/d/data
  lab on n1 -u alice bash -c 'echo mine > /tmp/d/data'
  as_alice srun -N3 --stage-file=/tmp/d/data:/tmp/d/data:keep+temp+late test -e /tmp/d/data
  wait_for 20 no_job_directory
  [ "$(lab on n0 sha256sum /tmp/d/data | cut -c 1-64)" = "$(sha256sum < "$WORK/data" | cut -c 1-64)" ]
  [ "$(lab on n1 cat /tmp/d/data)" = mine ]
  lab on n2 test ! -e /tmp/d/data
  lab on n1 -u alice cp "$T/data" /tmp/d/data
  as_alice srun -N3 --stage-file=data:/tmp/d/data:temp test -e /tmp/d/data
  wait_for 20 no_job_directory
  lab on n0 test -e /tmp/d/data
  lab on n1 test -e /tmp/d/data
  lab on n2 test ! -e /tmp/d/data
}

@test "several jobs have one temporary file: it is removed with the last of them" {
  input data 1000
  place /tmp/d
  local first second flag
  for flag in temp overwrite+temp; do
    rm -f "$WORK"/began.* "$WORK"/go.*
    script "touch began.\$SLURM_JOB_ID; while [ ! -e go.\$SLURM_JOB_ID ]; do sleep 0.1; done; srun cat /tmp/d/data | wc -c"
    submit -N3 "--stage-file=data:/tmp/d/data:$flag" job.sh
    first=$JOB
    wait_for 30 test -e "$WORK/began.$first"
    submit -N3 "--stage-file=data:/tmp/d/data:$flag" job.sh
    second=$JOB
    wait_for 30 test -e "$WORK/began.$second"
    if [ "$flag" = overwrite+temp ]; then JOB=$first first=$second second=$JOB; fi
    touch "$WORK/go.$first"
    wait_job "$first" COMPLETED
    wait_for 10 directory_gone "$first"
    touch "$WORK/go.$second"
    wait_job "$second" COMPLETED
    [ "$(cat "$WORK/slurm-$first.out")" = 3000 ]
    [ "$(cat "$WORK/slurm-$second.out")" = 3000 ]
    wait_for 10 gone_everywhere || { echo "a temporary file stayed"; false; }
  done
}
directory_gone() {
  local node
  for node in "${NODES[@]}"; do lab on "$node" test ! -e "/var/spool/stagecast/$1" || return 1; done
}

@test "temp goes, though the job has emptied its directory" {
  input data 100000
  place /tmp/d
  as_alice srun -N3 --stage-file=data:/tmp/d/data:temp --stage-file=data bash -c '
    test -e /tmp/d/data || exit 1; rm -r "$STAGECAST_DIR"/* "$STAGECAST_DIR"/.[!.]*'
  wait_for 20 no_job_directory
  local node
  for node in "${NODES[@]}"; do lab on "$node" test ! -e /tmp/d/data; done
  script 'srun -N3 --stage-file=data:/tmp/d/step:temp bash -c "rm -r /var/spool/stagecast/\$SLURM_JOB_ID/step.*"'
  submit -N3 job.sh
  wait_job "$JOB" COMPLETED
  wait_for 20 no_job_directory
  for node in "${NODES[@]}"; do lab on "$node" test ! -e /tmp/d/step; done
}

@test "a list that was not followed to its end is followed by a sweep" {
  input data 1000
  place /tmp/d
  script true
  submit -N3 --stage-file=data:/tmp/d/data:temp job.sh
  wait_job "$JOB" COMPLETED
  wait_for 20 no_job_directory
  lab on n1 -u alice bash -c 'echo x > /tmp/d/left'
  lab on n1 bash -c 'mkdir -m 700 /var/spool/stagecast/.stagecast
    printf "/tmp/d/left\0" > "/var/spool/stagecast/.stagecast/2001.2001.$0"' "$JOB"
  restart_daemon n1
  wait_for 20 lab on n1 test ! -e /tmp/d/left
  wait_for 10 lab on n1 test ! -e /var/spool/stagecast/.stagecast
}

@test "a directory of that name" {
  input data 100000
  place /tmp/d
  lab on n1 -u alice mkdir /tmp/d/data
  sbatch_fails --stage-file=data:/tmp/d/data
  sentence "$OUT" n1 /tmp/d/data 'directory'
}

@test "the quota is used up (EDQUOT)" {
  input data 3000000
  place /tmp/d
  fault n1 'write 122 1000000 /tmp/d/'
  sbatch_fails --stage-file=data:/tmp/d/data
  no_fault n1
  sentence "$OUT" n1 /tmp/d/data 'Disk quota exceeded'
  whole_or_absent
}

# stops_late ARGS...: n0 and n1 have /tmp/d/data, and the worker of n2 stands.
stops_late() {
  script 'cat /tmp/d/data | wc -c'
  submit -N3 "$@" job.sh
  wait_for 40 has_worker n2
  lab on n2 pkill -STOP -u alice -x stagecast-worke
  wait_for 20 lab on n0 test -e /tmp/d/data
  wait_for 20 lab on n1 test -e /tmp/d/data
}
has_worker() { lab on "$1" pgrep -u alice -x stagecast-worke; }
slow_source() { fault n0 'read 200 /home/alice/'; }

@test "the staging fails once others are done: what they have is whole, and the next job finds it" {
  input data 5000000
  place /tmp/d
  slow_source
  stops_late --stage-file=data:/tmp/d/data
  lab on n2 pkill -KILL -u alice -x stagecast-worke
  wait_job "$JOB" FAILED
  no_rank_ran "$OUT"
  node_sentence "$OUT" n2 '(killed|signal|ended|died)'
  no_fault n0
  whole_or_absent
  as_alice srun -N3 --stage-file=data:/tmp/d/data /srv/rank.sh > "$WORK/out"
  staged_everywhere "$WORK/out" data
}

@test "a job ends while another's staging has found its temporary file, by name or by a list: it stays for that one" {
  input data 5000000
  place /tmp/d
  local first spec
  as_alice bash -c 'echo "$0/data:/tmp/d/data:temp" > "$0/list"' "$T"
  for spec in data:/tmp/d/data:temp @list; do
    rm -f "$WORK/go"
    script 'while [ ! -e go ]; do sleep 0.1; done'
    submit -N2 -w n0,n1 --stage-file=data:/tmp/d/data:temp job.sh
    first=$JOB
    wait_for 20 lab on n1 test -e /tmp/d/data
    slow_source
    stops_late "--stage-file=$spec"
    touch "$WORK/go"
    wait_job "$first" COMPLETED
    wait_for 10 directory_gone "$first"
    lab on n2 pkill -CONT -u alice -x stagecast-worke
    wait_job "$JOB" COMPLETED
    no_fault n0
    [ "$(cat "$OUT")" = 5000000 ]
    wait_for 20 gone_everywhere || { echo "a temporary file stayed"; false; }
  done
}

@test "the disk fails (EIO), below StageRoot too" {
  input data 3000000
  fault n2 'write 5 1000000 /var/spool/stagecast/'
  srun_fails --stage-file=data
  no_fault n2
  sentence "$OUT" n2 data 'Input/output error'
}

@test "two nodes fail, each in its own way: both are named" {
  input data 5000000
  place /tmp/d
  disk_full n1 /tmp/d
  lab on n2 chown root /tmp/d
  sbatch_fails --stage-file=data:/tmp/d/data
  no_disk_full n1 /tmp/d
  grep 'stagecast: node n[12]' "$OUT" > "$WORK/said"
  grep -q 'n1' "$WORK/said" && grep -q 'n2' "$WORK/said" || { cat "$OUT"; false; }
  [ "$(wc -l < "$WORK/said")" = 1 ]
}

@test "more than MaxBytes" {
  input data 50000001
  sbatch_fails --stage-file=data::late
  node_sentence "$OUT" 'n[0-2]' 'MaxBytes'
  run as_alice sbatch -N3 --stage-file=data --wrap true
  [ "$status" != 0 ]
  [[ $output == *'the files to stage have 50000001 bytes, this site allows 50000000 bytes; stage less, '*MaxBytes* ]] || { echo "$output"; false; }
}
