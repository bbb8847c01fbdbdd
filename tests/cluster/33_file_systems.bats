# Tests space, quotas, attributes and reflinks on xfs, btrfs and ext4.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault
load lib/cache

# Long enough to be noted (docs/decisions/0026), and not a multiple of any block.
BYTES=20000001

# n0 has xfs, n1 btrfs, n2 ext4. Where this kernel has no loop devices, or lacks one of them, there is nothing to see.
setup_file() {
  export UNFIT
  UNFIT=$(unfit) || true
  [ -n "$UNFIT" ] || cluster_up 3 --local xfs,btrfs,ext4 --local-size 1g --stagecast "CacheDir=$CACHE" --stagecast CacheSize=200M
}
teardown_file() { cluster_down; }
setup() {
  [ -z "$UNFIT" ] || skip "$UNFIT"
  test_begins
}
teardown() {
  [ -z "$UNFIT" ] || return 0
  no_place /tmp/d
  test_ends
}

unfit() {
  local kind
  for kind in xfs btrfs ext4; do
    grep -qw "$kind" /proc/filesystems || { echo "this kernel has no $kind"; return; }
  done
  losetup --find > /dev/null 2>&1 || echo "no loop devices here"
}

# shares NODE FILE: all of its extents are another file's, too.
shares() {
  local extents
  extents=$(lab on "$1" filefrag -s -v "$2" | grep -E '^ +[0-9]+: ')
  [ -n "$extents" ] || return 1
  ! grep -qv shared <<< "$extents" || { echo "$1: $extents"; return 1; }
}
data_sent() { log_since stagecastd-n0 | sed -n "s/.*worker left job=$1 .*packets_sent=\([0-9]*\).*/\1/p"; }

@test "the nodes have the configured properties" {
  [ "$(lab on n0 stat -f -c %T /var/spool/stagecast)" = xfs ]
  [ "$(lab on n1 stat -f -c %T /var/spool/stagecast)" = btrfs ]
  [ "$(lab on n2 stat -f -c %T /var/spool/stagecast)" = ext2/ext3 ]
}

@test "cached: into the cache and out of it again xfs and btrfs copy no byte" {
  old_input data "$BYTES"
  script "srun /srv/rank.sh; touch $T/there; while [ ! -e $T/enough ]; do sleep 0.2; done"
  local node
  for _ in 1 2; do
    rm -f "$WORK/there" "$WORK/enough"
    submit -N3 --stage-file=data job.sh
    wait_for 60 test -e "$WORK/there"
    staged_everywhere "$OUT" data
    wait_for 60 all_keep "$BYTES"
    for node in n0 n1; do
      wait_for 10 shares "$node" "/var/spool/stagecast/$JOB/data"
      shares "$node" "$(entries "$node" "$BYTES")"
    done
    touch "$WORK/enough"
    wait_job "$JOB" COMPLETED
  done
  lab on n2 filefrag -v "$(entries n2 "$BYTES")" | grep -q ': '
  explained "$JOB" n0
  said .bytes_read 0
}

@test "one node's quota is used up: that is found before the first byte" {
  input data "$BYTES"
  place /tmp/d
  lab on n1 bash -c 'rmdir /tmp/d; btrfs -q quota enable /tmp && btrfs -q subvolume create /tmp/d && chown alice: /tmp/d \
    && btrfs -q qgroup limit 8M /tmp/d'
  sbatch_fails --stage-file=data:/tmp/d/data
  sentence "$OUT" n1 /tmp/d/data 'Disk quota exceeded'
  wait_for 10 test -n "$(data_sent "$JOB")"
  [ "$(data_sent "$JOB")" -lt "$((BYTES / 1444 / 10))" ]
  for node in "${NODES[@]}"; do [ -z "$(lab on "$node" find /tmp/d -type f)" ]; done
}

@test "the disk is full: that is found before the first byte" {
  input data "$BYTES"
  place /tmp/d
  local node
  for node in n0 n2; do
    lab on "$node" bash -c 'fallocate -l $(($(stat -f -c "%a * %S" /tmp) - 10000000)) /tmp/filler'
    sbatch_fails --stage-file=data:/tmp/d/data
    lab on "$node" rm /tmp/filler
    sentence "$OUT" "$node" /tmp/d/data 'No space left on device'
    wait_for 10 test -n "$(data_sent "$JOB")"
    [ "$(data_sent "$JOB")" -lt "$((BYTES / 1444 / 10))" ]
  done
}

@test "a directory with holes, attributes and an ACL is copied unchanged to each" {
  place /tmp/d
  install -d -o 2001 -g 2001 "$WORK/tree"
  truncate -s 30000000 "$WORK/tree/holes"
  printf middle | dd of="$WORK/tree/holes" bs=1 seek=15000000 conv=notrunc status=none
  input tree/plain 100000
  ln -s plain "$WORK/tree/link"
  # Version 2; the owner may all, uid 2002 read, the group nothing, the mask is to read, others nothing.
  python3 -c 'import os, struct, sys
entries = [(1, 7, -1), (2, 4, 2002), (4, 0, -1), (16, 4, -1), (32, 0, -1)]
os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *e) for e in entries))
os.setxattr(sys.argv[1], "user.tag", b"value")' "$WORK/tree/plain"
  chown -R -h 2001:2001 "$WORK/tree"
  cat > "$WORK/tell.py" <<'PYTHON'
import hashlib, os, socket
os.chdir("/tmp/d/tree")
sums = [hashlib.sha256(open(name, "rb").read()).hexdigest() for name in ("holes", "plain")]
acl, tag = (os.getxattr("plain", name) for name in ("system.posix_acl_access", "user.tag"))
print(socket.gethostname(), *sums, os.readlink("link"), tag.decode(), acl[12:20].hex(), os.stat("holes").st_blocks < 2000)
PYTHON
  script "srun python3 $T/tell.py"
  submit -N3 --stage-file=tree:/tmp/d/tree job.sh
  wait_job "$JOB" COMPLETED
  cat "$OUT"
  local node sums
  sums=$(cd "$WORK/tree" && sha256sum holes plain | cut -c 1-64 | xargs)
  for node in "${NODES[@]}"; do grep -qx "$node $sums plain value 02000400d2070000 True" "$OUT"; done
}

@test "a user attribute that ext4 has no room for is left out; the file, the tree and the archive are there" {
  # (Where the directory of submission takes no such attribute, file and tree have none.)
  as_alice python3 -c 'import contextlib, io, os, tarfile
os.mkdir("tree")
for name in "file", "tree/f":
    with open(name, "w") as file:
        file.write("1")
    with contextlib.suppress(OSError):
        os.setxattr(name, "user.note", b"h" * 5000)
with tarfile.open("a.tar", "w", format=tarfile.PAX_FORMAT) as tar:
    one = tarfile.TarInfo("f")
    one.size = 1
    one.pax_headers = {"SCHILY.xattr.user.note": "h" * 5000}
    tar.addfile(one, io.BytesIO(b"1"))'
  as_alice srun -N3 --stage-file=file --stage-file=tree --stage-file=a.tar::extract \
    sh -c 'cat $STAGECAST_DIR/file $STAGECAST_DIR/tree/f $STAGECAST_DIR/a/f; echo' > "$WORK/out" 2>&1 || { cat "$WORK/out"; false; }
  [ "$(sort "$WORK/out" | uniq -c | tr -s ' ')" = ' 3 111' ] || { cat "$WORK/out"; false; }
}
