# Tests that the copy is the user's file. Bytes, size, mode, owner, group, time.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

setup_file() { cluster_up 2; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { test_ends; }

# stage NAME...: one srun with all of them.
stage() {
  local name
  local -a options=()
  for name; do options+=("--stage-file=$name"); done
  OUT=$WORK/out
  as_alice srun -N2 "${options[@]}" /srv/rank.sh > "$OUT"
  staged_everywhere "$OUT" "$@"
}

@test "mode, owner, group and time are kept" {
  input private 1000 600
  input program 1000 755
  input readonly 1000 444
  input old 1000
  touch -d '1999-12-31 23:59:59.999999999' "$WORK/old"
  stage private program readonly old
}

@test "a supplementary group of the user's is kept" {
  input shared 1000 660
  chgrp 2100 "$WORK/shared"
  stage shared
}

@test "nanoseconds of the time are kept" {
  input data 1000
  touch -d '2024-02-29 12:34:56.123456789' "$WORK/data"
  as_alice srun -N2 --stage-file=data bash -c 'stat -c %y $STAGECAST_DIR/data' > "$WORK/out"
  [ "$(grep -c '56.123456789' "$WORK/out")" = 2 ]
}

@test "someone else's file, readable: the copy is the user's own" {
  input data 1000 644
  chown 2002:2002 "$WORK/data"
  as_alice srun -N2 --stage-file=data bash -c 'stat -c "%a %U" $STAGECAST_DIR/data' > "$WORK/out"
  [ "$(sort -u "$WORK/out")" = '644 alice' ]
}

@test "attributes of read-only files are kept, as a file, in a tree and unpacked" {
  mkdir "$WORK/only"
  input only/file 1000 444
  python3 -c 'import os, sys
for name in sys.argv[1:]: os.setxattr(name, "user.of", b"mine")' "$WORK/only/file" "$WORK/only"
  chmod 555 "$WORK/only"
  tar -C "$WORK" --xattrs -cf "$WORK/only.tar" only
  chown 2001:2001 "$WORK/only" "$WORK/only.tar"
  as_alice srun -N2 --stage-file=only/file --stage-file=only --stage-file=only.tar:unpacked:extract python3 -c '
import os
os.chdir(os.environ["STAGECAST_DIR"])
for name in ("file", "only", "only/file", "unpacked/only", "unpacked/only/file"):
    print(name, oct(os.stat(name).st_mode & 0o777), os.getxattr(name, "user.of").decode())' > "$WORK/out"
  sort "$WORK/out" | uniq -c | awk '{ print $1, $2, $3, $4 }' > "$WORK/counted"
  diff - "$WORK/counted" << 'EXPECTED'
2 file 0o444 mine
2 only 0o555 mine
2 only/file 0o444 mine
2 unpacked/only 0o555 mine
2 unpacked/only/file 0o444 mine
EXPECTED
}

@test "sizes: 0, 1, 1 MiB - 1, 1 MiB, 1 MiB + 1, 50 MB" {
  input zero 0
  input one 1
  input less 1048575
  input block 1048576
  input more 1048577
  input large 50000001
  stage zero one less block more large
}

@test "a file of holes arrives with its size, its zeros and its holes" {
  truncate -s 30000000 "$WORK/holes"
  printf x | dd of="$WORK/holes" bs=1 seek=20000000 conv=notrunc status=none
  chown 2001:2001 "$WORK/holes"
  stage holes
  as_alice srun -N2 --stage-file=holes bash -c 'stat -c %b "$STAGECAST_DIR/holes"' > "$WORK/blocks"
  [ "$(wc -l < "$WORK/blocks")" = 2 ]
  [ "$(sort -n "$WORK/blocks" | tail -n 1)" -lt 100 ] || { cat "$WORK/blocks"; false; }
}

@test "names with blanks, colons and quotes" {
  input 'a b' 1000
  input 'a:b' 2000
  input "it's" 3000
  OUT=$WORK/out
  as_alice srun -N2 '--stage-file=a b' '--stage-file=a\:b' "--stage-file=it's" bash -c \
    'cat "$STAGECAST_DIR/a b" "$STAGECAST_DIR/a:b" "$STAGECAST_DIR/it'"'"'s" | sha256sum' > "$OUT"
  [ "$(sort -u "$OUT")" = "$(cat "$WORK/a b" "$WORK/a:b" "$WORK/it's" | sha256sum)" ]
}

@test "the job's directory is the user's alone" {
  input data 1000
  as_alice srun -N2 --stage-file=data bash -c 'stat -c "%a %U %G" $STAGECAST_DIR; tr "\0" "\n" < $STAGECAST_DIR/.stagecast/files | cut -d/ -f 6' > "$WORK/out"
  [ "$(sort -u "$WORK/out")" = "$(printf '700 alice alice\ndata\n')" ]
}

@test "a symlink as the source: what it points to" {
  input target 5000
  ln -s target "$WORK/link"
  as_alice srun -N2 --stage-file=link bash -c 'sha256sum < $STAGECAST_DIR/link; stat -c %F $STAGECAST_DIR/link' > "$WORK/out"
  [ "$(grep -c "$(sha256sum < "$WORK/target")" "$WORK/out")" = 2 ]
  [ "$(grep -c 'regular file' "$WORK/out")" = 2 ]
}
