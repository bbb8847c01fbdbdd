#include "stager/worker/broadcast/work.h"

#include "pmix/business_card.h"
#include "stager/files/target/refusal.h"
#include "transport/run/hand_over.h"
#include "transport/run/object/spill_file.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stage {

Result<Work> Work::sending(const std::vector<SourceOrder>& orders,
                           std::uint64_t bytes_max,
                           std::optional<SinkConfig> sink,
                           const KnownContent& known) {
    Work work;
    Result<std::unique_ptr<FileSource>> files =
        // Half of it: a copy on the source's own node needs memory, too.
        FileSource::open(orders, bytes_max, known, page_room() / 2);
    if (!files) {
        return std::move(files).error();
    }
    work.files_ = *std::move(files);
    if (sink) {
        sink->identity_of = [source = work.files_.get()](std::size_t index) {
            return source->identity(index);
        };
        sink->above = [source = work.files_.get()](std::size_t index) {
            return source->above(index);
        };
        work.sink_ = std::make_unique<FileSink>(*std::move(sink));
        work.both_ = std::make_unique<SourceAndSink>(*work.files_, *work.sink_);
    }
    return work;
}

Work Work::receiving(SinkConfig sink) {
    Work work;
    work.spill_directory_ = sink.spill_directory;
    work.sink_ = std::make_unique<FileSink>(std::move(sink));
    return work;
}

Work Work::taking_in(Passage passage, PassageAck ack) {
    Work work;
    work.passage_bytes_ = passage.bytes();
    work.other_sink_ = std::make_unique<PassageSink>(std::move(passage), ack);
    return work;
}

Work Work::passing_on(Passage passage, std::optional<SinkConfig> sink) {
    Work work;
    work.passage_bytes_ = passage.bytes();
    auto source = std::make_unique<PassageSource>(std::move(passage));
    if (sink) {
        work.sink_ = std::make_unique<FileSink>(*std::move(sink));
        work.both_ = std::make_unique<SourceAndSink>(*source, *work.sink_, /*is_coming=*/true);
    }
    work.other_source_ = std::move(source);
    return work;
}

Work Work::refusing(Error why, bool is_source) {
    Work work;
    work.refusal_ = why;
    if (is_source) {
        work.other_source_ = std::make_unique<RefusingSource>(std::move(why));
    } else {
        work.other_sink_ = std::make_unique<RefusingSink>(std::move(why));
    }
    return work;
}

Bytes Work::offer() const {
    const Bytes manifest = files_ ? files_->manifest_bytes() : Bytes{};
    return manifest.size() <= kMaxCardOfferBytes ? manifest : Bytes{};
}

Status Work::expect(Bytes offer) {
    return sink_ && !offer.empty() ? sink_->expect(offer) : Status{};
}

Status Work::fill(const CacheAccess& cache) {
    return sink_ && sink_->manifest() ? sink_->fill(cache) : Status{};
}

Status Work::resume(const std::function<Status()>& check) {
    return sink_ && sink_->manifest() ? sink_->resume(check) : Status{};
}

Status Work::resume_from(const PriorCopies& prior, const CacheAccess& cache) {
    return sink_ && sink_->manifest() ? sink_->resume_from(prior, cache) : Status{};
}

const Manifest* Work::manifest() const {
    if (files_) {
        return &files_->manifest();
    }
    return sink_ && sink_->manifest() ? &*sink_->manifest() : nullptr;
}

/// A source without a copy of its own needs no block itself.
void Work::say_what_is_here(BroadcastConfig& config) const {
    config.holds_already = sink_ && sink_->holds_all();
    if (sink_) {
        config.held_before = sink_->held_runs();
        config.bytes_held_before = sink_->bytes_held();
    } else if (files_) {
        config.held_before = {{.first = BlockIndex{0}, .count = files_->block_count()}};
    } else if (passage_bytes_ > 0) {
        config.held_before = {{.first = BlockIndex{0}, .count = other_source_->block_count()}};
    }
}

std::uint64_t Work::bytes_read() const {
    return files_ ? files_->bytes_read() : 0;
}

std::string Work::remarks() const {
    return files_ ? files_->remarks() : std::string{};
}

BroadcastReport Work::run(const BroadcastConfig& given,
                          Joined joined,
                          Network& network,
                          Watcher& watcher,
                          const DriverWrap& wrap) {
    if (given.members.size() == 1) {
        return run_alone(watcher);
    }
    BroadcastReport report = run_session(given, std::move(joined), watcher, wrap);
    if (!report.outcome.relay) {
        return report;
    }
    if (report.outcome.phase == core::Phase::failed) {
        // The source had handed over before it heard why: it hears that by the relay.
        other_sink_ = std::make_unique<RefusingSink>(
            report.outcome.why.value_or(Error{Blame::internal, "it failed without a reason"}));
    }
    Result<Joined> next = network.join(*report.outcome.relay, given.rate_max_bytes_per_s);
    if (!next) {
        report.outcome.phase = core::Phase::failed;
        report.outcome.culprit = given.own;
        report.outcome.why = std::move(next).error();
        return report;
    }
    const BroadcastConfig relay = relay_after(given, report.outcome);
    return stage::joined(report, run_session(relay, *std::move(next), watcher, wrap));
}

BroadcastReport Work::run_session(const BroadcastConfig& given,
                                  Joined joined,
                                  Watcher& watcher,
                                  const DriverWrap& wrap) {
    BroadcastConfig config = given;
    config.carrier = joined.carrier;
    if (other_sink_) {
        auto held = other_sink_->held_before();
        config.held_before = std::move(held.runs);
        config.bytes_held_before = held.bytes;
    } else {
        say_what_is_here(config);
    }
    std::unique_ptr<Driver> made = std::move(joined.driver);
    if (wrap) {
        made = wrap(std::move(made));
    }
    Driver& driver = *made;
    if (other_sink_) {
        return receive_broadcast(config, driver, *other_sink_, watcher);
    }
    if (both_) {
        return send_broadcast(config, driver, *both_, watcher);
    }
    if (other_source_) {
        return send_broadcast(config, driver, *other_source_, watcher);
    }
    if (files_) {
        return send_broadcast(config, driver, *files_, watcher);
    }
    std::optional<SpillFile> spill;  // (No packet of a connection is lost: a relay needs none.)
    if (!spill_directory_.empty() && config.carrier.has_multicast) {
        config.spare = &spill.emplace(spill_directory_, kSpillBlocks);
    }
    return receive_broadcast(config, driver, *sink_, watcher);
}

BroadcastReport Work::run_alone(Watcher& watcher) {
    const auto start = std::chrono::steady_clock::now();
    BroadcastReport report;
    report.outcome.phase = core::Phase::moving;
    const auto look = [&] {
        report.outcome.bytes_held = sink_->bytes_held();
        watcher.on_progress(report.outcome);
        return watcher.on_readable();
    };
    Status done;
    if (refusal_) {
        done = *refusal_;
    } else if (both_) {
        done = sink_->holds_all() ? both_->finish() : copy_alone(*both_, look);
        report.outcome.bytes_held = sink_->bytes_held();
    }
    report.transport = "none";
    report.ran = std::chrono::steady_clock::now() - start;
    report.outcome.phase = done ? core::Phase::released : core::Phase::failed;
    if (done) {
        report.held_after = report.ran;
    } else {
        report.outcome.why = std::move(done).error();
    }
    return report;
}

std::uint64_t Work::bytes_expected() const {
    if (files_) {
        return files_->manifest().stream_bytes();
    }
    const std::uint64_t known = sink_ ? sink_->bytes_expected() : 0;
    return known > 0 ? known : passage_bytes_;
}

std::string Work::digest() const {
    if (sink_) {
        return sink_->digest();
    }
    return files_ ? files_->digest() : std::string{};
}

}  // namespace stage
