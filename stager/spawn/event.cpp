#include "stager/spawn/event.h"

#include "transport/base/codec.h"

#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace stage {

std::vector<std::byte> encode_event(const SpawnEvent& event) {
    ByteWriter out;
    out.u8(static_cast<std::uint8_t>(event.kind)).u32(event.id);
    out.u32(static_cast<std::uint32_t>(event.pid))
        .u32(static_cast<std::uint32_t>(event.status));
    out.text(std::string_view{event.sentence}.substr(0, kSpawnSentenceMax));
    return out.take();
}

Result<SpawnEvent> decode_event(Bytes message) {
    ByteReader reader{message};
    SpawnEvent event;
    const std::uint8_t kind = reader.u8();
    event.kind = static_cast<SpawnEvent::Kind>(kind);
    event.id = reader.u32();
    event.pid = static_cast<pid_t>(reader.u32());
    event.status = static_cast<int>(reader.u32());
    event.sentence = reader.text(kSpawnSentenceMax);
    if (!reader.finished() || kind > static_cast<std::uint8_t>(SpawnEvent::Kind::ended)) {
        return Error{Blame::internal, "the spawner says something unknown"};
    }
    return event;
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
