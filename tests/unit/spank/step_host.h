// The slurmstepd of a step on the first of its two nodes, of a job that was requeued once.
#pragma once

#include "tests/unit/spank/fake_host.h"

#include <cstdint>

namespace stage {

inline FakeHost step_host(std::uint32_t step = 0) {
    FakeHost host{Context::remote};
    host.items = {{Item::job_id, 7},
                  {Item::step_id, step},
                  {Item::uid, 2001},
                  {Item::gid, 2002},
                  {Item::node_id, 0},
                  {Item::node_count, 2},
                  {Item::restart, 0},
                  {Item::task, 0}};
    host.process["SLURMD_NODENAME"] = "n3";
    host.job["SLURM_RESTART_COUNT"] = "1";
    host.job["SLURM_STEP_NODELIST"] = "n[3-4]";
    host.job["SLURM_STEP_NUM_NODES"] = "2";
    return host;
}

}  // namespace stage
