// The measure of "pays nothing": a plugin with every hook of stagecast's, each returning at once.
#include <slurm/spank.h>

SPANK_PLUGIN(null, 1)

#define HOOK(name)                                        \
    int slurm_spank_##name(spank_t s, int c, char** v) {  \
        (void)s;                                          \
        (void)c;                                          \
        (void)v;                                          \
        return 0;                                         \
    }
HOOK(init)
HOOK(job_prolog)
HOOK(init_post_opt)
HOOK(local_user_init)
HOOK(user_init)
HOOK(task_init_privileged)
HOOK(task_init)
HOOK(task_post_fork)
HOOK(task_exit)
HOOK(job_epilog)
HOOK(slurmd_exit)
HOOK(exit)
