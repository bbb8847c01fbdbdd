#include "transport/os/installation.h"

namespace stage {

const char* version() {
    return STAGECAST_VERSION;
}

std::string config_path() {
    return STAGECAST_SYSCONFDIR "/stagecast/stagecast.conf";
}

}  // namespace stage
