#include "stager/daemon/base/node_credentials.h"

#include "stager/daemon/base/loop.h"

#include <ctime>
#include <utility>

namespace stage {

KeyCredentials::Surroundings surroundings_in(Loop& loop) {
    return {.defer = [&loop](std::function<void()> task) { loop.defer(std::move(task)); },
            .clock = [] { return std::int64_t{::time(nullptr)}; }};
}

Result<std::unique_ptr<KeyCredentials>> node_credentials(const Config& config, Loop& loop) {
    if (config.auth_key_file.empty()) {
        return std::unique_ptr<KeyCredentials>{};
    }
    TRY(auto key, read_shared_key(config.auth_key_file, auth_key_rule(config.slurm_user)));
    return std::make_unique<KeyCredentials>(std::move(key), surroundings_in(loop));
}

}  // namespace stage
