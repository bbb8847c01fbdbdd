#!/bin/sh
# A site's TaskProlog=, or a part of it: ends each task of a job with files on a node whose slurmd could not
# load the plugin, or reads a plugstack.conf without it. There nothing else of stagecast runs, and the task
# would run without its files. Slurm runs this as the user before each task, and prints what follows "print".
#
# The environment says that job or step asked for files ("none": a job within such a job has none; "ask": only
# the plugin can tell, for a step that is begun from outside of its job). Where the plugin is loaded it sets
# STAGECAST_NODE to this node; what a task inherits from another node names that one.
asked=$SLURM_STAGECAST_STEP
case $SLURM_SPANK_STAGECAST_SPECS in
  none | ask) ;;
  *) asked=$asked$SLURM_SPANK_STAGECAST_SPECS ;;
esac
if [ -n "$asked" ] && [ "$STAGECAST_NODE" != "$SLURMD_NODENAME" ]; then
  echo "print stagecast: node $SLURMD_NODENAME: Slurm here has not loaded the plugin, so this job's files are not here;" \
    "tell the administrators, who see why by: stagecast doctor"
  exit 75
fi
exit 0
