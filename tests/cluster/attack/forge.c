// Forges the environment of a job's prolog as a user may. Whatever a plugin of the user's own
// sets: sbatch takes its plugstack.conf from where $SLURM_CONF points. This one sets each
// NAME=VALUE of the file $FORGE (separated by NUL) as a job control variable, that is SPANK_NAME there.
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SPANK_PLUGIN(forge, 1)

int slurm_spank_init_post_opt(spank_t spank, int count, char** words) {
    static char text[1 << 20];
    (void)count;
    (void)words;
    FILE* file = getenv("FORGE") != NULL ? fopen(getenv("FORGE"), "r") : NULL;
    if (file == NULL) return 0;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    for (size_t at = 0; at < size; at += strlen(text + at) + 1) {
        char* value = strchr(text + at, '=');
        if (value == NULL) continue;
        *value = '\0';
        spank_job_control_setenv(spank, text + at, value + 1, 1);
        at += strlen(text + at) + 1;
    }
    return 0;
}
