// Which numbers bound and time the broadcast?
//
// All of them, in one place, with unit and reason; docs/protocol, 13, is normative
// and has the ranges. They are handed to the cores, so that a test can turn each.
#pragma once

#include "transport/base/units.h"

#include <chrono>
#include <cstdint>

namespace stage::core {

struct PacerLimits {
    /// Largest burst, bytes on the wire: half of a small switch port's buffer.
    std::uint32_t burst_bytes_max = 64U << 10U;
    /// A burst is what so much time is owed, so that it leaves room for others in every queue.
    Duration burst_time = std::chrono::microseconds{250};
    /// Few packets are one burst even if they are owed for longer, up to so long: each
    /// costs every host on the way about as much as all of them together.
    std::uint32_t burst_packets = 8;
    Duration burst_time_max = std::chrono::milliseconds{4};
    /// A burst may always be what so much time is owed: nobody wakes up more often.
    Duration burst_time_min = std::chrono::microseconds{40};
    /// Credit older than this is forgotten: repaying it would be a blast.
    Duration credit_age_max = std::chrono::milliseconds{8};
    /// Unless the receivers are seen to take more: up to so many times as much and as old.
    std::uint32_t stretch_max = 16;
};

struct RateLimits {
    /// Rate not told: so many packets go out at once and show what the path takes;
    std::uint32_t train_packets = 64;
    /// if nobody says in this time how they arrived,
    Duration train_patience = std::chrono::milliseconds{100};
    /// Of a remembered rate what so much time takes may leave before the first report.
    Duration flight_remembered = std::chrono::microseconds{200};
    std::uint64_t start_bytes_per_s = 12'500'000;     ///< 100 Mbit/s to begin with,
    std::uint64_t least_bytes_per_s = 125'000;        ///< never less than 1 Mbit/s,
    std::uint64_t most_bytes_per_s = 12'500'000'000;  ///< never more than 100 Gbit/s.
    std::uint32_t loss_new_ppm = 20'000;  ///< More than was known to be random: test it.
    std::uint32_t loss_steady_ppm =
        10'000;  ///< No more than usual: a longer burst did no harm.
    Duration round = std::chrono::milliseconds{20};  ///< Between two looks at the reports,
    std::uint32_t packets_min = 256;                 ///< which speak of so many packets.
};

struct RepairLimits {
    std::uint16_t request_chunks_max = 16;    ///< One request asks for at most so many chunks,
    std::uint16_t answer_chunks_max = 256;    ///< and of a request so many are answered.
    std::size_t requests_max = 64;            ///< Under way at a member.
    std::uint32_t in_flight_chunks_min = 32;  ///< May be asked for, however short the path is.
    std::uint32_t in_flight_chunks_max = 512;
    Duration in_flight_slack = std::chrono::milliseconds{4};  ///< Late wake-ups of the peer.
    std::uint32_t stream_share_percent = 10;  ///< Of the rate, for pulls beside the first pass.
    /// After such a pause of it: it may wait for what is pulled, which has the whole rate then.
    Duration stream_pause = std::chrono::milliseconds{50};
    Duration timeout_first = std::chrono::milliseconds{20};  ///< Before a round trip was seen.
    /// Of a fast path no more than a block takes there.
    Duration timeout_margin_min = std::chrono::microseconds{500};
    Duration timeout_max = std::chrono::seconds{1};
    Duration gap_age_min =
        std::chrono::microseconds{50};  ///< Reordering, not loss, until then,
    std::uint32_t gap_packets = 64;     ///< or until so many might have come.
    Duration gap_age_max = std::chrono::milliseconds{5};
    /// Between two looks for what to ask; of a fast path what a block takes there.
    Duration gather_time = std::chrono::milliseconds{1};
    /// Between two looks that wait for credit.
    Duration look_time_min = std::chrono::microseconds{10};
    std::uint32_t endgame_chunks = 32;  ///< So few left: ask several peers for each,
    std::uint32_t endgame_peers = 3;    ///< namely so many,
    /// and others when only so small a part of it is left, where a round trip brings it all;
    std::uint32_t endgame_part = 2;
    /// wait less for them: what comes twice costs little.
    Duration endgame_margin_min = std::chrono::microseconds{50};
    std::uint8_t silences_free = 2;  ///< Time-outs in a row that don't lengthen the next.
    std::uint8_t failures_before_source = 4;
    Duration pause_max =
        std::chrono::milliseconds{20};  ///< After more of them, before the next.
    std::uint32_t share_requests = 2;   ///< Of its share (puller.cpp), with the source.
    /// Whoever has given nothing for so long of its share keeps none, or longer.
    Duration swarm_start_min = std::chrono::milliseconds{100};
    std::uint32_t source_askers = 64;  ///< About so many of a group ask the source at a time.
    std::size_t jobs_max = 64;  ///< Blocks asked for by somebody, waiting to be answered.
    std::size_t loads_max = 4;  ///< Blocks being read back for peers.
    Duration job_age_max =
        std::chrono::milliseconds{500};  ///< Its asker has given up long ago.
    /// Peers can't expand a 16-bit number after 2^15 others: tell the whole one before.
    std::uint64_t number_gap_max = 1U << 14U;
    std::uint32_t bad_digests_max = 8;  ///< Of one block, before the source is not believed.
};

struct ParityLimits {
    std::uint32_t symbols_max = 64;  ///< An object of no more packets travels with parities,
    std::uint32_t coded_blocks_max = 8;   ///< if it has no more blocks:
    std::uint8_t parities_few = 8;        ///< so many,
    std::uint8_t parities_many = 16;      ///< or, where more than
    std::uint32_t few_loss_ppm = 20'000;  ///< this is lost, so many;
    std::uint32_t describe_every = 3;     ///< and a DESCRIBE after so many.
    /// Of no more packets: to send it costs hardly more than to offer it.
    std::uint32_t offered_symbols_max = 16;
    std::uint16_t offers_few = 2;   ///< So often at once, where parities_few travel,
    std::uint16_t offers_many = 3;  ///< or parities_many.
};

struct FeedbackLimits {
    std::uint16_t representatives = 32;
    Duration interval = std::chrono::milliseconds{20};  ///< Of a representative's reports,
    /// longer where it takes as long until the source has sent so many packets for each of
    /// them,
    std::uint32_t interval_packets = 2;
    Duration interval_slow = std::chrono::milliseconds{60};  ///< up to this,
    Duration interval_min = std::chrono::milliseconds{1};    ///< or sooner after many blocks,
    /// or after an eighth of the packets heard so far, so many at least; of a long stream after
    /// so many times the number of representatives.
    std::uint32_t report_packets_min = 8;
    std::uint32_t report_packets_each = 8;
    /// But not sooner than this; later in a stream the source hears no more than one report in
    /// report_time.
    Duration interval_start = std::chrono::microseconds{100};
    Duration report_time = std::chrono::microseconds{50};
    std::uint32_t start_packets = 4096;  ///< Until then a stream is at its start.
    /// Who has not reported for so long does not count.
    Duration silence = std::chrono::milliseconds{250};
    std::uint32_t stall_fraction = 8;   ///< Everybody reports each stall_timeout / this.
    std::size_t votes_blocks_max = 64;  ///< Blocks whose losses the source counts at a time.
    /// What was sent to everybody is not sent again within two round trips, at least this (it
    /// may wait in queues) and at most that;
    Duration repeat_window_min = std::chrono::milliseconds{5};
    Duration repeat_window_max = std::chrono::milliseconds{20};
    /// what a second member asks for within this is sent to everybody.
    Duration shared_window = std::chrono::milliseconds{100};
    /// In a group of so many, who asks the source beside the first pass has found no peer with
    /// it.
    std::uint16_t shared_members_min = 8;
    /// The first pass stays so many eighths of the resident blocks before the median member.
    std::uint32_t window_eighths = 6;
    Duration window_patience = std::chrono::milliseconds{250};  ///< Then one block goes anyway.
};

struct EndingLimits {
    std::uint16_t tree_degree = 8;
    Duration done_retry = std::chrono::milliseconds{20};       ///< First; doubles,
    Duration done_retry_max = std::chrono::milliseconds{250};  ///< up to this.
    std::uint8_t done_tries = 4;  ///< Unanswered, before the next ancestor is told.
    Duration done_gather = std::chrono::milliseconds{10};  ///< Between two DONEs that say more.
    Duration done_refresh =
        std::chrono::milliseconds{250};                   ///< Said again: has the parent died?
    Duration alive_first = std::chrono::milliseconds{2};  ///< Silence before the source speaks.
    Duration end_first = std::chrono::microseconds{200};  ///< END repeated after this,
    std::uint32_t end_packets = 64;  ///< (of a fast path after what so many take,)
    std::uint32_t end_even = 6;      ///< so often; then it doubles,
    /// (or after this at first, and doubling, where parities make good what is lost,)
    Duration end_first_coded = std::chrono::milliseconds{10};
    Duration end_max = std::chrono::milliseconds{500};  ///< up to this.
    /// An object that goes with its offers is read first; if that takes longer it is offered.
    Duration offer_unread = std::chrono::milliseconds{20};
    Duration offer_first = std::chrono::milliseconds{2};  ///< OFFER repeated after this,
    std::uint32_t offer_even = 5;                         ///< so often; then it doubles,
    Duration offer_max = std::chrono::milliseconds{250};  ///< up to this.
    /// Who hears no offer calls for one, again after this and then more rarely;
    Duration call_first = std::chrono::milliseconds{5};
    /// so long after the first offer, then twice as long, up to offer_first.
    Duration call_least = std::chrono::microseconds{250};
    /// Whoever still calls then may be behind a path that drops offers of the full packet's
    /// size: smaller packets for all.
    Duration path_patience = std::chrono::milliseconds{400};
    Duration ready_jitter = std::chrono::microseconds{4};  ///< Times members: READYs spread so.
    Duration ready_jitter_max = std::chrono::milliseconds{50};
    Duration ending_first =
        std::chrono::milliseconds{5};  ///< RELEASE, LEAVE repeated; doubles,
    Duration ending_max = std::chrono::milliseconds{250};  ///< up to this.
    std::uint32_t leave_times = 9;                         ///< LEAVE is said so often.
    /// So long RELEASE is repeated and the source answers late members, unless all confirmed
    /// it.
    Duration answer_late = std::chrono::seconds{2};
    std::uint16_t confirming_members_max = 64;  ///< In larger groups nobody confirms RELEASE.
    Duration answer_late_member = std::chrono::milliseconds{250};  ///< And an inner member.
    std::uint32_t finish_patience = 4;  ///< Times stall_timeout, for files' final names.
};

struct LeaveLimits {
    Duration pulse_interval = std::chrono::milliseconds{10};  ///< The source says its time.
    /// The least delay of so long is what the path's queue had at least meanwhile.
    Duration queue_window = std::chrono::milliseconds{50};
    /// A shorter one is noise; or one of fewer packets of the stream, which leaves in bursts.
    Duration queue_least = std::chrono::microseconds{500};
    std::uint32_t queue_packets = 24;
    Duration queue_most = std::chrono::milliseconds{500};  ///< A longer one is a clock's leap.
    Duration stand_time = std::chrono::milliseconds{500};  ///< It stands: time to leave.
    /// So much less than was sent arrived meanwhile, pulls included: somebody else has it.
    std::uint32_t lacking_percent = 10;
    std::uint32_t away_percent_max = 60;  ///< Of the receivers; more are the source's affair.
    /// A queue that never got half as long in this time after the leave is the group's still:
    /// switches forward it to who left.
    Duration relief_time = std::chrono::seconds{3};
    Duration free_time = std::chrono::seconds{1};  ///< No queue for so long: it comes back.
    std::uint32_t leaves_max = 4;
    Duration left_interval = std::chrono::milliseconds{20};  ///< LEFT is said again.
    std::uint32_t pull_window_first = 16;  ///< Chunks under way when it begins to fetch.
};

struct Limits {
    PacerLimits pacer;
    RateLimits rate;
    RepairLimits repair;
    ParityLimits parity;
    FeedbackLimits feedback;
    EndingLimits ending;
    LeaveLimits leave;
    std::size_t outbox_max = 256;  ///< Control packets waiting to be sent.
    /// Descriptors that a receiver keeps, or two for each resident block if that is more.
    std::uint32_t descriptors_max = 512;
    Duration stream_wait = std::chrono::milliseconds{100};  ///< In the socket, for room.
    std::uint32_t load_ahead_max = 8;  ///< Blocks read before the first pass needs them.
};

/// What a DATA packet adds to its payload on the wire, bytes: 16 header, 12 tag, 42 of
/// Ethernet, IP and UDP.
inline constexpr std::uint32_t kWireOverheadBytes = 70;

}  // namespace stage::core
