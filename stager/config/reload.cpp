#include "stager/config/reload.h"

#include "stager/config/key.h"

namespace stage {

Reloaded reload(const Config& running, const Config& read) {
    Reloaded result{.config = read, .changed = {}, .at_restart = {}};
    for (const ConfigKey& key : config_keys()) {
        const std::string before = text_of(key.kind, running);
        if (text_of(key.kind, read) == before) {
            continue;
        }
        const bool waits = key.reread == Reread::at_restart;
        std::string& list = waits ? result.at_restart : result.changed;
        list += (list.empty() ? "" : ",") + std::string{key.name};
        if (waits) {
            invariant(read_into(key.kind, result.config, before),
                      "what a key prints, it takes back");
        }
    }
    return result;
}

}  // namespace stage
