#include "stager/spawn/event.h"

#include "transport/base/fields.h"

#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace stage {

void fields(auto& on, Like<SpawnEvent> auto& event) {
    on.choice(event.kind, SpawnEvent::Kind::ended).number(event.id);
    on.signed_number(event.pid).signed_number(event.status);
    on.any_cut(event.sentence, kSpawnSentenceMax);
}

std::vector<std::byte> encode_event(const SpawnEvent& event) {
    return encoded(event);
}

Result<SpawnEvent> decode_event(Bytes message) {
    auto event = decoded<SpawnEvent>(message);
    if (!event) {
        return Error{Blame::internal, "the spawner says something unknown"};
    }
    return *std::move(event);
}

std::string SpawnEvent::status_text() const {
    if (WIFEXITED(status)) {
        return "exit status " + std::to_string(WEXITSTATUS(status));
    }
    if (WIFSIGNALED(status)) {
        const char* name = ::sigabbrev_np(WTERMSIG(status));
        return "killed by " + (name != nullptr ? "SIG" + std::string{name}
                                               : "signal " + std::to_string(WTERMSIG(status)));
    }
    return "wait status " + std::to_string(status);
}

}  // namespace stage
