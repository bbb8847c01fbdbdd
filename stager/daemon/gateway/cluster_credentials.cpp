#include "stager/daemon/gateway/cluster_credentials.h"

#include "stager/daemon/base/node_credentials.h"
#include "stager/link/shared_key.h"

#include <map>
#include <utility>

namespace stage {
namespace {

std::map<std::string, SharedKey> read_keys(const Config& config, const Logger& log) {
    const KeyFileRule rule{
        .name = "ClusterKeys", .bytes_min = kSharedKeyMin, .bytes_max = kSharedKeyMin};
    std::map<std::string, SharedKey> keys;
    for (const NamedText& named : config.cluster_keys) {
        auto key = read_shared_key(named.value, rule);
        if (key) {
            keys.try_emplace(named.name, *std::move(key));
        } else {
            log.error("nothing can be pushed to or from a cluster",
                      {{"cluster", named.name}, {"why", key.error().sentence()}});
        }
    }
    return keys;
}

}  // namespace

std::unique_ptr<KeyCredentials> cluster_credentials(const Config& config,
                                                    const Logger& log,
                                                    Loop& loop) {
    if (config.cluster_name.empty()) {
        return nullptr;
    }
    return std::make_unique<KeyCredentials>(
        config.cluster_name, read_keys(config, log), surroundings_in(loop));
}

}  // namespace stage
