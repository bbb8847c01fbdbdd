# Tests that root never opens a user's path, and never follows a symbolic link that a user made.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 3 --stagecast RateMax=200mbit; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { no_place /tmp/d; heal; test_ends; }

# A mount that refuses root on every host, as root squash does: FUSE without allow_root.
squash() {
  install -d -m 700 -o 2001 -g 2001 "$WORK/real" "$WORK/squash"
  local host
  for host in login "${NODES[@]}"; do
    lab on "$host" -u alice bindfs --no-allow-other "$T/real" "$T/squash" || skip "no FUSE on this machine"
  done
  run ! lab on n1 ls "$T/squash"   # that it refuses root is what the test rests on
}
unsquash() {
  local host
  for host in login "${NODES[@]}"; do lab on "$host" umount "$T/squash"; done
}

@test "a source that root may not read" {
  squash
  input real/data 2000000
  script 'srun /srv/rank.sh'
  submit -N3 --stage-file=squash/data job.sh
  wait_job "$JOB" COMPLETED
  cp -p "$WORK/real/data" "$WORK/data"
  staged_everywhere "$OUT" data
  OUT=$WORK/out
  as_alice srun -N3 --stage-file=squash/data /srv/rank.sh > "$OUT"
  unsquash
  staged_everywhere "$OUT" data
}

@test "a file that the user may read only through a supplementary group" {
  input data 100000 640
  chown 0:2100 "$WORK/data"
  OUT=$WORK/out
  as_alice srun -N3 --stage-file=data bash -c 'sha256sum < $STAGECAST_DIR/data' > "$OUT"
  [ "$(grep -c "$(sha256sum < "$WORK/data")" "$OUT")" = 3 ]
}

# The group that passwd names need not be in the group database, and newgrp, sg and sbatch --gid give another one.
@test "a job of another group than its user's own reads, and keeps, files of that group" {
  input data 100000 640
  chown 0:2001 "$WORK/data"
  input own 1000 640
  OUT=$WORK/out
  echo 'sha256sum < $STAGECAST_DIR/data; stat -c %g $STAGECAST_DIR/own; id -g' > "$WORK/look"
  as_alice sg project -c 'srun -N3 --stage-file=data --stage-file=own sh ./look' > "$OUT"
  [ "$(grep -c "$(sha256sum < "$WORK/data")" "$OUT")" = 3 ] || { cat "$OUT"; false; }
  [ "$(grep -cx 2001 "$OUT")" = 3 ] || { cat "$OUT"; false; }
  [ "$(grep -cx 2100 "$OUT")" = 3 ] || { cat "$OUT"; false; }
}

@test "a symlink at the destination is not followed" {
  input data 1000
  place /tmp/d
  lab on n1 bash -c 'echo precious > /tmp/d/precious; chmod 666 /tmp/d/precious'
  lab on n1 -u alice ln -s /tmp/d/precious /tmp/d/data
  sbatch_fails --stage-file=data:/tmp/d/data
  [ "$(lab on n1 cat /tmp/d/precious)" = precious ]
  # overwrite replaces the link itself
  as_alice srun -N3 --stage-file=data:/tmp/d/data:overwrite true
  [ "$(lab on n1 cat /tmp/d/precious)" = precious ]
  [ "$(lab on n1 stat -c %F /tmp/d/data)" = 'regular file' ]
}

@test "a symlink as a directory of the destination does not lead out of DestRoots" {
  input data 1000
  place /tmp/d
  lab on n1 bash -c 'mkdir -m 777 /run/lab/outside'
  lab on n1 -u alice ln -s /run/lab/outside /tmp/d/link
  lab on n0 -u alice mkdir /tmp/d/link
  lab on n2 -u alice mkdir /tmp/d/link
  sbatch_fails --stage-file=data:/tmp/d/link/data
  sentence "$OUT" n1 /tmp/d/link/data '.*'
  [ -z "$(lab on n1 find /run/lab/outside -mindepth 1)" ]
  lab on n1 rmdir /run/lab/outside
}

@test "a user can place nothing at StageRoot" {
  local node
  for node in "${NODES[@]}"; do
    run ! lab on "$node" -u alice ln -s /etc /var/spool/stagecast/99999
  done
}

@test "what the user places in the job's own directory harms no other user at clean-up" {
  input data 1000
  lab on n1 bash -c 'mkdir /run/lab/victim; echo precious > /run/lab/victim/file; chmod -R 777 /run/lab/victim'
  script 'srun bash -c "cd \$STAGECAST_DIR; ln -s /run/lab/victim v; mkdir -p a/b/c; chmod 000 a/b; ln -s / root; mkfifo f; \
    ln -s ../.. up; rm -rf .stagecast; ln -s /run/lab/victim .stagecast"'
  submit -N3 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  wait_for 15 residue_none
  [ "$(lab on n1 cat /run/lab/victim/file)" = precious ]
  lab on n1 rm -r /run/lab/victim
}

@test "stagecastd refuses a StageRoot that is not a directory of root's" {
  local how
  lab on n2 bash -c 'sed "s,^StageRoot=.*,StageRoot=/tmp/d/root," /etc/stagecast/stagecast.conf > /run/lab/bad.conf
    echo RunDir=/run/lab/other >> /run/lab/bad.conf; echo Port=7999 >> /run/lab/bad.conf'
  lab on n2 mkdir -p /tmp/d
  for how in 'mkdir /tmp/d/root; chown alice /tmp/d/root' 'mkdir -m 1777 /tmp/d/root' \
    'ln -s /var/spool/stagecast /tmp/d/root' 'touch /tmp/d/root'; do   # an absent one it makes, as root's
    lab on n2 bash -c "rm -rf /tmp/d/root; $how; chmod 755 /tmp/d"
    # With a RunDir of its own: else it is the running daemon that it refuses.
    run lab on n2 timeout 10 /srv/stagecast/sbin/stagecastd -c /run/lab/bad.conf
    [ "$status" != 0 ] || { echo "after $how: rc 0"; false; }
    [ "$status" != 124 ] || { echo "after $how: it runs: $output"; false; }
    [[ $output == *StageRoot*/tmp/d/root* ]] || { echo "after $how: $output"; false; }
  done
  lab on n2 bash -c 'rm -rf /tmp/d/root /run/lab/bad.conf /run/lab/other'
}

@test "root's own job is staged as anybody's, and no daemon minds" {
  input data 2000000
  chown root:root "$WORK/data"
  lab exec -d "$T" timeout 60 srun -N3 --stage-file=data bash -c 'stat -c "%u %a" "$STAGECAST_DIR/data"; sha256sum < "$STAGECAST_DIR/data"' > "$WORK/said"
  [ "$(grep -c '^0 ' "$WORK/said")" = 3 ]
  [ "$(grep -c "^$(sha256sum < "$WORK/data" | cut -c 1-64)" "$WORK/said")" = 3 ]
  chown 2001:2001 "$WORK/data"
  as_alice srun -N3 --stage-file=data true
}

@test "stagecastd -C accepts the lab's configuration" {
  lab on n2 timeout 20 /srv/stagecast/sbin/stagecastd -C -c /etc/stagecast/stagecast.conf
}

@test "the worker is the user's: uid, gid, all groups, no new privileges, no capability" {
  input data 60000000
  script 'true'
  submit -N3 --stage-file=data job.sh
  wait_for 40 staging "$JOB" n1
  lab on n1 bash -c 'cat /proc/$(pgrep -u alice -x stagecast-worke | head -n 1)/status' > "$WORK/status"
  grep -q '^Uid:[[:space:]]*2001[[:space:]]2001[[:space:]]2001[[:space:]]2001' "$WORK/status"
  grep -q '^Gid:[[:space:]]*2001[[:space:]]2001[[:space:]]2001[[:space:]]2001' "$WORK/status"
  [ "$(sed -n 's/^Groups:[[:space:]]*//p' "$WORK/status" | tr ' ' '\n' | grep . | sort | tr '\n' ' ')" = '2001 2100 ' ]
  grep -q '^NoNewPrivs:[[:space:]]*1' "$WORK/status"
  grep -q '^CapEff:[[:space:]]*0000000000000000' "$WORK/status"
  wait_job "$JOB" COMPLETED
}
