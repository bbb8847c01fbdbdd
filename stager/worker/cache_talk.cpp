#include "stager/worker/cache_talk.h"

namespace stage {
namespace {

/// For what the daemon knows at once.
constexpr std::chrono::milliseconds kAnswerPatience = std::chrono::seconds{10};
/// Less than that is the rounding of a wait that has ended.
constexpr std::chrono::milliseconds kLeastPatience{10};

}  // namespace

KnownContent known_content(ControlSocket& control, std::chrono::milliseconds longest) {
    using Clock = std::chrono::steady_clock;
    return [&control, left = Clock::duration{longest}](
               const SourceStamp& stamp) mutable -> std::optional<Content> {
        if (left < kLeastPatience) {
            return std::nullopt;
        }
        const Clock::time_point begun = Clock::now();
        const Result<ControlSocket::Told> told =
            control.ask(stamp, std::chrono::ceil<std::chrono::milliseconds>(left));
        left -= Clock::now() - begun;
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
    const auto check = [&interrupts] { return interrupts.check(); };
    Status filled = work.fill({.find = find, .spoilt = spoilt, .check = check});
    return filled ? work.take_up(check) : filled;
}

void keep_for_later(const FileSink& sink, ControlSocket& control) {
    for (const FileSink::Keepsake& one : sink.keepsakes(kMaxKept)) {
        const WorkerKeep keep{.stamp = one.stamp, .sum = one.sum, .bytes = one.bytes};
        static_cast<void>(control.say(FromWorker{keep}, one.file.get()));
    }
}

}  // namespace stage
