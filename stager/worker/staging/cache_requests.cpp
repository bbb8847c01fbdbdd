#include "stager/worker/staging/cache_requests.h"

#include "stager/content/part_note.h"

#include <algorithm>

namespace stage {
namespace {

/// For answers that the daemon has at once.
constexpr std::chrono::milliseconds kAnswerTimeout = std::chrono::seconds{10};
/// A shorter remainder is only the rounding of a wait that has ended.
constexpr std::chrono::milliseconds kMinWait{10};

PriorCopies earlier_in(ControlSocket& control, std::chrono::milliseconds longest) {
    const auto find = [&control](const SourceStamp& stamp) {
        Result<ControlSocket::CacheAnswer> answer = control.seek(stamp, kAnswerTimeout);
        return answer ? PriorCopy{.file = std::move(answer->file),
                                  .whole = content_of_bytes(answer->content)}
                      : PriorCopy{};
    };
    using Clock = std::chrono::steady_clock;
    return {.find = find,
            .has_time = [end = Clock::now() + longest] { return Clock::now() < end; }};
}

}  // namespace

KnownContent known_content(ControlSocket& control, std::chrono::milliseconds longest) {
    using Clock = std::chrono::steady_clock;
    return [&control, left = Clock::duration{longest}](
               const SourceStamp& stamp) mutable -> std::optional<Content> {
        if (left < kMinWait) {
            return std::nullopt;
        }
        const Clock::time_point begun = Clock::now();
        const Result<ControlSocket::CacheAnswer> answer =
            control.ask(stamp, std::chrono::ceil<std::chrono::milliseconds>(left));
        left -= Clock::now() - begun;
        return answer ? content_of_bytes(answer->content) : std::nullopt;
    };
}

Status take_what_is_here(Work& work,
                         ControlSocket& control,
                         Interrupts& interrupts,
                         bool has_cache,
                         std::chrono::milliseconds longest) {
    const auto find = [&control, has_cache](const Content& content) {
        Result<ControlSocket::CacheAnswer> answer =
            has_cache ? control.ask(bytes_of(content), kAnswerTimeout)
                      : Result<ControlSocket::CacheAnswer>{ControlSocket::CacheAnswer{}};
        return answer ? std::move(answer->file) : UniqueFd{};
    };
    const auto spoilt = [&control](const Content& content) {
        static_cast<void>(control.say(FromWorker{WorkerSpoilt{bytes_of(content)}}));
    };
    const CacheAccess cached{
        .find = find, .spoilt = spoilt, .check = [&] { return interrupts.check(); }};
    Status taken = work.fill(cached);
    if (taken) {
        taken = work.resume(cached.check);
    }
    return taken && has_cache ? work.resume_from(earlier_in(control, longest), cached) : taken;
}

std::chrono::milliseconds resume_max(const Work& work, const WorkerSetup& setup) {
    using std::chrono::milliseconds;
    constexpr std::uint64_t kLeastBytesPerMs = 50'000;
    constexpr milliseconds kLeast = std::chrono::seconds{2};
    constexpr milliseconds kMost = std::chrono::seconds{15};
    std::uint64_t bytes = 0;
    const Manifest* manifest = work.manifest();
    for (std::size_t i = 0; manifest != nullptr && i < manifest->entries.size(); ++i) {
        const ManifestEntry& entry = manifest->entries[i];
        bytes += !entry.stamp.empty() && entry.size >= kPartOfMin ? entry.size : 0;
    }
    const milliseconds most = setup.stall_timeout.count() > 0 ? setup.stall_timeout / 2 : kMost;
    const std::uint64_t ms = std::min<std::uint64_t>(bytes / kLeastBytesPerMs,
                                                     static_cast<std::uint64_t>(most.count()));
    return bytes > 0 ? std::max(kLeast, milliseconds{ms}) : milliseconds{0};
}

std::chrono::milliseconds unpack_max(const Work& work, const Orders& orders) {
    constexpr std::uint64_t kLeastBytesPerMs = 10'000;
    std::uint64_t bytes = 0;
    std::uint64_t inodes = 0;
    const Manifest* manifest = work.manifest();
    for (std::size_t i = 0; manifest != nullptr && i < manifest->entries.size(); ++i) {
        const ManifestEntry& entry = manifest->entries[i];
        const auto order =
            entry.content.empty() ? Result<SinkOrder>{SinkOrder{}} : orders.target_of(entry);
        const bool is_archive = order && !order->target.archive.empty();
        bytes += is_archive || (entry.is_tree() && !entry.content.empty()) ? entry.size : 0;
        inodes += entry.content.empty() ? 0 : entry.inodes;
    }
    return std::chrono::milliseconds{(bytes + kLeastBytesPerMs - 1) / kLeastBytesPerMs +
                                     inodes};
}

void tell_in_progress(const FileSink& sink, ControlSocket& control) {
    for (const FileInProgress& one : sink.in_progress(kMaxBegun)) {
        const WorkerBegun begun{.stamp = one.stamp, .bytes = one.bytes};
        static_cast<void>(control.say(FromWorker{begun}, one.file.get()));
    }
}

void keep_for_later(const FileSink& sink, ControlSocket& control) {
    for (const CacheCandidate& one : sink.cache_candidates(kMaxKept)) {
        const WorkerKeep keep{.stamp = one.stamp, .sum = one.sum, .bytes = one.bytes};
        static_cast<void>(control.say(FromWorker{keep}, one.file.get()));
    }
}

void keep_trees_for_later(const FileSink& sink,
                          ControlSocket& control,
                          Interrupts& interrupts) {
    constexpr std::chrono::seconds kLongest{8};
    using Clock = std::chrono::steady_clock;
    const auto may_go_on = [&interrupts, end = Clock::now() + kLongest] {
        return Clock::now() < end && interrupts.check().ok();
    };
    const std::size_t entries = sink.manifest() ? sink.manifest()->entries.size() : 0;
    std::size_t kept = 0;
    for (std::size_t index = 0; index < entries && kept < kMaxTreesKept && may_go_on();
         ++index) {
        if (const auto one = sink.spooled(index, may_go_on)) {
            const WorkerKeep keep{.stamp = one->stamp, .sum = one->sum, .bytes = one->bytes};
            static_cast<void>(control.say(FromWorker{keep}, one->file.get()));
            ++kept;
        }
    }
}

}  // namespace stage
