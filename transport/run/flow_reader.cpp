#include "transport/run/flow_reader.h"

#include "transport/base/invariant.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <utility>

namespace stage {
namespace {

void write_event(int event) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event, &one, sizeof one);
}

}  // namespace

FlowReader::FlowReader(std::unique_ptr<FlowInbox> inbox, seal::FlowSeal seal)
    : inbox_{std::move(inbox)},
      seal_{std::move(seal)},
      stopped_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    invariant(static_cast<bool>(stopped_), "the kernel gives an eventfd");
    for (std::size_t set = 0; set < kFlowSets; ++set) {
        free_.push_back({.set = set, .packets = {}});
    }
}

void FlowReader::start(const std::atomic<std::uint64_t>& heard, int event) {
    heard_ = &heard;
    event_ = event;
    thread_ = std::jthread{[this](const std::stop_token& stop) { work(stop); }};
}

FlowReader::~FlowReader() {
    stop();
}

void FlowReader::stop() {
    thread_.request_stop();
    write_event(stopped_.get());
    if (thread_.joinable()) {
        thread_.join();
    }
}

Result<std::optional<FlowBatch>> FlowReader::next() {
    const std::lock_guard lock{mutex_};
    if (!ready_.empty()) {
        std::optional<FlowBatch> batch{std::move(ready_.front())};
        ready_.pop_front();
        return batch;
    }
    if (!failed_) {
        return failed_.error();
    }
    return std::optional<FlowBatch>{};
}

/// The socket first: what leaves it meanwhile is in the thread's hands, or handed over.
bool FlowReader::has_more() {
    pollfd wait{.fd = inbox_->descriptor(), .events = POLLIN, .revents = 0};
    const bool is_readable = ::poll(&wait, 1, 0) > 0;
    const std::lock_guard lock{mutex_};
    return is_readable || is_reading_ || !ready_.empty();
}

void FlowReader::give_back(FlowBatch batch) {
    {
        const std::lock_guard lock{mutex_};
        batch.packets.clear();
        free_.push_back(std::move(batch));
    }
    freed_.notify_one();
}

void FlowReader::work(const std::stop_token& stop) {
    while (wait_for_packets(stop)) {
        std::optional<FlowBatch> batch = take_free(stop);
        if (!batch) {
            return;
        }
        Status done = read(*batch);
        const bool is_dead = !done;
        hand_over(*std::move(batch), std::move(done));
        if (is_dead) {
            return;
        }
    }
}

bool FlowReader::wait_for_packets(const std::stop_token& stop) const {
    std::array<pollfd, 2> waits{
        pollfd{.fd = inbox_->descriptor(), .events = POLLIN, .revents = 0},
        pollfd{.fd = stopped_.get(), .events = POLLIN, .revents = 0}};
    while (!stop.stop_requested()) {
        if (::poll(waits.data(), waits.size(), -1) > 0 && waits[0].revents != 0) {
            return !stop.stop_requested();
        }
    }
    return false;
}

std::optional<FlowBatch> FlowReader::take_free(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    if (!freed_.wait(lock, stop, [this] { return !free_.empty(); })) {
        return std::nullopt;
    }
    is_reading_ = true;
    FlowBatch batch = std::move(free_.back());
    free_.pop_back();
    return batch;
}

Status FlowReader::read(FlowBatch& batch) {
    packets_.clear();
    if (Status received = inbox_->receive(batch.set, packets_); !received) {
        return received;
    }
    const std::uint64_t heard = heard_->load(std::memory_order_relaxed);
    for (const ReceivedPacket& packet : packets_) {
        if (const auto opened = seal_.open(packet.bytes, heard)) {
            batch.packets.push_back({.opened = *opened, .stamp_ns = packet.stamp_ns});
        }
    }
    batch.overflow = inbox_->counters().socket_overflow;
    batch.fill = inbox_->counters().group_fill;
    return {};
}

void FlowReader::hand_over(FlowBatch batch, Status read) {
    {
        const std::lock_guard lock{mutex_};
        is_reading_ = false;
        failed_ = std::move(read);
        (batch.packets.empty() ? free_.emplace_back() : ready_.emplace_back()) =
            std::move(batch);
    }
    write_event(event_);
}

std::vector<std::unique_ptr<FlowFeed>> read_flows(
    std::vector<std::unique_ptr<FlowInbox>> inboxes,
    const seal::SessionSeal& seal,
    Rank source) {
    std::vector<std::unique_ptr<FlowFeed>> readers;
    for (std::unique_ptr<FlowInbox>& inbox : inboxes) {
        const Flow flow{static_cast<std::uint8_t>(readers.size())};
        readers.push_back(
            std::make_unique<FlowReader>(std::move(inbox), seal.flow(source, flow)));
    }
    return readers;
}

}  // namespace stage
