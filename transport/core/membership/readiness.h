// Does every member hear the group, and is it heard?
//
// The source offers the object again and again until each member has answered an offer that
// came by multicast. Then a datagram has gone both ways for everyone, before any data is sent.
// An offer names who has not answered yet; who starts late calls for one. Whoever has not
// answered in time is named. (Where the site wants no fence, data goes out beside the offers.)
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

    /// The first offer leaves after `wait`, or with what is added before.
    void start(Instant now, Duration wait);
    /// Of all blocks of an object that goes with its offers: the next leaves now. Once.
    void add(Instant now, const DescriptorTable& descriptors);
    [[nodiscard]] bool goes_with_offers() const { return !descriptors_.empty(); }
    /// Offers smaller packets from now on: only answers to these count. `before` has waited
    /// since its own start.
    void start_again(Instant now, const Readiness& before);
    /// Who has not answered by then is accused, if that is sooner than ready_timeout.
    void await_until(Instant latest) { await_until_ = latest; }
    /// `arrived`: when it reached this host.
    void on_ready(Instant now, Instant arrived, Rank from, const wire::Ready& body, bool holds);
    /// These hold what goes with the offers: they need none.
    void on_done(const std::vector<wire::RankRun>& ranks);

    /// True if the object was offered.
    bool poll(Instant now, ControlQueue& out);
    [[nodiscard]] bool is_complete() const { return ready_.is_full(); }
    /// Data may be sent.
    [[nodiscard]] bool may_begin() const {
        const bool is_fenced = config_.readiness_policy != ReadinessPolicy::none;
        return is_small_ ? has_told_all_ : (is_complete() || !is_fenced);
    }
    /// The time is over and somebody has not answered.
    [[nodiscard]] std::optional<Accusation> accuse(Instant now) const;
    /// Somebody is there and has heard no offer for long, but might hear smaller packets.
    [[nodiscard]] bool should_be_careful() const { return is_path_narrow_; }
    [[nodiscard]] std::optional<Instant> deadline() const;

    /// Those who have answered.
    [[nodiscard]] const RankSet& ready() const { return ready_; }
    /// Of these, who said that they hold the object already.
    [[nodiscard]] const RankSet& holders() const { return holders_; }
    /// So many blocks, the first ones, nobody needs. Once all have answered.
    [[nodiscard]] std::uint32_t held_by_all() const { return is_complete() ? held_least_ : 0; }
    [[nodiscard]] const RttEstimator& round_trip() const { return round_trip_; }
    /// As long as a chunk: who can answer it can be sent data. Harmless to who has answered.
    [[nodiscard]] std::vector<std::byte> offer(Instant now) const;

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
    bool is_small_;              ///< It goes with the offers,
    bool has_told_all_ = false;  ///< the first of which has left.
    std::vector<wire::Descriptor> descriptors_;
    Duration path_patience_;
    ParityLimits parity_;
    Duration call_least_;
    Duration call_gap_;  ///< From an offer to one that is called for.
    Duration call_gap_max_;
    std::vector<Instant>
        called_at_;  ///< While packets may become smaller: each one's first call.
    bool is_path_narrow_ = false;
    RankSet ready_;
    RankSet holders_;
    std::uint32_t held_least_;
    Repeater offers_;
    RttEstimator round_trip_;
    Instant started_at_{};
    Instant offers_from_{};  ///< Nobody's call makes the first one leave sooner.
    Instant await_until_ = Instant::max();
    Instant offered_at_{};
    std::uint64_t counts_from_us_ = 0;  ///< Answers to earlier offers are of no use.
};

}  // namespace stage::core
