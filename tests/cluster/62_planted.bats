# Tests that files and directories of another user at a destination, or on the way to it, do not count as staged.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

# Scratch with a project's directory in it, as sites have it.
setup_file() {
  cluster_up 2 --stagecast DestRoots=/tmp,/var/tmp,/var/spool/scratch
  local node
  for node in "${NODES[@]}"; do lab on "$node" install -d -m 755 /var/spool/scratch; done
  libraries
}
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  local node
  for node in "${NODES[@]}"; do
    lab on "$node" bash -c 'cd /tmp && rm -rf app app.* tree tree.* prog* plain* bobs alices /var/spool/scratch/*; rm -f .app.stagecast.*'
  done
  test_ends
}

# progx and progy find libx.so and liby.so in /srv/l; bob has his own of both in /srv/evil.
libraries() {
  local top=$CLUSTER_DIR/srv x
  mkdir -p "$top/l" "$top/evil"
  for x in x y; do
    echo "int $x(void) { return 0; }" | gcc -shared -fPIC "-Wl,-soname,lib$x.so" -xc - -o "$top/l/lib$x.so"
    printf '#include <stdio.h>\nint %s(void) { puts("BOBS LIBRARY"); return 0; }' $x |
      gcc -shared -fPIC "-Wl,-soname,lib$x.so" -xc - -o "$top/evil/lib$x.so"
    echo "int $x(void); int main(void) { return $x(); }" | gcc -xc - "-L$top/l" "-l$x" -Wl,-rpath,/srv/l -o "$top/prog$x"
  done
  echo 'int main(void) { return 0; }' | gcc -xc - -o "$top/plain"
  chmod -R a+rX "$top/l" "$top/evil"
}

# A program of alice's, and a copy that bob can read.
app() {
  printf '#!/bin/sh\necho ALICES\n' > "$WORK/app"
  chmod 755 "$WORK/app"
  chown 2001:2001 "$WORK/app"
  touch -d '2024-02-29 12:34:56' "$WORK/app"
  install -m 755 "$WORK/app" "$CLUSTER_DIR/srv/app"
}
bob() { lab on n1 -u bob -d /tmp bash -c "$1"; }
# refused PATH [CAUSE]: n1 says so, with what to do.
refused() {
  local cause=${2:-belongs to uid 2002, in a world-writable directory; choose another destination}
  grep -Eq "stagecast: node n1: $1: $cause" "$OUT" || { echo "no 'stagecast: node n1: $1: $cause' in:"; cat "$OUT"; return 1; }
}
runs_everywhere() { [ "$(grep -cx ALICES "$1")" = 2 ] || { cat "$1"; return 1; }; }

@test "another user's file with the same bytes, which he could rewrite later" {
  app
  bob 'cp /srv/app app'
  srun_fails --stage-file=app:/tmp/app
  refused /tmp/app
  sbatch_fails --stage-file=app:/tmp/app
  refused /tmp/app
}

@test "another user's file or link of any content, with newer and keep" {
  app
  local how
  bob 'echo BOBS > /tmp/app; touch -d 2037-01-01 /tmp/app'
  for how in newer keep; do
    srun_fails --stage-file=app:/tmp/app:$how
    refused /tmp/app
  done
  bob 'rm /tmp/app; ln -s /srv/evil/libx.so /tmp/app; touch -h -d 2037-01-01 /tmp/app'
  for how in newer keep; do
    srun_fails --stage-file=app:/tmp/app:$how
    refused /tmp/app
  done
}

@test "another user's file that is the source as well, by a second name" {
  bob 'echo BOBS > app; ln app app.2'
  OUT=$WORK/out
  ! as_alice srun -w n1 -N1 --stage-file=/tmp/app.2:/tmp/app:late true > "$OUT" 2>&1 || { cat "$OUT"; false; }
  refused /tmp/app
}

@test "one's own world-writable file, or one with a second name" {
  app
  lab on n1 -u alice bash -c 'cp /srv/app /tmp/app; chmod 757 /tmp/app'
  srun_fails --stage-file=app:/tmp/app
  refused /tmp/app 'is world-writable, in a world-writable directory; remove it'
  # (With protected_hardlinks bob needs a file that he may write to do this himself.)
  lab on n1 bash -c 'chmod 755 /tmp/app; mv /tmp/app /tmp/app.alices; ln /tmp/app.alices /tmp/app'
  srun_fails --stage-file=app:/tmp/app:keep
  refused /tmp/app 'has several hard links, in a world-writable directory; remove it'
  as_alice srun -N2 --stage-file=app:/tmp/app:overwrite /tmp/app > "$WORK/out"
  runs_everywhere "$WORK/out"
}

@test "another user's tree, and his directory for an archive" {
  local how
  mkdir "$WORK/tree"; echo mine > "$WORK/tree/file"
  tar -C "$WORK" -cf "$WORK/tree.tar" tree
  chown -R 2001:2001 "$WORK/tree" "$WORK/tree.tar"
  bob 'mkdir /tmp/tree; echo BOBS > /tmp/tree/file; touch -d 2037-01-01 /tmp/tree/file /tmp/tree'
  for how in keep newer overwrite; do
    srun_fails --stage-file=tree:/tmp/tree:$how
    refused /tmp/tree
  done
  srun_fails --stage-file=tree.tar:/tmp/tree:extract+keep
  refused /tmp/tree
  [ "$(lab on n1 cat /tmp/tree/file)" = BOBS ]
}

@test "another user's directory on the way, and one's own world-writable directory" {
  app
  local node
  for node in "${NODES[@]}"; do lab on "$node" -u alice mkdir -m 777 /tmp/alices; done
  bob 'mkdir -m 777 /tmp/bobs'
  lab on n0 -u alice mkdir /tmp/bobs
  srun_fails --stage-file=app:/tmp/bobs/app
  refused /tmp/bobs
  srun_fails --stage-file=app:/tmp/alices/app
  node_sentence "$OUT" 'n[01]' '/tmp/alices: is world-writable, in a world-writable directory; remove it'
  for node in "${NODES[@]}"; do lab on "$node" chmod 775 /tmp/alices; done
  as_alice srun -N2 --stage-file=app:/tmp/alices/app /tmp/alices/app > "$WORK/out"
  runs_everywhere "$WORK/out"
}

# Neither the staged program nor /srv/progy, which has a RUNPATH of its own, loads one of his.
no_library_of_bobs() { ! grep -q 'BOBS LIBRARY\|_libs' "$1" || { cat "$1"; return 1; }; }

@test "another user's directory of libraries, with a library that waits in it" {
  bob 'mkdir -m 777 /tmp/progx_libs; cp /srv/evil/liby.so /tmp/progx_libs'
  srun_fails --stage-file=/srv/progx:/tmp/progx:libs
  refused /tmp/progx_libs
  bob 'chmod 755 /tmp/progx_libs; cp /srv/l/libx.so /tmp/progx_libs'
  srun_fails --stage-file=/srv/progx:/tmp/progx:libs
  refused /tmp/progx_libs
}

@test "his directory of libraries is not the job's where the libraries are optional, or where there are none" {
  bob 'mkdir -m 777 /tmp/progx_libs /tmp/plain_libs; cp /srv/evil/lib?.so /tmp/progx_libs; cp /srv/evil/lib?.so /tmp/plain_libs'
  as_alice srun -w n1 -N1 --stage-file=/srv/progx:/tmp/progx:libs+optional \
    bash -c 'echo "$LD_LIBRARY_PATH $STAGECAST_JOB_STATUS"; /srv/progy; [ ! -e /tmp/progx ]' > "$WORK/out"
  no_library_of_bobs "$WORK/out"
  grep -q partial "$WORK/out"
  as_alice srun -w n1 -N1 --stage-file=/srv/plain:/tmp/plain:libs bash -c 'echo "$LD_LIBRARY_PATH"; /srv/progy' > "$WORK/out"
  no_library_of_bobs "$WORK/out"
}

@test "one's own directory of libraries that others may write, or that has another's file in it" {
  lab on n1 -u alice mkdir -m 777 /tmp/progx_libs
  bob 'cp /srv/evil/liby.so /tmp/progx_libs'
  srun_fails --stage-file=/srv/progx:/tmp/progx:libs
  refused /tmp/progx_libs 'is (writable by others|world-writable).*; remove it'
  lab on n1 -u alice chmod 755 /tmp/progx_libs
  srun_fails --stage-file=/srv/progx:/tmp/progx:libs
  refused /tmp/progx_libs/liby.so 'belongs to uid 2002'
  lab on n1 rm /tmp/progx_libs/liby.so
  as_alice srun -N2 --stage-file=/srv/progx:/tmp/progx:libs bash -c 'echo $LD_LIBRARY_PATH; /tmp/progx' > "$WORK/out"
  [ "$(grep -c '/libs/0/\$ORIGIN$' "$WORK/out")" = 2 ] || { cat "$WORK/out"; false; }
}

@test "a project's directory below a root-owned scratch: another member's files count there" {
  app
  lab on n1 install -d -m 2775 -o bob -g project /var/spool/scratch/project
  lab on n0 install -d -m 2775 -o bob -g project /var/spool/scratch/project
  lab on n1 -u bob bash -c 'umask 002; cd /var/spool/scratch/project; mkdir -p in/deep; chmod 2775 in in/deep; cp /srv/app in/deep/app; cp /srv/app app'
  lab on n0 -u bob bash -c 'umask 002; cd /var/spool/scratch/project; mkdir -p in/deep; chmod 2775 in in/deep'
  local how
  for how in '' :keep :newer; do
    as_alice srun -N2 --stage-file=app:/var/spool/scratch/project/app$how \
      --stage-file=app:/var/spool/scratch/project/in/deep/app$how bash -c '/var/spool/scratch/project/in/deep/app' > "$WORK/out"
    runs_everywhere "$WORK/out"
  done
  [ "$(lab on n1 stat -c %U /var/spool/scratch/project/app)" = bob ]
  # A sticky one is where its members keep their files apart.
  lab on n1 bash -c 'chown root /var/spool/scratch/project; chmod 3775 /var/spool/scratch/project'
  srun_fails --stage-file=app:/var/spool/scratch/project/app
  refused /var/spool/scratch/project/app 'belongs to uid 2002, in a group-writable sticky directory; choose'
}

@test "another user has every temporary name that the next jobs could choose" {
  app
  local next
  next=$(($(lab exec bash -c 'scontrol show job -o | grep -o "^JobId=[0-9]*" | cut -d = -f 2 | sort -n | tail -n 1') + 1))
  lab on n1 -u bob bash -c 'for job in $(seq "$0" $(("$0" + 3))); do for rank in 0 1; do
    for name in .app.stagecast.$job.$rank .app.stagecast.$job.0.$rank; do echo BOBS > /tmp/$name; chmod 666 /tmp/$name; done; done; done' "$next"
  as_alice srun -N2 --stage-file=app:/tmp/app /tmp/app > "$WORK/out"
  runs_everywhere "$WORK/out"
  [ "$(lab on n1 bash -c 'cat /tmp/.app.stagecast.* | sort | uniq -c | wc -l')" = 1 ]
  [ "$(lab on n1 stat -c %U /tmp/app)" = alice ]
}
