# Tests that `stagecast doctor` finds errors, and none in a sound installation.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 2; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  heal
  test_ends
}

doctor() { lab on n1 /srv/stagecast/bin/stagecast doctor; }

@test "a healthy node is well" {
  doctor > "$WORK/said" || { cat "$WORK/said"; false; }
  run ! grep -q '^WRONG' "$WORK/said"
  for subject in configuration PrologFlags 'time limits' plugstack munge StageRoot CacheDir 'interface eth0' \
      stagecastd 'TCP port 6829' DataPortRange loopback NodeAddr; do
    grep -q "^ok     $subject: " "$WORK/said" || { cat "$WORK/said"; false; }
  done
  lab on n1 /srv/stagecast/bin/stagecast doctor --json > "$WORK/json"
  python3 "$CLUSTER_TESTS/lib/schema.py" doctor "$WORK/json"
  [ "$(jq .is_well "$WORK/json")" = true ]
  [ "$(jq '.findings | length' "$WORK/json")" = "$(wc -l < "$WORK/said")" ]
  # To look is no attack.
  log_since stagecastd-n1 > "$WORK/log"
  run ! grep 'a login at' "$WORK/log"
}

@test "a stopped daemon, a wrong key of the configuration, a missing plugin: each is named" {
  lab stop n1 stagecastd
  lab on n1 bash -c 'cp /etc/stagecast/stagecast.conf /run/lab/conf; echo TreeWidht=3 >> /etc/stagecast/stagecast.conf'
  lab on n1 bash -c 'echo "# nothing" > /run/lab/plugstack; mount --bind /run/lab/plugstack /etc/slurm/plugstack.conf'
  run -1 doctor
  lab on n1 umount /etc/slurm/plugstack.conf
  lab on n1 cp /run/lab/conf /etc/stagecast/stagecast.conf
  [[ $output == *'WRONG  stagecastd: '* ]]
  [[ $output == *'WRONG  TCP port 6829: '* ]]
  [[ $output == *'WRONG  configuration: '*TreeWidht*TreeWidth* ]]
  [[ $output == *'WRONG  plugstack: '*'loads no stagecast.so'* ]]
  [[ $output == *'ok     munge: '* ]]
}

@test "munge does not answer" {
  lab on n1 bash -c 'cp /etc/stagecast/stagecast.conf /run/lab/conf; echo MungeSocket=/run/nowhere >> /etc/stagecast/stagecast.conf'
  run -1 lab on n1 /srv/stagecast/bin/stagecast doctor --json
  [ "$(jq .is_well <<< "$output")" = false ]
  run -1 doctor
  lab on n1 cp /run/lab/conf /etc/stagecast/stagecast.conf
  [[ $output == *'WRONG  munge: '* ]]
}

@test "a CacheDir that is no place for a cache, and what is to be done" {
  local cache=/var/spool/doctors-cache
  # said KEYS... : the line on CacheDir with these in stagecast.conf.
  said() {
    lab on n1 bash -c 'cp /etc/stagecast/stagecast.conf /run/lab/conf; printf "%s\n" "$@" >> /etc/stagecast/stagecast.conf' - "$@"
    doctor > "$WORK/said" || true
    lab on n1 cp /run/lab/conf /etc/stagecast/stagecast.conf
    grep 'CacheDir: ' "$WORK/said"
  }
  [[ $(said CacheSize=1M CacheDir=$cache) == '?      CacheDir: '*'is not there yet; stagecastd makes it' ]] || false
  [[ $(said CacheSize=1M CacheDir=/var/nowhere/cache) == 'WRONG  CacheDir: /var/nowhere, above '*'make it as root' ]] || false
  run ! lab on n1 test -e $cache
  lab on n1 mkdir -m 755 $cache
  [[ $(said CacheSize=1M CacheDir=$cache) == 'WRONG  CacheDir: '*'chmod 700'* ]] || false
  [ "$(lab on n1 stat -c %a $cache)" = 755 ]
  lab on n1 chmod 700 $cache
  [[ $(said CacheSize=1M CacheDir=$cache) == "ok     CacheDir: $cache" ]] || false
  [[ $(said CacheSize=900T CacheDir=$cache) == 'WRONG  CacheDir: '*'has space for '*'lower CacheSize'* ]] || false
  lab on n1 touch $cache/results
  [[ $(said CacheSize=1M CacheDir=$cache) == 'WRONG  CacheDir: '*'holds results'*'set CacheDir to an empty directory'* ]] || false
  lab on n1 rm $cache/results
  lab on n1 chmod 777 $cache
  [[ $(said CacheSize=1M CacheDir=$cache) == 'WRONG  CacheDir: '*'written by others than root'* ]] || false
  lab on n1 chmod 700 $cache
  lab on n1 chown alice $cache
  [[ $(said CacheSize=1M CacheDir=$cache) == 'WRONG  CacheDir: '*'does not belong to root'* ]] || false
  lab on n1 rmdir $cache
}

@test "places and names that are not there, and a missing Prolog" {
  lab on n1 bash -c 'cp /etc/stagecast/stagecast.conf /run/lab/conf; sed -i "/^LibexecDir=\|^DestRoots=/d" /etc/stagecast/stagecast.conf
    printf "%s\n" LibexecDir=/no/libexec DestRoots=/tmp,/no/scratch MetricsFile=/no/metrics/x.prom NodeName=n0 StageFrom=prolog-script \
      >> /etc/stagecast/stagecast.conf'
  run -1 doctor
  lab on n1 cp /run/lab/conf /etc/stagecast/stagecast.conf
  [[ $output == *'WRONG  LibexecDir: /no/libexec/stagecast-worker: '* ]]
  [[ $output == *'WRONG  DestRoots: /no/scratch is no directory'* ]]
  [[ $output == *'WRONG  MetricsFile: /no/metrics is no directory'* ]]
  [[ $output == *'WRONG  NodeName: n0 is on host n0, and this is n1; '*'let it be n1'* ]]
  [[ $output == *'WRONG  StageFrom: '*'slurm.conf has no Prolog='* ]]
}

@test "a StageRoot, RunDir and CacheDir that can't be written, though they are there" {
  local place spool=/var/spool/stagecast
  lab on n1 bash -c 'cp /etc/stagecast/stagecast.conf /run/lab/conf; mkdir -m 700 /var/spool/stagecast-cache
    printf "%s\n" CacheSize=1M CacheDir=/var/spool/stagecast-cache >> /etc/stagecast/stagecast.conf'
  for place in "StageRoot $spool" "RunDir /run/stagecast" "CacheDir /var/spool/stagecast-cache"; do
    lab on n1 bash -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"' "${place#* }"
    run -1 doctor
    lab on n1 umount "${place#* }"
    [[ $output == *"WRONG  ${place% *}: ${place#* }: a file can't be written there: Read-only file system; "* ]] || { echo "$output"; false; }
  done
  lab on n1 bash -c 'mv /run/lab/conf /etc/stagecast/stagecast.conf; rmdir /var/spool/stagecast-cache'
  lab on n1 mount -t tmpfs -o mode=711,size=64k small $spool
  lab on n1 bash -c 'grep -q ^AllowRamStageRoot=yes /etc/stagecast/stagecast.conf; head -c 64k /dev/zero > /var/spool/stagecast/all' || true
  run -1 doctor
  lab on n1 umount /var/spool/stagecast
  [[ $output == *"WRONG  StageRoot: $spool: a file can't be written there: No space left on device; free space"* ]] || { echo "$output"; false; }
}

@test "a strict umask closes neither the socket nor StageRoot; a StageRoot that only root can enter is named" {
  input data 1000
  lab stop n1 stagecastd
  lab on n1 bash -c 'rm -rf /run/stagecast /var/spool/stagecast; umask 077
    setsid /srv/stagecast/sbin/stagecastd -c /etc/stagecast/stagecast.conf < /dev/null >> /var/log/stagecastd-n1.log 2>&1 &
    echo $! > /run/lab/stagecastd.pid'
  wait_for 10 lab on n1 -u alice /srv/stagecast/bin/stagecast status
  as_alice srun -w n1 --stage-file=data bash -c 'cmp data "$STAGECAST_FILES"'
  lab on n1 chmod 700 /var/spool/stagecast
  run -1 doctor
  [[ $output == *'WRONG  StageRoot: StageRoot: /var/spool/stagecast can be entered by root only; chmod go+x it'* ]]
  lab stop n1 stagecastd
  run ! lab on n1 timeout 20 /srv/stagecast/sbin/stagecastd -c /etc/stagecast/stagecast.conf
  [[ $output == *'/var/spool/stagecast can be entered by root only'* ]]
  lab on n1 chmod 711 /var/spool/stagecast
  lab start n1 stagecastd
}

@test "a firewall on the loopback, an address that is another host's" {
  lab on n1 iptables -w -A INPUT -i lo -p tcp -j DROP
  run -1 doctor
  lab on n1 iptables -w -F INPUT
  [[ $output == *'WRONG  loopback: TCP does not pass'*'iptables -I INPUT -i lo -j ACCEPT'* ]] || { echo "$output"; false; }
  lab exec scontrol update nodename=n1 nodeaddr=10.77.9.9
  run -0 doctor
  lab exec scontrol update nodename=n1 nodeaddr=10.77.1.2
  [[ $output == *'warn   NodeAddr: 10.77.9.9 is no address of this host'* ]] || { echo "$output"; false; }
}

@test "a StageRoot beside slurmd's own directory is worth a warning, and no more" {
  run -0 doctor
  [[ $output == *'warn   StageRoot: /var/spool/stagecast shares a file system with '*'/var/spool/slurmd: '* ]]
  lab on n1 mount -t tmpfs -o mode=755 tmpfs /var/spool/slurmd
  run -0 doctor
  lab on n1 umount /var/spool/slurmd
  [[ $output != *'warn   StageRoot'* ]]
}

@test "where jobs are only submitted nothing of a node's is asked for" {
  run -0 lab exec /srv/stagecast/bin/stagecast doctor
  [[ $output == *"ok     node: login is none of Slurm's"* ]]
  [[ $output == *' submission: this host judges submissions by its own stagecast.conf: OnNodeFault=fail, '* ]]
  [[ $output == *'ok     plugstack: '* ]]
  [[ $output != *WRONG* ]]
  [[ $output != *'TCP port'* ]]
  [[ $output != *interface* ]]
}

@test "ports that the kernel gives to connections of others are worth a warning, until they are reserved" {
  lab on n1 sysctl -qw net.ipv4.ip_local_port_range='1024 65535'
  run -0 doctor
  lab on n1 sysctl -qw net.ipv4.ip_local_reserved_ports=6829,6830-6893
  doctor > "$WORK/said"
  lab on n1 sysctl -qw net.ipv4.ip_local_port_range='32768 60999' net.ipv4.ip_local_reserved_ports=
  [[ $output == *'warn   local ports: '*'add 6829,6830-6893 to net.ipv4.ip_local_reserved_ports'* ]] || { echo "$output"; false; }
  grep -q '^ok     local ports: ' "$WORK/said"
}

@test "--local looks at the node, and not at Slurm" {
  lab on n1 /srv/stagecast/bin/stagecast doctor --local -c /etc/stagecast/stagecast.conf > "$WORK/said" || { cat "$WORK/said"; false; }
  for subject in configuration munge StageRoot CacheDir LibexecDir 'interface eth0' stagecastd 'TCP port 6829'; do
    grep -q "^ok     $subject: " "$WORK/said" || { cat "$WORK/said"; false; }
  done
  run ! grep -q 'PrologFlags\|plugstack\|time limits' "$WORK/said"
  lab stop n1 stagecastd
  run -1 lab on n1 /srv/stagecast/bin/stagecast doctor --local
  start_daemon n1
  [[ $output == *'WRONG  stagecastd: '* ]]
}

@test "wrong usage prints the right one" {
  run -64 lab on n1 /srv/stagecast/bin/stagecast docter
  [ "$output" = 'stagecast: there is no command docter; do you mean doctor?' ]
  run -64 lab on n1 /srv/stagecast/bin/stagecast status --jsno
  [ "$output" = 'stagecast status: there is no option --jsno; do you mean --json?' ]
  run -74 lab on n1 bash -c '/srv/stagecast/bin/stagecast --help > /dev/full'
  run -74 lab on n1 bash -c '/srv/stagecast/sbin/stagecastd -p > /dev/full'
  run -64 lab on n1 /srv/stagecast/bin/stagecast doctor eth0
  [ "${#lines[@]}" = 1 ]
  run -0 lab on n1 /srv/stagecast/bin/stagecast --version
  [[ $output == 'stagecast '* ]]
}

@test "each command prints its usage to stdout" {
  local command
  for command in push status explain cache prolog doctor; do
    lab on n1 /srv/stagecast/bin/stagecast "$command" --help > "$WORK/said"
    grep -q "^usage: stagecast $command" "$WORK/said" || { cat "$WORK/said"; false; }
  done
  lab on n1 /srv/stagecast/bin/stagecast --help > "$WORK/said"
  grep -q -- '--resume' "$WORK/said"
  lab on n1 /srv/stagecast/sbin/stagecastd --help > "$WORK/said"
  grep -q '^usage: stagecastd ' "$WORK/said"
}

@test "a user that is not root is informed, whether there is a cache or not" {
  run -77 lab on n1 -u alice /srv/stagecast/bin/stagecast cache ls
  [[ $output == *'only root'* ]]
  run -2 lab on n1 /srv/stagecast/bin/stagecast cache ls
  [[ $output == *'there is no cache'* ]]
}

@test "bash completes what there is" {
  # shellcheck source=/dev/null
  . "$BATS_TEST_DIRNAME/../../etc/bash-completion/stagecast"
  # completed WORD...: what can stand for the last one.
  completed() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _stagecast
    echo "${COMPREPLY[*]}"
  }
  [ "$(completed stagecast doc)" = doctor ]
  [ "$(completed stagecast push --no)" = --nodes= ]
  [ "$(completed stagecast push --launcher =)" = 'srun ssh clush' ]
  [ "$(completed stagecast push --launcher = s)" = 'srun ssh' ]
  [ "$(completed stagecast doctor --)" = '--local --multicast --nodes= --json --help' ]
  [ "$(completed stagecast cache l)" = ls ]
  [ "$(completed stagecast cache rm --a)" = --all ]
  [ "$(completed stagecast cache ls --a)" = '' ]
  cd "$WORK"
  touch own.conf
  [ "$(completed stagecast doctor -c own)" = own.conf ]
}
