#include "stager/cli/common/daemon_socket.h"

#include "stager/config/config.h"
#include "transport/os/installation.h"

namespace stage {

Result<std::string> daemon_socket(const std::string& config) {
    const auto loaded = load_config(config.empty() ? config_path() : config);
    if (loaded) {
        return loaded->run_dir + "/stagecastd.sock";
    }
    if (loaded.error().cause() == ENOENT && config.empty()) {
        return default_config().run_dir + "/stagecastd.sock";
    }
    return loaded.error();
}

}  // namespace stage
