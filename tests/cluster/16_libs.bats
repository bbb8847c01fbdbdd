# Tests that a program runs from its destination with its own libraries and nothing else there.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 3; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  local node
  for node in "${NODES[@]}"; do lab on "$node" bash -c 'umount "$0" 2> /dev/null; true' "$T/sw"; done
  no_place /tmp/d
  test_ends
}

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
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH%%:*}
    [ "$LD_LIBRARY_PATH" = "$STAGECAST_DIR/.stagecast/libs/0/\$ORIGIN" ] && /tmp/d/prog' > "$WORK/out" || { cat "$WORK/out"; false; }
  [ "$(sort "$WORK/out" | uniq -c | tr -s ' ')" = " 3 sum 6" ] || { cat "$WORK/out"; false; }
  wait_for 20 nothing_there
}

nothing_there() {
  local node
  for node in "${NODES[@]}"; do [ -z "$(lab on "$node" find /tmp/d -mindepth 1)" ] || return 1; done
}

@test "a batch script finds them, too, its steps, and what mpirun starts" {
  program
  script '$STAGECAST_DIR/prog; srun $STAGECAST_DIR/prog; mpirun --map-by node -n 3 $STAGECAST_DIR/prog'
  JOB=$(with_three sbatch --parsable -N3 --stage-file=app/bin/prog::libs job.sh)
  OUT=$WORK/slurm-$JOB.out
  wait_job "$JOB" COMPLETED
  [ "$(grep -c 'sum 6' "$OUT")" = 7 ] || { cat "$OUT"; false; }
}

@test "a library that is missing, a script, a list: an error" {
  program
  srun_fails --stage-file=app/bin/prog::libs
  sentence "$OUT" n0 "$T/app/bin/prog" 'the library libthree.so, which it needs, is not found'
  script 'true'
  srun_fails --stage-file=job.sh::libs
  sentence "$OUT" n0 "$T/job.sh" 'is a script'
  echo 'app/bin/prog::libs' > "$WORK/list"
  srun_fails --stage-file=@list
  grep -q "node n0: $T/list, line 1: libs is not allowed in a list; " "$OUT" || { cat "$OUT"; false; }
}

@test "a static program has none, and runs" {
  program
  printf 'int main(void) { return 0; }\n' > "$WORK/app/static.c"
  gcc -static -o "$WORK/static" "$WORK/app/static.c"
  as_alice srun -N3 --stage-file=static::libs bash -c '"$STAGECAST_DIR/static" && echo fine' > "$WORK/out"
  [ "$(grep -c fine "$WORK/out")" = 3 ]
}

# who NAME [SAYS]: bin/NAME, which says what its own libwho.so.1 says, found by $ORIGIN/../lib in a directory of its own.
who() {
  local top=$WORK/$1
  mkdir -p "$top/bin" "$top/lib"
  echo "const char* who(void) { return \"${2:-$1}\"; }" | gcc -shared -fPIC -Wl,-soname,libwho.so.1 -xc - -o "$top/lib/libwho.so.1"
  echo 'int puts(const char*); const char* who(void); int main(void) { return puts(who()) < 0; }' |
    gcc -xc - -xnone -o "$top/bin/$1" -L"$top/lib" -l:libwho.so.1 -Wl,--enable-new-dtags,-rpath,"${RUNPATH:-\$ORIGIN/../lib}"
  chown -R 2001:2001 "$top"
}

@test "two programs with a library of one name: each runs with its own, or none is staged" {
  who one
  who two
  as_alice srun -N3 --stage-file=one/bin/one::libs --stage-file=two/bin/two:two/:libs \
    sh -c 'cd "$STAGECAST_DIR" && echo "$(./one) $(two/two)"' > "$WORK/out"
  [ "$(sort "$WORK/out" | uniq -c | tr -s ' ')" = ' 3 one two' ] || { cat "$WORK/out"; false; }
  srun_fails --stage-file=one/bin/one::libs --stage-file=two/bin/two::libs
  grep -q "$T/two/bin/two would load the library libwho.so.1 of $T/one/bin/one, .*; stage one of the two to a directory" "$OUT" || { cat "$OUT"; false; }
  # A step's beside the job's. (Text that is busy for a moment is another matter.)
  printf '%s\n' '#!/bin/bash' 'for ((i = 0; i < 50; i++)); do two=$("$STAGECAST_STEP_DIR/two") && break; done' 'echo "$(/tmp/d/one) $two"' > "$WORK/both"
  chmod 755 "$WORK/both"
  place /tmp/d
  script 'srun --stage-file=two/bin/two:/tmp/d/two:libs+temp true; srun --stage-file=two/bin/two::libs ./both'
  submit -N3 --stage-file=one/bin/one:/tmp/d/one:libs+temp job.sh
  wait_job "$JOB" COMPLETED
  [ "$(grep -cx 'one two' "$OUT")" = 3 ] || { cat "$OUT"; false; }
  grep -q '/tmp/d/two_libs/libwho.so.1: the job has another one' "$OUT" || { cat "$OUT"; false; }
}

@test "a name with a colon, a semicolon and a token in it" {
  who one
  mv "$WORK/one/bin/one" "$WORK/one/bin/\$LIB"
  as_alice srun -N3 '--stage-file=one/bin/$LIB:a;b\:c/:libs' sh -c '"$STAGECAST_DIR/a;b:c/\$LIB"' > "$WORK/out"
  [ "$(grep -cx one "$WORK/out")" = 3 ] || { cat "$WORK/out"; false; }
}

@test "a program that brings its own C library runs, and so does all else in the job" {
  local loader
  mkdir -p "$WORK/prefix/lib"
  loader=$(readelf -l /bin/true | sed -n 's/.*interpreter: \(.*\)]/\1/p')
  cp -L "$(ldconfig -p | sed -n 's/.*libc\.so\.6 (libc6,x86-64).* => //p' | head -n 1)" "$WORK/prefix/lib/libc.so.6"
  cp -L "$loader" "$WORK/prefix/lib/"
  # As those of another release do, the two share a secret that the system's loader does not know.
  sed -i 's/GLIBC_PRIVATE/GLIBC_PRIVATX/g' "$WORK"/prefix/lib/*
  local rpath
  for rpath in "$T/prefix/lib" '$ORIGIN/lib'; do
    echo 'int puts(const char*); int main(void) { return puts("solved") < 0; }' |
      gcc -xc - -o "$WORK/prefix/solver" "-Wl,--dynamic-linker=$T/prefix/lib/${loader##*/},--disable-new-dtags,-rpath,$rpath"
    chown -R 2001:2001 "$WORK/prefix"
    as_alice srun -N3 --stage-file=prefix/solver::libs sh -c 'ls / > /dev/null && "$STAGECAST_DIR/solver"' > "$WORK/out" || { cat "$WORK/out"; false; }
    [ "$(grep -cx solved "$WORK/out")" = 3 ] || { cat "$WORK/out"; false; }
  done
  # Where a node has no such loader, it says so.
  mkdir "$WORK/sw"
  mv "$WORK/prefix" "$WORK/sw/"
  sed -i "s|$T/prefix/lib/ld|$T/sw/prefix/ld|" "$WORK/sw/prefix/solver"
  cp "$WORK/sw/prefix/lib/${loader##*/}" "$WORK/sw/prefix/"
  hide n1 "$T/sw/x"
  srun_fails --stage-file=sw/prefix/solver::libs
  grep -q "node n1: .*solver: the program needs $T/sw/prefix/${loader##*/} at this very path" "$OUT" || { cat "$OUT"; false; }
}

@test "a library that is needed by its path: on every node, or an error" {
  mkdir "$WORK/sw"
  echo 'int who(void) { return 0; }' | gcc -shared -fPIC -xc - -o "$WORK/sw/libwho.so"
  cp "$WORK/sw/libwho.so" /tmp/libwho.$$.so
  echo 'int who(void); int main(void) { return who(); }' | gcc -xc - -xnone -o "$WORK/prog" "/tmp/libwho.$$.so"
  rm "/tmp/libwho.$$.so"
  chown -R 2001:2001 "$WORK"
  lab on n0 -u alice cp "$T/sw/libwho.so" "/tmp/libwho.$$.so"
  srun_fails -N3 --stage-file=prog::libs
  grep -Eq "node n[12]: .*/prog: the program needs /tmp/libwho.$$.so at this very path" "$OUT" || { cat "$OUT"; false; }
  as_alice srun -N3 "--stage-file=/tmp/libwho.$$.so:/tmp/libwho.$$.so:temp+late" --stage-file=prog::libs \
    sh -c '"$STAGECAST_DIR/prog" && echo fine' > "$WORK/out"
  lab on n0 rm "/tmp/libwho.$$.so"
  [ "$(grep -cx fine "$WORK/out")" = 3 ] || { cat "$WORK/out"; false; }
}

@test "what ld.so takes besides: tokens, relative directories, semicolons" {
  local multi plain
  multi=$(gcc -print-multiarch)
  RUNPATH='$ORIGIN/../$LIB' who token
  RUNPATH=/nowhere who plain
  mkdir "$WORK/token/lib/$(dirname "$multi/x")"
  mv "$WORK/token/lib/libwho.so.1" "$WORK/token/lib/$multi/"
  chown -R 2001:2001 "$WORK"
  as_alice srun -N3 --stage-file=token/bin/token::libs sh -c '"$STAGECAST_DIR/token"' > "$WORK/out"
  for plain in plain/lib "/nowhere;$T/plain/lib"; do
    as_alice env "LD_LIBRARY_PATH=$plain" srun -N3 --stage-file=plain/bin/plain::libs sh -c 'cd /; "$STAGECAST_DIR/plain"' >> "$WORK/out"
  done
  [ "$(sort "$WORK/out" | uniq -c | tr -s ' ' | paste -sd'|')" = ' 6 plain| 3 token' ] || { cat "$WORK/out"; false; }
}

# As conda's and MKL's libblas.so.3 and liblapack.so.3, which are links to one library.
@test "a library with two names is loaded once" {
  local top=$WORK/blas
  mkdir -p "$top/lib" "$top/bin"
  echo 'static int n = 1; void set(int to) { n = to; } int get(void) { return n; }' > "$top/blas.c"
  gcc -shared -fPIC -Wl,-soname,libblas.so.3 -o "$top/libblas.so" "$top/blas.c"
  gcc -shared -fPIC -Wl,-soname,liblapack.so.3 -o "$top/liblapack.so" "$top/blas.c"
  gcc -shared -fPIC -Wl,-soname,libopen.so.0 -o "$top/lib/libopen.so.0" "$top/blas.c"
  ln -s libopen.so.0 "$top/lib/libblas.so.3"
  ln -s libopen.so.0 "$top/lib/liblapack.so.3"
  cat > "$top/main.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  void (*set)(int) = (void (*)(int))dlsym(dlopen("libblas.so.3", RTLD_NOW), "set");
  int (*get)(void) = (int (*)(void))dlsym(dlopen("liblapack.so.3", RTLD_NOW), "get");
  set(8);
  printf("threads %d\n", get());
}
END
  gcc -o "$top/bin/prog" "$top/main.c" -Wl,--no-as-needed "$top/libblas.so" "$top/liblapack.so" -Wl,--enable-new-dtags,-rpath,'$ORIGIN/../lib'
  chown -R 2001:2001 "$top"
  place /tmp/d
  [ "$(as_alice "$T/blas/bin/prog")" = 'threads 8' ]
  as_alice srun -N3 --stage-file=blas/bin/prog::libs --stage-file=blas/bin/prog:/tmp/d/p:libs+temp \
    sh -c '"$STAGECAST_DIR/prog"; /tmp/d/p; ls /tmp/d/p_libs | paste -sd,' > "$WORK/out"
  [ "$(sort "$WORK/out" | uniq -c | tr -s ' ' | paste -sd'|')" = ' 3 libblas.so.3,liblapack.so.3| 6 threads 8' ] || { cat "$WORK/out"; false; }
  wait_for 20 nothing_there
}

@test "a filter is sent with the library that it stands for, a program with what audits it" {
  local top=$WORK/filter
  mkdir -p "$top/lib" "$top/bin"
  local name value
  while read -r name value; do
    echo "int answer(void) { return $value; } unsigned la_version(unsigned v) { return v; }" > "$top/$name.c"
  done <<< $'real 42\nfilter 1\nmaybe 2'
  gcc -shared -fPIC -Wl,-soname,libreal.so -o "$top/lib/libreal.so" "$top/real.c"
  gcc -shared -fPIC -Wl,-soname,libaudit.so -o "$top/lib/libaudit.so" "$top/real.c"
  gcc -shared -fPIC -Wl,-soname,libfilter.so,-F,libreal.so,--enable-new-dtags,-rpath,'$ORIGIN' -o "$top/lib/libfilter.so" "$top/filter.c"
  gcc -shared -fPIC -Wl,-soname,libmaybe.so,-f,libreal.so,--enable-new-dtags,-rpath,'$ORIGIN' -o "$top/lib/libmaybe.so" "$top/maybe.c"
  printf '#include <stdio.h>\nint answer(void);\nint main(void) { printf("answer %%d\\n", answer()); }\n' > "$top/main.c"
  for name in filter maybe; do
    gcc -o "$top/bin/$name" "$top/main.c" "$top/lib/lib$name.so" -Wl,--enable-new-dtags,-rpath,'$ORIGIN/../lib',--audit,libaudit.so
    chown -R 2001:2001 "$top"
    as_alice srun -N3 "--stage-file=filter/bin/$name::libs" sh -c '"$STAGECAST_DIR"/'$name >> "$WORK/out" 2>&1
  done
  [ "$(uniq -c "$WORK/out" | tr -s ' ')" = ' 6 answer 42' ] || { cat "$WORK/out"; false; }
}

@test "newer: all of one version" {
  who one
  who two
  mv "$WORK/two/bin/two" "$WORK/two/bin/one"
  touch -d 2024-01-01 "$WORK/one/bin/one"
  touch -d 2024-06-01 "$WORK/one/lib/libwho.so.1"
  touch -d 2024-09-01 "$WORK/two/bin/one"
  touch -d 2024-03-01 "$WORK/two/lib/libwho.so.1"
  place /tmp/d
  local v
  for v in one two one; do
    as_alice srun -N3 "--stage-file=$v/bin/one:/tmp/d/p:newer+libs" /tmp/d/p >> "$WORK/out"
  done
  [ "$(uniq -c "$WORK/out" | tr -s ' ' | paste -sd'|')" = ' 3 one| 6 two' ] || { cat "$WORK/out"; false; }
}

@test "temp, optional and a failed stage leave nothing" {
  local node
  who one
  place /tmp/d
  as_alice srun -N3 --stage-file=one/bin/one:/tmp/d/p:libs+temp sh -c 'ln -s libwho.so.1 /tmp/d/p_libs/libwho.so && /tmp/d/p'
  wait_for 20 nothing_there
  for node in "${NODES[@]}"; do lab on "$node" -u alice bash -c 'echo another > /tmp/d/ls'; done
  srun_fails --stage-file=one/bin/one:/tmp/d/p:libs --stage-file=/bin/ls:/tmp/d/ls
  for node in "${NODES[@]}"; do lab on "$node" rm /tmp/d/ls; done
  wait_for 20 nothing_there
  for _ in 1 2; do
    as_alice srun -N3 --stage-file=one/bin/absent:/tmp/d/none/p:libs+optional sh -c 'echo $STAGECAST_JOB_STATUS' > "$WORK/out" 2>&1
    [ "$(grep -cx partial "$WORK/out")" = 3 ] || { cat "$WORK/out"; false; }
  done
  nothing_there
}

# Programs of Debian, each with words that make it tell something that its libraries know.
real_programs() {
  cat <<'END'
/usr/bin/git --version
/usr/bin/python3 -c print(6*7)
/usr/bin/perl -e print(6*7)
/usr/bin/ssh -V
/usr/bin/gdb --version
/usr/bin/curl --version
/usr/bin/squashfuse --help
/usr/bin/mpirun --version
/usr/bin/srun --version
/usr/bin/sbatch --version
/usr/bin/cmake -E echo 42
/usr/bin/sqlite3 --version
/usr/bin/openssl version
/usr/bin/vim --version
/usr/bin/xz --version
/usr/bin/zstd --version
/usr/bin/gpg --version
/usr/bin/rsync --version
/usr/bin/bash --version
/bin/tar --version
/usr/bin/dpkg --version
/usr/bin/jq --version
/usr/bin/ip -V
END
  local compiler
  compiler=$(gcc -print-prog-name=cc1plus)
  [ ! -x "$compiler" ] || echo "$compiler --version"
}

# Each in sw/bin, its libraries but the C library in sw/lib, and nothing of sw on two of three nodes.
@test "at least twelve programs of Debian: with the same libraries as where they are installed, and as sbcast sends" {
  local path words name library count=0 calls='' broadcasts=''
  local -a options=()
  mkdir -p "$WORK/sw/bin" "$WORK/sw/lib"
  while read -r path words; do
    name=${path##*/}
    { [ -x "$path" ] && cp -L "$path" "$WORK/sw/bin/"; } || continue
    while read -r library; do cp -Ln "$library" "$WORK/sw/lib/"; done < <(
      ldd "$path" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | grep -Ev '/(ld-linux|lib(c|m|mvec|pthread|dl|rt|resolv|anl|util)\.so|libnss_)')
    count=$((count + 1))
    options+=("--stage-file=sw/bin/$name::libs")
    calls+="echo \"== $name\"; \$BIN/$name $(printf %q "$words" | sed 's/\\ / /g') 2>&1; LD_TRACE_LOADED_OBJECTS=1 \$BIN/$name | sed 's/ (0x.*//'"$'\n'
    broadcasts+="sbcast -f --send-libs sw/bin/$name /tmp/d/$name; "
  done < <(real_programs)
  [ "$count" -ge 12 ] || skip "$count of these programs are installed"
  chown -R 2001:2001 "$WORK/sw"
  printf '%s\n' "$calls" > "$WORK/calls"
  with_sw env "BIN=$T/sw/bin" sh calls | sed "s|$T/sw/lib/|LIB/|" > "$WORK/installed"
  grep -q 'LIB/' "$WORK/installed"

  hide n1 "$T/sw/x"
  hide n2 "$T/sw/x"
  with_sw srun -N3 "${options[@]}" sh -c 'BIN=$STAGECAST_DIR sh calls |
    sed "s|$STAGECAST_DIR/.stagecast/libs/[0-9]*/$STAGECAST_DIR/|LIB/|" > out.$SLURMD_NODENAME
    ls -d "$STAGECAST_DIR"/*_libs/* | sed "s|.*/\(.*_libs/\)|\1|" > libs.$SLURMD_NODENAME'
  local node
  for node in "${NODES[@]}"; do
    diff "$WORK/installed" "$WORK/out.$node" || { echo "other libraries, or another answer, on $node"; false; }
  done
  # As Slurm sends them. (sbcast puts the libraries of a job's programs into the directory of the first.)
  lab on n1 umount "$T/sw"
  lab on n2 umount "$T/sw"
  place /tmp/d
  with_sw salloc -Q -N1 -w n1 sh -c "$broadcasts srun sh -c 'ls -d /tmp/d/*_libs/*'" > "$WORK/sbcast"
  diff <(sed 's|.*/||' "$WORK/sbcast" | sort -u) <(sed 's|.*/||' "$WORK/libs.n1" | sort -u)
  echo "# $count programs, $(wc -l < "$WORK/libs.n1") libraries" >&3
}
with_sw() { as_alice env "LD_LIBRARY_PATH=$T/sw/lib" "$@"; }
