#include "stager/worker/staging/under_daemon.h"

#include "stager/files/target/claim.h"
#include "stager/worker/broadcast/broadcast_member.h"
#include "stager/worker/broadcast/statistics.h"
#include "stager/worker/requests/absent.h"
#include "stager/worker/requests/orders.h"
#include "stager/worker/staging/cache_requests.h"
#include "stager/worker/staging/control_socket.h"
#include "stager/worker/staging/preflight.h"
#include "stager/worker/staging/setup_broadcast.h"

#ifndef STAGE_WITHOUT_PMIX
#include "pmix/pmix_directory.h"
#endif

#include <memory>

namespace stage {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kSetupTimeout = seconds{60};
constexpr Duration kProgressEvery = std::chrono::milliseconds{500};

std::string job_name(const StageKey& key) {
    std::string name = std::to_string(key.job_id);
    return key.step_id == kWholeJob ? name : name + '.' + std::to_string(key.step_id);
}

/// Carries out one member's part of a stage, from SETUP to RELEASED.
class Stage final : public Watcher {
  public:
    Stage(const Logger& log, Interrupts& interrupts, ControlSocket& control, WorkerSetup setup)
        : log_{log},
          interrupts_{interrupts},
          control_{control},
          setup_{std::move(setup)},
          made_{std::make_shared<MadeDirectories>(
              [this](const std::vector<std::string>& entries) {
                  return control_.say_left(entries);
              })} {}

    /// Runs until the files are here or have failed; the caller reports the error.
    [[nodiscard]] Status run();
    /// Reports a failure to the daemon, unless it knows the outcome already.
    void tell_failure(const Error& why, Rank culprit);

    [[nodiscard]] Rank own() const { return setup_.rank; }

    void on_progress(const core::Outcome& outcome) override;
    [[nodiscard]] int descriptor() const override { return interrupts_.descriptor(); }
    [[nodiscard]] Status on_readable() override;
    [[nodiscard]] bool do_all_listen() const override { return control_.do_all_listen(); }

  private:
    [[nodiscard]] Status begin_work();
    [[nodiscard]] Status begin_passage();
    [[nodiscard]] Result<std::unique_ptr<Directory>> open_directory();
    [[nodiscard]] Status meet();
    void look_ahead(Claims& claims);
    [[nodiscard]] SinkConfig sink_config() const;
    [[nodiscard]] KnownContent what_is_known(milliseconds longest);
    [[nodiscard]] Writer writer() const;
    void tell_held(const core::Outcome& held);
    void tell_dropped(const core::Outcome& released);
    [[nodiscard]] Status tell_end(const BroadcastReport& report);
    void tell_hand_over(const core::Outcome& outcome);

    const Logger& log_;
    Interrupts& interrupts_;
    ControlSocket& control_;
    WorkerSetup setup_;
    std::shared_ptr<MadeDirectories> made_;
    std::optional<Orders> orders_;
    std::optional<Work> work_;
    BroadcastMember member_;
    bool has_reported_ = false;
    bool is_here_ = false;  ///< The files are complete on this node.
    bool has_reported_dropped_ = false;
    core::Phase reported_phase_ = core::Phase::wiring;
    std::chrono::steady_clock::time_point reported_at_;
    std::chrono::steady_clock::time_point began_;
    std::optional<core::Outcome> handed_over_;  ///< How the multicast session ended.
};

Status Stage::begin_work() {
    OrderPlaces places = places_of(setup_);
    places.made = made_;
    TRY(auto orders, Orders::parse(setup_.specs, std::move(places)));
    orders_ = std::move(orders);
    if (has_passage(setup_.purpose)) {
        return begin_passage();
    }
    if (setup_.rank != setup_.source) {
        work_ = Work::receiving(sink_config());
        return {};
    }
    Result<std::vector<SourceOrder>> sources = orders_->sources();
    if (!sources) {
        return about_source(std::move(sources).error(), setup_.key);
    }
    const milliseconds timeout = or_default(setup_.stage_timeout, kTimeoutUnset);
    Result<Work> work =
        Work::sending(*sources,
                      setup_.max_bytes,
                      keeps_copy(setup_.purpose) ? std::optional{sink_config()} : std::nullopt,
                      what_is_known(timeout / 2));
    if (!work) {
        return about_source(std::move(work).error(), setup_.key);
    }
    work_ = *std::move(work);
    return {};
}

/// The object comes from another cluster, or goes through this node.
Status Stage::begin_passage() {
    TRY(auto passage, Passage::open(passage_file(setup_)));
    if (setup_.purpose == WorkerPurpose::bring_in) {
        work_ = Work::passing_on(std::move(passage), sink_config());
    } else if (setup_.purpose == WorkerPurpose::pass_on) {
        work_ = Work::passing_on(std::move(passage), std::nullopt);
    } else {
        work_ = Work::taking_in(
            std::move(passage),
            setup_.purpose == WorkerPurpose::take_in ? PassageAck::nodes : PassageAck::gateway);
    }
    return {};
}

/// Also a worker without a cache computes stamps by passing a function that knows nothing.
KnownContent Stage::what_is_known(milliseconds longest) {
    if (setup_.may_cache) {
        return known_content(control_, longest);
    }
    return orders_->is_any_resumable()
               ? KnownContent{[](const SourceStamp&) { return std::optional<Content>{}; }}
               : KnownContent{};
}

Writer Stage::writer() const {
    return {.job = job_name(setup_.key),
            .rank = setup_.rank.value(),
            .group_size = static_cast<std::uint32_t>(setup_.nodes.size()),
            .secret = name_secret(setup_.group_key)};
}

SinkConfig Stage::sink_config() const {
    SinkConfig config;
    config.writer = writer();
    config.order_of = [this](const ManifestEntry& entry) { return orders_->target_of(entry); };
    config.spill_directory = orders_->spill_directory();
    config.list_directory = orders_->base();
    config.extend_cleanup_list = [this](const std::vector<std::string>& entries) {
        return control_.say_left(entries);
    };
    config.made = made_;
    config.bytes_max = setup_.max_bytes;
    config.page_room = page_room();
    return config;
}

Result<std::unique_ptr<Directory>> Stage::open_directory() {
    if (setup_.cards_follow) {
        return std::unique_ptr<Directory>{
            std::make_unique<GivenDirectory>(control_, setup_.nodes.size())};
    }
#ifdef STAGE_WITHOUT_PMIX
    return Error{Blame::node, "this stagecast was built without PMIx"};
#else
    const milliseconds longest = or_default(setup_.wire_up_timeout, kTimeoutUnset);
    auto directory =
        PmixDirectory::open({.longest = longest, .interrupt_fd = interrupts_.descriptor()}, {});
    if (!directory) {
        Status reason = interrupts_.check();
        return reason ? std::move(directory).error() : std::move(reason).error();
    }
    if ((*directory)->rank() != setup_.rank || (*directory)->size() != setup_.nodes.size()) {
        return Error{Blame::internal, "PMIx and stagecastd disagree on this member's rank"};
    }
    return std::unique_ptr<Directory>{*std::move(directory)};
#endif
}

/// Meets the other members; from then on this one can take part.
Status Stage::meet() {
    TRY(auto plan, member_plan(setup_));
    member_ = BroadcastMember{std::move(plan), handed_over(setup_)};
    std::unique_ptr<Directory> directory;
    if (setup_.nodes.size() > 1) {
        TRY(directory, open_directory());
    }
    Status met = member_.meet(directory.get(),
                              {.bytes = work_->bytes_expected(), .offer = work_->offer()},
                              interrupts_);
    for (const std::string& objection : member_.network().objections()) {
        log_.info("the nodes do without a transport", {{"why", objection}});
    }
    return met;
}

Status Stage::run() {
    if (Status timed = interrupts_.limit(setup_.stage_timeout); !timed) {
        return timed;
    }
    if (Status begun = begin_work(); !begun) {
        return begun;
    }
    Claims claims;
    if (keeps_copy(setup_.purpose)) {
        for (const TargetPlace& place : orders_->places_outside()) {
            claims.prepare(place, writer());
        }
    }
    if (Status listed = control_.say_left(claims.paths()); !listed) {
        return listed;
    }
    claims.make();
    TRY(meet());
    look_ahead(claims);
    member_.set_finish_extra(unpack_max(*work_, *orders_));
    began_ = std::chrono::steady_clock::now();
    return tell_end(member_.run(*work_, *this));
}

/// Every member checks for space before the first packet, so that all nodes without enough
/// space are named at once. Such a member takes part to report it: the others need not wait for
/// a time-out.
void Stage::look_ahead(Claims& claims) {
    Status room = claims.settle();
    if (room) {
        room = work_->expect(member_.offer());
    }
    if (room) {
        room = take_what_is_here(
            *work_, control_, interrupts_, setup_.may_cache, resume_max(*work_, setup_));
    }
    if (room && setup_.may_cache && work_->sink() != nullptr) {
        tell_in_progress(*work_->sink(), control_);
    }
    if (!room) {
        log_.info("this stage failed", {{"why", room.error().sentence()}});
        tell_failure(room.error(), setup_.rank);
        work_ = Work::refusing(room.error(), setup_.rank == setup_.source);
    }
}

void Stage::tell_hand_over(const core::Outcome& outcome) {
    handed_over_ = outcome;
    if (setup_.rank == setup_.source) {
        const TransportChoice choice = member_.choice(outcome.unreached);
        log_.info(
            "the transport was chosen",
            {{"transport", to_string(choice.way, member_.broadcasts())}, {"why", choice.why}});
    }
}

Status Stage::tell_end(const BroadcastReport& report) {
    const bool is_good = report.outcome.phase == core::Phase::released && !report.outcome.why;
    if (is_good && !has_reported_) {
        tell_held(report.outcome);
    }
    tell_dropped(report.outcome);
    if (!is_good && !control_.is_released()) {
        Error why = report.outcome.why.value_or(
            Error{Blame::internal, "the broadcast ended without saying why"});
        if (!report.was_handed_over) {
            why = member_.choice(report.outcome.unreached).failure.value_or(why);
        }
        tell_failure(why, report.outcome.culprit);
        log_.info("the broadcast failed", {{"why", why.sentence()}});
    }
    Status said = control_.say(
        FromWorker{WorkerReleased{statistics_of(*work_, report, member_.carrier().rails)}});
    if (is_here_ && setup_.may_cache && work_->sink() != nullptr) {
        keep_trees_for_later(*work_->sink(), control_, interrupts_);
    }
    return said;
}

void Stage::on_progress(const core::Outcome& outcome) {
    if (outcome.phase == core::Phase::holding && !has_reported_) {
        tell_held(outcome);
    }
    if (outcome.phase == core::Phase::handed_over) {
        tell_hand_over(outcome);
    }
    tell_dropped(outcome);
    const auto now = std::chrono::steady_clock::now();
    if (outcome.phase == reported_phase_ && now - reported_at_ < kProgressEvery) {
        return;
    }
    reported_phase_ = outcome.phase;
    reported_at_ = now;
    control_.say(progress_of(*work_, outcome));
}

Status Stage::on_readable() {
    if (Status looked = interrupts_.check(); !looked) {
        return looked;
    }
    // The group has its result, so no peer needs this member any more.
    return control_.is_released() ? Status{Error{Blame::node, "released", ECANCELED}}
                                  : Status{};
}

/// The files have their names here. Called once the disk thread has finished them.
void Stage::tell_held(const core::Outcome& held) {
    control_.say(progress_of(*work_, held));  // The result's message counts bytes by it.
    BroadcastReport so_far;
    so_far.outcome = held;
    so_far.chunk_bytes = held.chunk_bytes;
    if (handed_over_) {
        so_far.was_handed_over = true;
        so_far.outcome.was_unreachable = handed_over_->was_unreachable;
    }
    so_far.ran = std::chrono::steady_clock::now() - began_;
    so_far.held_after = so_far.ran;
    WorkerOutcome outcome;
    outcome.state = VerdictState::ok;
    outcome.culprit = setup_.rank;
    outcome.statistics = statistics_of(*work_, so_far, member_.carrier().rails);
    const FileSink* sink = work_->sink();
    if (sink != nullptr) {
        outcome.paths = orders_->paths(*sink);
        outcome.libs_directories = sink->library_paths();
        outcome.directories = orders_->directories(*sink);
    }
    for (const Error& trouble : sink != nullptr ? sink->warnings() : std::vector<Error>{}) {
        outcome.state = VerdictState::partial;
        outcome.blame = trouble.blame();
        outcome.sentence += (outcome.sentence.empty() ? "" : "; ") + trouble.sentence();
    }
    has_reported_ = true;
    is_here_ = true;
    if (Status said = control_.say(FromWorker{outcome}); !said) {
        log_.warn("cannot report the outcome to stagecastd",
                  {{"why", said.error().sentence()}});
    }
    if (setup_.may_cache && sink != nullptr) {
        keep_for_later(*sink, control_);
    }
}

/// Only the source knows why a member was dropped. The daemon ends those that do not know it.
void Stage::tell_dropped(const core::Outcome& released) {
    const bool is_due = setup_.rank == setup_.source &&
                        released.phase == core::Phase::released && !released.dropped.empty();
    if (!is_due || std::exchange(has_reported_dropped_, true)) {
        return;
    }
    for (const core::DroppedMember& each : released.dropped) {
        const Status said = control_.say(
            FromWorker{WorkerDropped{each.rank, each.why.blame(), each.why.sentence()}});
        if (!said) {
            log_.warn("cannot report to stagecastd that a node was dropped",
                      {{"rank", each.rank.value()}, {"why", said.error().sentence()}});
            return;
        }
    }
}

void Stage::tell_failure(const Error& why, Rank culprit) {
    if (std::exchange(has_reported_, true)) {
        return;
    }
    WorkerOutcome outcome;
    outcome.state = VerdictState::failed;
    outcome.blame = why.blame();
    outcome.sentence = why.sentence();
    outcome.culprit = culprit;
    if (Status said = control_.say(FromWorker{outcome}); !said) {
        log_.warn("cannot report the outcome to stagecastd",
                  {{"why", said.error().sentence()}});
    }
}

}  // namespace

int run_under_daemon(const Logger& log, Interrupts& interrupts) {
    ControlSocket control;
    if (Status opened = control.open(UniqueFd{kWorkerControlFd}, interrupts); !opened) {
        log.error("no control socket", {{"why", opened.error().sentence()}});
        return 1;
    }
    Result<WorkerSetup> setup = control.setup(kSetupTimeout);
    if (!setup) {
        log.error("no SETUP from stagecastd", {{"why", setup.error().sentence()}});
        return 1;
    }
    if (setup->purpose == WorkerPurpose::look || setup->purpose == WorkerPurpose::compare) {
        return tell_look(look_alone(*setup, interrupts), control);
    }
    Stage stage{log, interrupts, control, *std::move(setup)};
    if (Status done = stage.run(); !done) {
        stage.tell_failure(done.error(), stage.own());
        log.info("this stage failed", {{"why", done.error().sentence()}});
        return 1;
    }
    return 0;
}

}  // namespace stage
