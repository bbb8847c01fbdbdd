# Tests that the Debian package installs, runs a cluster, and is removed without a trace; and the RPM's contents.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

setup_file() {
  local why
  why=$(needs) || { export LACKS=$why; return 0; }
  export PACKAGE
  local said
  export DEB_BUILD_OPTIONS=noautodbgsym   # to compress them takes minutes
  said=$(make -s -C "$CLUSTER_TESTS/../.." deb "BUILD=${STAGECAST_BUILD:-build}" 2>&1) || { echo "make deb: $said"; return 1; }
  PACKAGE=${said##*$'\n'}
  [ -s "$PACKAGE" ] || { echo "make deb: $said"; return 1; }
  cluster_up 2 --package "$PACKAGE"
}
teardown_file() { cluster_down; }
setup() {
  [ -z "${LACKS:-}" ] || skip "$LACKS"
  test_begins
}
teardown() { [ -n "${LACKS:-}" ] || test_ends; }

# What this machine lacks, if it lacks something: a package is made and laid over /usr.
needs() {
  command -v dpkg-shlibdeps > /dev/null || { echo 'no dpkg-shlibdeps here'; return 1; }
  unshare -m bash -c 'mount -t tmpfs t /mnt && mkdir /mnt/a && mount -t overlay -o lowerdir=/mnt/a:/usr o /usr' 2> /dev/null \
    || { echo 'no overlayfs here'; return 1; }
}

@test "the installed package stages a job's file with its own paths and configuration" {
  local node
  for node in login n0 n1; do lab on "$node" test -r /usr/lib/slurm/stagecast.so; done
  [ "$(lab on n1 bash -c 'readlink /proc/$(cat /run/lab/stagecastd.pid)/exe')" = /usr/sbin/stagecastd ]
  input data 3000000
  script 'srun /srv/rank.sh'
  submit -N2 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
  as_alice sbatch --help | grep -q -- --stage-file
  lab on n0 stagecast doctor > "$WORK/said" || { cat "$WORK/said"; false; }
  grep -q '^ok     plugstack: /etc/slurm/plugstack.conf.d/stagecast.conf loads /usr/lib/slurm/stagecast.so$' "$WORK/said"
}

@test "its manual pages can be read, and agree with the programs" {
  local page
  for page in stagecast.conf.5 stagecastd.8 stagecast-spank.7; do
    lab on n0 bash -c 'zcat /usr/share/man/man?/"$0".gz' "$page" > "$WORK/$page"
    grep -q '^\.SH NAME' "$WORK/$page"
  done
  local option
  for option in $(lab on n0 bash -c '/usr/sbin/stagecastd --help 2>&1; true' | grep -o '^  -[a-zA-Z]' | tr -d ' '); do
    grep -qF -- "\\$option" "$WORK/stagecastd.8" || { echo "stagecastd(8) has no $option"; false; }
  done
}

@test "make install under a strict umask installs what users can read" {
  umask 077
  make -s -C "$CLUSTER_TESTS/../.." install install-doc "BUILD=${STAGECAST_BUILD:-build}" DESTDIR="$WORK/strict" > "$WORK/said" 2>&1 ||
    { cat "$WORK/said"; false; }
  umask 022
  [ -s "$WORK/strict/etc/stagecast/stagecast.conf" ]
  # (A worker that its user could read could be traced by that user.)
  [ -z "$(find "$WORK/strict" -mindepth 1 ! -type l ! -perm -o+r ! -path '*/libexec/stagecast/stagecast-*')" ] ||
    { find "$WORK/strict" ! -perm -o+r; false; }
  [ -z "$(find "$WORK/strict" -mindepth 1 -type d ! -perm -o+x)" ]
  [ -z "$(find "$WORK/strict/usr/share/doc" ! -user root)" ]
}

@test "systemd takes the unit, which hides no path that a user could name" {
  command -v systemd-analyze > /dev/null || skip 'no systemd-analyze'
  local unit=/usr/lib/systemd/system/stagecastd.service word
  lab on n0 systemd-analyze verify --man=no "$unit" > "$WORK/said" 2>&1 || { cat "$WORK/said"; false; }
  run ! grep -E 'stagecastd.service' "$WORK/said"
  for word in PrivateTmp ProtectHome ProtectSystem ReadWritePaths InaccessiblePaths PrivateDevices TemporaryFileSystem \
    PrivateMounts ProtectKernelTunables ProtectControlGroups BindPaths RootDirectory; do
    run ! lab on n0 grep -E "^$word=" "$unit"
  done
}

# A system of our own: what dpkg changes is laid over this machine's, and gone afterwards.
on_a_copy() {
  unshare -m bash -euc '
    mount -t tmpfs tmpfs /mnt
    for place in usr var etc; do
      mkdir -p /mnt/$place /mnt/work-$place
      mount -t overlay -o "lowerdir=/$place,upperdir=/mnt/$place,workdir=/mnt/work-$place" $place /$place
    done
    mount -t tmpfs tmpfs /run   # no service manager of this machine is asked for anything
    mkdir /run/lock
    '"$1" package "$PACKAGE"
}

@test "its scripts restart a running daemon when it is upgraded, stop it when it is removed, and start none" {
  # (Whether they do is tests/nspawn's question: here is no service manager.)
  local script
  for script in postinst prerm; do dpkg-deb --ctrl-tarfile "$PACKAGE" | tar -xO "./$script" > "$WORK/$script"; done
  grep -q "deb-systemd-invoke try-restart 'stagecastd.service'" "$WORK/postinst"
  grep -q 'deb-systemd-invoke stop stagecastd.service' "$WORK/prerm"
  run ! grep -E "deb-systemd-invoke (start|restart)" "$WORK/postinst"
}

@test "dpkg installs it, installs it again, removes it, purges it: nothing stays" {
  on_a_copy '
    dpkg -i --force-depends "$1"
    dpkg -V stagecast
    stagecastd -C
    man=$(zcat /usr/share/man/man8/stagecastd.8.gz); [ -n "$man" ]
    echo "MaxBytes=1G" >> /etc/stagecast/stagecast.conf
    dpkg -i --force-depends --force-confold "$1"
    grep -qx MaxBytes=1G /etc/stagecast/stagecast.conf
    dpkg -r stagecast
    [ ! -e /usr/lib/slurm/stagecast.so ]
    [ ! -e /etc/slurm/plugstack.conf.d/stagecast.conf ]
    dpkg -i --force-depends --force-confold "$1"
    [ -e /etc/slurm/plugstack.conf.d/stagecast.conf ]
    grep -qx MaxBytes=1G /etc/stagecast/stagecast.conf
    dpkg -P stagecast
    left=$(find /usr /etc /var/spool /run -xdev -name "*stagecast*" ! -path "/usr/share/doc/*")
    [ -z "$left" ] || { echo "left: $left"; exit 1; }' < /dev/null
}

# another_system ROOT: packages of a machine of its own, which apt and dpkg take by APT_CONFIG; it has SchedMD's headers of
# Slurm, and can have Debian's. (The packages are empty.)
another_system() {
  local root=$1
  mkdir -p "$root"/{repo,bin,etc/apt,var/lib/apt/lists/partial,var/cache/apt/archives/partial,var/lib/dpkg/updates,var/lib/dpkg/info}
  stand_in() {   # NAME VERSION [FIELD]
    mkdir -p "$root/made/$1/DEBIAN"
    printf '%s\n' "Package: $1" "Version: $2" 'Architecture: all' 'Maintainer: x <x@x.invalid>' 'Description: stand-in' ${3:+"$3"} \
      > "$root/made/$1/DEBIAN/control"
    dpkg-deb --build "$root/made/$1" "$root/repo" > /dev/null
  }
  stand_in slurm-smd-dev 25.11.6 'Conflicts: libslurm-dev'
  stand_in libslurm-dev 22.05.8
  stand_in debhelper 13
  (cd "$root/repo" && dpkg-scanpackages . > Packages 2> /dev/null)
  printf '#!/bin/sh\nexec /usr/bin/dpkg --root=%s --force-script-chrootless "$@"\n' "$root" > "$root/bin/dpkg"
  chmod 755 "$root/bin/dpkg"
  : > "$root/var/lib/dpkg/status"
  echo "deb [trusted=yes] file:$root/repo ./" > "$root/etc/apt/sources.list"
  printf '%s;\n' "Dir \"$root/\"" "Dir::State::status \"$root/var/lib/dpkg/status\"" "Dir::Bin::dpkg \"$root/bin/dpkg\"" \
    'APT::Sandbox::User "root"' > "$root/apt.conf"
  dpkg --root="$root" -i "$root"/repo/slurm-smd-dev_*.deb > /dev/null
}

@test "what a build needs is installed without removing a package of the machine" {
  local top=$CLUSTER_TESTS/../.. root=$WORK/system
  another_system "$root"
  installed() { dpkg-query --root="$root" -W -f '${Package} ' "$@"; }
  run -1 env APT_CONFIG="$root/apt.conf" "$top/tests/deps" debhelper libslurm-dev
  [[ $output == *'apt would remove slurm-smd-dev from this machine, so nothing is installed: '* ]] || { echo "$output"; false; }
  [ "$(installed)" = 'slurm-smd-dev ' ]
  env APT_CONFIG="$root/apt.conf" "$top/tests/deps" debhelper
  [ "$(installed)" = 'debhelper slurm-smd-dev ' ]
}

@test "headers that are there are used, whatever package they are of, and /usr can be a prefix" {
  local top=$CLUSTER_TESTS/../.. prefix=$WORK/slurm
  # (In a build of its own: the next make would take the flags of the suites' build for changed, and compile all of it.)
  asked() { make -s -n -C "$top" deps-build "BUILD=$WORK/build" "$@" | grep tests/deps; }
  asked slurm_header= pmix_header= > "$WORK/said"
  grep -q ' libslurm-dev libpmix-dev ' "$WORK/said"
  asked > "$WORK/said"   # the package that was built needed them
  run ! grep -E 'lib(slurm|pmix|munge)-dev' "$WORK/said"
  # includes PREFIX: where compiler and linker look for Slurm and PMIx besides.
  includes() {
    make -pn -C "$top" deps-build "BUILD=$WORK/build" "SLURM_PREFIX=$1" "PMIX_PREFIX=$1" \
      "slurm_header=$1/include/slurm/spank.h" "pmix_header=$1/include/pmix.h" 2> /dev/null \
      | grep -E '^(SLURM|PMIX)_(INC|LIB) :=' | grep -oE '(-isystem |-L|rpath,)[^ ]*' | sort -u
  }
  [ -z "$(includes /usr)" ] || { includes /usr; false; }
  [ -z "$(includes /usr/)" ]
  ln -s /usr "$prefix"
  [ -z "$(includes "$prefix")" ]
  [ "$(includes /opt/slurm)" = "$(printf '%s\n' '-L/opt/slurm/lib' '-isystem /opt/slurm/include' rpath,/opt/slurm/lib)" ] || { includes /opt/slurm; false; }
}

# rpm_of CHECKOUT: the path of the RPM that is made of what is built there.
rpm_of() { make -s -C "$1" rpm "BUILD=${STAGECAST_BUILD:-build}" | tail -n 1; }

@test "rpmbuild takes the spec; the package has the other one's files, its own directories and no dead link" {
  command -v rpmbuild > /dev/null && command -v rpmlint > /dev/null || skip 'no rpmbuild, no rpmlint'
  local rpm top=$CLUSTER_TESTS/../..
  rpm=$(rpm_of "$top")
  [ -s "$rpm" ]
  rpmlint -c "$top/etc/rpmlint.toml" "$top/etc/stagecast.spec" "$rpm" > "$WORK/said"
  run ! grep ' E: ' "$WORK/said"
  grep -q '; 0 errors, ' "$WORK/said"
  # What both have; where they lie on an Enterprise Linux, and as they are compressed.
  rpm -qlp "$rpm" | sed 's,/usr/lib64/slurm,/usr/lib/slurm,; s,/usr/share/licenses/.*,,; s,\(/man/.*\)\.gz$,\1,' | grep -v /.build-id | sort -u > "$WORK/rpm"
  dpkg-deb -c "$PACKAGE" | awk '$1 !~ /^d/ { print $6 }' | sed 's,^\.,,; s,\(/man/.*\)\.gz$,\1,' \
    | grep -vE '/lintian/|/doc/stagecast/(copyright|changelog.*)$|^/lib/systemd' > "$WORK/deb"
  sort -u "$WORK/deb" | comm -23 - "$WORK/rpm" > "$WORK/lacks"
  [ ! -s "$WORK/lacks" ] || { echo 'not in the RPM:'; cat "$WORK/lacks"; false; }
  local directory
  for directory in /etc/stagecast /etc/slurm/plugstack.conf.d /usr/libexec/stagecast /usr/lib/slurm /usr/share/doc/stagecast \
    /usr/share/doc/stagecast/docs/decisions /usr/share/doc/stagecast/examples; do
    grep -qx "$directory" "$WORK/rpm" || { echo "no package owns $directory"; false; }
  done
  mkdir "$WORK/root"
  rpm2cpio "$rpm" | (cd "$WORK/root" && cpio -idm --quiet)
  local page link
  find "$WORK/root" -name '*.md' > "$WORK/pages"
  while IFS= read -r page; do
    for link in $(grep -oE '\]\([^) ]+\)' "$page" | sed 's/^](//; s/)$//; s/#.*//' | grep -v ^http); do
      [ -e "$(dirname "$page")/$link" ] || { echo "$page: $link"; false; }
    done
  done < "$WORK/pages"
}

@test "the built files do not contain the path of the build" {
  local top=$CLUSTER_TESTS/../.. build=${STAGECAST_BUILD:-build} object=obj/transport/os/installation.o copy
  for copy in a/stagecast elsewhere; do
    mkdir -p "$WORK/$copy"
    git -C "$top" ls-files -z | tar -C "$top" -cf - --null -T - | tar -C "$WORK/$copy" -xf -
    CCACHE_DISABLE=1 make -s -C "$WORK/$copy" STAGECAST_VERSION=1 BUILD=build "build/$object"
  done
  cmp "$WORK"/{a/stagecast,elsewhere}/build/$object
  run ! grep -q elsewhere "$WORK/elsewhere/build/$object"
  command -v rpmbuild > /dev/null || skip 'no rpmbuild'
  # The package: what is built here, packed once here and once by another name of this directory.
  [ "$build" = build ] || skip 'the build is elsewhere'
  local first
  first=$(sha256sum < "$(rpm_of "$top")")
  mkdir "$WORK/again"
  mount --bind "$top" "$WORK/again"
  run rpm_of "$WORK/again"
  local second
  second=$(sha256sum < "${lines[-1]}")
  umount "$WORK/again"
  [ "$first" = "$second" ]
}
