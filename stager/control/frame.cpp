#include "stager/control/frame.h"

#include "stager/control/message.h"

namespace stage {

std::vector<std::byte> framed(Bytes message) {
    invariant(!message.empty(), "a message is not empty");
    invariant(message.size() <= kMaxMessageBytes, "a message fits its limit");
    ByteWriter writer;
    writer.blob(message);
    return writer.take();
}

std::optional<std::size_t> FrameReader::announced() const {
    if (held_.size() < kFrameHeaderBytes) {
        return std::nullopt;
    }
    ByteReader reader{held_};
    return reader.u32();
}

Status FrameReader::feed(Bytes bytes) {
    held_.insert(held_.end(), bytes.begin(), bytes.end());
    const auto length = announced();
    if (length && (*length == 0 || *length > limit_)) {
        held_.clear();
        return Error{Blame::internal,
                     "a message of " + std::to_string(*length) + " bytes is not one of ours"};
    }
    return {};
}

std::optional<std::vector<std::byte>> FrameReader::next() {
    const auto length = announced();
    if (!length || *length > limit_ || held_.size() - kFrameHeaderBytes < *length) {
        return std::nullopt;
    }
    const auto first = held_.begin() + static_cast<std::ptrdiff_t>(kFrameHeaderBytes);
    const auto last = first + static_cast<std::ptrdiff_t>(*length);
    std::vector<std::byte> message(first, last);
    held_.erase(held_.begin(), last);
    return message;
}

}  // namespace stage
