#include "stager/files/archive/byte_stream.h"

#include <algorithm>
#include <cerrno>

namespace stage {
namespace {

constexpr std::size_t kInputBytes = 256U << 10U;

class ArrivedStream final : public ByteStream {
  public:
    ArrivedStream(ArrivedBytes& bytes, ReadTrouble& trouble)
        : bytes_{bytes}, trouble_{trouble} {}

    std::int64_t read(MutableBytes room) override {
        const std::int64_t count = bytes_.read(at_, room);
        if (count < 0) {
            trouble_.set({.kind = ReadTrouble::Kind::unreadable, .cause = errno});
            return -1;
        }
        at_ += static_cast<std::uint64_t>(count);
        return count;
    }

  private:
    ArrivedBytes& bytes_;
    ReadTrouble& trouble_;
    std::uint64_t at_ = 0;
};

class StreamAgain final : public ByteStream {
  public:
    StreamAgain(std::vector<std::byte> head, ByteStream& rest)
        : head_{std::move(head)}, rest_{rest} {}

    std::int64_t read(MutableBytes room) override {
        if (at_ == head_.size()) {
            return rest_.read(room);
        }
        const Bytes left = Bytes{head_}.subspan(at_);
        const std::size_t count = std::min(room.size(), left.size());
        std::copy_n(left.begin(), count, room.begin());
        at_ += count;
        return static_cast<std::int64_t>(count);
    }

  private:
    std::vector<std::byte> head_;
    ByteStream& rest_;
    std::size_t at_ = 0;
};

}  // namespace

std::int64_t read_all(ByteStream& stream, MutableBytes room) {
    std::size_t filled = 0;
    while (filled < room.size()) {
        const std::int64_t count = stream.read(room.subspan(filled));
        if (count < 0) {
            return -1;
        }
        if (count == 0) {
            break;
        }
        filled += static_cast<std::size_t>(count);
    }
    return static_cast<std::int64_t>(filled);
}

StreamInput::StreamInput(ByteStream& from) : from_{from}, room_(kInputBytes) {
}

bool StreamInput::fill(std::size_t count) {
    if (begin_ > 0 && end_ - begin_ < count) {
        std::copy(room_.begin() + static_cast<std::ptrdiff_t>(begin_),
                  room_.begin() + static_cast<std::ptrdiff_t>(end_),
                  room_.begin());
        end_ -= begin_;
        begin_ = 0;
    }
    while (end_ - begin_ < count && !is_at_end_) {
        const std::int64_t got = from_.read(MutableBytes{room_}.subspan(end_));
        if (got < 0) {
            return false;
        }
        is_at_end_ = got == 0;
        end_ += static_cast<std::size_t>(got);
    }
    return true;
}

MemberStream::MemberStream(ByteStream& from,
                           ReadTrouble& trouble,
                           const char* format,
                           std::size_t mark_bytes)
    : input_{from}, trouble_{trouble}, format_{format}, mark_bytes_{mark_bytes} {
}

std::int64_t MemberStream::read(MutableBytes room) {
    while (true) {
        if (is_between_ && !input_.fill(mark_bytes_)) {
            return -1;
        }
        if (is_between_ && !is_member(input_.bytes())) {
            return 0;
        }
        is_between_ = false;
        if (!input_.fill(1)) {
            return -1;
        }
        const std::int64_t count = decode(room);
        if (count != 0) {
            return count;
        }
        if (!is_between_ && input_.is_at_end() && input_.bytes().empty()) {
            return fail(false, "unexpected end of file");
        }
    }
}

std::int64_t MemberStream::fail(bool is_memory, const std::string& why) {
    trouble_.set(
        {.kind = is_memory ? ReadTrouble::Kind::unsupported : ReadTrouble::Kind::damaged,
         .why = format_ + ": " + why});
    return -1;
}

std::unique_ptr<ByteStream> arrived_stream(ArrivedBytes& bytes, ReadTrouble& trouble) {
    return std::make_unique<ArrivedStream>(bytes, trouble);
}

std::unique_ptr<ByteStream> stream_again(std::vector<std::byte> head, ByteStream& rest) {
    return std::make_unique<StreamAgain>(std::move(head), rest);
}

}  // namespace stage
