// The parts of a source.
//
// Only sender*.cpp include this: deadlines (sender.cpp), received packets
// (sender_arrivals.cpp), members outside the group (sender_away.cpp), members that hold blocks
// already (sender_holders.cpp), and the end (sender_ending.cpp).
#pragma once

#include "transport/core/base/descriptor_table.h"
#include "transport/core/base/repeater.h"
#include "transport/core/base/timeouts.h"
#include "transport/core/feedback/broadcast_result.h"
#include "transport/core/feedback/done_reporter.h"
#include "transport/core/feedback/member_watch.h"
#include "transport/core/feedback/report_board.h"
#include "transport/core/feedback/reporter.h"
#include "transport/core/membership/away_members.h"
#include "transport/core/membership/readiness.h"
#include "transport/core/rate/rate_control.h"
#include "transport/core/repair/repair_server.h"
#include "transport/core/repair/shared_loss.h"
#include "transport/core/sending/disk_watch.h"
#include "transport/core/sending/operation_queue.h"
#include "transport/core/source/first_pass.h"
#include "transport/core/source/sender.h"

namespace stage::core {

struct Sender::Parts final : Holdings {
    Parts(const CoreConfig& given, const ObjectShape& shape, const Limits& limits_);

    // Received packets.
    void on_datagram(Instant now, const Datagram& datagram);
    void on_late(const Datagram& datagram);
    void on_request(Instant now, Rank from, const wire::Request& request);
    void on_report(Instant now, Rank from, const wire::Report& report);
    void on_done(Rank from, const wire::Done& done);
    void on_left(Instant now, Rank from, const wire::Left& left);
    void update_listeners(Instant now);
    void tell_pulse(Instant now, std::optional<Rank> to, std::uint32_t echo);
    void repeat(Instant now, const std::vector<wire::ChunkRun>& runs);
    void send_to_late(Instant now);
    void on_completion(Instant now, const Completion& done);
    void on_loaded(const Completion& done);

    // Deadlines.
    void work(Instant now);
    void work_on_readiness(Instant now);
    void skip_complete_members();
    void skip_what_all_hold();
    [[nodiscard]] std::uint32_t read_from() const;
    void work_on_object(Instant now);
    void keep_alive(Instant now);
    [[nodiscard]] Instant speaks_at() const;
    /// True once the OFFERs are over or data is sent: from then on members take silence for a
    /// failure.
    [[nodiscard]] bool must_speak() const {
        return readiness.may_begin() || readiness.is_complete();
    }
    void watch_own_disk(Instant now);
    void decide(Instant now);
    void release_unresponsive();
    void fail(Rank culprit, Blame blame, std::string why);
    [[nodiscard]] bool may_load() const;
    [[nodiscard]] bool may_send() const;
    void fill(Instant now, SendBatch& batch);
    void take(Instant now, OperationBatch& batch);
    [[nodiscard]] Duration disk_patience() const {
        return is_finishing ? finish_patience(config, limits.ending)
                            : config.stall_timeout * limits.ending.finish_patience;
    }

    [[nodiscard]] bool is_over() const {
        return outcome.phase == Phase::released || outcome.phase == Phase::failed;
    }
    [[nodiscard]] std::optional<Instant> next() const;

    // Holdings:
    [[nodiscard]] bool has(BlockIndex block, std::uint32_t chunk) const override;
    [[nodiscard]] bool can_load(BlockIndex block) const override;
    [[nodiscard]] std::uint32_t chunks(BlockIndex block) const override;
    [[nodiscard]] std::vector<std::byte> describe(BlockIndex block,
                                                  std::uint32_t count) const override;

    CoreConfig config;
    Limits limits;
    ObjectShape shape;
    bool is_offered_whole;  ///< The object is so small that it travels with its OFFERs.
    Cut cut;
    Outcome outcome;
    Numbering numbers;
    ControlQueue control;
    Pacer pacer;
    BufferPool residence;
    DescriptorTable descriptors;
    FirstPass pass;
    RepairServer server;
    Readiness readiness;
    ReportBoard board;
    RateControl pace;
    SharedLoss shared_loss;
    AwayMembers away;
    MemberWatch watch;
    BroadcastResult verdict;
    Repeater end;      ///< Repeats END.
    Repeater release;  ///< Repeats RELEASE.
    std::optional<wire::Ending> released;
    std::optional<Instant> stays_until;
    RankSet confirmed;  ///< Members that acknowledged RELEASE.
    OperationQueue operations;
    std::uint64_t next_ticket = 1;
    DiskWatch disk_watch;
    Instant group_sent_at{};
    Duration alive_gap{};  ///< After this silence the source sends a keep-alive.
    bool is_started = false;
    bool are_holders_spared = false;
    bool is_finishing = false;
    Blame blame = Blame::user;  ///< Of the failure that ends the broadcast.
};

}  // namespace stage::core
