#!/bin/sh
# A site's HealthCheckProgram=: drains a node on which nothing can be staged, and takes it back when
# it can. Without it such a node takes one job after another and fails each. Slurm runs this as root,
# with hardly an environment, and kills it after 60 s.
#
# Every node runs this every minute, so slurmctld is asked nothing while nothing changes: what this
# script did last is in $note, and "doctor --local" looks at this node alone. A node that an
# administrator resumes stays in service, even if it is still wrong, until it has been well once.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
node=${SLURMD_NODENAME:-$(hostname -s)}
note=/run/stagecast/health # "well" or "drained"; not there after a reboot, then Slurm is asked once

# Only what is one node's own: what stagecast.conf says is the same everywhere and would drain all of them.
said=$(timeout 40 stagecast doctor --local)
[ $? -le 1 ] || exit 0 # neither well nor wrong: it is not there, or hangs
wrong=$(echo "$said" | sed -n 's/^WRONG *//p' | grep -E '^(stagecastd|plugin|munge|AuthKeyFile|StageRoot|RunDir)' | head -n 1)
[ -n "$wrong" ] && now=drained || now=well
[ "$(cat "$note" 2>/dev/null)" != "$now" ] || exit 0

# By the state, not by the reason alone: a node that was resumed keeps its reason until its next job.
found=$(timeout 8 sinfo -h -N -n "$node" -o '%T %E' | head -n 1)
case $now:$found in
  well: | drained:) exit 0 ;; # slurmctld does not answer: the next run tries again
  drained:drain*\ stagecast:\ *) ;;
  drained:drain*) exit 0 ;; # for another reason; should that go, the next run sees it
  drained:*) timeout 8 scontrol update "nodename=$node" state=drain "reason=stagecast: $wrong" || exit 0 ;;
  well:drain*\ stagecast:\ *) timeout 8 scontrol update "nodename=$node" state=resume || exit 0 ;;
esac
mkdir -m 755 "${note%/*}" 2>/dev/null # /run/stagecast, where stagecastd never ran
echo "$now" >"$note"
exit 0 # releases after 22.05 keep slurmd from registering until this is 0
