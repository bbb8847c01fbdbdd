// The core of a source.
//
// It offers the object until every member has answered, multicasts every chunk once,
// retransmits what no peer can repair, answers requests like any holder, collects DONE, and
// multicasts RELEASE. Each of these is a part of its own; this file composes them.
#pragma once

#include "transport/base/prng.h"
#include "transport/core/base/core.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/base/repeater.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/feedback/member_watch.h"
#include "transport/core/feedback/report_board.h"
#include "transport/core/feedback/representatives.h"
#include "transport/core/membership/group_probe.h"
#include "transport/core/membership/readiness.h"
#include "transport/core/membership/unreachable_members.h"
#include "transport/core/rate/rate_control.h"
#include "transport/core/sending/control_queue.h"
#include "transport/core/sending/disk_watch.h"
#include "transport/core/sending/operation_queue.h"
#include "transport/core/sending/pacer.h"
#include "transport/core/source/keep_alive.h"
#include "transport/core/source/reading_on_demand.h"
#include "transport/core/source/source_blocks.h"
#include "transport/core/source/source_ending.h"
#include "transport/core/source/source_repairs.h"

namespace stage::core {

class Sender final : public Core {
  public:
    /// Requires shape.blocks >= 1 and config.own == config.source. `prng` must outlive this.
    Sender(const CoreConfig& config, const ObjectShape& shape, Prng& prng, Limits limits = {});

    void on_datagrams(Instant now, std::span<const Datagram> datagrams) override;
    void on_done(Instant now, std::span<const Completion> completions) override;
    void on_time(Instant now) override { turn(now); }
    void on_abort(Instant now, const Error& why) override;
    void on_disk_waiting(Instant now) override { disk_watch_.on_waiting(now); }
    void on_all_listen(Instant now) override;
    void next_sends(Instant now, SendBatch& batch) override;
    void next_operations(Instant now, OperationBatch& batch) override;
    [[nodiscard]] std::optional<Instant> deadline() const override;
    [[nodiscard]] const Outcome& outcome() const override { return outcome_; }

  private:
    // Received packets and completed operations.
    void on_datagram(Instant now, const Datagram& datagram);
    void on_packet(Instant now, const Datagram& datagram);
    void on_ready(Instant now, const Datagram& datagram, const wire::Ready& ready);
    void on_request(Instant now, Rank from, const wire::Request& request);
    void on_report(Instant now, Rank from, const wire::Report& report);
    void on_member_done(Instant now, Rank from, const wire::Done& done);
    void on_left(Instant now, const Datagram& datagram, const wire::Left& left);
    void on_completion(Instant now, const Completion& done);
    void on_loaded(Instant now, const Completion& done);
    void on_finished(Instant now, const Completion& done);

    // What becomes due.
    void turn(Instant now);
    void fall_back_to_small_packets(Instant now);
    void work(Instant now);
    void start(Instant now);
    void work_on_readiness(Instant now);
    void answer_probe(Instant now);
    /// Hardly any of the object was sent.
    [[nodiscard]] bool is_early() const {
        return outcome_.phase == Phase::wiring || is_offered_whole_;
    }
    void work_on_object(Instant now);
    void keep_alive(Instant now);
    void read_on_demand(Instant now);
    void watch_members(Instant now);
    void name_representatives(Instant now);
    void replace_representatives(Instant now);
    void watch_own_disk(Instant now);
    void fail(Instant now, Rank culprit, Blame blame, std::string why);
    void decide(Instant now);

    // What is sent and read.
    void fill_data(Instant now, SendBatch& batch);
    [[nodiscard]] bool has_data_to_send() const;
    void skip_complete_members();
    void withhold_if_unheard(Instant now);
    void tell_pulse(Instant now, Rank to, std::uint32_t echo);
    void send_to_late(Instant now);

    /// True once the OFFERs are over or data is sent: from then on members take silence for a
    /// failure.
    [[nodiscard]] bool must_speak() const {
        return readiness_.may_begin() || readiness_.is_complete();
    }
    [[nodiscard]] Instant speaks_at() const;
    [[nodiscard]] bool may_load() const;
    /// The rate search may wait for reports first. Once the pass is over the search has no
    /// influence, and repairs are few.
    [[nodiscard]] bool may_send() const { return !is_streaming() || pace_.may_send(); }
    /// The first pass goes on, and is not withheld.
    [[nodiscard]] bool is_streaming() const {
        return !pass().is_over() && !pass().is_withheld();
    }
    [[nodiscard]] Duration disk_timeout() const {
        return is_finishing_ ? finish_timeout(config_, limits_.ending)
                             : config_.stall_timeout * limits_.ending.finish_factor;
    }
    [[nodiscard]] bool is_over() const {
        return outcome_.phase == Phase::released || outcome_.phase == Phase::failed ||
               outcome_.phase == Phase::handed_over;
    }
    [[nodiscard]] FirstPass& pass() { return blocks_.pass(); }
    [[nodiscard]] const FirstPass& pass() const { return blocks_.pass(); }

    Prng& prng_;
    CoreConfig config_;
    Limits limits_;
    ObjectShape shape_;
    bool is_offered_whole_;  ///< The object is so small that it travels with its OFFERs.
    Outcome outcome_;
    Numbering numbers_;
    ControlQueue control_;
    Pacer pacer_;
    SourceBlocks blocks_;
    ReadingOnDemand reading_;
    SourceRepairs repairs_;
    Readiness readiness_;
    GroupProbe probe_;
    Representatives representatives_;
    ReportBoard board_;
    RateControl pace_;
    UnreachableMembers unreachable_;
    MemberWatch watch_;
    SourceEnding ending_;
    Repeater end_;  ///< Repeats END.
    KeepAlive alive_;
    OperationQueue operations_;
    std::uint64_t next_ticket_ = 1;
    DiskWatch disk_watch_;
    bool is_started_ = false;
    bool is_idle_ = true;  ///< There was no data to send, when it was last asked for some.
    bool are_holders_spared_ = false;
    bool is_finishing_ = false;
};

}  // namespace stage::core
