// Establishes that every member hears the group and is heard.
//
// The source repeats OFFER until each member has answered one that arrived by multicast. Then a
// datagram has passed in both directions for every member before any data is sent. An OFFER
// lists the members that have not answered, and a member that starts late solicits one. A
// member that has not answered in time is named. (If the site wants no fence, data is sent
// beside the OFFERs.)
#pragma once

#include "transport/core/base/contract.h"
#include "transport/core/base/descriptor_table.h"
#include "transport/core/base/limits.h"
#include "transport/core/base/object_shape.h"
#include "transport/core/base/rank_set.h"
#include "transport/core/base/repeater.h"
#include "transport/core/feedback/member_watch.h"
#include "transport/core/sending/control_queue.h"
#include "transport/core/sending/rtt_estimator.h"

#include <optional>
#include <vector>

namespace stage::core {

class Readiness {
  public:
    Readiness(const CoreConfig& config, const ObjectShape& shape, const Limits& limits);

    /// The first OFFER leaves after `wait`, or with what is added before.
    void start(Instant now, Duration wait);
    /// Adds the descriptors of all blocks of an object that travels with its OFFERs; the next
    /// OFFER leaves now. Called once.
    void add(Instant now, const DescriptorTable& descriptors);
    [[nodiscard]] bool goes_with_offers() const { return !descriptors_.empty(); }
    /// Offers smaller packets from now on, and counts only answers to these OFFERs. The
    /// time-outs continue from the start of `before`.
    void start_again(Instant now, const Readiness& before);
    /// A member that has not answered by `latest` is named, if that is sooner than
    /// ready_timeout.
    void await_until(Instant latest) { await_until_ = latest; }
    /// `arrived`: when it reached this host.
    void on_ready(Instant now, Instant arrived, Rank from, const wire::Ready& body, bool holds);
    /// The member was dropped: its answer is not awaited.
    void leave_out(Rank rank);
    /// The members hold the object that travels with the OFFERs, and need not answer.
    void on_done(const std::vector<wire::RankRun>& ranks);

    /// True if an OFFER was queued.
    bool poll(Instant now, ControlQueue& out);
    [[nodiscard]] bool is_complete() const { return ready_.is_full(); }
    /// True if data may be sent.
    [[nodiscard]] bool may_begin() const {
        const bool is_fenced = config_.policies.readiness != ReadinessPolicy::none;
        return is_small_ ? has_offered_all_ : (is_complete() || !is_fenced);
    }
    /// Names a member that has not answered in time.
    [[nodiscard]] std::optional<Accusation> accuse(Instant now) const;
    /// A member that runs has heard no OFFER for long, and may hear smaller packets.
    [[nodiscard]] bool should_be_careful() const { return is_path_narrow_; }
    [[nodiscard]] std::optional<Instant> deadline() const;

    /// The members that have answered.
    [[nodiscard]] const RankSet& ready() const { return ready_; }
    /// The members of ready() that hold the object already.
    [[nodiscard]] const RankSet& holders() const { return holders_; }
    /// The number of first blocks that no member needs, once all have answered.
    [[nodiscard]] std::uint32_t held_by_all() const { return is_complete() ? held_least_ : 0; }
    [[nodiscard]] const RttEstimator& round_trip() const { return round_trip_; }
    /// An OFFER, padded to the length of a DATA datagram: a member that can answer it can
    /// receive data. Harmless for members that have answered.
    [[nodiscard]] std::vector<std::byte> offer(Instant now) const;
    /// From now on OFFERs name these.
    void name(const std::optional<wire::Representatives>& representatives) {
        representatives_ = representatives;
    }

  private:
    void on_call(Instant now, Instant arrived, Rank from);
    void look_at_path(Instant now, Rank caller);
    [[nodiscard]] std::vector<wire::RankRun> awaited() const;
    [[nodiscard]] std::uint64_t time_us(Instant now) const;
    [[nodiscard]] Instant latest() const {
        return std::min(await_until_, started_at_ + config_.ready_timeout);
    }

    CoreConfig config_;
    ObjectShape shape_;
    std::uint8_t parities_;
    /// The object travels with the OFFERs,
    bool is_small_;
    /// and the first of these has left.
    bool has_offered_all_ = false;
    std::vector<wire::Descriptor> descriptors_;
    std::optional<wire::Representatives> representatives_;
    Duration path_timeout_;
    ParityLimits parity_;
    Duration call_least_;
    Duration call_gap_;  ///< From an OFFER to a solicited one.
    Duration call_gap_max_;
    /// Each member's first solicitation, while packets may become smaller.
    std::vector<Instant> called_at_;
    bool is_path_narrow_ = false;
    RankSet ready_;
    RankSet holders_;
    std::uint32_t held_least_;
    Repeater offers_;
    RttEstimator round_trip_;
    Instant started_at_{};
    Instant offers_from_{};  ///< No solicitation makes the first OFFER leave sooner.
    Instant await_until_ = Instant::max();
    Instant offered_at_{};
    std::uint64_t counts_from_us_ = 0;  ///< Answers to earlier OFFERs do not count.
};

}  // namespace stage::core
