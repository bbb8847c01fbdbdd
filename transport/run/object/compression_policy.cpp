#include "transport/run/object/compression_policy.h"

#include <algorithm>

namespace stage {
namespace {

constexpr std::size_t kWindowBlocks = 8;
/// A loader that waits less than this part of the time is not held up by the link.
constexpr double kWaitingPart = 0.1;
/// What compressing must save to be chosen: it costs every receiver something, too.
constexpr double kWorthPart = 0.95;

double seconds(Duration time) {
    return std::chrono::duration<double>(time).count();
}

}  // namespace

void CompressionPolicy::tell(const Loaded& block) {
    if (since_ == Instant{}) {
        begin_window(block.begin);
    }
    waited_ += std::max(block.begin - last_end_, Duration{});
    reading_ += block.read - block.begin;
    last_end_ = block.end;
    bytes_ += static_cast<double>(block.bytes);
    sent_ += static_cast<double>(block.sent);
    if (block.was_tried) {
        trying_ += block.end - block.read;
        tried_ += static_cast<double>(block.bytes);
        left_ += static_cast<double>(block.sent);
    }
    if (++blocks_ == kWindowBlocks) {
        decide(block.end);
        begin_window(block.end);
    }
}

void CompressionPolicy::begin_window(Instant now) {
    since_ = now;
    last_end_ = now;
    blocks_ = 0;
    waited_ = reading_ = trying_ = Duration{};
    bytes_ = sent_ = tried_ = left_ = 0;
}

void CompressionPolicy::decide(Instant now) {
    const double passed = std::max(seconds(now - since_), 1e-9);
    if (tried_ > 0) {
        ratio_ = left_ / tried_;
        shortening_ = seconds(trying_) / tried_;
        is_known_ = true;
    }
    if (seconds(waited_) >= kWaitingPart * passed) {
        link_ = sent_ / passed;
    } else if (link_ > 0) {
        link_ = std::max(link_, sent_ / passed);  // It took at least this.
    }
    const double reading = seconds(reading_) / std::max(bytes_, 1.0);
    const double plain = link_ > 0 ? std::max(1 / link_, reading) : 0;
    const double shorter = link_ > 0 ? std::max(ratio_ / link_, reading + shortening_) : 0;
    is_on_ = is_known_ && shorter < kWorthPart * plain;
}

}  // namespace stage
