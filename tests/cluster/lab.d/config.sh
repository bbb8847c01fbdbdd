# Writes the emulated cluster's configuration.
#
# Everything below DIR/etc is one private copy of this machine's /etc that all hosts see as theirs,
# so the machine's own files stay untouched. Each node has its own /etc/stagecast and its own
# /etc/ld.so.preload, because nodes in tests are sick one at a time.
# shellcheck shell=bash
# shellcheck disable=SC2154  # DIR, N, ... come from the lab's arguments

config_hosts() { local i; echo login; for ((i = 0; i < N; i++)); do echo "n$i"; done; }

config_write() {
  cp -a /etc "$DIR/etc" || return 1
  config_users
  config_names
  config_slurm
  config_stagecast
  rm -rf "$DIR/etc/ld.so.preload" "$DIR/etc/stagecast"
  : > "$DIR/etc/ld.so.preload"
  mkdir "$DIR/etc/stagecast"
  (umask 077 && head -c 128 /dev/urandom > "$DIR/munge.key")
}

# alice and bob exist on the cluster only; both are in the supplementary group "project".
config_users() {
  local user id
  sed -i '/^\(alice\|bob\):/d' "$DIR/etc/passwd"
  sed -i '/^\(alice\|bob\|project\):/d' "$DIR/etc/group"
  for user in alice:2001 bob:2002; do
    id=${user#*:} user=${user%:*}
    echo "$user:x:$id:$id::/home/$user:/bin/bash" >> "$DIR/etc/passwd"
    echo "$user:x:$id:" >> "$DIR/etc/group"
    install -d -m 700 -o "$id" -g "$id" "$DIR/home/$user"
  done
  sed -i '/^stagecast:/d' "$DIR/etc/passwd" "$DIR/etc/group"   # as the packages make it
  echo 'stagecast:x:990:990::/nonexistent:/usr/sbin/nologin' >> "$DIR/etc/passwd"
  echo 'stagecast:x:990:' >> "$DIR/etc/group"
  echo 'project:x:2100:alice,bob' >> "$DIR/etc/group"
}

# Names come from files only: no resolver of the machine's is asked, present or not.
config_names() {
  local i
  printf '%s\n' 'passwd: files' 'group: files' 'shadow: files' 'hosts: files' > "$DIR/etc/nsswitch.conf"
  rm -f "$DIR/etc/resolv.conf"
  {
    echo '127.0.0.1 localhost'
    echo '10.77.0.1 login'
    [ "$UNRESOLVABLE" = yes ] || for ((i = 0; i < N; i++)); do echo "$(net_address "$i") n$i"; done
  } > "$DIR/etc/hosts"
}

# slurm.conf: defaults, then the caller's K=V; a caller's key replaces the default, "K=" removes it.
config_slurm() {
  local line i
  local -A given=()
  rm -rf "$DIR/etc/slurm"
  mkdir "$DIR/etc/slurm"
  [ -z "$PACKAGE" ] || cp -r "$DIR/srv/package/etc/slurm/." "$DIR/etc/slurm/"
  printf '%s\n' "${PLUG[@]}" > "$DIR/etc/slurm/plugstack.conf"
  echo CgroupPlugin=cgroup/v1 > "$DIR/etc/slurm/cgroup.conf"
  for line in "${FILES[@]}"; do printf '%s\n' "${line#*=}" > "$DIR/etc/slurm/${line%%=*}"; done
  for line in "${CONF[@]}"; do given[${line%%=*}]=yes; done
  {
    while read -r line; do
      [ -n "${given[${line%%=*}]:-}" ] || echo "$line"
    done < <(config_slurm_defaults)
    for line in "${CONF[@]}"; do [ -z "${line#*=}" ] || echo "$line"; done
    for ((i = 0; i < N; i++)); do
      echo "NodeName=n$i NodeAddr=$(net_address "$i") CPUs=$CPUS RealMemory=20000 State=UNKNOWN"
    done
    echo "PartitionName=main Nodes=n[0-$((N - 1))] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO"
  } > "$DIR/etc/slurm/slurm.conf"
}

# No cgroup is used: containers and bare chroots have none. CPUs exceed the machine's on purpose.
config_slurm_defaults() {
  cat <<'LINES'
ClusterName=lab
SlurmctldHost=login(10.77.0.1)
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd-%n.log
SlurmctldDebug=verbose
SlurmdDebug=verbose
LogTimeFormat=iso8601_ms
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
MpiDefault=none
PrologFlags=Alloc,DeferBatch
ReturnToService=2
SlurmctldTimeout=120
SlurmdTimeout=120
MessageTimeout=20
KillWait=5
MinJobAge=3600
InactiveLimit=0
PlugStackConfig=/etc/slurm/plugstack.conf
LINES
}

# stagecast.conf, copied to every node's own /etc/stagecast at its start.
config_stagecast() {
  local line
  local -A given=()
  for line in "${STAGECAST[@]}"; do given[${line%%=*}]=yes; done
  [ -z "$PACKAGE" ] || given[LibexecDir]=yes   # where it is by default
  {
    [ -z "$PACKAGE" ] || cat "$DIR/srv/package/etc/stagecast/stagecast.conf"
    while read -r line; do
      [ -n "${given[${line%%=*}]:-}" ] || echo "$line"
    done <<'LINES'
StageRoot=/var/spool/stagecast
AllowRamStageRoot=yes
DestRoots=/tmp,/var/tmp,/home
StageTimeout=20
StallTimeout=10
ConnectTimeout=3
Interface=eth0
TreeWidth=2
MulticastGroups=239.77.0.1-239.77.0.4
AnnounceTimeout=8
WatchInterval=2
StageReport=no
LibexecDir=/srv/stagecast/libexec/stagecast
LINES
    for line in "${STAGECAST[@]}"; do [ -z "${line#*=}" ] || echo "$line"; done
  } > "$DIR/stagecast.conf"
}
