# Tests that an archive is extracted on every node as tar(1) and unzip(1) do it, and never outside of its directory.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() {
  cluster_up 3 --stagecast MaxBytes=100000000 --stagecast RateMax=400mbit --stagecast StageTimeout=120
  install -m 755 "$CLUSTER_TESTS/attack/archives.py" "$CLUSTER_DIR/srv/"
}
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { no_place /tmp/d; no_place /tmp/outside; test_ends; }

# tree: what a conda environment is like: small files, links of both kinds, a program; odd names.
tree() {
  local top=$WORK/env i
  mkdir -p "$top/bin" "$top/lib/python3/site" "$top/empty"
  for ((i = 0; i < 400; i++)); do head -c $((i * 37)) /dev/urandom > "$top/lib/python3/site/$i.py"; done
  head -c 3000000 /dev/urandom > "$top/lib/libbig.so.1"
  ln -s libbig.so.1 "$top/lib/libbig.so"
  ln "$top/lib/libbig.so.1" "$top/lib/again"
  printf '#!/bin/sh\necho it runs\n' > "$top/bin/tool"
  chmod 755 "$top/bin/tool"
  : > "$top/lib/nothing"
  printf x > "$top/lib/"$'odd \xc3\xa4 name'
  chown -R -h 2001:2001 "$top"
  find "$top" -exec touch -h -d '2024-02-29 12:34:56' {} +
}

# pack NAME COMMAND...: runs as alice in the test's directory.
pack() { as_alice "${@:2}" > "$WORK/pack.log" 2>&1 && [ -s "$WORK/$1" ] || { cat "$WORK/pack.log"; return 1; }; }

look() {
  cat <<'END'
cd "$1" && find . -mindepth 1 -printf '%P %y %m %U %n %l' \( -type d -printf '\n' -o -printf ' %s %T@\n' \) | LC_ALL=C sort
find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
END
}

# unpacked_everywhere DIRECTORY [NLINKS]: it is the tree on every node; "nolinks": hard links became files.
unpacked_everywhere() {
  local node
  bash -c "$(look)" look "$WORK/env" > "$WORK/want" || return 1
  [ "${2:-}" != nolinks ] || sed -i 's/^\(lib\/\(again\|libbig.so.1\) f 644 2001\) 2/\1 1/' "$WORK/want"
  for node in "${NODES[@]}"; do
    lab on "$node" bash -c "$(look)" look "$1" > "$WORK/have" || return 1
    diff "$WORK/want" "$WORK/have" || { echo "on $node"; return 1; }
  done
}

nothing_there() {
  local node
  for node in "${NODES[@]}"; do [ -z "$(lab on "$node" find /tmp/d -mindepth 1)" ] || return 1; done
}

@test "tar, plain and by gzip and zstd, and zip: the same as by tar and unzip" {
  tree
  pack env.tar tar -cf env.tar -C env .
  pack env.tgz tar -czf env.tgz -C env .
  pack env.tar.zst tar --zstd -cf env.tar.zst -C env .
  pack env.zip bash -c 'cd env && zip -qry ../env.zip .'
  place /tmp/d
  local one
  for one in env.tar env.tgz env.tar.zst env.zip; do
    as_alice srun -N3 --stage-file="$one:/tmp/d/$one:extract+temp" bash -c "
      set -e; [ \"\$STAGECAST_FILES\" = /tmp/d/$one ]; /tmp/d/$one/bin/tool; cp -a /tmp/d/$one /tmp/d/copy.$one" > "$WORK/out.$one" \
      || { cat "$WORK/out.$one"; false; }
    [ "$(grep -c 'it runs' "$WORK/out.$one")" = 3 ]
    unpacked_everywhere "/tmp/d/copy.$one" "$([ "$one" != env.zip ] || echo nolinks)"
  done
}

@test "without a destination: called like the archive, in the job's directory, gone with the job" {
  tree
  pack env.tar.gz tar -czf env.tar.gz env
  as_alice srun -N3 --stage-file=env.tar.gz::extract bash -c '$STAGECAST_DIR/env/env/bin/tool; ls $STAGECAST_DIR' > "$WORK/out"
  [ "$(sort "$WORK/out" | uniq -c | tr -s ' ' | paste -sd,)" = ' 3 env, 3 it runs' ] || { cat "$WORK/out"; false; }
}

@test "hostile archives: an error with archive and member, and nothing anywhere" {
  as_alice python3 /srv/archives.py "$T"
  place /tmp/d
  place /tmp/outside
  local one why node
  for node in "${NODES[@]}"; do lab on "$node" -u alice bash -c 'echo secret > /tmp/outside/secret'; done
  while read -r one why; do
    srun_fails --stage-file="$one:/tmp/d/x:extract"
    sentence "$OUT" '[^ ]*' "$T/$one" "$why"
    wait_for 10 nothing_there
  done <<'END'
up.tar goes up by
absolute.tar.gz absolute name
through.tar lies below 'way', which is a link
twice.tar which is a link
hard.tar absolute name
hardup.tar goes up by
hardlink.tar lies below 'way', which is a link
device.tar is a device
fifo.tar is a device, a pipe
bomb.tar.gz unpacks to more than
up.zip goes up by
through.zip lies below 'way', which is a link
END
  for node in "${NODES[@]}"; do
    [ "$(lab on "$node" bash -c 'cd /tmp/outside && ls && cat secret && stat -c %h secret' | paste -sd,)" = secret,secret,1 ]
  done
}

@test "truncated, damaged, no archive at all: one error, nothing stays" {
  tree
  pack env.tar.gz tar -czf env.tar.gz -C env .
  pack env.zip bash -c 'cd env && zip -qry ../env.zip .'
  place /tmp/d
  head -c 1500000 "$WORK/env.tar.gz" > "$WORK/cut.tar.gz"
  head -c 1500000 "$WORK/env.zip" > "$WORK/cut.zip"
  head -c 3000000 /dev/urandom > "$WORK/noise.tar"
  chown 2001:2001 "$WORK"/*.tar* "$WORK"/*.zip
  srun_fails --stage-file=cut.tar.gz:/tmp/d/x:extract
  sentence "$OUT" '[^ ]*' "$T/cut.tar.gz" 'is damaged or cut off'
  srun_fails --stage-file=cut.zip:/tmp/d/x:extract
  sentence "$OUT" '[^ ]*' "$T/cut.zip" 'is '
  srun_fails --stage-file=noise.tar:/tmp/d/x:extract
  sentence "$OUT" '[^ ]*' "$T/noise.tar" 'is not an archive that can be unpacked'
  srun_fails --stage-file=env:/tmp/d/x:extract
  sentence "$OUT" '[^ ]*' "$T/env" 'is a directory'
  wait_for 10 nothing_there || { for one in "${NODES[@]}"; do lab on "$one" find /tmp/d; done; false; }
}

@test "one wrong bit in a .tar.gz or a .tar.lz4 fails the job" {
  local bend='import sys
for one in sys.argv[1:]:
    data = bytearray(open(one, "rb").read())
    data[len(data) // 2] ^= 16
    open(one, "wb").write(data)'
  as_alice bash -c "seq 100000 > data; tar -czf a.tar.gz data; tar -cf - data | lz4 -q > a.tar.lz4
    python3 -c '$bend' a.tar.*; ! gzip -t a.tar.gz && ! lz4 -tq a.tar.lz4"
  place /tmp/d
  local one
  for one in a.tar.gz a.tar.lz4; do
    srun_fails --stage-file="$one:/tmp/d/x:extract"
    sentence "$OUT" '[^ ]*' "$T/$one" 'is damaged or cut off'
  done
  wait_for 10 nothing_there
}

@test "modes are cut by the umask of the submission: of srun, sbatch, a step; SLURM_UMASK is the stronger" {
  as_alice bash -c 'mkdir data && echo secret > data/f && chmod 777 data && chmod 666 data/f && tar -cf a.tar data'
  place /tmp/d
  local look='stat -c %a /tmp/d/x /tmp/d/x/data /tmp/d/x/data/f | paste -sd,'
  as_alice bash -c "umask 077; srun -N2 --stage-file=a.tar:/tmp/d/x:extract+temp bash -c '$look'" > "$WORK/out"
  [ "$(sort -u "$WORK/out")" = 700,700,600 ] || { cat "$WORK/out"; false; }
  as_alice bash -c "umask 077; SLURM_UMASK=0002 srun -N2 --stage-file=a.tar:/tmp/d/x:extract+temp bash -c '$look'" > "$WORK/out"
  [ "$(sort -u "$WORK/out")" = 775,775,664 ] || { cat "$WORK/out"; false; }
  local step='srun -N1 --stage-file=a.tar:/tmp/d/y:extract+temp stat -c %a /tmp/d/y/data/f'
  as_alice bash -c "umask 027; sbatch -W -N2 -o out.batch --stage-file=a.tar:/tmp/d/x:extract+temp --wrap '$look; umask; $step'"
  [ "$(paste -sd' ' "$WORK/out.batch")" = '750,750,640 0027 640' ] || { cat "$WORK/out.batch"; false; }
}

@test "a node without enough space for the contents is named" {
  head -c 30000000 /dev/zero > "$WORK/zeros"
  chown 2001:2001 "$WORK/zeros"
  pack zeros.tar.gz tar -czf zeros.tar.gz zeros
  place /tmp/d
  disk_full n1 /tmp/d
  sbatch_fails --stage-file=zeros.tar.gz:/tmp/d/x:extract+temp
  sentence "$OUT" n1 /tmp/d/x 'No space left on device'
  no_disk_full n1 /tmp/d
  wait_for 10 nothing_there || { for one in "${NODES[@]}"; do lab on "$one" find /tmp/d; done; false; }
}

# On n1 nothing at all; who had the whole before n1 failed may keep it.
nothing_half_done() {
  local node
  [ -z "$(lab on n1 find /tmp/d -mindepth 1)" ] || return 1
  for node in n0 n2; do [ -z "$(lab on "$node" find /tmp/d -mindepth 1 -maxdepth 1 ! -name x)" ] || return 1; done
}
unpacking() { lab on n1 bash -c 'ls -d /tmp/d/.x.stagecast.*/lib'; }

@test "a worker is killed while it unpacks: nothing half done stays" {
  tree
  head -c 60000000 /dev/urandom > "$WORK/env/zlast"
  pack env.tar tar -cf env.tar -C env ./lib ./zlast
  place /tmp/d
  script 'echo SCRIPT'
  submit -N3 --stage-file=env.tar:/tmp/d/x:extract job.sh
  wait_for 40 unpacking
  lab on n1 pkill -KILL -u alice -x stagecast-worke
  wait_job "$JOB" FAILED
  no_rank_ran "$OUT"
  wait_for 20 nothing_half_done || { for one in "${NODES[@]}"; do lab on "$one" find /tmp/d | head; done; false; }
}

# staged_archives: what stagecast makes of $WORK/archives, each by its line of the list there, in $WORK/got.
staged_archives() {
  install -m 755 "$CLUSTER_TESTS/lib/archive_table.py" "$CLUSTER_DIR/srv/"
  as_alice bash -c 'cd archives && srun -N1 --stage-file=@list bash -c "cp -a \$STAGECAST_DIR/got ../got"' > "$WORK/out" 2>&1 \
    || { cat "$WORK/out"; return 1; }
}

@test "odd archives of each format: the results are those of the table in docs/ARCHIVES.md" {
  install -m 755 "$CLUSTER_TESTS/lib/archive_table.py" "$CLUSTER_DIR/srv/"
  as_alice bash -c 'mkdir archives && python3 /srv/archive_table.py make archives'
  staged_archives
  as_alice python3 /srv/archive_table.py table archives got > "$WORK/table" 2> "$WORK/why"
  diff <(grep '^|' "$CLUSTER_TESTS/../../docs/ARCHIVES.md") "$WORK/table" || { cat "$WORK/why"; false; }
}

@test "archives of other software are extracted as by tar and unzip" {
  local one
  [ -d "${REAL_ARCHIVES:-}" ] || skip "REAL_ARCHIVES names no directory of archives (Debian's .orig.tar.*, npm's .tgz, .zip)"
  mkdir "$WORK/archives"
  cp "$REAL_ARCHIVES"/* "$WORK/archives/"
  for one in "$WORK/archives"/*; do one=${one##*/}; echo "$one:got/$one:extract"; done > "$WORK/list"
  mv "$WORK/list" "$WORK/archives/list"
  chown -R 2001:2001 "$WORK/archives"
  staged_archives
  rm "$WORK/archives/list"
  as_alice python3 /srv/archive_table.py compare archives got > "$WORK/differ" 2>&1
  [ ! -s "$WORK/differ" ] || { cat "$WORK/differ"; false; }
}
