# Starts the processes of an emulated host.
#
# Process 1 of each host's namespaces: it mounts what is the node's own, starts munged, stagecastd
# and the Slurm daemon, and stays, so that everything a host has dies with this one process.
# shellcheck shell=bash
# shellcheck disable=SC2154  # DIR, N, ... come from DIR/up.env

host_init() {
  local host=$1
  hostname "$host"
  mount -t proc proc /proc || return 1
  mount -t sysfs sysfs /sys 2>/dev/null   # shows this host's /sys/class/net, and no cgroup
  host_mounts "$host" || { echo "$host: its mounts failed"; return 1; }
  cd / || return 1
  ulimit -n 65536 2>/dev/null   # some containers allow neither
  ulimit -l unlimited 2>/dev/null
  [ "$KIND" = hosts ] || host_start_slurm "$host" || { echo "$host: munged failed"; return 1; }
  echo "$host: started"
  # bash reaps what is reparented to it; the loop ends with the host.
  while :; do sleep 1000 & wait $!; done
}

host_start_slurm() {
  local host=$1
  install -m 600 /run/lab/munge.key /run/munge.key
  munged --force --num-threads=2 --key-file=/run/munge.key --socket=/run/munge/munge.socket.2 \
    --pid-file=/run/munge/munged.pid --log-file="/var/log/munged-$host.log" --seed-file=/run/munge/seed \
    || return 1
  if [ "$host" = login ]; then
    slurmctld -D -c > /var/log/slurmctld.out 2>&1 &
  else
    if [ "$KIND" = full ]; then host_start_stagecastd; fi
    host_start_slurmd
  fi
}

# As systemd starts it: with the rights that its unit leaves it. As a journal does, the log gets the time of each line (seconds since the epoch).
host_start_stagecastd() {
  local -a as=()
  [ ! -e /srv/confined.py ] || as=(/srv/confined.py /srv/stagecastd.service)
  setsid "${as[@]}" /srv/stagecast/sbin/stagecastd -c /etc/stagecast/stagecast.conf < /dev/null \
    > >(host_stamp >> "/var/log/stagecastd-$(hostname).log") 2>&1 &
  echo $! > /run/lab/stagecastd.pid
}

host_stamp() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do printf '%s %s\n' "$EPOCHREALTIME" "$line"; done
}

host_start_slurmd() {
  setsid slurmd -D -N "$(hostname)" < /dev/null >> "/var/log/slurmd-$(hostname).out" 2>&1 &
  echo $! > /run/lab/slurmd.pid
}

# Node-local: /tmp /var/tmp /run /dev/shm /var/spool (with StageRoot) and /etc/stagecast, all on one
# file system of the node's own. Shared by all hosts: /home, /var/log, /etc, and /srv (the product).
host_mounts() {
  local host=$1 own=$DIR/node/$1 place
  [ ! -d "$DIR/srv/package" ] || mount -t overlay -o "lowerdir=$DIR/srv/package/usr:/usr" usr /usr || return 1
  host_disk "$host" "$own" || return 1
  mkdir -p "$own"/{tmp,var-tmp,run/munge,run/lab,shm,spool/slurmd,spool/slurmctld,spool/stagecast,stagecast} /dev/shm
  chmod 1777 "$own"/{tmp,var-tmp,shm}
  chown slurm "$own/spool/slurmctld"
  install -m 600 "$DIR/munge.key" "$own/run/lab/munge.key"
  install -m 644 "$DIR/stagecast.conf" "$own/stagecast/stagecast.conf"
  : > "$own/ld.so.preload"
  # Users mount FUSE file systems on clusters; this machine's device may be absent or root's alone.
  [ -e /dev/fuse ] || : > /dev/fuse
  mknod -m 666 "$own/fuse" c 10 229 && mount --bind "$own/fuse" /dev/fuse || echo "$host: no FUSE"
  mount --bind "$DIR/etc" /etc && mount --bind "$own/stagecast" /etc/stagecast \
    && mount --bind "$own/ld.so.preload" /etc/ld.so.preload \
    && mount --bind "$DIR/home" /home && mount --bind "$DIR/srv" /srv && mount --bind "$DIR/log" /var/log \
    || return 1
  for place in shm:/dev/shm spool:/var/spool var-tmp:/var/tmp run:/run tmp:/tmp; do
    mount --bind "$own/${place%%:*}" "${place#*:}" || return 1   # /tmp last: DIR may be below it
  done
}

# host_disk HOST PLACE: what of it is the node's own, on a file system as LOCAL says. (The login host takes the first kind.)
host_disk() {
  local kind number=${1#n} image=$2.img
  local -a kinds
  IFS=, read -ra kinds <<< "$LOCAL"
  [[ $number =~ ^[0-9]+$ ]] || number=0
  kind=${kinds[number % ${#kinds[@]}]}
  case $kind in
    disk) return ;;
    tmpfs) mount -t tmpfs -o "size=$LOCAL_SIZE,mode=755" "node-$1" "$2"; return ;;
  esac
  truncate -s "$LOCAL_SIZE" "$image" && "mkfs.$kind" -q "$image" > "$image.log" 2>&1 \
    && mount -t "$kind" -o loop "$image" "$2" && chmod 755 "$2" || { cat "$image.log"; return 1; }
}
