#include "stager/worker/engine/engine.h"

#include "stager/control/message.h"
#include "stager/worker/broadcast/statistics.h"
#include "stager/worker/engine/engine_group.h"
#include "stager/worker/engine/engine_member.h"
#include "stager/worker/engine/engine_place.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

namespace stage {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;

/// Ends the session when the engine is interrupted.
class EngineWatcher final : public Watcher {
  public:
    explicit EngineWatcher(Interrupts& interrupts) : interrupts_{interrupts} {}

    void on_progress(const core::Outcome& /*outcome*/) override {}
    [[nodiscard]] int descriptor() const override { return interrupts_.descriptor(); }
    [[nodiscard]] Status on_readable() override { return interrupts_.check(); }

  private:
    Interrupts& interrupts_;
};

SinkConfig sink_of(const EngineOptions& options, const EngineGroup& group, Rank own) {
    SinkConfig config = engine_sink(options, own, group.size);
    config.writer.secret = name_secret(group.key);
    return config;
}

/// A source that cannot begin takes part all the same, to tell the others why.
Work source_work(const EngineOptions& options, const EngineGroup& group) {
    std::optional<SinkConfig> sink;
    if (!options.destination.empty()) {
        sink = sink_of(options, group, Rank{0});
    }
    Result<Work> work =
        Work::sending({{.spec = 0, .path = options.source, .line = {}, .is_optional = false}},
                      0,
                      std::move(sink));
    return work ? *std::move(work) : Work::refusing(std::move(work).error(), true);
}

void say(const std::string& sentence) {
    // File names may contain any bytes.
    static_cast<void>(
        std::fprintf(stderr, "stagecast-worker: %s\n", printable(sentence).c_str()));
}

int fail(const std::string& sentence) {
    say(sentence);
    return kFailed;
}

/// Formats "rank 3 (10.77.1.4): /nowhere/x: No such file or directory; ..."
std::string failure_text(const core::Outcome& outcome, const BroadcastMember& member) {
    if (const auto choice = member.choice(outcome.unreached); choice.failure) {
        return choice.failure->sentence();
    }
    const std::string why =
        outcome.why ? outcome.why->sentence() : "the broadcast ended without saying why";
    const CardTable& cards = member.cards();
    const bool is_ours =
        outcome.culprit == member.own() || outcome.culprit.index() >= cards.size();
    return is_ours ? why : describe(cards[outcome.culprit.index()]) + ": " + why;
}

}  // namespace

int run_engine(const Logger& log,
               const EngineOptions& options,
               Interrupts& interrupts,
               const DriverWrap& wrap) {
    if (Status timed = interrupts.limit(options.timeout); !timed) {
        return fail(timed.error().sentence());
    }
    LauncherChannel channel{STDIN_FILENO, interrupts};
    Result<EngineGroup> group = find_group(options, channel);
    if (!group) {
        return fail(group.error().sentence());
    }
    // Its card says something of the file; a receiver needs its rank for the names of files.
    std::optional<Work> work;
    if (group->is_source) {
        work = source_work(options, *group);
    }
    Result<BroadcastMember> member = engine_member(options, *group);
    const Status met = member ? member->meet(group->directory.get(),
                                             {.bytes = work ? work->bytes_expected() : 0},
                                             interrupts)
                              : Status{member.error()};
    if (!met) {
        // This member's own failure says more than the failure to report it to the others.
        const bool refuses = work && work->refusal();
        return fail(refuses ? work->refusal()->sentence() : met.error().sentence());
    }
    if (!work) {
        work = Work::receiving(sink_of(options, *group, member->own()));
    }
    std::ranges::for_each(member->network().objections(), say);
    log.debug("wired up", {{"members", group->size}, {"rails", group->rails.size()}});
    EngineWatcher watcher{interrupts};
    const BroadcastReport report = member->run(*work, watcher, wrap);
    const Measured measured{.rank = member->own(),
                            .members = group->size,
                            .rails = member->carrier().rails,
                            .receive_buffer = member->carrier().receive_buffer_bytes,
                            .buffer_asked = kEngineSocketBuffer,
                            .unreached = member->names_of(report.outcome.unreached),
                            .broadcasts = options.broadcasts};
    static_cast<void>(std::printf("%s\n", statistics_line(measured, *work, report).c_str()));
    if (std::fflush(stdout) != 0) {
        return fail("cannot write to stdout");
    }
    const core::Outcome& outcome = report.outcome;
    if (outcome.phase == core::Phase::released && !outcome.why) {
        return kDone;
    }
    return fail(failure_text(outcome, *member));
}

}  // namespace stage
