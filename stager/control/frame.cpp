#include "stager/control/frame.h"

#include "stager/control/message.h"

namespace stage {

std::vector<std::byte> framed(Bytes message) {
    invariant(!message.empty(), "a message is not empty");
    invariant(message.size() <= kMaxAnswerBytes, "a message fits its limit");
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

bool FrameReader::is_broken() const {
    const auto length = announced();
    return length && (*length == 0 || *length > limit_);
}

Status FrameReader::feed(Bytes bytes) {
    if (!is_broken()) {
        held_.insert(held_.end(), bytes.begin(), bytes.end());
    }
    if (is_broken()) {
        return Error{Blame::internal,
                     "a message of " + std::to_string(*announced()) +
                         " bytes exceeds the limit or is empty"};
    }
    return {};
}

std::optional<std::vector<std::byte>> FrameReader::next() {
    const auto length = announced();
    if (!length || is_broken() || held_.size() - kFrameHeaderBytes < *length) {
        return std::nullopt;
    }
    const auto first = held_.begin() + static_cast<std::ptrdiff_t>(kFrameHeaderBytes);
    const auto last = first + static_cast<std::ptrdiff_t>(*length);
    std::vector<std::byte> message(first, last);
    held_.erase(held_.begin(), last);
    return message;
}

}  // namespace stage
