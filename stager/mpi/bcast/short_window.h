// Puts fragments of short messages together, in whatever order they come.
//
// All members number the short calls of their communicator alike. Kept are fragments of the
// call that this member is in, and of the next few; those of calls that it has finished and
// those that are too early are dropped. A dropped message comes by the ring.
#pragma once

#include "stager/mpi/bcast/short_packet.h"

#include <memory>
#include <vector>

namespace stage {

class ShortWindow {
  public:
    static constexpr std::size_t kCalls = 32;

    /// Every call before `call` is finished. Calls begin in order.
    void begin(std::uint64_t call) { call_ = call; }
    [[nodiscard]] bool is_wanted(const ShortHeader& header) const {
        // (An earlier call is a very large number of calls ahead.)
        return header.call() - call_ < kCalls;
    }
    /// A packet's header and fragment. What makes no sense is dropped.
    void keep(const ShortHeader& header, Bytes fragment);
    /// The message of the call begun last if it is whole, from `source` and of `length` bytes;
    /// otherwise empty. Valid until the next keep().
    [[nodiscard]] Bytes message(Rank source, std::size_t length) const;

  private:
    /// One message. Its place is used again every kCalls calls.
    struct Slot {
        ShortHeader first;       ///< The header of the first fragment that came.
        std::uint32_t held = 0;  ///< A bit for each fragment.
        std::unique_ptr<std::byte[]> bytes;
    };

    std::uint64_t call_ = 0;
    std::vector<Slot> slots_ = std::vector<Slot>(kCalls);
};

}  // namespace stage
