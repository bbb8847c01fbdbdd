#include "stager/worker/cache_talk.h"

namespace stage {
namespace {

/// For what the daemon knows at once.
constexpr std::chrono::milliseconds kAnswerPatience = std::chrono::seconds{10};

}  // namespace

KnownContent known_content(ControlSocket& control, std::chrono::milliseconds longest) {
    return [&control, longest](const SourceStamp& stamp) -> std::optional<Content> {
        const Result<ControlSocket::Told> told = control.ask(stamp, longest);
        return told ? content_of_bytes(told->content) : std::nullopt;
    };
}

Status take_what_is_here(Work& work,
                         ControlSocket& control,
                         Interrupts& interrupts,
                         bool has_cache) {
    const auto find = [&control, has_cache](const Content& content) {
        Result<ControlSocket::Told> told =
            has_cache ? control.ask(bytes_of(content), kAnswerPatience)
                      : Result<ControlSocket::Told>{ControlSocket::Told{}};
        return told ? std::move(told->file) : UniqueFd{};
    };
    const auto spoilt = [&control](const Content& content) {
        static_cast<void>(control.say(FromWorker{WorkerSpoilt{bytes_of(content)}}));
    };
    return work.fill({.find = find, .spoilt = spoilt, .check = [&interrupts] {
                          return interrupts.check();
                      }});
}

void keep_for_later(const FileSink& sink, ControlSocket& control) {
    for (const FileSink::Keepsake& one : sink.keepsakes(kMaxKept)) {
        const WorkerKeep keep{.stamp = one.stamp, .sum = one.sum, .bytes = one.bytes};
        static_cast<void>(control.say(FromWorker{keep}, one.file.get()));
    }
}

}  // namespace stage
