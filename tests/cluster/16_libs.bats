# A program's own libraries come with it: does it run from where it is staged, with nothing else there?

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 3; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { no_place /tmp/d; test_ends; }

# program: prog needs libone (by $ORIGIN), which needs libtwo (by its own RUNPATH), and libthree (by LD_LIBRARY_PATH).
program() {
  local top=$WORK/app
  mkdir -p "$top/bin" "$top/lib/deep" "$top/other"
  echo 'int two(void) { return 2; }' > "$top/two.c"
  echo 'int two(void); int one(void) { return 1 + two(); }' > "$top/one.c"
  echo 'int three(void) { return 3; }' > "$top/three.c"
  printf '#include <stdio.h>\nint one(void); int three(void);\nint main(void) { printf("sum %%d\\n", one() + three()); }\n' > "$top/main.c"
  gcc -shared -fPIC -Wl,-soname,libtwo.so.2 -o "$top/lib/deep/libtwo.so.2.0" "$top/two.c"
  ln -s libtwo.so.2.0 "$top/lib/deep/libtwo.so.2"
  gcc -shared -fPIC -Wl,-soname,libone.so.1 -Wl,--enable-new-dtags,-rpath,'$ORIGIN/deep' -o "$top/lib/libone.so.1" "$top/one.c" "$top/lib/deep/libtwo.so.2"
  gcc -shared -fPIC -Wl,-soname,libthree.so -o "$top/other/libthree.so" "$top/three.c"
  gcc -Wl,--enable-new-dtags,-rpath,'$ORIGIN/../lib' -Wl,-rpath-link,"$top/lib/deep" \
    -o "$top/bin/prog" "$top/main.c" "$top/lib/libone.so.1" "$top/other/libthree.so"
  chown -R -h 2001:2001 "$top"
}

# as_alice, with the directory of libthree.so in LD_LIBRARY_PATH.
with_three() { as_alice env "LD_LIBRARY_PATH=$T/app/other" "$@"; }

@test "it runs from the job's directory, and from an absolute one, with its libraries beside it" {
  program
  place /tmp/d
  with_three srun -N3 --stage-file=app/bin/prog::libs bash -c '
    ls "$STAGECAST_DIR/prog_libs" | paste -sd,; echo "$STAGECAST_FILES" | wc -l
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH%%:*}; "$STAGECAST_DIR/prog"' > "$WORK/out" || { cat "$WORK/out"; false; }
  [ "$(sort "$WORK/out" | uniq -c | tr -s ' ' | paste -sd'|')" = ' 3 1| 3 libone.so.1,libthree.so,libtwo.so.2| 3 sum 6' ] || { cat "$WORK/out"; false; }
  with_three srun -N3 --stage-file=app/bin/prog:/tmp/d/prog:libs+temp bash -c '
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH%%:*}; [ "$LD_LIBRARY_PATH" = /tmp/d/prog_libs ] && /tmp/d/prog' > "$WORK/out" || { cat "$WORK/out"; false; }
  [ "$(sort "$WORK/out" | uniq -c | tr -s ' ')" = " 3 sum 6" ] || { cat "$WORK/out"; false; }
  wait_for 20 nothing_there
}

nothing_there() {
  local node
  for node in "${NODES[@]}"; do [ -z "$(lab on "$node" find /tmp/d -mindepth 1)" ] || return 1; done
}

@test "a batch script finds them, too, and its steps" {
  program
  script '$STAGECAST_DIR/prog; srun $STAGECAST_DIR/prog'
  JOB=$(with_three sbatch --parsable -N3 --stage-file=app/bin/prog::libs job.sh)
  OUT=$WORK/slurm-$JOB.out
  wait_job "$JOB" COMPLETED
  [ "$(grep -c 'sum 6' "$OUT")" = 4 ] || { cat "$OUT"; false; }
}

@test "a library that is missing, a script, a list: a sentence" {
  program
  srun_fails --stage-file=app/bin/prog::libs
  sentence "$OUT" n0 "$T/app/bin/prog" 'the library libthree.so, which it needs, is not found'
  script 'true'
  srun_fails --stage-file=job.sh::libs
  sentence "$OUT" n0 "$T/job.sh" 'is a script'
  echo 'app/bin/prog::libs' > "$WORK/list"
  srun_fails --stage-file=@list
  grep -q "node n0: $T/list, line 1: libs can't stand in a list; " "$OUT" || { cat "$OUT"; false; }
}

@test "a static program has none, and runs" {
  program
  printf 'int main(void) { return 0; }\n' > "$WORK/app/static.c"
  gcc -static -o "$WORK/static" "$WORK/app/static.c"
  as_alice srun -N3 --stage-file=static::libs bash -c '"$STAGECAST_DIR/static" && echo fine' > "$WORK/out"
  [ "$(grep -c fine "$WORK/out")" = 3 ]
}
