#!/bin/sh
# A site's Prolog= that makes the job's scratch. SPANK's prologs, and so staging, run before it: it must
# not wipe what was staged. With StageFrom=prolog-script in stagecast.conf it runs after this script has
# made the scratch, by the last line. $SLURM_JOB_ID and $SLURM_JOB_UID are Slurm's, the rest of the environment is
# small: there is not even a PATH.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
scratch=/local/scratch/$SLURM_JOB_ID

# Not "rm -rf /local/scratch/*": DestRoots lie there.
install -d -m 700 -o "$SLURM_JOB_UID" "$scratch" || exit 0
# stagecast prolog
exit 0
