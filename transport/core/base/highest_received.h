// Tracks the highest place received of the first pass, and how far it has settled.
//
// A chunk before the highest place received that is missing is lost, unless the network
// reordered it. Therefore that place becomes the settled edge only after a gap age and three
// further packets. Chunks that are missing before the settled edge are requested.
#pragma once

#include "transport/core/base/object_shape.h"
#include "transport/core/base/repeater.h"

#include <algorithm>
#include <optional>

namespace stage::core {

class HighestReceived {
  public:
    static constexpr std::uint32_t kReorderedPackets = 3;

    /// A chunk of the first pass arrived.
    void on_chunk(Instant now, Position chunk) {
        on_sent(now, {.block = chunk.block, .chunk = chunk.chunk + 1});
    }

    /// The source stated that everything before `position` was sent.
    void on_sent(Instant now, Position position) {
        if (position > highest_) {
            highest_ = position;
            ++since_mark_;
            begin(now);
        }
    }

    /// The first pass ended: everything was sent. Further calls change nothing.
    void on_end(Instant now, std::uint32_t blocks) {
        if (!is_ended_) {
            is_ended_ = true;
            highest_ = {.block = blocks, .chunk = 0};
            mark_at_.reset();  // the mark settles together with the end
            begin(now);
        }
    }

    /// Settles what is older than `age`. True if the settled edge moved.
    bool advance(Instant now, Duration age) {
        if (!mark_at_) {
            return false;
        }
        // If the stream pauses, no third packet comes, so time alone settles the mark.
        const bool is_old = now >= *mark_at_ + age;
        const bool is_behind = since_mark_ >= kReorderedPackets || is_ended_;
        if (!is_old || (!is_behind && now < *mark_at_ + 8 * age)) {
            due_ = is_old ? *mark_at_ + 8 * age : *mark_at_ + age;
            return false;
        }
        settled_ = mark_;
        mark_at_.reset();
        if (highest_ > settled_) {
            begin(now);
            due_ = now + age;
        }
        return true;
    }

    [[nodiscard]] Position settled() const { return settled_; }
    [[nodiscard]] Position highest() const { return highest_; }
    [[nodiscard]] bool is_ended() const { return is_ended_; }
    /// When advance() may settle something.
    [[nodiscard]] std::optional<Instant> deadline() const {
        return mark_at_ ? std::optional{due_} : std::nullopt;
    }

  private:
    void begin(Instant now) {
        if (!mark_at_) {
            mark_at_ = now;
            mark_ = highest_;
            since_mark_ = 0;
            due_ = now;
        }
    }

    Position highest_;
    Position settled_;
    Position mark_;  ///< The place that settles next.
    std::optional<Instant> mark_at_;
    std::uint32_t since_mark_ = 0;  ///< Packets after the mark.
    Instant due_{};
    bool is_ended_ = false;
};

}  // namespace stage::core
