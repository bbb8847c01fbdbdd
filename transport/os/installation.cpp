#include "transport/os/installation.h"

namespace stage {

const char* version() {
    return STAGECAST_VERSION;
}

std::string config_path() {
    return STAGECAST_SYSCONFDIR "/stagecast/stagecast.conf";
}

std::string worker_path() {
    return STAGECAST_PREFIX "/libexec/stagecast/stagecast-worker";
}

}  // namespace stage
