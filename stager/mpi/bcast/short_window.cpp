#include "stager/mpi/bcast/short_window.h"

#include <algorithm>

namespace stage {
namespace {

bool makes_sense(const ShortHeader& header, Bytes fragment) {
    const std::size_t begin = header.index() * kShortFragmentBytes;
    return header.length <= kShortBytes && begin < header.length &&
           fragment.size() == std::min(header.length - begin, kShortFragmentBytes);
}

}  // namespace

void ShortWindow::keep(const ShortHeader& header, Bytes fragment) {
    if (!is_wanted(header) || !makes_sense(header, fragment)) {
        return;
    }
    Slot& slot = slots_[header.call() % kCalls];
    if (slot.held == 0 || slot.first.call() != header.call()) {
        slot.first = header;
        slot.held = 0;
    }
    // (Of a correct program all packets of a call have one source and one length.)
    if (slot.first.source != header.source || slot.first.length != header.length) {
        return;
    }
    if (!slot.bytes) {
        slot.bytes = std::make_unique_for_overwrite<std::byte[]>(kShortBytes);
    }
    std::ranges::copy(fragment, slot.bytes.get() + header.index() * kShortFragmentBytes);
    slot.held |= 1U << header.index();
}

Bytes ShortWindow::message(Rank source, std::size_t length) const {
    const Slot& slot = slots_[call_ % kCalls];
    const std::uint32_t whole = (1U << short_fragments(length)) - 1;
    const bool is_it = slot.held == whole && slot.first.call() == call_ &&
                       slot.first.source == source && slot.first.length == length;
    return is_it ? Bytes{slot.bytes.get(), length} : Bytes{};
}

}  // namespace stage
