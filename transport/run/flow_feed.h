// What brings the opened packets of one flow.
//
// In a process a thread for each flow does (flow_reader.h), in the simulator an event. flows.h
// merges what they bring.
#pragma once

#include "transport/fabric/driver.h"
#include "transport/seal/flow_seal.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stage {

/// An opened packet of a flow.
struct FlowPacket {
    seal::Opened opened;  ///< In the flow's buffers.
    std::int64_t stamp_ns = 0;
};

/// What one call received, in the order of arrival.
struct FlowBatch {
    std::size_t set = 0;  ///< The set of buffers that the packets are in.
    std::vector<FlowPacket> packets;
    std::uint64_t overflow = 0;  ///< The flow's counter at that time.
    std::uint8_t fill = 0;
};

class FlowFeed {
  public:
    FlowFeed() = default;
    FlowFeed(const FlowFeed&) = delete;
    FlowFeed& operator=(const FlowFeed&) = delete;
    virtual ~FlowFeed() = default;

    /// Begins to receive, once. `heard` is the largest packet number of the source that arrived
    /// on any flow. `event`, a descriptor, is written to whenever the result of next() or
    /// has_more() may have changed. Both must outlive this.
    virtual void start(const std::atomic<std::uint64_t>& heard, int event) = 0;

    /// The oldest batch that was handed over, of one packet or more. An error means that this
    /// flow has failed.
    [[nodiscard]] virtual Result<std::optional<FlowBatch>> next() = 0;
    /// True if a packet has reached this host by this flow that next() has not returned.
    [[nodiscard]] virtual bool has_more() = 0;
    /// Frees the batch's buffers.
    virtual void give_back(FlowBatch batch) = 0;

    /// Receives nothing any more. The counters can be read then.
    virtual void stop() = 0;
    [[nodiscard]] virtual const DriverCounters& counters() const = 0;
    [[nodiscard]] virtual const seal::SealCounters& refused() const = 0;
};

}  // namespace stage
